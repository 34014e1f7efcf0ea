#!/usr/bin/env python3
"""Makes golden vectors of updates by NumPy's index expressions with arrays.

    venv/bin/python gen_index_update.py [COUNT] > index_update.jsonl

Draws expressions as gen_array_index.py does, and a value that is broadcast to the selection. The results are those of
NumPy's `x[…] = value`, or of `ufunc.at`, such as `numpy.add.at`, for combinations. For combinations and for outer
expressions, the expression first selects flat positions of x, which are then updated. Every run writes the same bytes.
"""

import json

import numpy

import gen_array_index as index
from gen_array_index import COUNT, MAX_ELEMENTS, draw, draw_expression, numpy_entry, outer_index

COMBINE = {
    "update": None,
    "add": numpy.add,
    "sub": numpy.subtract,
    "mul": numpy.multiply,
    "min": numpy.minimum,
    "max": numpy.maximum,
}
# Parts of NumPy's messages if a value does not fit the selection. `index.ERROR_KINDS` has the other messages.
VALUE_ERRORS = [
    "value array", "remapped shapes", "more dimensions", "with a sequence", "to a scalar array", "could not broadcast",
    "cannot assign", "not broadcastable", "non-broadcastable",
]


def value_shape(selected_shape):
    """Returns a shape that can be broadcast to the selection. Rarely, the shape is wrong."""
    shape = [1 if draw.random() < 0.2 else size for size in selected_shape]
    random_number = draw.random()
    if random_number < 0.15:
        shape = shape[draw.randint(0, len(shape)) :]
    elif random_number < 0.25:
        shape = [1] + shape
    if shape and index.breaks(0.04):
        dim = draw.randrange(len(shape))
        shape[dim] += 2
    return shape


def updated(x, entries, is_outer, value, combine):
    x = x.copy()
    ufunc = COMBINE[combine]
    # With slices and new axes in an expression, NumPy 2.4.6's ufunc.at fails or reads wrong memory.
    if is_outer or ufunc is not None:
        positions = numpy.arange(x.size).reshape(x.shape)
        positions = outer_index(positions, entries) if is_outer else positions[tuple(map(numpy_entry, entries))]
        while value.ndim > positions.ndim and value.shape[0] == 1:
            value = value[0]
        value, target = numpy.broadcast_to(value, positions.shape).ravel(), x.reshape(-1)
        target_index = positions.ravel()
    else:
        target, target_index = x, tuple(map(numpy_entry, entries))
    if ufunc is None:
        target[target_index] = value
    else:
        ufunc.at(target, target_index, value)
    return x


def main():
    case_id = 0
    while case_id < COUNT:
        sizes = [draw.choice([0, 1, 2, 2, 3, 4, 5]) for _ in range(draw.randint(1, 4))]
        index.broken_rule_count = 0
        entries, is_outer = draw_expression(sizes)
        x = numpy.arange(1, 1 + int(numpy.prod(sizes)), dtype=numpy.int32).reshape(sizes)
        try:
            selected_shape = (outer_index(x, entries) if is_outer else x[tuple(map(numpy_entry, entries))]).shape
        except (IndexError, ValueError):
            selected_shape = ()
        shape = value_shape(selected_shape)
        combine = draw.choice(list(COMBINE))
        largest = 3 if combine == "mul" else 20
        data = [draw.randint(-largest, largest) for _ in range(int(numpy.prod(shape)))]
        if index.broken_rule_count > 1 or max(len(data), x.size, int(numpy.prod(selected_shape))) > MAX_ELEMENTS:
            continue
        args = {"index": entries}
        if is_outer:
            args["outer"] = "yes"
        if combine != "update":
            args["combine"] = combine
        tensors = {
            "params": {"shape": sizes, "data": x.ravel().tolist()},
            "value": {"shape": shape, "data": data},
        }
        line = {"id": case_id, "op": "index_update", "dtype": "int32", "tensors": tensors, "args": args}
        value = numpy.array(data, numpy.int32).reshape(shape)
        try:
            result = updated(x, entries, is_outer, value, combine)
            line["expected"] = {"shape": sizes, "data": result.ravel().tolist()}
        except TypeError:
            # For a mask of all dimensions, NumPy rejects values of two dimensions. Elsewhere it drops leading 1s.
            continue
        except (IndexError, ValueError) as error:
            error_kinds = [(text, "broadcast") for text in VALUE_ERRORS] + index.ERROR_KINDS
            line.update(error=True, error_kind=index.error_kind_of(error, error_kinds, x, entries, is_outer))
        print(json.dumps(line, separators=(",", ":")))
        case_id += 1


if __name__ == "__main__":
    main()
