#!/usr/bin/env python3
"""Makes golden vectors of selection by mask.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python gen_mask.py > mask.jsonl

The answers are TensorFlow's: tf.where with one argument (nonzero) and with three (select, and masked_update with the
array as y), tf.boolean_mask, and tf.tensor_scatter_nd_update at the indices of tf.where (masked_scatter). The answers
for compress are NumPy's, because TensorFlow does not have it. gen_vectors.py describes the format. Every run writes the
same bytes.
"""

import json
import os
import random
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy
import tensorflow

COUNT = 600
# The maximum number of elements of a tensor.
MOST = 400
# Parts of the error messages of TensorFlow and NumPy, each with the tag of the error.
TAGS = [
    ("mask cannot be scalar", "mask_scalar"),
    ("are incompatible", "mask_shape"),
    ("must be broadcastable", "broadcast"),
    ("condition must be a 1-d array", "condition"),
    ("is out of bounds for axis", "condition"),
    ("cannot do a non-empty take from an empty axes", "condition"),
    ("is out of bounds for array of dimension", "axis"),
]
draw = random.Random(1)


def shape(least=0):
    return [draw.choice([0, 1, 1, 2, 3, 4, 5, 7, 40]) for _ in range(draw.randint(least, 4))]


def count(sizes):
    return int(numpy.prod(sizes))


def tensor(sizes):
    return {"shape": sizes, "data": [draw.choice([n for n in range(-99, 100) if n]) for _ in range(count(sizes))]}


def mask_of(sizes):
    share = draw.choice([0, 0.1, 0.5, 0.5, 0.9, 1])
    true = draw.choice([1, 1, 200])
    return {"shape": sizes, "data": [true * (draw.random() < share) for _ in range(count(sizes))]}


def array(of, dtype=numpy.int32):
    return numpy.array(of["data"], dtype).reshape(of["shape"])


def disturbed(sizes):
    return [size + 1 for size in sizes] if draw.random() < 0.05 else sizes


def nonzero():
    # TensorFlow rejects scalar masks.
    tensors = {"mask": mask_of(shape(1))}
    return tensors, {}, lambda: tensorflow.where(array(tensors["mask"], bool))


def boolean_mask():
    sizes = shape(1)
    axis = draw.randrange(len(sizes))
    end = draw.randint(axis + 1, len(sizes))
    of_mask = [] if draw.random() < 0.03 else disturbed(sizes[axis:end])
    tensors = {"params": tensor(sizes), "mask": mask_of(of_mask)}
    mask = array(tensors["mask"], bool)
    return tensors, {"axis": axis}, lambda: tensorflow.boolean_mask(array(tensors["params"]), mask, axis=axis)


def compress():
    sizes = shape(1)
    axis = draw.randint(-len(sizes), len(sizes) - 1) if draw.random() < 0.95 else 9
    args = {"axis": axis}
    size = sizes[axis] if axis != 9 else 3
    if draw.random() < 0.3:
        args, size = {}, count(sizes)
    if draw.random() < 0.4:
        size = draw.randint(0, size)
    tensors = {"params": tensor(sizes), "mask": mask_of([size])}
    if draw.random() < 0.05:
        # NumPy rejects a longer condition only if an element after the end of the axis is true.
        tensors["mask"] = {"shape": [size + 1], "data": [0] * size + [1]}
    elif draw.random() < 0.03:
        tensors["mask"] = mask_of([1, size])
    condition = array(tensors["mask"], bool)
    return tensors, args, lambda: numpy.compress(condition, array(tensors["params"]), **args)


def broadcast(sizes):
    some = [1 if draw.random() < 0.3 else size for size in sizes]
    return disturbed(some[draw.randint(0, len(some)) if draw.random() < 0.5 else 0:])


def select():
    sizes = shape()
    tensors = {"params": tensor(broadcast(sizes)), "other": tensor(broadcast(sizes)), "mask": mask_of(broadcast(sizes))}
    x, y = array(tensors["params"]), array(tensors["other"])
    return tensors, {}, lambda: tensorflow.where(array(tensors["mask"], bool), x, y)


def masked_update():
    sizes = shape()
    some = [1 if draw.random() < 0.3 else size for size in sizes]
    other = some[draw.randint(0, len(some)):]
    tensors = {"params": tensor(sizes), "other": tensor(other), "mask": mask_of(some)}
    x, value = array(tensors["params"]), array(tensors["other"])
    return tensors, {}, lambda: tensorflow.where(array(tensors["mask"], bool), value, x)


def masked_scatter():
    sizes = shape(1)
    end = draw.randint(1, len(sizes))
    mask = mask_of(sizes[:end])
    values = [sum(value != 0 for value in mask["data"]), *sizes[end:]]
    if count(values) == 0:
        return masked_scatter()
    tensors = {"params": tensor(sizes), "mask": mask, "other": tensor(values)}
    x, updates = array(tensors["params"]), array(tensors["other"])
    return tensors, {}, lambda: tensorflow.tensor_scatter_nd_update(x, tensorflow.where(array(mask, bool)), updates)


OPERATIONS = {
    "nonzero": nonzero,
    "boolean_mask": boolean_mask,
    "compress": compress,
    "select": select,
    "masked_update": masked_update,
    "masked_scatter": masked_scatter,
}
number = 0
while number < COUNT:
    op = list(OPERATIONS)[number % len(OPERATIONS)]
    tensors, args, call = OPERATIONS[op]()
    line = {"id": number, "op": op, "dtype": "int32", "tensors": tensors, "args": args}
    try:
        result = numpy.asarray(call())
        if max([result.size, *(len(x["data"]) for x in tensors.values())]) > MOST:
            continue
        line["expected"] = {"shape": list(result.shape), "data": result.ravel().tolist()}
    except Exception as error:
        message = str(error)
        if max(len(x["data"]) for x in tensors.values()) > MOST:
            continue
        tag = next((tag for text, tag in TAGS if text in message), None)
        if tag is None:
            sys.exit(f"no tag for {op} {args} {tensors}: {message}")
        line.update(error=True, error_kind=tag)
    print(json.dumps(line, separators=(",", ":")))
    number += 1
