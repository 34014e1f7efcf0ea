"""Makes all other files of this folder. It needs the packages numpy, safetensors, ml_dtypes and pillow.

The tests in cli/src/files/tests and cli/tests contain the expected values, or read them from the two .json files.
"""

import json
import re
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
from numpy.lib import format as npy
from PIL import Image, ImageCms, PngImagePlugin
from safetensors.numpy import save_file

here = Path(__file__).parent


def save(name, array, version=(1, 0)):
    with open(here / f"{name}.npy", "wb") as file:
        npy.write_array(file, array, version=version)


# The values 0 to 23 in the shape 2 x 3 x 4: all versions of the format, both byte orders, and both orders of elements.
integers = np.arange(24).reshape(2, 3, 4)
save("v1_c_little_i4", integers.astype("<i4"))
save("v2_fortran_little_f8", np.asfortranarray(integers.astype("<f8")), (2, 0))
save("v3_fortran_big_u2", np.asfortranarray(integers.astype(">u2")), (3, 0))
save("c_big_c8", (integers - 1j * integers).astype(">c8"))

# One file for each element type: 0, 1 and the largest value.
for descr in "|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8 <c8 <c16 >i8 >f2 >c16".split():
    dtype = np.dtype(descr)
    if dtype.kind == "b":
        largest = True
    elif dtype.kind in "iu":
        largest = np.iinfo(dtype).max
    else:
        largest = np.finfo(dtype).max
    order = {"<": "little", ">": "big", "|": "byte"}[descr[0]]
    save(f"dtype_{order}_{descr[1:]}", np.array([0, 1, largest], dtype))

save("rank_0", np.array(2.5, "<f4"))
save("empty", np.zeros((3, 0, 2), "<i8"))

# The library lacks these element types. The command must reject the Python objects, and move the other elements.
save("no_bfloat16", np.array([1, 2], ml_dtypes.bfloat16).view("V2"))
save("no_object", np.array([1, None], object))
save("no_structured", np.zeros(2, [("a", "<i4"), ("b", "<f4")]))
save("no_string", np.array(["ab", "c"]))
save("no_date", np.array(["2020-01-01"], "datetime64[D]"))
save("no_long_double", np.zeros(2, np.longdouble))

# Images: the .png files have 2 x 3 pixels, and the .jpg files 16 x 24.
rgb = (np.arange(18).reshape(2, 3, 3) * 14).astype("u1")
Image.fromarray(rgb[..., 0]).save(here / "grey.png")
Image.fromarray(rgb[..., 0]).save(here / "grey_transparent.png", transparency=42)
Image.fromarray(rgb[..., :2], "LA").save(here / "grey_alpha.png")
Image.fromarray(rgb).save(here / "rgb.png")
Image.fromarray(np.concatenate([rgb, rgb[..., :1] + 1], 2)).save(here / "rgba.png")
Image.fromarray((rgb[..., 0].astype("u2") * 257 + 1)).save(here / "grey_16.png")
Image.fromarray(np.array([[0, 1, 0], [1, 1, 0]], bool)).save(here / "grey_1.png")
text_chunks = PngImagePlugin.PngInfo()
text_chunks.add_text("Author", "me")
profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
Image.fromarray(rgb).save(here / "profile.png", icc_profile=profile, dpi=(300, 300), pnginfo=text_chunks)
ramp = np.linspace(0, 255, 16 * 24).reshape(16, 24)
Image.fromarray(np.stack([ramp, ramp[::-1], ramp[:, ::-1]], -1).astype("u1")).save(here / "rgb.jpg", quality=90)
Image.fromarray(ramp.astype("u1")).save(here / "grey.jpg", quality=90)
np.savez(here / "stored.npz", x=np.arange(6, dtype="<i4").reshape(2, 3), y=np.array([1, 2], "<f4"))
np.savez_compressed(here / "packed.npz", only=np.arange(6, dtype="<i4"))
palette = Image.fromarray(np.array([[0, 1, 2], [2, 1, 0]], "u1"), "P")
palette.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
palette.save(here / "palette.png")
palette.save(here / "palette_alpha.png", transparency=1)

save_file(
    {
        "weight": np.arange(6, dtype="<f4").reshape(2, 3),
        "half#1": np.array([1, -2], ml_dtypes.bfloat16),
        "mask": np.array([True, False]),
        "float8": np.array([1, 2, 3], ml_dtypes.float8_e4m3fn),
    },
    here / "several.safetensors",
)
save_file({"only": np.array([7, 8], "<u8")}, here / "one.safetensors")
save_file({f"t{i:02}": np.zeros(1, "u1") for i in range(13)}, here / "many.safetensors")

# Older versions of safetensors cannot save complex tensors, so this file is written by hand.
header = json.dumps({"z": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}}).encode()
(here / "complex.safetensors").write_bytes(
    struct.pack("<Q", len(header)) + header + np.array([1 + 2j], "<c8").tobytes()
)

# The number that each byte has in each format, by the format's name in .safetensors. NaN and infinities are texts,
# because JSON has no such numbers.
formats = {
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}
tables = []
for name, dtype in formats.items():
    numbers = np.arange(256, dtype="u1").view(dtype).astype("f8").tolist()
    numbers = [number if np.isfinite(number) else str(number) for number in numbers]
    tables.append(f"{json.dumps(name)}: {json.dumps(numbers)}")
(here / "eight_bit_floats.json").write_text("{\n" + ",\n".join(tables) + "\n}\n")

# Arrays of element types that the library wgslice does not have, and NumPy's description of each array.
types = {
    "date": np.arange(6).astype("M8[D]").reshape(2, 3),
    "time": np.arange(3).astype("m8[25s]"),
    "big_date": np.arange(3).astype(">M8[ns]"),
    "no_unit": np.arange(3).astype("m8"),
    "text": np.array(["a", "größe", "xyz"]),
    "bytes": np.array([b"a", b"bc", b""]),
    "void": np.array([b"1234567", b"abcdefg"], "V7"),
    "long": np.arange(3, dtype="f16"),
    "long_complex": np.arange(2, dtype="c32"),
    "fields": np.array(
        [(1, 2.5, [1, 2, 3]), (-2, 3.5, [4, 5, 6])], [("a", "<i4"), ("b", ">f8"), ("c", "u1", (3,))]
    ),
    "aligned": np.zeros(3, np.dtype([("a", "u1"), ("b", "<f8")], align=True)),
    "titled": np.zeros(3, [(("Title", "a"), "<i4")]),
    "nested": np.zeros((2, 2), [("p", [("x", "<f4"), ("y", "<f4")]), ("Größe 日'", "<U3")]),
    "objects": np.array([None, "x"], object),
    "field_of_objects": np.array([(1, None)], [("a", "<i4"), ("o", "O")]),
    "fortran": np.asfortranarray(np.arange(6).astype("M8[s]").reshape(2, 3)),
}
np.savez_compressed(here / "types.npz", **types)
descriptions = {
    name: {
        "shape": list(array.shape),
        "dtype": re.sub("^[<>](?=M8|m8)", "", array.dtype.str).replace("M8", "datetime64").replace("m8", "timedelta64")
        if array.dtype.kind in "Mm"
        else str(array.dtype),
        "bytes": array.nbytes,
        "order": "C" if array.flags.c_contiguous else "Fortran",
        "byte_order": "big" if array.dtype.str[0] == ">" else "little",
        "text": str(array),
        "first": str(array[(0,) * array.ndim]),
    }
    for name, array in types.items()
}
(here / "types.json").write_text(json.dumps(descriptions, ensure_ascii=False, indent=1) + "\n")
