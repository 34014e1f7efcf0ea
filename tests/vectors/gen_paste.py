#!/usr/bin/env python3
"""Makes golden vectors of paste.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python gen_paste.py > paste.jsonl

The results are TensorFlow's: for each box, one tf.tensor_scatter_nd_update changes the result of the previous box.
NumPy computes the positions by the rules in paste's documentation. gen_vectors.py describes the format. Every run
writes the same bytes.
"""

import json
import os
import random

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy
import tensorflow

COUNT = 400
# The maximum number of elements of a tensor.
MAX_ELEMENTS = 400
draw = random.Random(2)


def draw_values(sizes):
    return [draw.choice([n for n in range(-99, 100) if n]) for _ in range(int(numpy.prod(sizes)))]


def draw_tensor(sizes):
    return {"shape": list(sizes), "data": draw_values(sizes)}


def draw_case():
    """Returns a case, or None if a tensor is too large."""
    item_count = draw.randint(1, 4)
    dim_count = draw.randint(0, 3)
    indexed_shape = [item_count] + [draw.choice([1, 2, 3, 5, 8, 13]) for _ in range(dim_count)]
    channel_shape = [draw.choice([1, 2, 3, 4, 7]) for _ in range(draw.randint(0, 2))]
    has_box_indices, has_flips = draw.random() < 0.6, draw.random() < 0.4
    box_count = draw.randint(0, 5) if has_box_indices else item_count
    mode = draw.choice(["zero", "zero", "clamp", "circular"])
    sizes, strides = [], []
    for size in indexed_shape[1:]:
        stride = draw.choice([1, 1, 1, -1, 2, -2, 3])
        max_size = (size - 1) // abs(stride) + 1
        sizes.append(draw.randint(1, max_size + (mode == "zero")))
        strides.append(stride)
    patches_shape = [box_count, *sizes, *channel_shape]
    if max(numpy.prod(indexed_shape + channel_shape), numpy.prod(patches_shape)) > MAX_ELEMENTS:
        return None
    params, patches = draw_tensor(indexed_shape + channel_shape), draw_tensor(patches_shape)
    result = tensorflow.constant(numpy.array(params["data"], numpy.int32).reshape(params["shape"]))
    patch_elements = numpy.array(patches["data"], numpy.int32).reshape(patches_shape)
    index_tuples, bad_box_count = [], 0
    for box in range(box_count):
        item = draw.randint(-1, item_count) if draw.random() < 0.2 else draw.randint(0, item_count - 1)
        begins = [
            draw.randint(-size, 2 * size) if draw.random() < 0.4 else draw.randint(0, size - 1)
            for size in indexed_shape[1:]
        ]
        box_flips = [int(draw.random() < 0.5) for _ in sizes]
        index_tuples.append([item] * has_box_indices + begins + box_flips * has_flips)
        item = item if has_box_indices else box
        if mode == "clamp":
            item = min(max(item, 0), item_count - 1)
        dim_positions = [numpy.array([item])]
        for size, extent, stride, begin, flip in zip(indexed_shape[1:], sizes, strides, begins, box_flips):
            reach = (extent - 1) * stride
            if mode == "clamp":
                begin = min(max(begin, max(-reach, 0)), size - 1 - max(reach, 0))
            positions = begin + stride * numpy.arange(extent)
            if mode == "circular":
                positions %= size
            dim_positions.append(positions[::-1] if has_flips and flip else positions)
        grid = numpy.stack(numpy.meshgrid(*dim_positions, indexing="ij"), -1).reshape(-1, 1 + dim_count)
        is_inside = ((grid >= 0) & (grid < numpy.array(indexed_shape))).all(-1)
        bad_box_count += not is_inside.all()
        rows = patch_elements[box].reshape([len(grid), *channel_shape])
        result = tensorflow.tensor_scatter_nd_update(result, grid[is_inside], rows[is_inside])
    args = {"sizes": sizes, "strides": strides}
    for name, is_given in [("box_indices", has_box_indices), ("flips", has_flips)]:
        if is_given:
            args[name] = "yes"
    if mode == "clamp":
        args["out_of_range"] = "clamp"
    if mode == "circular":
        args["circular"] = "yes"
    tuple_length = has_box_indices + dim_count * (1 + has_flips)
    indices = {
        "shape": [box_count, tuple_length],
        "data": [number for index_tuple in index_tuples for number in index_tuple],
    }
    tensors = {"params": params, "indices": indices, "patches": patches}
    result = {"shape": params["shape"], "data": result.numpy().ravel().tolist()}
    outcome = {"error": True, "error_kind": "out_of_range", "ignore": result} if bad_box_count else {"expected": result}
    return {"op": "paste", "dtype": "int32", "tensors": tensors, "args": args, **outcome}


number = 0
while number < COUNT:
    if line := draw_case():
        print(json.dumps({"id": number, **line}, separators=(",", ":")))
        number += 1
