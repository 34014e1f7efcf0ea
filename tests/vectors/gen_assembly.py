#!/usr/bin/env python3
"""Makes golden vectors of concat, stack, pad, roll, tile and repeat.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python gen_assembly.py > assembly.jsonl

The answers are TensorFlow's, and NumPy's for the paddings `edge` and `wrap`, which TensorFlow does not have.
gen_vectors.py describes the format. Every run writes the same bytes.
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
    ("ConcatOp : Expected concatenating dimensions", "axis"),
    ("Can't concatenate scalars", "axis"),
    ("ConcatOp : Ranks of all", "array_shape"),
    ("ConcatOp : Dimension", "array_shape"),
    ("not in range [", "axis"),
    ("Shapes of all inputs must match", "array_shape"),
    ("must be the rank of inputs", "entries"),
    ("paddings must be less than", "padding"),
    ("paddings must be no greater", "padding"),
    ("can't extend empty axis", "padding"),
    ("input must be 1-D or higher", "axis"),
    ("shift and axis must have the same size", "shifts"),
    ("is out of range", "axis"),
    ("Expected multiples argument", "entries"),
    ("out of bounds", "axis"),
]
draw = random.Random(1)


def shape(least=0):
    return [draw.choice([0, 1, 1, 2, 3, 4, 5, 7, 40]) for _ in range(draw.randint(least, 4))]


def values(sizes):
    return [draw.choice([n for n in range(-99, 100) if n]) for _ in range(int(numpy.prod(sizes)))]


def axis_of(rank):
    return draw.randint(-rank, rank - 1) if rank and draw.random() < 0.95 else draw.choice([rank, -rank - 1, 9])


def tensor(sizes):
    return {"shape": sizes, "data": values(sizes)}


def array(of):
    return numpy.array(of["data"], numpy.int32).reshape(of["shape"])


def joined(op):
    first = shape(0 if op == "stack" else 1)
    axis = axis_of(len(first) + (op == "stack"))
    arrays = [first]
    # There are at least two arrays, because tf.concat returns a single array without checking the axis.
    for _ in range(draw.randint(1, 4)):
        sizes = list(first)
        if op == "concat" and -len(sizes) <= axis < len(sizes):
            sizes[axis] = draw.randint(0, 9)
        if draw.random() < 0.04:
            sizes = sizes + [1] if draw.random() < 0.5 else [size + 1 for size in sizes]
        arrays.append(sizes)
    tensors = {f"x{n}": tensor(sizes) for n, sizes in enumerate(arrays)}
    call = tensorflow.concat if op == "concat" else tensorflow.stack
    # The arrays become tensors, because tf.stack loses the sizes of empty NumPy arrays.
    return tensors, {"axis": axis}, lambda: call([tensorflow.constant(array(x)) for x in tensors.values()], axis)


def padded():
    sizes = shape()
    mode = draw.choice(["constant", "constant", "reflect", "symmetric", "edge", "wrap"])
    paddings = []
    for size in sizes:
        most = {"reflect": max(size - 1, 0), "symmetric": size, "wrap": size, "edge": 5 * (size > 0)}.get(mode, 5)
        most += draw.random() < 0.05 and mode != "wrap"
        paddings += [draw.randint(0, min(most, 6)), draw.randint(0, most)]
    if draw.random() < 0.04:
        paddings += [0, 1]
    tensors = {"params": tensor(sizes), "constant": tensor([])}
    x, constant = array(tensors["params"]), tensors["constant"]["data"][0]
    pairs = numpy.array(paddings, numpy.int32).reshape(-1, 2)
    args = {"mode": mode, "paddings": paddings}
    if mode in ("edge", "wrap"):
        # NumPy cannot pad a scalar, not even without paddings.
        if len(pairs) != len(sizes) or not sizes:
            return padded()
        return tensors, args, lambda: numpy.pad(x, pairs, mode)
    return tensors, args, lambda: tensorflow.pad(x, pairs, mode.upper(), constant_values=constant)


def rolled():
    sizes = shape()
    count = draw.randint(1, 3)
    axes = [axis_of(len(sizes)) for _ in range(count)]
    shifts = [draw.randint(-30, 30) for _ in range(count + (draw.random() < 0.05))]
    tensors = {"params": tensor(sizes)}
    return tensors, {"shifts": shifts, "axes": axes}, lambda: tensorflow.roll(array(tensors["params"]), shifts, axes)


def tiled(op):
    sizes = shape()
    tensors = {"params": tensor(sizes)}
    x = array(tensors["params"])
    if op == "repeat":
        times, axis = draw.randint(0, 4), axis_of(max(len(sizes), 1))
        return tensors, {"multiples": [times], "axis": axis}, lambda: tensorflow.repeat(x, times, axis=axis)
    multiples = [draw.randint(0, 3) for _ in range(len(sizes) + (draw.random() < 0.05))]
    of_type = numpy.array(multiples, numpy.int32)
    return tensors, {"multiples": multiples}, lambda: tensorflow.tile(x, of_type)


def reflects_nothing(args, tensors):
    """Returns whether TensorFlow rejects a padding only because it pads a dimension of size 0 by 0."""
    pairs = zip(args["paddings"][::2], args["paddings"][1::2])
    sizes = tensors["params"]["shape"]
    return args["mode"] == "reflect" and all(max(pair) <= max(size - 1, 0) for pair, size in zip(pairs, sizes))


OPERATIONS = {
    "concat": lambda: joined("concat"),
    "stack": lambda: joined("stack"),
    "pad": padded,
    "roll": rolled,
    "tile": lambda: tiled("tile"),
    "repeat": lambda: tiled("repeat"),
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
        tag = next((tag for text, tag in TAGS if text in message), None)
        if tag is None:
            sys.exit(f"no tag for {op} {args}: {message}")
        if tag == "padding" and reflects_nothing(args, tensors):
            tag = "empty_unsupported"
        line.update(error=True, error_kind=tag)
    print(json.dumps(line, separators=(",", ":")))
    number += 1
