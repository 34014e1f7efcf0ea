#!/usr/bin/env python3
"""Makes golden vectors of paste.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python gen_paste.py > paste.jsonl

The answers are TensorFlow's: for each box, one tf.tensor_scatter_nd_update changes the result of the previous box.
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
MOST = 400
draw = random.Random(2)


def values(sizes):
    return [draw.choice([n for n in range(-99, 100) if n]) for _ in range(int(numpy.prod(sizes)))]


def tensor(sizes):
    return {"shape": list(sizes), "data": values(sizes)}


def pasted():
    """Returns a case, or None if a tensor is too large."""
    items = draw.randint(1, 4)
    dims = draw.randint(0, 3)
    x = [items] + [draw.choice([1, 2, 3, 5, 8, 13]) for _ in range(dims)]
    rest = [draw.choice([1, 2, 3, 4, 7]) for _ in range(draw.randint(0, 2))]
    by_index, flips = draw.random() < 0.6, draw.random() < 0.4
    count = draw.randint(0, 5) if by_index else items
    mode = draw.choice(["zero", "zero", "clamp", "circular"])
    sizes, strides = [], []
    for size in x[1:]:
        stride = draw.choice([1, 1, 1, -1, 2, -2, 3])
        most = (size - 1) // abs(stride) + 1
        sizes.append(draw.randint(1, most + (mode == "zero")))
        strides.append(stride)
    shape = [count, *sizes, *rest]
    if max(numpy.prod(x + rest), numpy.prod(shape)) > MOST:
        return None
    params, patches = tensor(x + rest), tensor(shape)
    result = tensorflow.constant(numpy.array(params["data"], numpy.int32).reshape(params["shape"]))
    source = numpy.array(patches["data"], numpy.int32).reshape(shape)
    tuples, bad = [], 0
    for n in range(count):
        item = draw.randint(-1, items) if draw.random() < 0.2 else draw.randint(0, items - 1)
        begins = [draw.randint(-size, 2 * size) if draw.random() < 0.4 else draw.randint(0, size - 1) for size in x[1:]]
        flipped = [int(draw.random() < 0.5) for _ in sizes]
        tuples.append([item] * by_index + begins + flipped * flips)
        item = item if by_index else n
        if mode == "clamp":
            item = min(max(item, 0), items - 1)
        places = [numpy.array([item])]
        for size, extent, stride, begin, flip in zip(x[1:], sizes, strides, begins, flipped):
            reach = (extent - 1) * stride
            if mode == "clamp":
                begin = min(max(begin, max(-reach, 0)), size - 1 - max(reach, 0))
            along = begin + stride * numpy.arange(extent)
            if mode == "circular":
                along %= size
            places.append(along[::-1] if flips and flip else along)
        grid = numpy.stack(numpy.meshgrid(*places, indexing="ij"), -1).reshape(-1, 1 + dims)
        inside = ((grid >= 0) & (grid < numpy.array(x))).all(-1)
        bad += not inside.all()
        rows = source[n].reshape([len(grid), *rest])
        result = tensorflow.tensor_scatter_nd_update(result, grid[inside], rows[inside])
    args = {"sizes": sizes, "strides": strides}
    for name, is_given in [("box_indices", by_index), ("flips", flips)]:
        if is_given:
            args[name] = "yes"
    if mode == "clamp":
        args["out_of_range"] = "clamp"
    if mode == "circular":
        args["circular"] = "yes"
    depth = by_index + dims * (1 + flips)
    indices = {"shape": [count, depth], "data": [number for row in tuples for number in row]}
    tensors = {"params": params, "indices": indices, "patches": patches}
    result = {"shape": params["shape"], "data": result.numpy().ravel().tolist()}
    outcome = {"error": True, "error_kind": "out_of_range", "ignore": result} if bad else {"expected": result}
    return {"op": "paste", "dtype": "int32", "tensors": tensors, "args": args, **outcome}


number = 0
while number < COUNT:
    if line := pasted():
        print(json.dumps({"id": number, **line}, separators=(",", ":")))
        number += 1
