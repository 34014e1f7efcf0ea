#!/usr/bin/env python3
"""Makes golden vectors of conversions between numbers of every width.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python gen_numbers.py > numbers.jsonl

For each pair of types there is a case with the numbers at the limits of a type and near its rounding steps. Integer
targets have a second case for `astype`, and four targets have a case with scale and bias. The answers are NumPy's if
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
QUIET = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC00000, "float64": 0x7FF8000000000000}


def unsigned(dtype):
    return numpy.dtype(f"u{dtype.itemsize}")


def bits(array):
    """Returns the bits of each element as a signed integer of the same size."""
    return numpy.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").ravel().tolist()


def limits(name):
    if name == "bool":
        return 0, 1
    of = numpy.iinfo(TYPES[name])
    return of.min, of.max


# Numbers at and next to the limits of integer types, and at the limits and step changes of float types.
ENDS = [0, 1, 2, 127, 128, 255, 256, 257, 2048, 2049, 32767, 65504, 65519, 65520, 65535, 65536]
ENDS += [2**24 + 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64]
# Numbers in the middle between two bf16 or f32, each with the next integer, so that double rounding is noticed.
ENDS += [0x80800000, 0x80800001, 0x4040000000000000, 0x4040000000000001, 0x4000004000000000, 0x4000004000000001]
FRACTIONS = [0.4, 0.5, 0.6, 1.5, 2.5, 127.5, 254.5, 255.5, 65535.5, 2147483647.5, 1e10, 1e20, 1e39, 1e300]
FRACTIONS += [2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2.0**-134, 2.0**-149, 2.0**-150, 2.0**-1074]
FRACTIONS += [1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-50]


def edges(name):
    of = TYPES[name]
    if name in INTEGERS:
        low, high = limits(name)
        near = {n * sign for n in ENDS for sign in (1, -1)} | {low, low + 1, high - 1, high}
        return numpy.array(sorted(n for n in near if low <= n <= high), of)
    numbers = [float(n) for n in ENDS] + FRACTIONS
    words = numpy.array(numbers, numpy.float64).astype(of).view(unsigned(of)).tolist()
    infinite = int(numpy.full(1, numpy.inf, of).view(unsigned(of))[0])
    words += [1, infinite - 1, infinite, infinite + 1, QUIET[name]]
    words = sorted(set(words))
    sign = 1 << (8 * of.itemsize - 1)
    return numpy.array([word | of_sign for word in words for of_sign in (0, sign)], unsigned(of)).view(of)


def to_float(array, name):
    """Returns the array as a float type, rounded once to nearest, ties to even. NaNs become quiet."""
    of = TYPES[name]
    # ml_dtypes rounds twice from wide types to bfloat16, so the nearest of its answer and the two neighbours is taken.
    result = array.astype(of)
    if name == "bfloat16" and array.dtype.itemsize > 2:
        words = result.view(numpy.uint16)
        for at, number in enumerate(array.tolist()):
            if isinstance(number, float) and not math.isfinite(number):
                continue
            exact = fractions.Fraction(number)
            sign, size = int(words[at]) & 0x8000, int(words[at]) & 0x7FFF
            near = [n for n in (size - 1, size, size + 1) if 0 <= n <= 0x7F80]
            # For rounding, infinity counts as 2^128, the number that would follow the largest.
            sizes = {n: fractions.Fraction(1 << 128) if n == 0x7F80 else
                     fractions.Fraction(float(numpy.array([n], numpy.uint16).view(of)[0])) for n in near}
            best = min(near, key=lambda n: (abs(sizes[n] - abs(exact)), n % 2))
            words[at] = sign | best
    words = result.view(unsigned(of))
    sign = words & unsigned(of).type(1 << (8 * of.itemsize - 1))
    return numpy.where(numpy.isnan(result), sign | unsigned(of).type(QUIET[name]), words).view(of)


def nearest(array, name):
    if name in FLOATS:
        return to_float(array, name)
    low, high = limits(name)
    made = []
    for number in array.tolist():
        if isinstance(number, float) and not math.isfinite(number):
            made.append(0 if math.isnan(number) else high if number > 0 else low)
        else:
            made.append(min(max(round(fractions.Fraction(number)), low), high))
    return numpy.array(made, TYPES[name])


def astype(array, name):
    if name in FLOATS:
        return to_float(array, name)
    result = array.astype(TYPES[name])
    if array.dtype.kind in "biu" or name == "bool":
        return result
    # C does not define conversions of numbers out of range. Here they saturate, and NaN becomes 0.
    low, high = limits(name)
    for at, number in enumerate(array.tolist()):
        if math.isnan(number):
            result[at] = 0
        elif not low <= (number if math.isinf(number) else math.trunc(number)) <= high:
            result[at] = low if number < 0 else high
    return result


def line(source, target, array, result, **more):
    return {
        "id": len(lines),
        "op": "convert",
        "dtype": source,
        "tensors": {"input": {"shape": list(array.shape), "data": bits(array)}},
        "args": {"from": source, "to": target, "of": "view", "steps": [{"transpose": [0]}], **more},
        "expected": {"shape": list(result.shape), "data": bits(result)},
    }


numpy.seterr(all="ignore")
lines = []
for source in TYPES:
    array = edges(source)
    for target in TYPES:
        result = array if source == target else nearest(array, target)
        lines.append(line(source, target, array, result))
        if target in INTEGERS:
            result = array if source == target else astype(array, target)
            lines.append(line(source, target, array, result, astype="yes"))
    for target in ["uint8", "float32", "int64", "float64"]:
        scale, bias = numpy.float32(0.7), numpy.float32(-3.3)
        wide = source in ("int32", "uint32", "int64", "uint64", "float64")
        single = array.astype(numpy.float64 if wide else numpy.float32)
        scaled = single * single.dtype.type(scale) + single.dtype.type(bias)
        args = {"axis_of_scale": 0, "scale": bits(numpy.array([scale])), "bias": bits(numpy.array([bias]))}
        lines.append(line(source, target, array, nearest(scaled, target), **args))
for one in lines:
    print(json.dumps(one, separators=(",", ":")))
