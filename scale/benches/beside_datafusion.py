"""Runs queries on a table of vectors and images with wgslice-scale's functions and with DataFusion's array functions,
alternately, and prints a table.

    cargo build --release --manifest-path scale/Cargo.toml --features sql
    python -m venv /tmp/venv && /tmp/venv/bin/pip install datafusion pyarrow numpy
    /tmp/venv/bin/python scale/benches/beside_datafusion.py --command scale/target/release/wgslice-scale --folder /tmp/bench

DataFusion has functions that slice and reverse the outermost dimension of an array, but none for inner dimensions,
index tuples and boxes. Both sides read the same Parquet file with the same number of threads, and write the result to
Parquet, compressed by zstd. The elements of the results are compared. A time is the median of the rounds, in seconds.
For wgslice-scale it is the time of the whole process. For DataFusion's Python package it is the time of the query,
without the start of Python. `its function` is DataFusion's function in `wgslice-scale sql`, with the same compiler
settings, reader and writer, so that only the functions differ. `CPU` is processor time, which other programs disturb
less. The rows `reading and writing` copy the column unchanged.
"""

import argparse
import os
import resource
import statistics
import subprocess
import time
from pathlib import Path

import datafusion
import numpy
import pyarrow
import pyarrow.parquet

CASES = [
    ("reading and writing, vectors", "v", "v"),
    ("steps", "strided_slice(v, '16:496:3')", "array_slice(v, 17, 496, 3)"),
    ("crop", "strided_slice(v, '128:384')", "array_slice(v, 129, 384)"),
    ("flip", "strided_slice(v, '::-1')", "array_reverse(v)"),
    ("one element", "strided_slice(v, '7')", "array_element(v, 8)"),
    ("steps of a crop", "strided_slice(strided_slice(v, '128:384'), '::2')", "array_slice(array_slice(v, 129, 384), 1, 256, 2)"),
    ("reading and writing, images", "image", "image"),
    ("rows of images", "strided_slice(image, '8:56')", "array_slice(image, 9, 56)"),
    ("flip of images", "strided_slice(image, '::-1')", "array_reverse(image)"),
]


def tensors(values):
    array = pyarrow.array(values.reshape(-1))
    for size in reversed(values.shape[1:]):
        array = pyarrow.FixedSizeListArray.from_arrays(array, size)
    return array


def write_table(path, row_count):
    """Writes the table, unless it exists. Each row has a vector of 512 f32 and an image of [64, 64, 3] u8: 14 KB."""
    if path.exists():
        return
    random = numpy.random.default_rng(1)
    group_rows, writer = 2000, None
    for begin in range(0, row_count, group_rows):
        count = min(group_rows, row_count - begin)
        columns = {
            "id": pyarrow.array(numpy.arange(begin, begin + count)),
            "v": tensors(random.random((count, 512), dtype="float32")),
            "image": tensors(random.integers(0, 256, (count, 64, 64, 3), dtype="uint8")),
        }
        part = pyarrow.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(path, part.schema, compression="none", use_dictionary=False)
        writer.write_table(part)
    writer.close()


def elements(path):
    """Returns the elements of the column `y`, sorted by `id`, because rows have no order without ORDER BY."""
    rows = pyarrow.parquet.read_table(path).sort_by("id")
    column = rows.column("y").combine_chunks()
    while pyarrow.types.is_list(column.type) or pyarrow.types.is_fixed_size_list(column.type):
        column = column.flatten()
    return column.to_numpy()


def run_wgslice(command, query, out, threads):
    start_time, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([command, "sql", query, "-o", out, "--threads", str(threads)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start_time, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_datafusion(query, out, threads):
    config = datafusion.SessionConfig().with_target_partitions(threads)
    context = datafusion.SessionContext(config.with_information_schema(False))
    path = query.split("'")[-2]
    context.register_parquet("t", path)
    start_time, start_cpu = time.perf_counter(), time.process_time()
    context.sql(query.replace(f"'{path}'", "t")).write_parquet(str(out), compression="zstd", compression_level=1)
    return time.perf_counter() - start_time, time.process_time() - start_cpu


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=40000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    path = args.folder / "table.parquet"
    write_table(path, args.rows)
    print(
        f"{args.rows} rows, {path.stat().st_size / 1e6:.0f} MB; {args.threads} threads; medians of {args.rounds} rounds; "
        f"load {os.getloadavg()[0]:.1f}; DataFusion {datafusion.__version__} of the Python package\n"
    )
    print("| query | wgslice-scale, s | its function, s | DataFusion, s | ratio | CPU, s | its function, s | DataFusion, s | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    outs = [args.folder / name for name in ("ours.parquet", "function.parquet", "theirs.parquet")]
    for name, ours, theirs in CASES:
        queries = [f"SELECT id, {expression} AS y FROM '{path}'" for expression in (ours, theirs)]
        times = ([], [], [])
        for _ in range(args.rounds):
            times[0].append(run_wgslice(args.command, queries[0], outs[0], args.threads))
            times[1].append(run_wgslice(args.command, queries[1], outs[1], args.threads))
            times[2].append(run_datafusion(queries[1], outs[2], args.threads))
        expected = elements(outs[2])
        assert all(numpy.array_equal(elements(out), expected) for out in outs), name
        row = [f"{name}: `{ours}`"]
        for time_index in (0, 1):
            medians = [statistics.median(pair[time_index] for pair in program_times) for program_times in times]
            row += [f"{median:.2f}" for median in medians] + [f"{medians[2] / medians[0]:.2f}"]
        print(f"| {' | '.join(row)} |", flush=True)


main()
