"""Runs the command wgslice and compares its results bit by bit, for photo.py and embedding.py.

A difference is printed and counted, and the next check still runs, so one run
shows all differences. `Checks.finish` decides the exit code.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    sys.exit(
        f"{error}. Install with: pip install -r tests/python/requirements.txt, "
        "or start it with: bash tests/run photo"
    )

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WGSLICE = os.environ.get("WGSLICE", str(TARGET / "release" / "wgslice"))


class Checks:
    """Runs the command on devices, and counts the checks that pass and fail."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.folder = tempfile.TemporaryDirectory(prefix="wgslice-")
        self.devices = ["cpu", "gpu"] if self._has_gpu() else ["cpu"]

    def path(self, name):
        """Returns a path in a temporary folder, which `finish` removes."""
        return Path(self.folder.name) / name

    def save(self, name, array):
        """Writes `array` as .npy and returns its path."""
        np.save(self.path(name), array)
        return self.path(name)

    def run(self, device, *arguments, out):
        """Removes the file `out` and runs the command."""
        out.unlink(missing_ok=True)
        command = [WGSLICE, *map(str, arguments), "-o", out, "--device", device]
        try:
            return subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            sys.exit(f"{WGSLICE} is not there. Build it with: cargo build --release")

    def equal(self, name, device, *arguments, out, want, read=np.load):
        """Checks that the command succeeds and writes exactly the bits of `want`."""
        result = self.run(device, *arguments, out=out)
        if result.returncode != 0:
            problem = f"exit code {result.returncode}: {result.stderr.strip()}"
        elif not out.exists():
            problem = "exit code 0, but no output file"
        else:
            problem = difference(read(out), want)
        self._count(f"{name} on {device}", problem)

    def refused(self, name, device, *arguments, out, mentions):
        """Checks that the command fails with a message that contains `mentions`, and leaves no output file."""
        result = self.run(device, *arguments, out=out)
        if result.returncode == 0:
            problem = "exit code 0, but this call must fail"
        elif result.returncode < 0 or "panicked" in result.stderr:
            problem = f"crashed with {result.returncode}: {result.stderr.strip()}"
        elif mentions not in result.stderr:
            problem = f"the message does not name {mentions}: {result.stderr.strip()!r}"
        elif out.exists():
            problem = f"failed, but left {out.name} behind"
        else:
            problem = None
        self._count(f"{name} on {device}", problem)

    def finish(self):
        """Prints the totals and exits. The exit code is 1 if a check failed or none passed."""
        self.folder.cleanup()
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(0 if self.passed and not self.failed else 1)

    def _count(self, name, problem):
        if problem is None:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}\n    {problem}")

    def _has_gpu(self):
        source = self.save("probe.npy", np.arange(4, dtype=np.int32))
        result = self.run("gpu", "slice", source, ":", out=self.path("probed.npy"))
        # If a GPU is required but missing, the checks on it run and fail.
        if result.returncode == 0 or os.environ.get("WGSLICE_REQUIRE_GPU"):
            return True
        print(f"gpu: skipped, as nothing runs on it: {result.stderr.strip()}")
        return False


def difference(got, want):
    """Returns a description of how `got` differs from `want`, or None if all bits are equal."""
    if got.dtype != want.dtype:
        return f"dtype is {got.dtype}, not {want.dtype}"
    if got.shape != want.shape:
        return f"shape is {got.shape}, not {want.shape}"
    if want.size == 0:
        return None
    # Bytes are compared, not values: -0.0 equals 0.0, and a NaN does not equal itself.
    got_bits, want_bits = (
        np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, -1)
        for array in (got, want)
    )
    differing = np.flatnonzero((got_bits != want_bits).any(axis=1))
    if differing.size == 0:
        return None
    first_index = tuple(int(i) for i in np.unravel_index(differing[0], want.shape))
    return (
        f"{differing.size} of {want.size} elements differ, "
        f"the first at {list(first_index)}: {got[first_index]!r}, not {want[first_index]!r}"
    )
