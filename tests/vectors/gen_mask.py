#!/usr/bin/env python3
"""Makes golden vectors of selection by mask.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python gen_mask.py > mask.jsonl

The results are TensorFlow's: tf.where with one argument (nonzero) and with three (select, and masked_update with the
array as y), tf.boolean_mask, and tf.tensor_scatter_nd_update at the indices of tf.where (masked_scatter). The results
of compress are NumPy's, because TensorFlow does not have it. gen_vectors.py describes the format. Every run writes the
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
MAX_ELEMENTS = 400
# Parts of the error messages of TensorFlow and NumPy, each with the kind of the error.
ERROR_KINDS = [
    ("mask cannot be scalar", "mask_scalar"),
    ("are incompatible", "mask_shape"),
    ("must be broadcastable", "broadcast"),
    ("condition must be a 1-d array", "condition"),
    ("is out of bounds for axis", "condition"),
    ("cannot do a non-empty take from an empty axes", "condition"),
    ("is out of bounds for array of dimension", "axis"),
]
draw = random.Random(1)


def draw_shape(lowest_rank=0):
    return [draw.choice([0, 1, 1, 2, 3, 4, 5, 7, 40]) for _ in range(draw.randint(lowest_rank, 4))]


def count(sizes):
    return int(numpy.prod(sizes))


def draw_tensor(sizes):
    return {"shape": sizes, "data": [draw.choice([n for n in range(-99, 100) if n]) for _ in range(count(sizes))]}


def draw_mask(sizes):
    true_share = draw.choice([0, 0.1, 0.5, 0.5, 0.9, 1])
    true_value = draw.choice([1, 1, 200])
    return {"shape": sizes, "data": [true_value * (draw.random() < true_share) for _ in range(count(sizes))]}


def array(tensor, dtype=numpy.int32):
    return numpy.array(tensor["data"], dtype).reshape(tensor["shape"])


def possibly_wrong_shape(sizes):
    return [size + 1 for size in sizes] if draw.random() < 0.05 else sizes


def nonzero():
    # TensorFlow rejects scalar masks.
    tensors = {"mask": draw_mask(draw_shape(1))}
    return tensors, {}, lambda: tensorflow.where(array(tensors["mask"], bool))


def boolean_mask():
    sizes = draw_shape(1)
    axis = draw.randrange(len(sizes))
    end = draw.randint(axis + 1, len(sizes))
    mask_shape = [] if draw.random() < 0.03 else possibly_wrong_shape(sizes[axis:end])
    tensors = {"params": draw_tensor(sizes), "mask": draw_mask(mask_shape)}
    mask = array(tensors["mask"], bool)
    return tensors, {"axis": axis}, lambda: tensorflow.boolean_mask(array(tensors["params"]), mask, axis=axis)


def compress():
    sizes = draw_shape(1)
    axis = draw.randint(-len(sizes), len(sizes) - 1) if draw.random() < 0.95 else 9
    args = {"axis": axis}
    condition_size = sizes[axis] if axis != 9 else 3
    if draw.random() < 0.3:
        args, condition_size = {}, count(sizes)
    if draw.random() < 0.4:
        condition_size = draw.randint(0, condition_size)
    tensors = {"params": draw_tensor(sizes), "mask": draw_mask([condition_size])}
    if draw.random() < 0.05:
        # NumPy rejects a longer condition only if an element after the end of the axis is true.
        tensors["mask"] = {"shape": [condition_size + 1], "data": [0] * condition_size + [1]}
    elif draw.random() < 0.03:
        tensors["mask"] = draw_mask([1, condition_size])
    condition = array(tensors["mask"], bool)
    return tensors, args, lambda: numpy.compress(condition, array(tensors["params"]), **args)


def draw_broadcast_shape(sizes):
    some_ones = [1 if draw.random() < 0.3 else size for size in sizes]
    return possibly_wrong_shape(some_ones[draw.randint(0, len(some_ones)) if draw.random() < 0.5 else 0 :])


def select():
    sizes = draw_shape()
    tensors = {
        "params": draw_tensor(draw_broadcast_shape(sizes)),
        "other": draw_tensor(draw_broadcast_shape(sizes)),
        "mask": draw_mask(draw_broadcast_shape(sizes)),
    }
    x, y = array(tensors["params"]), array(tensors["other"])
    return tensors, {}, lambda: tensorflow.where(array(tensors["mask"], bool), x, y)


def masked_update():
    sizes = draw_shape()
    mask_shape = [1 if draw.random() < 0.3 else size for size in sizes]
    value_shape = mask_shape[draw.randint(0, len(mask_shape)) :]
    tensors = {"params": draw_tensor(sizes), "other": draw_tensor(value_shape), "mask": draw_mask(mask_shape)}
    x, value = array(tensors["params"]), array(tensors["other"])
    return tensors, {}, lambda: tensorflow.where(array(tensors["mask"], bool), value, x)


def masked_scatter():
    sizes = draw_shape(1)
    mask_rank = draw.randint(1, len(sizes))
    mask = draw_mask(sizes[:mask_rank])
    values_shape = [sum(value != 0 for value in mask["data"]), *sizes[mask_rank:]]
    if count(values_shape) == 0:
        return masked_scatter()
    tensors = {"params": draw_tensor(sizes), "mask": mask, "other": draw_tensor(values_shape)}
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
        if max([result.size, *(len(x["data"]) for x in tensors.values())]) > MAX_ELEMENTS:
            continue
        line["expected"] = {"shape": list(result.shape), "data": result.ravel().tolist()}
    except Exception as error:
        message = str(error)
        if max(len(x["data"]) for x in tensors.values()) > MAX_ELEMENTS:
            continue
        kind = next((kind for text, kind in ERROR_KINDS if text in message), None)
        if kind is None:
            sys.exit(f"no kind for {op} {args} {tensors}: {message}")
        line.update(error=True, error_kind=kind)
    print(json.dumps(line, separators=(",", ":")))
    number += 1
