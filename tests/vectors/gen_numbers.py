#!/usr/bin/env python3
"""Makes golden vectors of conversions between numbers of every width.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python gen_numbers.py > numbers.jsonl

For each pair of types there is a case with the numbers at the limits of a type and near its rounding steps. Integer
targets have a second case for `astype`, and four targets have a case with scale and bias. The results are NumPy's if
NumPy defines them and rounds once. Python's exact fractions give the nearest integers, and the bfloat16 numbers that
ml_dtypes rounds twice. A NaN that is converted becomes the quiet NaN of its sign. gen_vectors.py describes the format.
Every run writes the same bytes.
"""

import fractions
import json
import math

import ml_dtypes
import numpy

INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
TYPES = {name: numpy.dtype(getattr(ml_dtypes if name == "bfloat16" else numpy, name)) for name in INTEGERS + FLOATS}
QUIET_NANS = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC00000, "float64": 0x7FF8000000000000}


def unsigned_type(dtype):
    return numpy.dtype(f"u{dtype.itemsize}")


def bits(array):
    """Returns the bits of each element as a signed integer of the same size."""
    return numpy.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").ravel().tolist()


def limits(name):
    if name == "bool":
        return 0, 1
    integer_info = numpy.iinfo(TYPES[name])
    return integer_info.min, integer_info.max


# Numbers at and next to the limits of integer types, and at the limits and step changes of float types.
EDGE_INTEGERS = [0, 1, 2, 127, 128, 255, 256, 257, 2048, 2049, 32767, 65504, 65519, 65520, 65535, 65536]
EDGE_INTEGERS += [2**24 + 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64]
# Numbers in the middle between two bf16 or f32, each with the next integer, so that double rounding is noticed.
EDGE_INTEGERS += [
    0x80800000, 0x80800001, 0x4040000000000000, 0x4040000000000001, 0x4000004000000000, 0x4000004000000001,
]
EDGE_FRACTIONS = [0.4, 0.5, 0.6, 1.5, 2.5, 127.5, 254.5, 255.5, 65535.5, 2147483647.5, 1e10, 1e20, 1e39, 1e300]
EDGE_FRACTIONS += [2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2.0**-134, 2.0**-149, 2.0**-150, 2.0**-1074]
EDGE_FRACTIONS += [
    1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-50,
]


def edge_numbers(name):
    dtype = TYPES[name]
    if name in INTEGERS:
        lowest, highest = limits(name)
        integers = {integer * sign for integer in EDGE_INTEGERS for sign in (1, -1)} | {
            lowest,
            lowest + 1,
            highest - 1,
            highest,
        }
        return numpy.array(sorted(integer for integer in integers if lowest <= integer <= highest), dtype)
    numbers = [float(integer) for integer in EDGE_INTEGERS] + EDGE_FRACTIONS
    bit_patterns = numpy.array(numbers, numpy.float64).astype(dtype).view(unsigned_type(dtype)).tolist()
    bits_of_infinity = int(numpy.full(1, numpy.inf, dtype).view(unsigned_type(dtype))[0])
    bit_patterns += [1, bits_of_infinity - 1, bits_of_infinity, bits_of_infinity + 1, QUIET_NANS[name]]
    bit_patterns = sorted(set(bit_patterns))
    sign_bit = 1 << (8 * dtype.itemsize - 1)
    return numpy.array(
        [bit_pattern | sign_bits for bit_pattern in bit_patterns for sign_bits in (0, sign_bit)], unsigned_type(dtype)
    ).view(dtype)


def to_float(array, name):
    """Returns the array as a float type, rounded once to nearest, ties to even. NaNs become quiet."""
    dtype = TYPES[name]
    # ml_dtypes rounds twice from wide types to bfloat16, so the nearest of its result and the two neighbours is taken.
    result = array.astype(dtype)
    if name == "bfloat16" and array.dtype.itemsize > 2:
        bit_patterns = result.view(numpy.uint16)
        for index, number in enumerate(array.tolist()):
            if isinstance(number, float) and not math.isfinite(number):
                continue
            exact_number = fractions.Fraction(number)
            sign_bits, rounded_bits = int(bit_patterns[index]) & 0x8000, int(bit_patterns[index]) & 0x7FFF
            neighbours = [
                magnitude_bits
                for magnitude_bits in (rounded_bits - 1, rounded_bits, rounded_bits + 1)
                if 0 <= magnitude_bits <= 0x7F80
            ]
            # For rounding, infinity counts as 2^128, the number that would follow the largest.
            magnitudes = {
                magnitude_bits: fractions.Fraction(1 << 128)
                if magnitude_bits == 0x7F80
                else fractions.Fraction(float(numpy.array([magnitude_bits], numpy.uint16).view(dtype)[0]))
                for magnitude_bits in neighbours
            }
            best_bits = min(
                neighbours,
                key=lambda magnitude_bits: (abs(magnitudes[magnitude_bits] - abs(exact_number)), magnitude_bits % 2),
            )
            bit_patterns[index] = sign_bits | best_bits
    bit_patterns = result.view(unsigned_type(dtype))
    sign_bits = bit_patterns & unsigned_type(dtype).type(1 << (8 * dtype.itemsize - 1))
    return numpy.where(numpy.isnan(result), sign_bits | unsigned_type(dtype).type(QUIET_NANS[name]), bit_patterns).view(
        dtype
    )


def nearest(array, name):
    if name in FLOATS:
        return to_float(array, name)
    lowest, highest = limits(name)
    integers = []
    for number in array.tolist():
        if isinstance(number, float) and not math.isfinite(number):
            integers.append(0 if math.isnan(number) else highest if number > 0 else lowest)
        else:
            integers.append(min(max(round(fractions.Fraction(number)), lowest), highest))
    return numpy.array(integers, TYPES[name])


def astype(array, name):
    if name in FLOATS:
        return to_float(array, name)
    result = array.astype(TYPES[name])
    if array.dtype.kind in "biu" or name == "bool":
        return result
    # C does not define conversions of numbers out of range. Here they saturate, and NaN becomes 0.
    lowest, highest = limits(name)
    for index, number in enumerate(array.tolist()):
        if math.isnan(number):
            result[index] = 0
        elif not lowest <= (number if math.isinf(number) else math.trunc(number)) <= highest:
            result[index] = lowest if number < 0 else highest
    return result


def make_case(source, target, array, result, **more_args):
    return {
        "id": len(cases),
        "op": "convert",
        "dtype": source,
        "tensors": {"input": {"shape": list(array.shape), "data": bits(array)}},
        "args": {"from": source, "to": target, "of": "view", "steps": [{"transpose": [0]}], **more_args},
        "expected": {"shape": list(result.shape), "data": bits(result)},
    }


numpy.seterr(all="ignore")
cases = []
for source in TYPES:
    array = edge_numbers(source)
    for target in TYPES:
        result = array if source == target else nearest(array, target)
        cases.append(make_case(source, target, array, result))
        if target in INTEGERS:
            result = array if source == target else astype(array, target)
            cases.append(make_case(source, target, array, result, astype="yes"))
    for target in ["uint8", "float32", "int64", "float64"]:
        scale, bias = numpy.float32(0.7), numpy.float32(-3.3)
        wide = source in ("int32", "uint32", "int64", "uint64", "float64")
        single = array.astype(numpy.float64 if wide else numpy.float32)
        scaled = single * single.dtype.type(scale) + single.dtype.type(bias)
        args = {"axis_of_scale": 0, "scale": bits(numpy.array([scale])), "bias": bits(numpy.array([bias]))}
        cases.append(make_case(source, target, array, nearest(scaled, target), **args))
for case in cases:
    print(json.dumps(case, separators=(",", ":")))
