"""Slices one Zarr store into another with wgslice-scale, tensorstore and zarrs-python,
alternately. Prints a Markdown table for each codec, and then README's table of
ratios: tensorstore's time ÷ wgslice-scale's time, and in parentheses the ratio of
their processor times.

    python3 scale/benches/beside_tensorstore.py --folder /tmp/bench

It installs its packages into FOLDER/venv, checks them against the checksums in
requirements.txt, and builds wgslice-scale unless --command names one. All programs read
the same source and write the same shape, shards, chunks and codec, with the same number
of threads. The elements of all results are compared. Each number is the minimum of the
rounds. For wgslice-scale, times and memory are for the whole process. The other
programs stay in one process for all rounds, so they keep their threads and their
memory; neither their start nor the opening of the source is counted. Their memory is
the peak minus the memory after all imports. `MB read` counts the bytes of system calls,
from a disk or its cache.

    python3 scale/benches/beside_tensorstore.py --folder /tmp/bench --latency 20

This command reads the source by HTTP from delayed_server.py, which starts each answer
20 ms after its request, and writes to the folder. tensorstore runs in two ways: with
one write of a shard at a time for each thread, or with all writes at the same time, so
that only its own limit of 32 requests delays its reads. The table has the numbers of
the faster way. All numbers are medians of the rounds. The opening of the source is
counted for both programs, and the start of Python is not. zarrs-python cannot read by
HTTP. `MB sent` and `requests` are the counts of the server, which runs on the same
cores. On a disk, the times of rounds differ more, so FOLDER should be in memory, such
as /dev/shm/bench.

    cargo install zarrs_tools --version 0.8.1 --locked --root /tmp/zarrs
    python3 scale/benches/beside_tensorstore.py --folder /tmp/bench \\
        --reencode /tmp/zarrs/bin/zarrs_reencode

This command copies the whole array into other shards and chunks, with wgslice-scale and
with zarrs_reencode, which does not slice. Times are medians of the rounds, for whole
processes.

    python3 scale/benches/beside_tensorstore.py --folder /tmp/bench --turned

This command copies arrays of 134 MB with transposed, uncompressed chunks, for example
in Fortran order, to arrays in row-major order. The columns `a copy` have wgslice-scale's
times for a copy of an array in row-major order. README's table has the ratios, and then
wgslice-scale's time ÷ its time for this copy.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
import venv
import zlib
from pathlib import Path

CASES = [
    ("aligned crop", "128:, 256:, :512"),
    ("crop", "100:900, 33:480, 71:500"),
    ("steps", "::2, ::2, ::2"),
    ("large steps", "::80, ::3, :"),
    ("flips", "::-1, ::-1, ::-1"),
    ("flip of rows", "::-1, :, :"),
    ("steps, flip and crop", "5::3, ::-2, 7:500"),
]
CODECS = {
    "blosc": "blosc (LZ4, shuffled)",
    "none": "Not compressed",
    "zstd": "zstd at level 3",
}
SHARD_SHAPE, CHUNK_SHAPE = (256, 256, 128), (64, 64, 64)
HERE = Path(__file__).resolve().parent


def codec(name):
    import zarr

    zstd = zarr.codecs.ZstdCodec(level=3)
    blosc = zarr.codecs.BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", typesize=4)
    return {"zstd": zstd, "blosc": blosc, "none": None}[name]


def create(path, shape, codec_name, shard_shape=SHARD_SHAPE, chunk_shape=CHUNK_SHAPE, dtype="int32", order=None):
    import zarr

    filters = [zarr.codecs.TransposeCodec(order=order)] if order else None
    return zarr.create_array(
        path, shape=shape, shards=shard_shape, chunks=chunk_shape, dtype=dtype, filters=filters,
        compressors=codec(codec_name),
    )


def write_source(path, shape, codec_name):
    """Writes the source, unless it exists: a smooth volume with noise, which compresses to about a third."""
    import numpy

    if (path / "complete").exists():
        return
    shutil.rmtree(path, ignore_errors=True)
    array = create(path, shape, codec_name)
    random = numpy.random.default_rng(1)
    y, x = numpy.mgrid[: shape[1], : shape[2]]
    for z in range(0, shape[0], SHARD_SHAPE[0]):
        slab = numpy.arange(z, min(z + SHARD_SHAPE[0], shape[0]))[:, None, None] + y + x
        array[z : z + SHARD_SHAPE[0]] = slab + random.integers(0, 64, slab.shape, dtype="int32")
    (path / "complete").touch()


def ranges(spec, shape):
    """Returns the positions that `spec` selects in each dimension, as ranges."""
    import numpy

    return [range(size)[entry] for entry, size in zip(eval(f"numpy.s_[{spec}]", {"numpy": numpy}), shape)]


def boxes(shape, shard_shape):
    """Yields the box of each shard of an array, as a tuple of slices."""
    for begin in itertools.product(*[range(0, size, shard) for size, shard in zip(shape, shard_shape)]):
        yield tuple(slice(at, min(at + shard, size)) for at, shard, size in zip(begin, shard_shape, shape))


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def number_in(path, name):
    """Returns a number from a file of /proc, or 0 if the file or the name does not exist."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name + ":")), 0)


class Measurement:
    """Measures time, processor time, bytes read and peak memory of this process, from the creation of the object on."""

    idle_kibibytes = 0

    def __init__(self):
        try:
            # Resets the peak memory.
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            pass
        self.start_read = number_in("/proc/self/io", "rchar")
        self.start_time, self.start_cpu = time.perf_counter(), cpu_seconds()

    def end(self):
        wall, cpu = time.perf_counter() - self.start_time, cpu_seconds() - self.start_cpu
        return {
            "wall": wall,
            "cpu": cpu,
            "read": number_in("/proc/self/io", "rchar") - self.start_read,
            "memory": (number_in("/proc/self/status", "VmHWM") - self.idle_kibibytes) * 1024,
        }


def run_tensorstore(path, out, spec, threads, writes_all_at_once=False, shard_shape=SHARD_SHAPE):
    import tensorstore

    limits = {"data_copy_concurrency": threads, "file_io_concurrency": 4}
    context = {name: {"limit": limit} for name, limit in limits.items()}
    context = tensorstore.Context({**context, "cache_pool": {"total_bytes_limit": 300 << 20}})
    is_remote = path.startswith("http://")
    store = lambda kvstore: {"driver": "zarr3", "kvstore": kvstore}
    local_store = lambda path: store({"driver": "file", "path": path})
    source = store({"driver": "http", "base_url": path + "/"}) if is_remote else local_store(path)
    with_opening = Measurement()
    whole = tensorstore.open(source, context=context, open=True).result()
    entries = (slice(it.start, None if it.stop < 0 else it.stop, it.step) for it in ranges(spec, whole.shape))
    view = whole[tuple(entries)].translate_to[0]
    measurement = with_opening if is_remote else Measurement()
    to = tensorstore.open(local_store(out), context=context, open=True).result()
    # There is one write for each shard, so that each shard is written once.
    writes = []
    for box in boxes(view.shape, shard_shape):
        writes.append(to[box].write(view[box]))
        if len(writes) >= threads and not writes_all_at_once:
            writes.pop(0).result()
    for write in writes:
        write.result()
    return measurement.end()


def run_zarrs(path, out, spec, threads, shard_shape=SHARD_SHAPE):
    import zarr

    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "threading.max_workers": threads})
    whole, to = zarr.open_array(path, mode="r"), zarr.open_array(out, mode="r+")
    source_ranges = ranges(spec, whole.shape)

    def copy_shard(box):
        # zarr has no negative steps, so the same positions are read in ascending order and flipped afterwards.
        box_ranges = [source_range[entry] for source_range, entry in zip(source_ranges, box)]
        forward = [it if it.step > 0 else it[::-1] for it in box_ranges]
        elements = whole[tuple(slice(it.start, it.stop, it.step) for it in forward)]
        to[box] = elements[tuple(slice(None, None, -1 if it.step < 0 else 1) for it in box_ranges)]

    measurement = Measurement()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(copy_shard, boxes(to.shape, shard_shape)))
    return measurement.end()


def run_wgslice(command, path, out, spec, codec_name, threads, shard_shape=SHARD_SHAPE, chunk_shape=CHUNK_SHAPE):
    shard, chunk = (",".join(map(str, sizes)) for sizes in (shard_shape, chunk_shape))
    options = ["--shard", shard, "--chunk", chunk, "--codec", codec_name, "--threads", str(threads)]
    start_time = time.perf_counter()
    process = subprocess.Popen([command, "slice", path, spec, "-o", out, "--json", *options], stdout=subprocess.DEVNULL)
    # WNOWAIT keeps the entry of the ended process, so that its I/O counts can be read.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    wall, read = time.perf_counter() - start_time, number_in(f"/proc/{process.pid}/io", "rchar")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"wgslice-scale has ended with {process.returncode}"
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "read": read, "memory": usage.ru_maxrss * 1024}


def checksum(path):
    import zarr

    array, crc = zarr.open_array(path, mode="r"), 0
    for begin in range(0, array.shape[0], SHARD_SHAPE[0]):
        crc = zlib.crc32(array[begin : begin + SHARD_SHAPE[0]].tobytes(), crc)
    return array.shape, crc


class Side:
    """One of the compared programs, in its own process. Requests and answers are lines of JSON."""

    def __init__(self, program):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, __file__, "--side", program], **pipes)

    def __call__(self, *arguments):
        arguments = [str(it) if isinstance(it, Path) else it for it in arguments]
        print(json.dumps(arguments), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def serve(program):
    # delayed_server.py runs on this machine, so a proxy must not get its requests.
    os.environ["NO_PROXY"] = "127.0.0.1"
    run = {"wgslice": run_wgslice, "tensorstore": run_tensorstore, "zarrs": run_zarrs}[program]
    if program != "wgslice":
        # The process of wgslice-scale inherits its parent's memory peak, so the parent imports nothing.
        import numpy, tensorstore, zarr, zarrs

        Measurement.idle_kibibytes = number_in("/proc/self/status", "VmRSS")
    for request in sys.stdin:
        print(json.dumps(run(*json.loads(request))), flush=True)


def take_counts(port):
    """Returns the numbers of answers and of body bytes that the server has sent since the last call."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/-/sent") as answer:
        return json.load(answer)


def print_far_table(args, codec_name, shape, sides_by_name, port):
    """Prints the table for a source that is read from the server. Returns the cells of README's table, by slice."""
    path = args.folder / f"source-{codec_name}.zarr"
    write_source(path, shape, codec_name)
    print(f"\n### {args.latency} ms away, {CODECS[codec_name]}\n")
    print(
        "| slice | wgslice-scale, s | tensorstore, s | ratio | CPU, s | tensorstore's, s | MB sent | tensorstore's | requests "
        "| tensorstore's | MB of memory | tensorstore's |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    url = f"http://127.0.0.1:{port}/{path.name}"
    readme_cells = {}
    for title, spec in CASES:
        if args.only and args.only != title:
            continue
        sides = {"wgslice": [], "some": [], "all": []}
        for _ in range(args.rounds):
            outs = {side: args.folder / f"{side}.zarr" for side in sides}
            checksums = set()
            for side, out in outs.items():
                shutil.rmtree(out, ignore_errors=True)
                take_counts(port)
                if side == "wgslice":
                    measured = sides_by_name[side](args.command, url, out, spec, codec_name, args.threads)
                else:
                    create(out, [len(it) for it in ranges(spec, shape)], codec_name)
                    measured = sides_by_name["tensorstore"](url, out, spec, args.threads, side == "all")
                sides[side].append({**measured, **take_counts(port)})
                checksums.add(checksum(out))
            assert len(checksums) == 1, (spec, checksums)
        median = lambda side, key: statistics.median(measured[key] for measured in sides[side])
        faster = min("some", "all", key=lambda side: median(side, "wall"))
        ours, theirs = (lambda key, side=side: median(side, key) for side in ("wgslice", faster))
        cells = [f"{title}: `{spec}`", f"{ours('wall'):.2f}", f"{theirs('wall'):.2f}"]
        cells += [f"{theirs('wall') / ours('wall'):.2f}", f"{ours('cpu'):.2f}", f"{theirs('cpu'):.2f}"]
        cells += [f"{ours('bytes') / 1e6:.1f}", f"{theirs('bytes') / 1e6:.1f}"]
        cells += [f"{ours('requests'):.0f}", f"{theirs('requests'):.0f}"]
        cells += [f"{ours('memory') / 1e6:.0f}", f"{theirs('memory') / 1e6:.0f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
        sent = f"{ours('bytes') / 1e6:.1f} of {theirs('bytes') / 1e6:.1f} MB"
        requests = f"{ours('requests'):.0f} of {theirs('requests'):.0f} requests"
        readme_cells[cells[0]] = f"{ratio(theirs('wall'), ours('wall'))}, {sent}, {requests}"
    return readme_cells


# The shapes of shards and chunks, and the codec, of each copy that is compared with zarrs_reencode.
COPIES = [((256, 256, 128), (64, 64, 64), "zstd"), ((128, 128, 512), (32, 64, 128), "zstd"), ((128, 128, 512), (32, 64, 128), "none")]


def print_reencoding_table(args, codec_name, shape):
    """Prints the times of copies of a source by wgslice-scale and by zarrs_reencode."""
    path = args.folder / f"source-{codec_name}.zarr"
    write_source(path, shape, codec_name)
    print(f"\n### Copies of {CODECS[codec_name]}\n")
    print("| shards | chunks | codec | wgslice-scale, s | zarrs_reencode, s | ratio | CPU, s | zarrs_reencode's, s |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for shard_shape, chunk_shape, to_codec in COPIES:
        shard, chunk = (",".join(map(str, sizes)) for sizes in (shard_shape, chunk_shape))
        codecs = {"none": "[]", "zstd": '[{"name": "zstd", "configuration": {"level": 3, "checksum": false}}]'}[to_codec]
        ours = [args.command, "slice", path, ":", "--codec", to_codec, "--threads", str(args.threads), "-o"]
        theirs = [args.reencode, f"--bytes-to-bytes-codecs={codecs}", path]
        forms = ["--shard", shard, "--chunk", chunk], ["--shard-shape", shard, "--chunk-shape", chunk]
        times = {"ours": [], "theirs": []}
        for _ in range(args.rounds):
            checksums = set()
            for side, command, form in zip(times, (ours, theirs), forms):
                out = args.folder / f"{side}.zarr"
                shutil.rmtree(out, ignore_errors=True)
                command = [*command[:2], *form, *command[2:], out]
                start_time, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
                environment = {**os.environ, "RAYON_NUM_THREADS": str(args.threads)}
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                times[side].append((time.perf_counter() - start_time, cpu))
                checksums.add(checksum(out))
            assert len(checksums) == 1, (shard, chunk, to_codec, checksums)
        (wall, cpu), (their_wall, their_cpu) = (
            [statistics.median(values) for values in zip(*times[side])] for side in times
        )
        cells = [str(list(shard_shape)), str(list(chunk_shape)), to_codec, f"{wall:.2f}", f"{their_wall:.2f}", f"{their_wall / wall:.2f}"]
        print("| " + " | ".join([*cells, f"{cpu:.2f}", f"{their_cpu:.2f}"]) + " |", flush=True)


# The shape of an array of u8, the shapes of shards and chunks, and the orders of dimensions in which chunks are stored.
TURNED = [
    ((512, 512, 512), (256, 256, 128), (64, 64, 64), [(2, 1, 0), (0, 2, 1)]),
    ((8192, 16384), (2048, 2048), (256, 256), [(1, 0)]),
]


def print_turned_table(args, sides_by_name):
    """Prints the times of copies from arrays with transposed chunks to row-major arrays, and README's table."""
    import numpy

    print(
        "| chunk | order | type | wgslice-scale, s | tensorstore, s | ratio | CPU, s | tensorstore's, s | ratio | zarrs-python, s "
        "| CPU, s | a copy, s | CPU, s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    readme_cells = {}
    for shape, shard_shape, chunk_shape, orders in TURNED:
        for dtype in ("uint8", "uint16", "float32", "float64"):
            # The first dimension is shorter for larger elements, so that all arrays have the same number of bytes.
            sizes = (shape[0] // numpy.dtype(dtype).itemsize, *shape[1:])
            random = numpy.random.default_rng(1)
            array = random.integers(0, 256, sizes).astype(dtype)
            spec = ", ".join(":" * len(sizes))
            for order in (None, *orders):
                path = args.folder / f"turned-{order}.zarr"
                shutil.rmtree(path, ignore_errors=True)
                create(path, sizes, "none", None, chunk_shape, dtype, order)[...] = array
            for order in orders:
                sides = {"wgslice": [], "tensorstore": [], "zarrs": [], "copy": []}
                outs = {side: args.folder / f"{side}.zarr" for side in sides}
                for _ in range(args.rounds):
                    for side, out in outs.items():
                        shutil.rmtree(out, ignore_errors=True)
                        path = args.folder / f"turned-{None if side == 'copy' else order}.zarr"
                        if side in ("wgslice", "copy"):
                            run = sides_by_name["wgslice"]
                            measured = run(args.command, path, out, spec, "none", args.threads, shard_shape, chunk_shape)
                        else:
                            create(out, sizes, "none", shard_shape, chunk_shape, dtype)
                            writes_all_at_once = [False] if side == "tensorstore" else []
                            measured = sides_by_name[side](path, out, spec, args.threads, *writes_all_at_once, shard_shape)
                        sides[side].append(measured)
                    checksums = {checksum(out) for out in outs.values()}
                    assert len(checksums) == 1, (order, dtype, checksums)
                minimum = lambda side, key: min(measured[key] for measured in sides[side])
                cells = [str(list(chunk_shape)), str(list(order)), dtype]
                for key in ("wall", "cpu"):
                    ours, theirs = minimum("wgslice", key), minimum("tensorstore", key)
                    cells += [f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.2f}"]
                cells += [f"{minimum(side, key):.2f}" for side in ("zarrs", "copy") for key in ("wall", "cpu")]
                print("| " + " | ".join(cells) + " |", flush=True)
                ratios = [ratio(minimum("tensorstore", key), minimum("wgslice", key)) for key in ("wall", "cpu")]
                copy_ratio = minimum("wgslice", "wall") / minimum("copy", "wall")
                cell = f"{ratios[0]} ({ratios[1]}), {copy_ratio:.1f}"
                readme_cells.setdefault(f"`{dtype}`", {})[f"{list(chunk_shape)} | {list(order)}"] = cell
    print_readme_table("chunk | order", readme_cells)


def ratio(theirs, ours):
    """Returns the other program's time ÷ wgslice-scale's time as text, in bold if the other program is faster."""
    text = f"{theirs / ours:.2f}"
    return text if float(text) >= 1 else f"**{text}**"


def print_readme_table(header, columns):
    """Prints README's table. `columns` has the cells of each column, by their rows."""
    print("\n### Ratios\n")
    print(f"| {header} | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + header.count("|") + 1) + "|")
    for row in next(iter(columns.values())):
        print(f"| {row} | " + " | ".join(column[row] for column in columns.values()) + " |")


def print_table(args, codec_name, shape, sides_by_name):
    """Prints the table for a source that is read from files. Returns the cells of README's table, by slice."""
    path = args.folder / f"source-{codec_name}.zarr"
    write_source(path, shape, codec_name)
    stored_bytes = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    print(f"\n### {CODECS[codec_name]}: {stored_bytes / 1e6:.0f} MB stored\n")
    print(
        "| slice | wgslice-scale, s | tensorstore, s | ratio | CPU, s | tensorstore's, s | ratio | MB read | tensorstore's "
        "| MB of memory | tensorstore's | zarrs-python, s | CPU, s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    readme_cells = {}
    for title, spec in CASES:
        if args.only and args.only != title:
            continue
        sides = {"wgslice": [], "tensorstore": [], "zarrs": []}
        for _ in range(args.rounds):
            outs = {side: args.folder / f"{side}.zarr" for side in sides}
            for out in outs.values():
                shutil.rmtree(out, ignore_errors=True)
            for side in ("tensorstore", "zarrs"):
                create(outs[side], [len(it) for it in ranges(spec, shape)], codec_name)
            run = sides_by_name["wgslice"]
            sides["wgslice"].append(run(args.command, path, outs["wgslice"], spec, codec_name, args.threads))
            sides["tensorstore"].append(sides_by_name["tensorstore"](path, outs["tensorstore"], spec, args.threads))
            sides["zarrs"].append(sides_by_name["zarrs"](path, outs["zarrs"], spec, args.threads))
            checksums = {side: checksum(out) for side, out in outs.items()}
            assert len(set(checksums.values())) == 1, (spec, checksums)
        minimum = lambda side, key: min(measured[key] for measured in sides[side])
        ours, theirs, zarrs = (lambda key, side=side: minimum(side, key) for side in sides)
        cells = [f"{title}: `{spec}`"]
        for key in ("wall", "cpu"):
            cells += [f"{ours(key):.2f}", f"{theirs(key):.2f}", f"{theirs(key) / ours(key):.2f}"]
        for key in ("read", "memory"):
            cells += [f"{ours(key) / 1e6:.0f}", f"{theirs(key) / 1e6:.0f}"]
        cells += [f"{zarrs('wall'):.2f}", f"{zarrs('cpu'):.2f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
        ratios = [ratio(theirs(key), ours(key)) for key in ("wall", "cpu")]
        readme_cells[cells[0]] = f"{ratios[0]} ({ratios[1]})"
    return readme_cells


def main():
    if sys.argv[1:2] == ["--side"]:
        return serve(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--command", help="the command wgslice-scale; without it, cargo builds one")
    parser.add_argument("--shape", default="512,512,512")
    parser.add_argument("--codec", choices=CODECS, action="append", help="only this codec")
    parser.add_argument("--only", choices=[title for title, _ in CASES], help="only this slice")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--reencode", help="compare copies of arrays with this command zarrs_reencode")
    parser.add_argument("--turned", action="store_true", help="copy arrays whose chunks are transposed")
    parser.add_argument("--latency", type=float, help="read by HTTP, from a server that answers after this many ms")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    python = args.folder / "venv/bin/python"
    if Path(sys.prefix).resolve() != (args.folder / "venv").resolve():
        if not (args.folder / "venv/complete").exists():
            venv.create(args.folder / "venv", with_pip=True, clear=True)
            install = [python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", HERE / "requirements.txt"]
            subprocess.run(install, check=True)
            (args.folder / "venv/complete").touch()
        os.execv(python, [python, *sys.argv])
    if args.command is None:
        manifest = HERE.parent / "Cargo.toml"
        build = ["cargo", "build", "--release", "--locked", "--manifest-path", manifest]
        if args.latency is not None:
            build += ["--features", "object-stores"]
        subprocess.run(build, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
        args.command = target / "release/wgslice-scale"
    from importlib.metadata import version

    shape = tuple(map(int, args.shape.split(",")))
    array_bytes = 4
    for size in shape:
        array_bytes *= size
    statistic = "the best" if args.latency is None and args.reencode is None else "the median"
    print(
        f"int32 {list(shape)} in shards of {list(SHARD_SHAPE)} and chunks of {list(CHUNK_SHAPE)}, {array_bytes / 1e6:.0f} MB; "
        f"{args.threads} threads, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {statistic} of {args.rounds} "
        f"rounds; tensorstore {version('tensorstore')}, zarr {version('zarr')}, zarrs {version('zarrs')}"
    )
    if args.reencode is not None:
        for codec_name in args.codec or CODECS:
            print_reencoding_table(args, codec_name, shape)
        return
    if args.latency is not None:
        server = [sys.executable, HERE / "delayed_server.py", args.folder, str(args.latency)]
        server = subprocess.Popen(server, stdout=subprocess.PIPE, text=True)
        try:
            port = int(server.stdout.readline())
            sides_by_name = {side: Side(side) for side in ("wgslice", "tensorstore")}
            columns = {name: print_far_table(args, name, shape, sides_by_name, port) for name in args.codec or CODECS}
            print_readme_table("slice", columns)
        finally:
            server.terminate()
        return
    sides_by_name = {side: Side(side) for side in ("wgslice", "tensorstore", "zarrs")}
    if args.turned:
        print_turned_table(args, sides_by_name)
        return
    columns = {name: print_table(args, name, shape, sides_by_name) for name in args.codec or CODECS}
    print_readme_table("slice", columns)


if __name__ == "__main__":
    main()
