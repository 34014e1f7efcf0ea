"""The suites that tests/python/adapters.py runs on each adapter."""

import hashlib
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VECTORS = ROOT / "tests/vectors/seed1.jsonl"

SUITES = ["golden vectors", "random cases", "tests", "ONNX's node tests"]

# ON_DEVICES: tests that run operations on devices of the harness. ON_GPUS: these and the tests of the library's interface
# to GPUs. STORING_TESTS: a part of ON_GPUS in which every kind of shader stores something.
ON_DEVICES = [
    "concat::",
    "crop::",
    "devices::",
    "gather::",
    "gather_elements::",
    "gather_nd::",
    "written_to::",
    "mask::",
    "pad::",
    "convert::",
    "paste::",
    "property::",
    "scatter_elements::",
    "scatter_nd::",
    "slice::",
    "strided_slice_grad::",
    "strided_slice_update::",
    "tile::",
    "view::",
    "xla::",
]
ON_GPUS = [*ON_DEVICES, "browser::", "encode::", "failures::", "gpu::", "prepare::", "texture::"]
STORING_TESTS = [
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
# One test runs all lines of the file ONNX_NODES.
ONNX = ["onnx_nodes::"]
ONNX_NODES = ROOT / "tests/vectors/onnx.jsonl"
# Tests of limits and errors on a device that runs no shader.
NOOP_TESTS = ["limits::"]
NOOP_UNITS = ["gpu::cache_tests::"]

# How much of the first three suites runs on each adapter: n if every nth golden vector runs, the number of random cases,
# and the names of tests.
QUICK = {
    "cpu": (1, 3000, ON_DEVICES),
    "lavapipe": (1, 2000, STORING_TESTS),
    "swiftshader": (20, 200, ["strided_slice::", "texture::", "scatter_nd::floats_are"]),
    "gl": (1, 2000, STORING_TESTS),
    "hardware": (1, 2000, ON_GPUS),
    "strict": (20, 100, STORING_TESTS),
}
FULL = {
    "cpu": (1, 10000, ON_DEVICES),
    "lavapipe": (1, 10000, ON_GPUS),
    "swiftshader": (1, 10000, ON_GPUS),
    "gl": (1, 10000, ON_GPUS),
    "hardware": (1, 10000, ON_GPUS),
    "strict": (1, 10000, ON_DEVICES),
}

# Adapters of other systems, each with the job of the CI workflow that runs the suites on it.
ELSEWHERE = {"Direct3D 12: WARP (Windows)": "native", "Metal (macOS)": "native"}


def signature():
    """Returns a hash of the suites and of the adapters. It does not depend on the format of the table."""
    vector_files = [path.read_bytes() for path in (ONNX_NODES, VECTORS)]
    settings = repr((SUITES, ONNX, NOOP_TESTS, NOOP_UNITS, QUICK, FULL, ELSEWHERE)).encode()
    return hashlib.sha256(b"\0".join([settings, *vector_files])).hexdigest()[:12]
