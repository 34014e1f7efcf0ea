"""Code that all peers in Python use: workloads, data, checksum, clock and the lines of results.

The data follow the formulas in cli/src/bench/workloads.json, so every peer computes the same bytes.
A time counts only if the checksum of the result is right.
"""

import argparse
import json
import time

import numpy as np

TYPES = {
    "u8": (np.uint8, 251),
    "f16": (np.float16, 2048),
    "f32": (np.float32, 8191),
    "f64": (np.float64, 8191),
}
WEIGHTS = np.arange(1, 98, dtype=np.float64)
WARM_UP = 2


def data(workload):
    """Returns the input array of a workload: x[i] = i % modulus, with i as a 32-bit number."""
    dtype, modulus = TYPES[workload["dtype"]]
    count = np.prod(workload["shape"], dtype=np.int64)
    values = np.arange(count, dtype=np.uint32) % np.uint32(modulus)
    return values.astype(dtype).reshape(workload["shape"])


def lowbias32(bits):
    """Returns the 32-bit hash `lowbias32` of each number."""
    bits = bits.astype(np.uint32)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        bits ^= bits >> np.uint32(shift)
        bits *= np.uint32(factor)
    return bits ^ bits >> np.uint32(16)


def boxes(workload):
    """Returns the start indices of each item's box, as int32, and whether its last dimension is flipped."""
    count, size = workload["shape"][0], np.array(workload["size"], dtype=np.uint32)
    bits = lowbias32(np.arange(count * len(size))).reshape(count, len(size))
    start_counts = np.array(workload["shape"][1 : 1 + len(size)], dtype=np.uint32) - size + np.uint32(1)
    flipped = lowbias32(np.arange(count) + 1_000_003) % np.uint32(2) == 1
    return (bits % start_counts).astype(np.int32), flipped


def update_values(workload):
    """Returns the values that an update writes: value[i] = (i * 7) % modulus."""
    dtype, modulus = TYPES[workload["dtype"]]
    part = np.empty(workload["shape"], np.bool_)[slices(workload)]
    return (np.arange(part.size) * 7 % modulus).astype(dtype).reshape(part.shape)


def indices(workload):
    """Returns index tuples of int32. Each integer is a hash of its position modulo the size of its dimension."""
    rows, depth = workload["indices"]
    bits = lowbias32(np.arange(rows * depth))
    dims = np.array(workload["shape"][:depth], dtype=np.uint32)
    return (bits.reshape(rows, depth) % dims).astype(np.int32)


def slices(workload):
    return tuple(slice(*bounds) for bounds in workload["slices"])


def checksum(result):
    """Returns the sum of result[i] * (i % 97 + 1). Each part starts with weight 1, because 97 divides its size."""
    flat = np.asarray(result).reshape(-1)
    part_size = 97 * 10_000
    total = 0.0
    for first in range(0, flat.size, part_size):
        values = flat[first : first + part_size].astype(np.float64)
        total += float(values @ np.resize(WEIGHTS, values.size))
    return total


class Peer:
    """Runs the selected workloads and appends a JSON line to the file for each mode of a workload."""

    def __init__(self, name, version):
        parser = argparse.ArgumentParser()
        parser.add_argument("--workloads", required=True)
        parser.add_argument("--only", default="")
        parser.add_argument("--reps", type=int, default=9)
        parser.add_argument("--jsonl", required=True)
        args = parser.parse_args()
        self.name, self.reps = name, args.reps
        only = set(filter(None, args.only.split(",")))
        with open(args.workloads) as file:
            all_workloads = json.load(file)["workloads"]
        self.workloads = [w for w in all_workloads if not only or w["id"] in only]
        self.file = open(args.jsonl, "a")
        self._append(workload="version", version=version)

    def run(self, ways):
        """Runs and times the workloads. For each way to run a workload, `ways(workload)` yields the mode, a
        function that runs the workload and waits, and a function that converts its result to NumPy."""
        for workload in self.workloads:
            mode = "fresh"
            try:
                for mode, call, as_numpy in ways(workload):
                    self._time(workload, mode, call, as_numpy)
            except Exception as error:  # A workload that a peer cannot run must not stop the others.
                problem = f"{type(error).__name__}: {error}"[:300]
                self._append(workload=workload["id"], mode=mode, error=problem)

    def _time(self, workload, mode, call, as_numpy):
        result_sum = checksum(as_numpy(call()))
        if result_sum != workload.get("checksum", result_sum):
            raise ValueError(f"wrong result: its checksum is {result_sum}")
        for _ in range(WARM_UP):
            call()
        times = []
        for _ in range(self.reps):
            start = time.perf_counter()
            result = call()
            times.append(time.perf_counter() - start)
            del result
        self._append(workload=workload["id"], mode=mode, times=times, checksum=result_sum)

    def _append(self, **line):
        self.file.write(json.dumps({"peer": self.name, **line}) + "\n")
        self.file.flush()
