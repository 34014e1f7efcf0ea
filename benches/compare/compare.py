"""Runs wgslice and its peers alternately in several rounds and writes a table of ratios.

    cargo build --release
    python3 benches/compare/compare.py

It needs only Python's standard library. Each peer is installed in its own virtual
environment under target/compare. README.md in this folder explains the table.
"""

import argparse
import collections
import datetime
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FOLDER = TARGET / "compare"

# The packages that each peer needs. Their versions are pinned, so that all tables compare the same versions.
PEERS = {
    "numpy": ["numpy==2.4.6"],
    "jax": ["jax==0.10.2"],
    "tensorflow": ["tensorflow-cpu==2.21.0"],
    "torch": ["torch==2.15.0", "numpy==2.4.6"],
    "numba": ["numba==0.68.1"],
}

# For each mode of wgslice, its name in the table and the peers' mode that it is compared with. The peers have only one
# mode with new results, so both modes of wgslice with new results are compared with it.
WAYS = {
    "resident": ("reused output", "resident"),
    "fresh": ("new output", "fresh"),
    "tensors": ("new tensor", "fresh"),
}
GPU_WAYS = {"resident": "on the GPU", "e2e": "from host to host"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peers", default=",".join(PEERS), help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--reps", type=int, default=5, help="runs in a round; default: %(default)s")
    parser.add_argument("--only", default="", metavar="W1,W3,...")
    parser.add_argument("--workloads", default=str(ROOT / "cli/src/bench/workloads.json"))
    parser.add_argument(
        "--wgslice",
        default=os.environ.get("WGSLICE", str(TARGET / "release" / "wgslice")),
        help="the command to measure; default: %(default)s",
    )
    parser.add_argument("--gpu", action="store_true", help="also measure wgslice on a GPU")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PEER=PATH",
        help="a Python that has the peer already, instead of a virtual environment",
    )
    for option, where in ("--program", "the CPU"), ("--gpu-program", "a GPU"):
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar="PEER=COMMAND",
            help=f"another program to compare, on {where}: it appends its lines to {{jsonl}}; "
            "{workloads}, {only} and {reps} stand for the options",
        )
    parser.add_argument(
        "--keep", action="store_true", help="add to the lines of earlier runs, of other workloads"
    )
    parser.add_argument("--out", default=str(FOLDER / "RATIOS.md"), help="default: %(default)s")
    args = parser.parse_args()
    args.peers = [peer for peer in args.peers.split(",") if peer]
    args.python = dict(given.split("=", 1) for given in args.python)
    args.program = dict(given.split("=", 1) for given in args.program)
    args.gpu_program = dict(given.split("=", 1) for given in args.gpu_program)
    if args.gpu_program and not args.gpu:
        parser.error("--gpu-program is compared with wgslice on a GPU: give --gpu too")
    unknown = set(args.peers) | set(args.python)
    if unknown := unknown - set(PEERS):
        parser.error(f"unknown peer {', '.join(sorted(unknown))}: there are {', '.join(PEERS)}")
    return args


def python_of(peer, given):
    """Returns the path of a Python that has the peer: the given path, or a virtual environment, made if necessary."""
    if peer in given:
        return given[peer]
    folder = FOLDER / peer
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    marker = folder / "installed"
    packages = "\n".join(PEERS[peer])
    if not marker.exists() or marker.read_text() != packages:
        print(f"installing {peer} in {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PEERS[peer]], check=True)
        marker.write_text(packages)
    return str(python)


def commands(args, jsonl):
    """Yields the name and the command of each program, in the order in which each round runs them."""
    shared = ["--workloads", args.workloads, "--reps", str(args.reps)]
    if args.only:
        shared += ["--only", args.only]
    for device in ["cpu", "gpu"] if args.gpu else ["cpu"]:
        yield f"wgslice-{device}", [args.wgslice, "bench", *shared, "--json", "--device", device]
    for peer in args.peers:
        python, program = python_of(peer, args.python), str(HERE / f"{peer}_peer.py")
        yield peer, [python, program, *shared, "--jsonl", str(jsonl)]
    options = dict(workloads=args.workloads, only=args.only, reps=args.reps, jsonl=jsonl)
    for peer, command in (args.program | args.gpu_program).items():
        yield peer, [part.format_map(options) for part in shlex.split(command)]


def append_report(peer, report, jsonl):
    """Appends wgslice's times to the file, without checksums: wgslice compares every bit of its results itself."""
    device = report["devices"][0]
    modes = {"resident": "resident", "host_to_host": "fresh" if device["kind"] == "cpu" else "e2e"}
    modes["tensors"] = "tensors"
    version = f"wgslice {report['version']}"
    lines = [dict(workload="version", version=version, adapter=device["name"])]
    for workload, row in zip(report["workloads"], device["rows"]):
        if row["error"]:
            lines.append(dict(workload=row["workload"], mode="resident", error=row["error"]))
        for quantity, mode in modes.items():
            if quantity in row["seconds"]:
                times = row["seconds"][quantity]["times"]
                line = dict(workload=row["workload"], mode=mode, times=times)
                lines.append(line | dict(out_bytes=workload["bytes"] // 2))
    with open(jsonl, "a") as file:
        for line in lines:
            file.write(json.dumps({"peer": peer, **line}) + "\n")


def measure(args, jsonl):
    """Runs all programs in all rounds. Returns a message for each run of a program that failed."""
    if not args.keep:
        jsonl.unlink(missing_ok=True)
    runs = list(commands(args, jsonl))
    problems = []
    for round_number in range(1, args.rounds + 1):
        for name, command in runs:
            print(f"round {round_number} of {args.rounds}: {name}", file=sys.stderr)
            process = subprocess.run(command, capture_output=True, text=True)
            if process.returncode:
                output = (process.stderr + process.stdout).strip()
                problem = f"{name} ended with exit code {process.returncode} in round {round_number}"
                problems.append(problem)
                print(f"{output[-2000:]}\n{problem}", file=sys.stderr)
            if name.startswith("wgslice-") and process.stdout:
                append_report(name, json.loads(process.stdout), jsonl)
    return problems


class Results:
    """The median times and the errors of all rounds. A time counts only if the result has the workload's checksum."""

    def __init__(self, jsonl, workloads):
        with open(workloads) as file:
            checksums = {w["id"]: w.get("checksum") for w in json.load(file)["workloads"]}
        times = collections.defaultdict(list)
        self.versions, self.errors, self.bytes = {}, {}, {}
        self.adapter = "a GPU"
        with open(jsonl) as file:
            for line in map(json.loads, file):
                key = line["peer"], line["workload"], line.get("mode")
                expected_checksum = checksums.get(line["workload"])
                if line["workload"] == "version":
                    self.versions[line["peer"]] = line["version"]
                    if line["peer"] == "wgslice-gpu":
                        self.adapter = line["adapter"]
                elif line["workload"] not in checksums:
                    continue
                elif "error" in line:
                    self.errors[key] = line["error"]
                elif expected_checksum not in (None, line.get("checksum", expected_checksum)):
                    self.errors[key] = f"the checksum is {line['checksum']}, which is wrong"
                else:
                    times[key] += line["times"]
                    if "out_bytes" in line:
                        self.bytes[line["workload"]] = 2 * line["out_bytes"]
        self.times = {key: statistics.median(key_times) for key, key_times in times.items()}
        spreads = [max(t) / min(t) for t in times.values() if len(t) > 2]
        self.spread = statistics.median(spreads) if spreads else 1.0

    def rate(self, peer, workload, mode):
        seconds = self.times.get((peer, workload, mode))
        return f"{self.bytes[workload] / seconds / 1e9:.3g}" if seconds else "-"

    def ratio(self, peer, workload, mode, own="wgslice-cpu", own_mode=None):
        """Returns the peer's time ÷ wgslice's time in `own_mode` (default: `mode`), or None without both times."""
        own_time = self.times.get((own, workload, own_mode or mode))
        peer_time = self.times.get((peer, workload, mode))
        return peer_time / own_time if own_time and peer_time else None


def table(args, results):
    ids = list(results.bytes)
    yield "| | " + " | ".join(ids) + " |"
    yield "|---" * (len(ids) + 1) + "|"

    def row(name, cells):
        return f"| {name} | " + " | ".join(cells) + " |"

    for mode, (way, _) in WAYS.items():
        yield row(f"wgslice on the CPU, {way}, GB/s", [results.rate("wgslice-cpu", i, mode) for i in ids])
    if args.gpu:
        rates = [results.rate("wgslice-gpu", i, "resident") for i in ids]
        yield row(f"wgslice on {results.adapter}, GB/s", rates)
    for own_mode, (way, mode) in WAYS.items():
        peers = [*args.peers, *args.program]
        columns = {
            peer: [results.ratio(peer, i, mode, own_mode=own_mode) for i in ids] for peer in peers
        }
        for peer, ratios in columns.items():
            if any(ratios):
                yield row(f"{peer}, {way}", [f"{r:.2f}" if r else "-" for r in ratios])
        best = [min(filter(None, column), default=None) for column in zip(*columns.values())]
        if any(best):
            yield row(f"**best peer, {way}**", [f"**{r:.2f}**" if r else "-" for r in best])
    for mode, way in GPU_WAYS.items():
        for peer in args.gpu_program:
            ratios = [results.ratio(peer, i, mode, "wgslice-gpu") for i in ids]
            if any(ratios):
                yield row(f"{peer}, {way}", [f"{r:.2f}" if r else "-" for r in ratios])


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(": ", 1)[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def page(args, results, problems):
    yield f"{datetime.date.today()}, {processor()}, {os.cpu_count()} threads, {platform.platform()}"
    yield ""
    yield (
        f"A peer's time ÷ wgslice's time on the peer's device, the CPU or the GPU; medians of "
        f"{args.rounds * args.reps} runs in {args.rounds} alternating rounds. Above 1, wgslice is faster. "
        f"In the median of all cells, the slowest run took {results.spread:.2f} times as long as the fastest."
    )
    yield ""
    yield from table(args, results)
    yield ""
    yield "; ".join(f"{peer}: {version}" for peer, version in results.versions.items())
    for (peer, workload, mode), error in results.errors.items():
        yield f"- {peer} {workload} {mode}: {error}"
    for problem in problems:
        yield f"- {problem}"


def main():
    args = parse_arguments()
    FOLDER.mkdir(parents=True, exist_ok=True)
    jsonl = FOLDER / "results.jsonl"
    problems = measure(args, jsonl)
    text = "\n".join(page(args, Results(jsonl, args.workloads), problems)) + "\n"
    Path(args.out).write_text(text)
    print(text, end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
