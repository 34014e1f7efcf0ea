#!/usr/bin/env python3
"""Makes golden vectors of conversions.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python gen_convert.py > convert.jsonl

The answers are those of NumPy and ml_dtypes: a slice, transpose, take or crop of the array whose elements were converted. A
NaN of any payload is written as the quiet one of its sign. The format is that of gen_vectors.py. Every run writes the same
bytes.
"""

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
    """The elements as signed integers of their size."""
    array = numpy.ascontiguousarray(array)
    return array.view(f"i{array.dtype.itemsize}").ravel().tolist()


def elements(name, shape):
    of = TYPES[name]
    count = int(numpy.prod(shape))
    raw = draw.integers(0, 256, count * numpy.dtype(of).itemsize, dtype=numpy.uint8).tobytes()
    array = numpy.frombuffer(raw, of).copy()
    if name == "float32":
        # Half of the numbers are such as integers and halves have.
        near = draw.integers(-70000, 70000, count) / draw.choice([1, 2, 65536, 1e9], count)
        array = numpy.where(draw.random(count) < 0.5, array, near.astype(of))
    return array.reshape(shape)


def converted(array, name):
    """The array as another type: rounded to nearest even, saturated, NaNs quiet."""
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
    # Elements of the same type are moved as they are.
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


numpy.seterr(all="ignore")
for number in range(COUNT):
    print(json.dumps(line(number), separators=(",", ":")))
