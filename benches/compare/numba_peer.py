"""Times Numba: hand-written loops, compiled when they first run. Results of 1 MiB or more are made on all cores."""

import numba
import numpy as np
from common import Peer, boxes, data, indices, slices, update_values
from numba import njit, prange


def copy2(out, x):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j]


def copy3(out, x):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                out[i, j, k] = x[i, j, k]


def copy4(out, x):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                for l in range(x.shape[3]):
                    out[i, j, k, l] = x[i, j, k, l]


def rows(out, x, row_numbers):
    for n in prange(out.shape[0]):
        for i in range(out.shape[1]):
            out[n, i] = x[row_numbers[n], i]


def crop(out, x, begins, flips):
    _, height, width, channels = out.shape
    for n in prange(out.shape[0]):
        top, left = begins[n]
        for i in range(height):
            for j in range(width):
                from_left = width - 1 - j if flips[n] else j
                for c in range(channels):
                    out[n, i, j, c] = x[n, top + i, left + from_left, c]


def compiled(loops, out):
    """Returns the compiled loops, which use all cores if the result has at least 1 MiB."""
    return PARALLEL[loops] if out.nbytes >= 1 << 20 else SERIAL[loops]


LOOPS = copy2, copy3, copy4, rows, crop
SERIAL = {loops: njit(loops) for loops in LOOPS}
PARALLEL = {loops: njit(parallel=True)(loops) for loops in LOOPS}


def ways(workload):
    x = data(workload)
    as_numpy = np.asarray
    if x.dtype == np.float16:  # Numba has no float16 on a CPU, so the loops copy its bits.
        x = x.view(np.uint16)
        as_numpy = lambda result: np.asarray(result).view(np.float16)
    if workload["op"] in ("slice", "transpose", "update"):
        copies = {2: copy2, 3: copy3, 4: copy4}
        update = workload["op"] == "update"
        if workload["op"] == "transpose":
            view = x.transpose(workload["axes"])
        else:
            view = x[slices(workload)]
        copy = copies[view.ndim]
        if update:
            new = update_values(workload).view(x.dtype)

            def run(kept):
                compiled(copy, new)(kept[slices(workload)], new)
                return kept

            yield "fresh", lambda: run(x.copy()), as_numpy
            kept = x.copy()
            yield "resident", lambda: run(kept), as_numpy
            return
        shape, dtype = view.shape, view.dtype

        def run(out):
            compiled(copy, out)(out, view)
            return out
    elif workload["op"] == "crop":
        begins, flips = boxes(workload)
        shape, dtype = (x.shape[0], *workload["size"], *x.shape[3:]), x.dtype

        def run(out):
            compiled(crop, out)(out, x, begins, flips)
            return out
    else:
        tuples = indices(workload)
        depth = tuples.shape[1]
        flat = x.reshape(int(np.prod(x.shape[:depth])), -1)
        shape, dtype = (len(tuples), *x.shape[depth:]), x.dtype
        strides = np.cumprod([1, *x.shape[depth - 1 : 0 : -1]])[::-1]

        def run(out):
            compiled(rows, out)(out.reshape(len(tuples), -1), flat, tuples @ strides)
            return out

    yield "fresh", lambda: run(np.empty(shape, dtype)), as_numpy
    out = np.empty(shape, dtype)
    yield "resident", lambda: run(out), as_numpy


Peer("numba", numba.__version__).run(ways)
