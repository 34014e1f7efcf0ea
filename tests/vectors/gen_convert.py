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
NUMPY_TYPES = {
    "uint8": numpy.uint8,
    "int8": numpy.int8,
    "uint16": numpy.uint16,
    "int16": numpy.int16,
    "float16": numpy.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": numpy.float32,
}
QUIET_NANS = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC00000}
draw = numpy.random.Generator(numpy.random.PCG64(1))


def bits(array):
    """Returns the bits of each element as a signed integer of the same size."""
    array = numpy.ascontiguousarray(array)
    return array.view(f"i{array.dtype.itemsize}").ravel().tolist()


def draw_elements(type_name, shape):
    numpy_type = NUMPY_TYPES[type_name]
    element_count = int(numpy.prod(shape))
    random_bytes = draw.integers(0, 256, element_count * numpy.dtype(numpy_type).itemsize, dtype=numpy.uint8).tobytes()
    array = numpy.frombuffer(random_bytes, numpy_type).copy()
    if type_name == "float32":
        # About half of the numbers are quotients of small integers. The other numbers have random bits.
        quotients = draw.integers(-70000, 70000, element_count) / draw.choice([1, 2, 65536, 1e9], element_count)
        array = numpy.where(draw.random(element_count) < 0.5, array, quotients.astype(numpy_type))
    return array.reshape(shape)


def converted(array, type_name):
    """Returns the array as another type, rounded to nearest, ties to even. Integers saturate. NaNs are quiet or 0."""
    numpy_type = NUMPY_TYPES[type_name]
    if type_name in QUIET_NANS:
        result = array.astype(numpy.float32).astype(numpy_type)
        unsigned = numpy.dtype(f"u{result.dtype.itemsize}").type
        bit_patterns = result.view(unsigned)
        sign_bits = bit_patterns & unsigned(1 << (8 * result.dtype.itemsize - 1))
        return numpy.where(numpy.isnan(result), sign_bits | unsigned(QUIET_NANS[type_name]), bit_patterns).view(
            numpy_type
        )
    limits = numpy.iinfo(numpy_type)
    rounded = numpy.rint(array.astype(numpy.float64))
    return numpy.nan_to_num(numpy.clip(rounded, limits.min, limits.max), nan=0.0).astype(numpy_type)


def draw_case(case_id):
    type_names = list(NUMPY_TYPES)
    source_type = type_names[case_id % 2] if case_id % 3 else type_names[draw.integers(7)]
    target_type = type_names[draw.integers(7)]
    shape = [int(size) for size in draw.integers(1, 8, draw.integers(1, 4))]
    array = draw_elements(source_type, shape)
    args = {"from": source_type, "to": target_type}
    numbers = array
    if array.dtype.itemsize == 1 and draw.random() < 0.7:
        axis = int(draw.integers(-len(shape), len(shape)))
        scale_shape = numpy.ones(len(shape), int)
        scale_and_bias = []
        for _ in range(2):
            size = shape[axis] if draw.random() < 0.7 else 1
            scale_and_bias.append((draw.integers(-999, 1000, size) / draw.choice([3, 100, 7e6])).astype(numpy.float32))
        args.update(axis_of_scale=axis, scale=bits(scale_and_bias[0]), bias=bits(scale_and_bias[1]))
        scale_shape[axis] = -1
        scale, bias = (vector.reshape(scale_shape) for vector in scale_and_bias)
        numbers = array.astype(numpy.float32) * scale + bias
    # Without a change of type or a scale, the bits of elements stay the same.
    keeps_bits = source_type == target_type and numbers is array
    result = array if keeps_bits else converted(numbers, target_type)
    tensors = {"params": {"shape": shape, "data": bits(array)}}
    operation_number = draw.integers(3)
    if operation_number == 0:
        order = [int(d) for d in draw.permutation(len(shape))]
        args.update(of="view", steps=[{"transpose": order}])
        tensors = {"input": tensors["params"]}
        result = result.transpose(order)
    elif operation_number == 1:
        axis = int(draw.integers(len(shape)))
        indices = draw.integers(0, shape[axis], draw.integers(1, 6))
        args.update(of="gather", axis=axis, batch_dims=0)
        tensors["indices"] = {"shape": [len(indices)], "data": indices.tolist()}
        result = result.take(indices, axis)
    else:
        sizes = [int(draw.integers(1, size + 1)) for size in shape[1:]]
        box_numbers, crops = [], []
        for item in range(shape[0]):
            begins = [int(draw.integers(0, size - crop_size + 1)) for size, crop_size in zip(shape[1:], sizes)]
            flips = [int(flip) for flip in draw.integers(0, 2, len(sizes))]
            box_numbers += begins + flips
            crop = result[(item, *(slice(begin, begin + crop_size) for begin, crop_size in zip(begins, sizes)))]
            crops.append(crop[tuple(slice(None, None, -1 if flip else 1) for flip in flips)])
        args.update(of="crop", sizes=sizes, strides=[1] * len(sizes), flips="yes")
        tensors["indices"] = {"shape": [shape[0], 2 * len(sizes)], "data": box_numbers}
        result = numpy.stack(crops)
    return {
        "id": case_id,
        "op": "convert",
        "dtype": source_type,
        "tensors": tensors,
        "args": args,
        "expected": {"shape": list(result.shape), "data": bits(result)},
    }


# Multiples of 0.5, the limits of integer types, and numbers near the limits and the rounding steps of 16-bit floats.
EDGE_NUMBERS = [
    0.5, 1.5, 2.5, 127.5, 128, 128.5, 254.5, 255.5, 256, 32767.5, 32768, 65503, 65519, 65520, 65535.5, 65536,
]
EDGE_NUMBERS += [
    1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11, 2**-24, 2**-25, 1.5 * 2**-25, 2**-133, 2**-134, 2**127,
]


def edge_numbers(type_name):
    """Returns the zeros, smallest, largest and infinite numbers of a type, its NaNs, and NUMBERS, with both signs. For
    an integer type, returns the numbers near its limits and near 0."""
    dtype = numpy.dtype(NUMPY_TYPES[type_name])
    if type_name not in QUIET_NANS:
        limits = numpy.iinfo(dtype)
        integers = {limits.min, limits.min + 1, -1, 0, 1, limits.max - 1, limits.max}
        return numpy.array(sorted(integer for integer in integers if limits.min <= integer <= limits.max), dtype)
    unsigned = numpy.dtype(f"u{dtype.itemsize}")
    bits_of_one = int(numpy.ones(1, dtype).view(unsigned)[0])
    bits_of_infinity = int(numpy.full(1, numpy.inf, dtype).view(unsigned)[0])
    bits_of_smallest_normal = int(numpy.array([ml_dtypes.finfo(dtype).smallest_normal], dtype).view(unsigned)[0])
    bit_patterns = [
        0,
        1,
        bits_of_smallest_normal - 1,
        bits_of_smallest_normal,
        bits_of_one,
        bits_of_infinity - 1,
        bits_of_infinity,
        bits_of_infinity + 1,
        QUIET_NANS[type_name],
    ]
    bit_patterns += numpy.array(EDGE_NUMBERS, numpy.float32).astype(dtype).view(unsigned).tolist()
    sign_bit = 1 << (8 * dtype.itemsize - 1)
    return numpy.array(
        [bit_pattern | sign_bits for bit_pattern in bit_patterns for sign_bits in (0, sign_bit)], unsigned
    ).view(dtype)


def edge_case(case_id, source_type, target_type):
    array = edge_numbers(source_type)
    result = array if source_type == target_type else converted(array, target_type)
    return {
        "id": case_id,
        "op": "convert",
        "dtype": source_type,
        "tensors": {"input": {"shape": list(array.shape), "data": bits(array)}},
        "args": {"from": source_type, "to": target_type, "of": "view", "steps": [{"transpose": [0]}]},
        "expected": {"shape": list(result.shape), "data": bits(result)},
    }


numpy.seterr(all="ignore")
cases = [draw_case(case_id) for case_id in range(COUNT)]
cases += [edge_case(COUNT + n, *pair) for n, pair in enumerate(itertools.product(NUMPY_TYPES, NUMPY_TYPES))]
for case in cases:
    print(json.dumps(case, separators=(",", ":")))
