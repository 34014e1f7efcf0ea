"""Runs the test suites on every adapter and writes the table of docs/TESTING.md. `bash tests/run adapters` calls this
script."""

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
import textwrap
import time

from suites import ELSEWHERE, FULL, NOOP_TESTS, NOOP_UNITS, ONNX, ONNX_NODES, QUICK, ROOT, SUITES, VECTORS, signature

PAGE = ROOT / "docs/TESTING.md"
BEGIN_MARKER, END_MARKER = "<!-- adapters {signature} -->", "<!-- end of adapters -->"


def rows_path(name, mode):
    """Returns the path of the file that keeps the rows of an adapter, so that a long run can be done in parts.

    The file's name has a hash of the suites, the mode and the committed sources. For `compilers`, these sources are
    only the shaders and `src/gpu`, which assembles them.
    """
    folder = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "adapters"
    folder.mkdir(parents=True, exist_ok=True)
    sources = ["HEAD:src/gpu" if name == "compilers" else "HEAD:src", "HEAD:shaders"]
    trees = subprocess.check_output(["git", "rev-parse", *sources], cwd=ROOT, text=True)
    return folder / f"{name}-{hashlib.sha256(f'{trees}{signature()}{mode}'.encode()).hexdigest()[:12]}.json"


class NotRun(Exception):
    """Raised if an adapter cannot be run; the message is the reason."""


def run(command, environment):
    """Runs a command, and returns its exit status and its output."""
    finished = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, "WGSLICE_TEST_ALL": "1", **environment},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return finished.returncode, finished.stdout


def show_end(output):
    print("\n".join(output.splitlines()[-40:]))


class Rows:
    """Runs the suites on adapters, and collects the rows and the notes of the table."""

    def __init__(self, options):
        self.options = options
        self.rows = []
        self.notes = []

    # The suites. Each returns how many tests or cases passed and how many failed.

    def verify(self, arguments, environment):
        status, output = run([self.options.command, "verify", *arguments], environment)
        counts = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.M)
        if not counts or status not in (0, 1) or (status == 0) != (counts[-1][1] == "0"):
            show_end(output)
            raise RuntimeError(f"verify ends with {status}")
        if counts[-1][1] != "0":
            show_end(output)
        return tuple(map(int, counts[-1]))

    def run_tests(self, binary, names, environment):
        status, output = run([binary, *names, "--test-threads", os.cpu_count()], environment)
        counts = re.findall(r"^test result: .* (\d+) passed; (\d+) failed;", output, re.M)
        if len(counts) != 1 or (status == 0) != (counts[0][1] == "0"):
            show_end(output)
            raise RuntimeError(f"{binary} ends with {status}")
        if counts[0][1] != "0":
            show_end(output)
        passed, failed = map(int, counts[0])
        if passed + failed == 0:
            raise RuntimeError(f"no test is named {names}")
        return passed, failed

    def onnx(self, environment):
        node_count = len(ONNX_NODES.read_text().splitlines())
        passed, _ = self.run_tests(self.options.tests, ONNX, environment)
        return (node_count, 0) if passed else (0, node_count)

    def part_of_vectors(self, interval):
        if interval == 1:
            return VECTORS
        lines = VECTORS.read_text().splitlines(keepends=True)
        part_path = self.options.command.parent / f"every-{interval}th.jsonl"
        part_path.write_text("".join(lines[::interval]))
        return part_path

    def add_row(self, title, suites):
        """Runs a row's suites and adds the row. A suite is a function, or the text of its cell if it is skipped."""
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

    def add_adapter(self, kind, title, arguments, environment, tested_as):
        """Adds the row of an adapter that runs shaders, or of the CPU path."""
        interval, case_count, test_names = (FULL if self.options.full else QUICK)[kind]
        # The CPU path and `strict` need no adapter. The tests fail if no device has the text `tested_as` in its name.
        environment = {"WGSLICE_REQUIRE_GPU": "0", **environment, "WGSLICE_TEST_DEVICES": tested_as}
        tests = self.options.tests
        self.add_row(
            title,
            [
                lambda: self.verify([self.part_of_vectors(interval), *arguments], environment),
                lambda: self.verify(["--random", case_count, *arguments], environment),
                lambda: self.run_tests(tests, test_names, environment),
                lambda: self.onnx(environment),
            ],
        )

    def adapters(self, environment):
        """Returns the usable adapters that the command finds in an environment."""
        status, output = run([self.options.command, "info", "--device", "gpu", "--json"], environment)
        # Without an adapter the command fails, and prints a message after the JSON.
        info, _ = json.JSONDecoder().raw_decode(output[output.index("{") :])
        return [adapter for adapter in info["adapters"] if adapter["fits"]]

    def add_software_adapter(self, kind, api, name, environment):
        """Adds the row of a software adapter, which must be the only adapter in the environment."""
        adapters = self.adapters(environment)
        if len(adapters) != 1 or adapters[0]["kind"] != "software":
            raise NotRun("it is not on this machine")
        title = f"{api}: {name}, {chromium() if kind == 'swiftshader' else adapters[0]['driver']}"
        tested_as = f"software, {'Gl' if kind == 'gl' else 'Vulkan'}"
        environment = {**environment, "WGSLICE_REQUIRE_GPU": "1"}
        self.add_adapter(kind, title, ["--device", "gpu"], environment, tested_as)

    # The adapters. The name of each method is the name of the adapter in WGSLICE_TEST_ADAPTERS.

    def cpu(self):
        self.add_adapter("cpu", "CPU path", ["--device", "cpu"], NO_DRIVERS, "CPU")

    def lavapipe(self):
        self.add_software_adapter("lavapipe", "Vulkan", "lavapipe", vulkan(os.environ["WGSLICE_LAVAPIPE"]))

    def swiftshader(self):
        self.add_software_adapter("swiftshader", "Vulkan", "SwiftShader", vulkan(os.environ["WGSLICE_SWIFTSHADER"]))

    def gl(self):
        environment = {**NO_VULKAN, "WGPU_BACKEND": "gl", "LIBGL_ALWAYS_SOFTWARE": "1"}
        self.add_software_adapter("gl", "OpenGL", "llvmpipe", environment)

    def hardware(self):
        all_apis = {"WGPU_BACKEND": "vulkan,metal,dx12,gl"}
        adapters = [adapter for adapter in self.adapters(all_apis) if adapter["kind"] != "software"]
        for adapter in adapters:
            title = f"{adapter['api']}: {adapter['name']}, {adapter['driver']}"
            environment = {
                "WGPU_BACKEND": adapter["api"].lower(),
                "WGPU_ADAPTER_NAME": adapter["name"],
                "WGSLICE_REQUIRE_GPU": "1",
            }
            self.add_adapter("hardware", title, ["--device", "gpu"], environment, adapter["name"])
        if not adapters:
            self.notes.append("This machine has no hardware GPU.")

    def strict(self):
        self.add_adapter("strict", "`strict`, the interpreter of shaders", ["--strict"], NO_DRIVERS, "strict")

    def noop(self):
        def run_both():
            environment = {**NO_DRIVERS, "WGPU_BACKEND": "noop"}
            test_counts = self.run_tests(self.options.tests, NOOP_TESTS, environment)
            unit_counts = self.run_tests(self.options.units, NOOP_UNITS, environment)
            return test_counts[0] + unit_counts[0], test_counts[1] + unit_counts[1]

        self.add_row("wgpu's `noop`, which runs no shader", ["–", "–", run_both, "–"])

    def browser(self):
        script = ROOT / "web/tests/run"
        if not script.exists():
            raise NotRun("there is no web/tests/run")
        # The browser's random cases take most of the time.
        environment = {} if self.options.full else {"WGSLICE_CASES": "300"}
        self.run_script("WebGPU in Chromium on SwiftShader", script, environment)

    def compilers(self):
        _, output = self.run_script(None, ROOT / "tests/scripts/compilers")
        lines = output[output.rindex("== Summary") :].splitlines()
        compilers_of_share = {}
        for line in lines[3:]:
            columns = re.split(r"  +", line.strip())
            if columns[0] == "naga" or len(columns) < 4:
                continue
            compiler, shader_format, accepted, rejected = columns
            share = "all" if rejected == "0" else f"{accepted} of"
            compilers_of_share.setdefault(f"{share} {int(accepted) + int(rejected)}", []).append(
                f"{compiler} ({shader_format})"
            )
        groups = "; ".join(f"{share} by {', '.join(compilers)}" for share, compilers in compilers_of_share.items())
        self.notes.append(f"Shaders with every setting of their constants, accepted by compilers: {groups}.")

    def run_script(self, title, script, environment=None):
        """Runs a script and adds its row. The last line `N passed, N failed` of its output has the counts. Without a
        title, a row is added only if a check has failed."""
        print(f"\n== {script.relative_to(ROOT)}", flush=True)
        status, output = run(["bash", script], environment or {})
        counts = re.findall(r"^(\d+) passed, (\d+) failed", output, re.M)
        if status != 0 or not counts:
            show_end(output)
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


NO_VULKAN = {"VK_ICD_FILENAMES": "/nonexistent", "VK_DRIVER_FILES": "/nonexistent"}
# An environment without drivers of Vulkan and OpenGL.
NO_DRIVERS = {**NO_VULKAN, "__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent"}
ADAPTERS = ["cpu", "lavapipe", "swiftshader", "gl", "hardware", "strict", "noop", "browser", "compilers"]


def vulkan(manifest):
    """Returns an environment in which the driver of this manifest is the only driver."""
    if not manifest:
        raise NotRun("it is not on this machine")
    return {**NO_DRIVERS, "VK_ICD_FILENAMES": manifest, "VK_DRIVER_FILES": manifest, "WGPU_BACKEND": "vulkan"}


def chromium():
    """Returns the version of the Chromium that contains SwiftShader, which does not report its own version."""
    for folder, command in [
        (pathlib.Path(os.environ["WGSLICE_SWIFTSHADER"]).parents[3], ["cat", "version"]),
        ("/", ["dpkg-query", "--show", "--showformat", "${Version}", "chromium-common"]),
    ]:
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return f"of Chromium {result.stdout.strip()}"
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
    extent = "all cases" if mode else "the quick mode; `--full` runs all cases"
    command = f"`bash tests/run adapters{mode}` ({extent})"
    note = f"Cases and tests that passed, with any failures next to them: {command}, {datetime.date.today()}, {system}."
    return "\n".join([*lines, "", textwrap.fill(" ".join([note, *rows.notes]), 120, break_on_hyphens=False)])


def find_table():
    """Returns the match of the table in docs/TESTING.md. Its first group is the comment with the signature."""
    pattern = re.compile(r"(<!-- adapters \w+ -->\n)(.*?)(" + re.escape(END_MARKER) + ")", re.S)
    match = pattern.search(PAGE.read_text())
    if not match:
        sys.exit(f"docs/TESTING.md has no place for the table, {BEGIN_MARKER} to {END_MARKER}")
    return match


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--partial", action="store_true")
    for name in ["command", "tests", "units"]:
        parser.add_argument(f"--{name}", type=lambda path: pathlib.Path(path).resolve())
    options = parser.parse_args()
    if options.check:
        is_current = find_table()[1] == BEGIN_MARKER.format(signature=signature()) + "\n"
        suites = "the present suites" if is_current else "other suites than these"
        print(f"The table of docs/TESTING.md is of {suites}")
        print("1 passed, 0 failed" if is_current else "0 passed, 1 failed")
        sys.exit(not is_current)

    chosen = [name for name in os.environ.get("WGSLICE_TEST_ADAPTERS", "").split(",") if name]
    unknown = set(chosen) - set(ADAPTERS)
    if unknown:
        sys.exit(f"WGSLICE_TEST_ADAPTERS: no {', '.join(sorted(unknown))}; there are {', '.join(ADAPTERS)}")
    mode = " --full" if options.full else ""
    absent_count = 0
    for name in chosen or ADAPTERS:
        rows = Rows(options)
        try:
            getattr(rows, name)()
        except NotRun as reason:
            print(f"\n== {name}: not run, {reason}")
            rows.rows.append((name, [f"not run: {reason}"] + ["–"] * (len(SUITES) - 1)))
            absent_count += 1
        rows_path(name, mode).write_text(json.dumps([rows.rows, rows.notes]))

    rows = Rows(options)
    missing_names = [name for name in ADAPTERS if not rows_path(name, mode).exists()]
    for name in ADAPTERS:
        if name in missing_names:
            rows.rows.append((name, ["not run yet"] + ["–"] * (len(SUITES) - 1)))
        else:
            kept_rows, notes = json.loads(rows_path(name, mode).read_text())
            rows.rows += kept_rows
            rows.notes += notes
    for title, job in ELSEWHERE.items():
        rows.rows.append((title, [f"by the workflow's job `{job}`, not here"] + ["–"] * (len(SUITES) - 1)))

    table_text = table(rows, mode)
    print(f"\n== Summary\n{table_text}")
    counts = [value for _, cells in rows.rows for value in cells if not isinstance(value, str)]
    passed, failed = (sum(count[i] for count in counts) for i in (0, 1))
    if absent_count and os.environ.get("WGSLICE_REQUIRE_GPU") == "1":
        print("WGSLICE_REQUIRE_GPU=1, but not every adapter was there")
        failed += absent_count
    if missing_names and not options.partial:
        print(f"docs/TESTING.md is as it was: not run yet, {', '.join(missing_names)}")
    else:
        table_match = find_table()
        page = PAGE.read_text()
        new_table = f"{BEGIN_MARKER.format(signature=signature())}\n{table_text}\n{END_MARKER}"
        PAGE.write_text(page[: table_match.start()] + new_table + page[table_match.end() :])
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
