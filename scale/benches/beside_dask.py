"""Slices one Zarr store into another with wgslice-scale and dask.array + zarr-python, alternately, and prints a table.

    python -m venv /tmp/venv && /tmp/venv/bin/pip install dask zarr numpy
    /tmp/venv/bin/python scale/benches/beside_dask.py --command scale/target/release/wgslice-scale --folder /tmp/bench

Both sides read the same source and write the same shape, shards, chunks and codec, with the same number of threads.
The elements of both results are compared. A time is the minimum of the rounds, in seconds. For wgslice-scale it is the
time of the whole process. For dask it is the time of the computation, without the start of Python.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import time
import zlib
from pathlib import Path

import dask
import dask.array
import numpy
import zarr
from beside_tensorstore import CASES, CHUNK_SHAPE, SHARD_SHAPE, codec


def write_source(path, shape, compressor):
    """Writes the source, unless it exists: a smooth volume with noise, which compresses to about a third."""
    if path.exists():
        return
    array = zarr.create_array(
        path, shape=shape, shards=SHARD_SHAPE, chunks=CHUNK_SHAPE, dtype="int32", compressors=compressor
    )
    random = numpy.random.default_rng(1)
    y, x = numpy.mgrid[: shape[1], : shape[2]]
    for z in range(0, shape[0], SHARD_SHAPE[0]):
        slab = numpy.arange(z, min(z + SHARD_SHAPE[0], shape[0]))[:, None, None] + y + x
        array[z : z + SHARD_SHAPE[0]] = slab + random.integers(0, 64, slab.shape, dtype="int32")


def cpu_seconds(processes):
    """Returns the processor time of this process or of its ended children."""
    usage = resource.getrusage(processes)
    return usage.ru_utime + usage.ru_stime


def run_dask(path, out, spec, compressor, threads):
    slices = eval(f"numpy.s_[{spec}]")
    sliced = dask.array.from_zarr(str(path))[slices]
    result = zarr.create_array(
        out, shape=sliced.shape, shards=SHARD_SHAPE, chunks=CHUNK_SHAPE, dtype=sliced.dtype, compressors=compressor
    )
    start_time, start_cpu = time.perf_counter(), cpu_seconds(resource.RUSAGE_SELF)
    with dask.config.set(scheduler="threads", num_workers=threads):
        dask.array.store(sliced.rechunk(SHARD_SHAPE), result, lock=False)
    return time.perf_counter() - start_time, cpu_seconds(resource.RUSAGE_SELF) - start_cpu


def run_wgslice(command, path, out, spec, codec_name, threads):
    shard, chunk = (",".join(map(str, sizes)) for sizes in (SHARD_SHAPE, CHUNK_SHAPE))
    options = ["--shard", shard, "--chunk", chunk, "--codec", codec_name, "--threads", str(threads)]
    start_time, start_cpu = time.perf_counter(), cpu_seconds(resource.RUSAGE_CHILDREN)
    run = subprocess.run(
        [command, "slice", path, spec, "-o", out, "--json", "--device", "cpu", *options],
        check=True,
        capture_output=True,
    )
    times = time.perf_counter() - start_time, cpu_seconds(resource.RUSAGE_CHILDREN) - start_cpu
    return times, json.loads(run.stdout)


def checksum(path):
    array, crc = zarr.open_array(path, mode="r"), 0
    for begin in range(0, array.shape[0], SHARD_SHAPE[0]):
        crc = zlib.crc32(array[begin : begin + SHARD_SHAPE[0]].tobytes(), crc)
    return array.shape, crc


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--shape", default="1024,512,512")
    parser.add_argument("--codec", default="zstd", choices=["zstd", "blosc", "none"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    zarr.config.set({"threading.max_workers": args.threads})
    args.folder.mkdir(parents=True, exist_ok=True)
    shape = tuple(map(int, args.shape.split(",")))
    compressor = codec(args.codec)
    path = args.folder / f"source-{args.codec}.zarr"
    write_source(path, shape, compressor)
    stored_bytes = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    print(
        f"int32 {list(shape)} in shards of {list(SHARD_SHAPE)} and chunks of {list(CHUNK_SHAPE)}, {args.codec}: "
        f"{numpy.prod(shape) * 4 / 1e6:.0f} MB, {stored_bytes / 1e6:.0f} MB stored; {args.threads} threads; "
        f"dask {dask.__version__}, zarr {zarr.__version__}\n"
    )
    print("| slice | result, MB | wgslice-scale, s | dask, s | ratio | CPU, s | dask's CPU, s | ratio | MB read | reads of a chunk |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, spec in CASES:
        times = {"wgslice": [], "dask": []}
        for _ in range(args.rounds):
            outs = [args.folder / side for side in ("wgslice.zarr", "dask.zarr")]
            for out in outs:
                shutil.rmtree(out, ignore_errors=True)
            ours, summary = run_wgslice(args.command, path, outs[0], spec, args.codec, args.threads)
            times["wgslice"].append(ours)
            times["dask"].append(run_dask(path, outs[1], spec, compressor, args.threads))
            assert checksum(outs[0]) == checksum(outs[1]), spec
        explained = json.loads(
            subprocess.run(
                [args.command, "slice", path, spec, "-o", args.folder / "none.zarr", "--explain", "--json",
                 "--shard", ",".join(map(str, SHARD_SHAPE)), "--chunk", ",".join(map(str, CHUNK_SHAPE))],
                check=True, capture_output=True,
            ).stdout
        )
        ours, our_cpu = map(min, zip(*times["wgslice"]))
        theirs, their_cpu = map(min, zip(*times["dask"]))
        print(
            f"| {name}: `{spec}` | {explained['bytes_written'] / 1e6:.0f} | {ours:.1f} | {theirs:.1f} | "
            f"{theirs / ours:.1f} | {our_cpu:.1f} | {their_cpu:.1f} | {their_cpu / our_cpu:.1f} | {summary['bytes_read'] / 1e6:.0f} | "
            f"{summary['chunks_read'] / explained['chunks']:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
