#!/usr/bin/env python3
"""Makes golden vectors of concat, stack, pad, roll, tile and repeat.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python gen_assembly.py > assembly.jsonl

The results are TensorFlow's, or NumPy's for the paddings `edge` and `wrap`, which TensorFlow does not have.
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
MAX_ELEMENTS = 400
# Parts of the error messages of TensorFlow and NumPy, each with the kind of the error.
ERROR_KINDS = [
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


def draw_shape(lowest_rank=0):
    return [draw.choice([0, 1, 1, 2, 3, 4, 5, 7, 40]) for _ in range(draw.randint(lowest_rank, 4))]


def draw_values(sizes):
    return [draw.choice([n for n in range(-99, 100) if n]) for _ in range(int(numpy.prod(sizes)))]


def draw_axis(rank):
    return draw.randint(-rank, rank - 1) if rank and draw.random() < 0.95 else draw.choice([rank, -rank - 1, 9])


def draw_tensor(sizes):
    return {"shape": sizes, "data": draw_values(sizes)}


def array(tensor):
    return numpy.array(tensor["data"], numpy.int32).reshape(tensor["shape"])


def joined_case(op):
    first_shape = draw_shape(0 if op == "stack" else 1)
    axis = draw_axis(len(first_shape) + (op == "stack"))
    shapes = [first_shape]
    # There are at least two arrays, because tf.concat returns a single array without checking the axis.
    for _ in range(draw.randint(1, 4)):
        sizes = list(first_shape)
        if op == "concat" and -len(sizes) <= axis < len(sizes):
            sizes[axis] = draw.randint(0, 9)
        if draw.random() < 0.04:
            sizes = sizes + [1] if draw.random() < 0.5 else [size + 1 for size in sizes]
        shapes.append(sizes)
    tensors = {f"x{n}": draw_tensor(sizes) for n, sizes in enumerate(shapes)}
    call = tensorflow.concat if op == "concat" else tensorflow.stack
    # The arrays become tensors, because tf.stack loses the sizes of empty NumPy arrays.
    return tensors, {"axis": axis}, lambda: call([tensorflow.constant(array(x)) for x in tensors.values()], axis)


def padded_case():
    sizes = draw_shape()
    mode = draw.choice(["constant", "constant", "reflect", "symmetric", "edge", "wrap"])
    paddings = []
    for size in sizes:
        max_padding = {"reflect": max(size - 1, 0), "symmetric": size, "wrap": size, "edge": 5 * (size > 0)}.get(
            mode, 5
        )
        max_padding += draw.random() < 0.05 and mode != "wrap"
        paddings += [draw.randint(0, min(max_padding, 6)), draw.randint(0, max_padding)]
    if draw.random() < 0.04:
        paddings += [0, 1]
    tensors = {"params": draw_tensor(sizes), "constant": draw_tensor([])}
    x, constant = array(tensors["params"]), tensors["constant"]["data"][0]
    padding_pairs = numpy.array(paddings, numpy.int32).reshape(-1, 2)
    args = {"mode": mode, "paddings": paddings}
    if mode in ("edge", "wrap"):
        # NumPy cannot pad a scalar, not even without paddings.
        if len(padding_pairs) != len(sizes) or not sizes:
            return padded_case()
        return tensors, args, lambda: numpy.pad(x, padding_pairs, mode)
    return tensors, args, lambda: tensorflow.pad(x, padding_pairs, mode.upper(), constant_values=constant)


def rolled_case():
    sizes = draw_shape()
    count = draw.randint(1, 3)
    axes = [draw_axis(len(sizes)) for _ in range(count)]
    shifts = [draw.randint(-30, 30) for _ in range(count + (draw.random() < 0.05))]
    tensors = {"params": draw_tensor(sizes)}
    return tensors, {"shifts": shifts, "axes": axes}, lambda: tensorflow.roll(array(tensors["params"]), shifts, axes)


def tiled_case(op):
    sizes = draw_shape()
    tensors = {"params": draw_tensor(sizes)}
    x = array(tensors["params"])
    if op == "repeat":
        repeat_count, axis = draw.randint(0, 4), draw_axis(max(len(sizes), 1))
        return (
            tensors,
            {"multiples": [repeat_count], "axis": axis},
            lambda: tensorflow.repeat(x, repeat_count, axis=axis),
        )
    multiples = [draw.randint(0, 3) for _ in range(len(sizes) + (draw.random() < 0.05))]
    multiples_array = numpy.array(multiples, numpy.int32)
    return tensors, {"multiples": multiples}, lambda: tensorflow.tile(x, multiples_array)


def reflects_nothing(args, tensors):
    """Returns whether TensorFlow rejects a padding only because it pads a dimension of size 0 by 0."""
    pairs = zip(args["paddings"][::2], args["paddings"][1::2])
    sizes = tensors["params"]["shape"]
    return args["mode"] == "reflect" and all(max(pair) <= max(size - 1, 0) for pair, size in zip(pairs, sizes))


OPERATIONS = {
    "concat": lambda: joined_case("concat"),
    "stack": lambda: joined_case("stack"),
    "pad": padded_case,
    "roll": rolled_case,
    "tile": lambda: tiled_case("tile"),
    "repeat": lambda: tiled_case("repeat"),
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
        kind = next((kind for text, kind in ERROR_KINDS if text in message), None)
        if kind is None:
            sys.exit(f"no kind for {op} {args}: {message}")
        if kind == "padding" and reflects_nothing(args, tensors):
            kind = "empty_unsupported"
        line.update(error=True, error_kind=kind)
    print(json.dumps(line, separators=(",", ":")))
    number += 1
