#!/usr/bin/env python3
"""Makes golden vectors of conversions.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python gen_convert.py > convert.jsonl

NumPy and ml_dtypes convert the elements and then transpose, take or crop the array. A NaN that is converted becomes the
quiet NaN of its sign. The last cases, one for each pair of types, convert the numbers at the limits of a type and
numbers in the middle between two neighbours of a type. gen_vectors.py describes the format. Every run writes the same
bytes.
"""

import itertools
import json

import ml_dtypes
import numpy

COUNT = 400
TYPES = {
    "uint8": numpy.uint8,
    "int8": numpy.int8,
    "uint16": numpy.uint16,
    "int16": numpy.int16,
    "float16": numpy.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": numpy.float32,
}
QUIET = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC00000}
draw = numpy.random.Generator(numpy.random.PCG64(1))


def bits(array):
    """Returns the bits of each element as a signed integer of the same size."""
    array = numpy.ascontiguousarray(array)
    return array.view(f"i{array.dtype.itemsize}").ravel().tolist()


def elements(name, shape):
    of = TYPES[name]
    count = int(numpy.prod(shape))
    raw = draw.integers(0, 256, count * numpy.dtype(of).itemsize, dtype=numpy.uint8).tobytes()
    array = numpy.frombuffer(raw, of).copy()
    if name == "float32":
        # About half of the numbers are quotients of small integers. The other numbers have random bits.
        near = draw.integers(-70000, 70000, count) / draw.choice([1, 2, 65536, 1e9], count)
        array = numpy.where(draw.random(count) < 0.5, array, near.astype(of))
    return array.reshape(shape)


def converted(array, name):
    """Returns the array as another type, rounded to nearest, ties to even. Integers saturate. NaNs are quiet or 0."""
    of = TYPES[name]
    if name in QUIET:
        result = array.astype(numpy.float32).astype(of)
        unsigned = numpy.dtype(f"u{result.dtype.itemsize}").type
        words = result.view(unsigned)
        sign = words & unsigned(1 << (8 * result.dtype.itemsize - 1))
        return numpy.where(numpy.isnan(result), sign | unsigned(QUIET[name]), words).view(of)
    limits = numpy.iinfo(of)
    rounded = numpy.rint(array.astype(numpy.float64))
    return numpy.nan_to_num(numpy.clip(rounded, limits.min, limits.max), nan=0.0).astype(of)


def line(number):
    names = list(TYPES)
    source = names[number % 2] if number % 3 else names[draw.integers(7)]
    target = names[draw.integers(7)]
    shape = [int(size) for size in draw.integers(1, 8, draw.integers(1, 4))]
    array = elements(source, shape)
    args = {"from": source, "to": target}
    values = array
    if array.dtype.itemsize == 1 and draw.random() < 0.7:
        axis = int(draw.integers(-len(shape), len(shape)))
        along = numpy.ones(len(shape), int)
        lists = []
        for _ in range(2):
            size = shape[axis] if draw.random() < 0.7 else 1
            lists.append((draw.integers(-999, 1000, size) / draw.choice([3, 100, 7e6])).astype(numpy.float32))
        args.update(axis_of_scale=axis, scale=bits(lists[0]), bias=bits(lists[1]))
        along[axis] = -1
        scale, bias = (of.reshape(along) for of in lists)
        values = array.astype(numpy.float32) * scale + bias
    # Without a change of type or a scale, the bits of elements stay the same.
    same = source == target and values is array
    result = array if same else converted(values, target)
    tensors = {"params": {"shape": shape, "data": bits(array)}}
    kind = draw.integers(3)
    if kind == 0:
        order = [int(d) for d in draw.permutation(len(shape))]
        args.update(of="view", steps=[{"transpose": order}])
        tensors = {"input": tensors["params"]}
        result = result.transpose(order)
    elif kind == 1:
        axis = int(draw.integers(len(shape)))
        indices = draw.integers(0, shape[axis], draw.integers(1, 6))
        args.update(of="gather", axis=axis, batch_dims=0)
        tensors["indices"] = {"shape": [len(indices)], "data": indices.tolist()}
        result = result.take(indices, axis)
    else:
        sizes = [int(draw.integers(1, size + 1)) for size in shape[1:]]
        boxes, parts = [], []
        for item in range(shape[0]):
            begins = [int(draw.integers(0, size - of + 1)) for size, of in zip(shape[1:], sizes)]
            flips = [int(flip) for flip in draw.integers(0, 2, len(sizes))]
            boxes += begins + flips
            part = result[(item, *(slice(begin, begin + of) for begin, of in zip(begins, sizes)))]
            parts.append(part[tuple(slice(None, None, -1 if flip else 1) for flip in flips)])
        args.update(of="crop", sizes=sizes, strides=[1] * len(sizes), flips="yes")
        tensors["indices"] = {"shape": [shape[0], 2 * len(sizes)], "data": boxes}
        result = numpy.stack(parts)
    return {
        "id": number,
        "op": "convert",
        "dtype": source,
        "tensors": tensors,
        "args": args,
        "expected": {"shape": list(result.shape), "data": bits(result)},
    }


# Multiples of 0.5, the limits of integer types, and numbers near the limits and the rounding steps of 16-bit floats.
NUMBERS = [0.5, 1.5, 2.5, 127.5, 128, 128.5, 254.5, 255.5, 256, 32767.5, 32768, 65503, 65519, 65520, 65535.5, 65536]
NUMBERS += [1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11, 2**-24, 2**-25, 1.5 * 2**-25, 2**-133, 2**-134, 2**127]


def edges(name):
    """Returns the zeros, smallest, largest and infinite numbers of a type, its NaNs, and NUMBERS, with both signs. For
    an integer type, returns the numbers near its limits and near 0."""
    of = numpy.dtype(TYPES[name])
    if name not in QUIET:
        limits = numpy.iinfo(of)
        near = {limits.min, limits.min + 1, -1, 0, 1, limits.max - 1, limits.max}
        return numpy.array(sorted(n for n in near if limits.min <= n <= limits.max), of)
    unsigned = numpy.dtype(f"u{of.itemsize}")
    one = int(numpy.ones(1, of).view(unsigned)[0])
    infinite = int(numpy.full(1, numpy.inf, of).view(unsigned)[0])
    least = int(numpy.array([ml_dtypes.finfo(of).smallest_normal], of).view(unsigned)[0])
    words = [0, 1, least - 1, least, one, infinite - 1, infinite, infinite + 1, QUIET[name]]
    words += numpy.array(NUMBERS, numpy.float32).astype(of).view(unsigned).tolist()
    sign = 1 << (8 * of.itemsize - 1)
    return numpy.array([word | of_sign for word in words for of_sign in (0, sign)], unsigned).view(of)


def line_of_edges(number, source, target):
    array = edges(source)
    result = array if source == target else converted(array, target)
    return {
        "id": number,
        "op": "convert",
        "dtype": source,
        "tensors": {"input": {"shape": list(array.shape), "data": bits(array)}},
        "args": {"from": source, "to": target, "of": "view", "steps": [{"transpose": [0]}]},
        "expected": {"shape": list(result.shape), "data": bits(result)},
    }


numpy.seterr(all="ignore")
lines = [line(number) for number in range(COUNT)]
lines += [line_of_edges(COUNT + n, *pair) for n, pair in enumerate(itertools.product(TYPES, TYPES))]
for one in lines:
    print(json.dumps(one, separators=(",", ":")))
