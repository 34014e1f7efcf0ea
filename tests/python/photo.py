#!/usr/bin/env python3
"""Slices a photograph with wgslice and compares every bit with NumPy.

    python3 tests/python/photo.py

Runs target/release/wgslice, or the binary that WGSLICE names, on the CPU and on
the GPU. Needs numpy and pillow (tests/python/requirements.txt).
"""

import sys

from checks import ROOT, Checks, np

try:
    from PIL import Image
except ImportError as error:
    sys.exit(f"{error}. Install with: pip install -r tests/python/requirements.txt")

PHOTO = ROOT / "tests" / "data" / "astronaut.png"

# The result of each of these slices is an image again, so it is written to PNG as well as to .npy.
TO_IMAGE = [
    "32:288:2, 400:100:-2, :",  # the README's: crop, flip, halve
    ":",
    "...",
    "::-1",
    ":, ::-1",
    "::-1, ::-1, ::-1",  # rotated by 180 degrees, red and blue exchanged
    "100:228, 160:288",
    "::3, ::5",
    "-100:, :-100:7",
    "10:11, 20:21",  # one pixel
    "-1000:1000, 1000:-1000:-1",  # ends beyond the image are clamped
]

# These results have fewer or more axes, or two channels, or are empty, so they are written to .npy only.
TO_ARRAY = [
    "..., 0",
    "..., 2::-2",
    "256",
    ":, 17, ::-1",
    "-1, 5:50:3, 1",
    "3, 4, 2",
    "None, ::4, ..., None",
    "::64, None, ::64, None, 1:",
    "10:10",
    "5:2, ::-1",
]

# Slices with an integer out of range, which wgslice and NumPy reject, and the index that wgslice's message must name.
REFUSED = [("512", "512"), (":, -513", "-513"), ("..., 3", "3")]


def sliced(array, spec):
    """Returns NumPy's result. The slices above are Python expressions, so Python evaluates them."""
    return np.asarray(eval(f"array[{spec}]", {"array": array}))


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image)


def main():
    checks = Checks()
    photo = pixels(PHOTO)
    png_out, npy_out = checks.path("out.png"), checks.path("out.npy")
    npy_photo = checks.save("photo.npy", photo)

    for device in checks.devices:
        for spec in TO_IMAGE + TO_ARRAY:
            want = sliced(photo, spec)
            checks.equal(
                f"PNG to npy [{spec}]", device, "slice", PHOTO, spec, out=npy_out, want=want
            )
        for spec in TO_IMAGE:
            want = sliced(photo, spec)
            for source in (PHOTO, npy_photo):
                checks.equal(
                    f"{source.suffix[1:]} to PNG [{spec}]",
                    device, "slice", source, spec, out=png_out, want=want, read=pixels,
                )
        for spec, index in REFUSED:
            checks.refused(
                f"refusing [{spec}]",
                device, "slice", PHOTO, spec, out=npy_out, mentions=index,
            )
    checks.finish()


if __name__ == "__main__":
    main()
