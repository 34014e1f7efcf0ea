#!/usr/bin/env python3
"""Makes golden vectors of updates by NumPy's index expressions with arrays.

    venv/bin/python gen_index_update.py [COUNT] > index_update.jsonl

Draws expressions as gen_array_index.py does, and a value that is broadcast to the selection. The answers are NumPy's
`x[…] = value`, or `numpy.add.at` and the other `ufunc.at` for combinations such as add. For combinations and for outer
expressions, the expression first selects flat positions of x, which are then updated. Every run writes the same bytes.
"""

import json

import numpy

import gen_array_index as index
from gen_array_index import COUNT, MOST, draw, expression, of_numpy, outer_index

COMBINE = {
    "update": None,
    "add": numpy.add,
    "sub": numpy.subtract,
    "mul": numpy.multiply,
    "min": numpy.minimum,
    "max": numpy.maximum,
}
# Parts of NumPy's messages if a value does not fit the selection. `index.TAGS` has the other messages.
VALUE = ["value array", "remapped shapes", "more dimensions", "with a sequence", "to a scalar array", "could not broadcast", "cannot assign", "not broadcastable", "non-broadcastable"]


def value_shape(selected):
    """Returns a shape that can be broadcast to the selection. Rarely, the shape is wrong."""
    shape = [1 if draw.random() < 0.2 else size for size in selected]
    kind = draw.random()
    if kind < 0.15:
        shape = shape[draw.randint(0, len(shape)) :]
    elif kind < 0.25:
        shape = [1] + shape
    if shape and index.breaks(0.04):
        at = draw.randrange(len(shape))
        shape[at] += 2
    return shape


def changed(x, entries, outer, value, combine):
    x = x.copy()
    at = COMBINE[combine]
    # With slices and new axes in an expression, NumPy 2.4.6's ufunc.at fails or reads wrong memory.
    if outer or at is not None:
        places = numpy.arange(x.size).reshape(x.shape)
        places = outer_index(places, entries) if outer else places[tuple(map(of_numpy, entries))]
        while value.ndim > places.ndim and value.shape[0] == 1:
            value = value[0]
        value, flat = numpy.broadcast_to(value, places.shape).ravel(), x.reshape(-1)
        expression = places.ravel()
    else:
        flat, expression = x, tuple(map(of_numpy, entries))
    if at is None:
        flat[expression] = value
    else:
        at.at(flat, expression, value)
    return x


def main():
    number = 0
    while number < COUNT:
        sizes = [draw.choice([0, 1, 2, 2, 3, 4, 5]) for _ in range(draw.randint(1, 4))]
        index.broken = 0
        entries, outer = expression(sizes)
        x = numpy.arange(1, 1 + int(numpy.prod(sizes)), dtype=numpy.int32).reshape(sizes)
        try:
            selected = (outer_index(x, entries) if outer else x[tuple(map(of_numpy, entries))]).shape
        except (IndexError, ValueError):
            selected = ()
        shape = value_shape(selected)
        combine = draw.choice(list(COMBINE))
        most = 3 if combine == "mul" else 20
        data = [draw.randint(-most, most) for _ in range(int(numpy.prod(shape)))]
        if index.broken > 1 or max(len(data), x.size, int(numpy.prod(selected))) > MOST:
            continue
        args = {"index": entries}
        if outer:
            args["outer"] = "yes"
        if combine != "update":
            args["combine"] = combine
        tensors = {
            "params": {"shape": sizes, "data": x.ravel().tolist()},
            "value": {"shape": shape, "data": data},
        }
        line = {"id": number, "op": "index_update", "dtype": "int32", "tensors": tensors, "args": args}
        value = numpy.array(data, numpy.int32).reshape(shape)
        try:
            result = changed(x, entries, outer, value, combine)
            line["expected"] = {"shape": sizes, "data": result.ravel().tolist()}
        except TypeError:
            # For a mask of all dimensions, NumPy rejects values of two dimensions. Elsewhere it drops leading 1s.
            continue
        except (IndexError, ValueError) as error:
            tags = [(text, "broadcast") for text in VALUE] + index.TAGS
            line.update(error=True, error_kind=index.kind_of(error, tags, x, entries, outer))
        print(json.dumps(line, separators=(",", ":")))
        number += 1


if __name__ == "__main__":
    main()
