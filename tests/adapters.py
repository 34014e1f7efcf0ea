"""Runs the suites on every adapter, and prints and writes the table; tests/run-adapters builds and calls this."""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- adapters {signature} -->", "<!-- end of adapters -->"
VECTORS = ROOT / "tests/vectors/seed1.jsonl"

SUITES = ["golden vectors", "random cases", "tests", "ONNX's node tests"]

# Tests that run on each device of the harness, those of the library's interface to GPUs, and a part of the first in which
# every kind of shader stores something.
ON_DEVICES = [
    "crop::",
    "devices::",
    "gather::",
    "gather_elements::",
    "gather_nd::",
    "property::",
    "scatter_elements::",
    "scatter_nd::",
    "slice::",
    "strided_slice_grad::",
    "strided_slice_update::",
    "view::",
]
ON_GPUS = [*ON_DEVICES, "browser::", "encode::", "failures::", "gpu::", "prepare::", "texture::"]
SOME = [
    "strided_slice::",
    "strided_slice_update::",
    "strided_slice_grad::",
    "texture::",
    "gather::every_axis",
    "gather_nd::slices_of_every_length",
    "scatter_nd::slices_of_every_length",
    "scatter_nd::floats_are",
    "scatter_nd::halves_are",
]
# One test goes through all lines of this file.
ONNX = ["onnx_nodes::"]
ONNX_NODES = ROOT / "tests/vectors/onnx.jsonl"
# Limits and refusals on a device that computes nothing.
NOOP_TESTS = ["limits::"]
NOOP_UNITS = ["gpu::cache_tests::"]

# What runs of the first three suites on an adapter: every nth golden vector, random cases, and names of tests.
QUICK = {
    "cpu": (1, 3000, ON_DEVICES),
    "lavapipe": (1, 2000, SOME),
    "swiftshader": (20, 200, ["strided_slice::", "texture::", "scatter_nd::floats_are"]),
    "gl": (1, 2000, SOME),
    "hardware": (1, 2000, ON_GPUS),
    "strict": (20, 100, SOME),
}
FULL = {
    "cpu": (1, 10000, ON_DEVICES),
    "lavapipe": (1, 10000, ON_GPUS),
    "swiftshader": (1, 10000, ON_GPUS),
    "gl": (1, 10000, ON_GPUS),
    "hardware": (1, 10000, ON_GPUS),
    "strict": (1, 10000, ON_DEVICES),
}

# Adapters of other systems, which only the workflow has.
ELSEWHERE = {"Direct3D 12: WARP (Windows)": "native", "Metal (macOS)": "native"}


def kept(name, mode):
    """The file with the rows of an adapter, of these sources, suites and mode: a long run can be done in parts."""
    trees = subprocess.check_output(["git", "rev-parse", "HEAD:src", "HEAD:shaders"], cwd=ROOT, text=True)
    key = hashlib.sha256(f"{trees}{signature()}{mode}".encode()).hexdigest()[:12]
    folder = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "adapters"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}-{key}.json"


class NotRun(Exception):
    """Why a row was not run."""


def signature():
    """Changes with the suites and the adapters, but not with how the table looks."""
    vectors = [path.read_bytes() for path in sorted((ROOT / "tests/vectors").glob("*.jsonl"))]
    parts = repr((SUITES, ONNX, NOOP_TESTS, NOOP_UNITS, QUICK, FULL, ELSEWHERE)).encode()
    return hashlib.sha256(b"\0".join([parts, *vectors])).hexdigest()[:12]


def run(command, environment):
    """Runs a command, and returns its exit status and its output."""
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def show(output):
    print("\n".join(output.splitlines()[-40:]))


class Rows:
    """The rows of the table so far."""

    def __init__(self, options):
        self.options = options
        self.rows = []
        self.notes = []

    # Suites: each returns how many passed and how many failed.

    def verify(self, arguments, environment):
        status, output = run([self.options.command, "verify", *arguments], environment)
        counts = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.M)
        if not counts or status not in (0, 1) or (status == 0) != (counts[-1][1] == "0"):
            show(output)
            raise RuntimeError(f"verify ends with {status}")
        if counts[-1][1] != "0":
            show(output)
        return tuple(map(int, counts[-1]))

    def tested(self, binary, names, environment):
        status, output = run([binary, *names, "--test-threads", os.cpu_count()], environment)
        counts = re.findall(r"^test result: .* (\d+) passed; (\d+) failed;", output, re.M)
        if len(counts) != 1 or (status == 0) != (counts[0][1] == "0"):
            show(output)
            raise RuntimeError(f"{binary} ends with {status}")
        if counts[0][1] != "0":
            show(output)
        passed, failed = map(int, counts[0])
        if passed + failed == 0:
            raise RuntimeError(f"no test is named {names}")
        return passed, failed

    def onnx(self, environment):
        nodes = len(ONNX_NODES.read_text().splitlines())
        passed, _ = self.tested(self.options.tests, ONNX, environment)
        return (nodes, 0) if passed else (0, nodes)

    def part_of_vectors(self, every):
        if every == 1:
            return VECTORS
        lines = VECTORS.read_text().splitlines(keepends=True)
        part = self.options.command.parent / f"every-{every}th.jsonl"
        part.write_text("".join(lines[::every]))
        return part

    def row(self, title, suites):
        """Runs a row's suites, each a function or why there is none."""
        cells = []
        for name, suite in zip(SUITES, suites, strict=True):
            if not callable(suite):
                cells.append(suite)
                continue
            start = time.monotonic()
            print(f"\n== {title}: {name}", flush=True)
            passed, failed = suite()
            print(f"{passed} passed, {failed} failed in {time.monotonic() - start:.0f} s", flush=True)
            cells.append((passed, failed))
        self.rows.append((title, cells))

    def adapter(self, kind, title, arguments, environment, tested_as):
        """A row of an adapter that runs shaders, or of the CPU path."""
        every, cases, names = (FULL if self.options.full else QUICK)[kind]
        # Tests fail if no device has this in its name.
        environment = {**environment, "WGSLICE_TEST_DEVICES": tested_as}
        tests = self.options.tests
        self.row(
            title,
            [
                lambda: self.verify([self.part_of_vectors(every), *arguments], environment),
                lambda: self.verify(["--random", cases, *arguments], environment),
                lambda: self.tested(tests, names, environment),
                lambda: self.onnx(environment),
            ],
        )

    def adapters(self, environment):
        """What the command finds in an environment."""
        status, output = run([self.options.command, "info", "--device", "gpu", "--json"], environment)
        found = output[output.find("{") :]
        return [adapter for adapter in json.loads(found)["adapters"] if adapter["fits"]]

    def software(self, kind, api, name, environment):
        """A row of a software adapter that the environment leaves alone."""
        found = self.adapters(environment)
        if len(found) != 1 or found[0]["kind"] != "software":
            raise NotRun("it is not on this machine")
        title = f"{api}: {name}, {chromium() if kind == 'swiftshader' else found[0]['driver']}"
        tested = f"software, {'Gl' if kind == 'gl' else 'Vulkan'}"
        environment = {**environment, "WGSLICE_REQUIRE_GPU": "1"}
        self.adapter(kind, title, ["--device", "gpu"], environment, tested)

    # Adapters, by their names in WGSLICE_TEST_ADAPTERS.

    def cpu(self):
        self.adapter("cpu", "CPU path", ["--device", "cpu"], NO_DRIVERS, "CPU")

    def lavapipe(self):
        self.software("lavapipe", "Vulkan", "lavapipe", vulkan(os.environ["WGSLICE_LAVAPIPE"]))

    def swiftshader(self):
        self.software("swiftshader", "Vulkan", "SwiftShader", vulkan(os.environ["WGSLICE_SWIFTSHADER"]))

    def gl(self):
        environment = {**NO_DRIVERS, "WGPU_BACKEND": "gl", "LIBGL_ALWAYS_SOFTWARE": "1"}
        self.software("gl", "OpenGL", "llvmpipe", environment)

    def hardware(self):
        everything = {"WGPU_BACKEND": "vulkan,metal,dx12,gl"}
        found = [adapter for adapter in self.adapters(everything) if adapter["kind"] != "software"]
        for adapter in found:
            title = f"{adapter['api']}: {adapter['name']}, {adapter['driver']}"
            environment = {
                "WGPU_BACKEND": adapter["api"].lower(),
                "WGPU_ADAPTER_NAME": adapter["name"],
                "WGSLICE_REQUIRE_GPU": "1",
            }
            self.adapter("hardware", title, ["--device", "gpu"], environment, adapter["name"])
        if not found:
            self.notes.append("This machine has no hardware GPU.")

    def strict(self):
        self.adapter("strict", "`strict`, the interpreter of shaders", ["--strict"], NO_DRIVERS, "strict")

    def noop(self):
        def both():
            environment = {**NO_DRIVERS, "WGPU_BACKEND": "noop"}
            here = self.tested(self.options.tests, NOOP_TESTS, environment)
            units = self.tested(self.options.units, NOOP_UNITS, environment)
            return here[0] + units[0], here[1] + units[1]

        self.row("wgpu's `noop`, which runs no shader", ["–", "–", both, "–"])

    def browser(self):
        script = ROOT / "web/tests/run"
        if not script.exists():
            raise NotRun("there is no web/tests/run")
        self.script("WebGPU in Chromium on SwiftShader", script)

    def compilers(self):
        _, output = self.script(None, ROOT / "tests/run-compilers")
        lines = output[output.rindex("== Summary") :].splitlines()
        shaders = lines[1].split()[0]
        read = []
        for line in lines[3:]:
            columns = re.split(r"  +", line.strip())
            if columns[0] == "naga" or len(columns) < 4:
                continue
            compiler, what, accepted, refused = columns
            read.append(f"{compiler} ({what}) {accepted}" + (f", **{refused} refused**" if refused != "0" else ""))
        self.notes.append(f"Of {shaders} shaders, other compilers accept: {'; '.join(read)}.")

    def script(self, title, script):
        """A suite of its own, whose last line is its count."""
        print(f"\n== {script.relative_to(ROOT)}", flush=True)
        status, output = run(["bash", script], {})
        counts = re.findall(r"^(\d+) passed, (\d+) failed", output, re.M)
        if status != 0 or not counts:
            show(output)
        if not counts:
            raise RuntimeError(f"{script} ends with {status}")
        passed, failed = map(int, counts[-1])
        print(f"{passed} passed, {failed} failed")
        if status != 0:
            failed = max(failed, 1)
        if title:
            self.rows.append((title, ["–", "–", (passed, failed), "–"]))
        elif failed:
            self.rows.append((script.name, ["–", "–", (passed, failed), "–"]))
        return failed, output


# No driver of Vulkan, and none of OpenGL.
NO_DRIVERS = {
    "VK_ICD_FILENAMES": "/nonexistent",
    "VK_DRIVER_FILES": "/nonexistent",
    "__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent",
}
ADAPTERS = ["cpu", "lavapipe", "swiftshader", "gl", "hardware", "strict", "noop", "browser", "compilers"]


def vulkan(manifest):
    """An environment in which this is the only driver."""
    if not manifest:
        raise NotRun("it is not on this machine")
    return {**NO_DRIVERS, "VK_ICD_FILENAMES": manifest, "VK_DRIVER_FILES": manifest, "WGPU_BACKEND": "vulkan"}


def chromium():
    """SwiftShader does not know its version."""
    for folder, command in [
        (pathlib.Path(os.environ["WGSLICE_SWIFTSHADER"]).parents[3], ["cat", "version"]),
        ("/", ["dpkg-query", "--show", "--showformat", "${Version}", "chromium-common"]),
    ]:
        found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return f"of Chromium {found.stdout.strip()}"
    return "of an unknown version"


def cell(value):
    if isinstance(value, str):
        return value
    passed, failed = value
    return f"{passed}" if failed == 0 else f"{passed}, **{failed} failed**"


def table(rows, mode):
    lines = ["| adapter | " + " | ".join(SUITES) + " |", "|---" * (len(SUITES) + 1) + "|"]
    lines += [f"| {title} | {' | '.join(map(cell, cells))} |" for title, cells in rows.rows]
    system = platform.freedesktop_os_release()["PRETTY_NAME"].split(" (")[0]
    made = f"Passed, none failed unless it says so: `bash tests/run-adapters{mode}`, {datetime.date.today()}, {system}."
    return "\n".join([*lines, "", " ".join([made, *rows.notes])])


def written():
    """README before the table, the table with its signature, and README after it."""
    pattern = re.compile(r"(<!-- adapters \w+ -->\n)(.*?)(" + re.escape(END) + ")", re.S)
    found = pattern.search(README.read_text())
    if not found:
        sys.exit(f"README.md has no place for the table, {BEGIN} to {END}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--check", action="store_true")
    for name in ["command", "tests", "units"]:
        parser.add_argument(f"--{name}", type=lambda path: pathlib.Path(path).resolve())
    options = parser.parse_args()
    if options.check:
        fits = written()[1] == BEGIN.format(signature=signature()) + "\n"
        print("README's table is of the present suites" if fits else "README's table is of other suites than these")
        print("1 passed, 0 failed" if fits else "0 passed, 1 failed")
        sys.exit(not fits)

    chosen = [name for name in os.environ.get("WGSLICE_TEST_ADAPTERS", "").split(",") if name]
    unknown = set(chosen) - set(ADAPTERS)
    if unknown:
        sys.exit(f"WGSLICE_TEST_ADAPTERS: no {', '.join(sorted(unknown))}; there are {', '.join(ADAPTERS)}")
    mode = " --full" if options.full else ""
    absent = 0
    for name in chosen or ADAPTERS:
        rows = Rows(options)
        try:
            getattr(rows, name)()
        except NotRun as reason:
            print(f"\n== {name}: not run, {reason}")
            rows.rows.append((name, [f"not run: {reason}"] + ["–"] * (len(SUITES) - 1)))
            absent += 1
        kept(name, mode).write_text(json.dumps([rows.rows, rows.notes]))

    rows = Rows(options)
    missing = [name for name in ADAPTERS if not kept(name, mode).exists()]
    for name in ADAPTERS:
        if name not in missing:
            more, notes = json.loads(kept(name, mode).read_text())
            rows.rows += more
            rows.notes += notes
    for title, job in ELSEWHERE.items():
        rows.rows.append((title, [f"by the workflow's job `{job}`, not here"] + ["–"] * (len(SUITES) - 1)))

    text = table(rows, mode)
    print(f"\n== Summary\n{text}")
    counts = [value for _, cells in rows.rows for value in cells if not isinstance(value, str)]
    passed, failed = (sum(count[place] for count in counts) for place in (0, 1))
    if absent and os.environ.get("WGSLICE_REQUIRE_GPU") == "1":
        print("WGSLICE_REQUIRE_GPU=1, but not every adapter was there")
        failed += absent
    if missing:
        print(f"README is as it was: not run yet, {', '.join(missing)}")
    else:
        place = written()
        readme = README.read_text()
        made = f"{BEGIN.format(signature=signature())}\n{text}\n{END}"
        README.write_text(readme[: place.start()] + made + readme[place.end() :])
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
