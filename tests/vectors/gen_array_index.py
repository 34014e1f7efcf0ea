#!/usr/bin/env python3
"""Makes golden vectors of NumPy's index expressions with arrays.

    venv/bin/python gen_array_index.py [COUNT] > array_index.jsonl

Draws random expressions from a grammar. The answers are NumPy's `x[…]`. In an outer expression, each array selects
along its own axis, so NumPy applies one array at a time. Every run writes the same bytes.
"""

import json
import random
import sys

import numpy

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 600
# The maximum number of elements of a tensor.
MOST = 300
# Parts of NumPy's error messages, each with the tag of the error.
TAGS = [
    ("single ellipsis", "multiple_ellipses"),
    ("too many indices", "too_many_specs"),
    ("slice step cannot be zero", "stride_zero"),
    ("did not match indexed array", "mask_shape"),
    ("shape mismatch", "array_shapes"),
    ("out of bounds", "position"),
]
draw = random.Random(1)
# The number of rules that the current expression breaks. An expression that breaks several rules is drawn again,
# because NumPy does not specify which error comes first.
broken = 0


def breaks(chance):
    global broken
    does = draw.random() < chance
    broken += does
    return does


def nested(sizes, value):
    return [nested(sizes[1:], value) for _ in range(sizes[0])] if sizes else value()


def position(size):
    return draw.choice([size, -size - 1]) if breaks(1 if not size else 0.004) else draw.randrange(-size, size)


def bound(size):
    return None if draw.random() < 0.3 else draw.randint(-size - 1, size + 1)


def array_of(sizes, axis, outer, common):
    """Returns an array of positions or a mask, and the number of axes that it indexes."""
    if draw.random() < 0.3:
        rank = 1 if outer else draw.choice([0] + [1, 1, 2, 3])
        taken = sizes[axis : axis + rank]
        mask = list(taken)
        if mask and breaks(0.03):
            mask[0] += 1
        return nested(mask, lambda: draw.random() < 0.5), len(taken)
    shape = [draw.randint(0, 4)] if outer else draw.choice([common, [common[0], 1], [common[1]], [common[1]], [1]])
    return nested(shape, lambda: position(sizes[axis])), 1


def expression(sizes):
    outer = draw.random() < 0.3
    common = [draw.randint(1, 3), draw.randint(0, 3)]
    entries, axis, ellipses = [], 0, 0
    while axis < len(sizes) and draw.random() < 0.93:
        kind = draw.random()
        if kind < 0.1:
            entries.append(None)
        elif kind < 0.2 and (not ellipses or breaks(0.05)):
            entries.append("...")
            ellipses += 1
            axis += draw.randint(0, len(sizes) - axis)
        elif kind < 0.35:
            entries.append(position(sizes[axis]))
            axis += 1
        elif kind < 0.6:
            stride = draw.choice([1, 1, 1, 2, 3, -1, -2]) if not breaks(0.01) else 0
            entries.append({"range": [bound(sizes[axis]), bound(sizes[axis]), stride]})
            axis += 1
        else:
            entry, taken = array_of(sizes, axis, outer, common)
            entries.append(entry)
            axis += taken
    if breaks(0.02):
        entries.append([0])
    return entries, outer


def of_numpy(entry):
    if entry == "...":
        return Ellipsis
    if isinstance(entry, dict):
        return slice(*entry["range"])
    if isinstance(entry, list):
        return numpy.array(entry, bool) if is_mask(entry) else numpy.array(entry, numpy.int64)
    return entry


def is_mask(entry):
    while isinstance(entry, list) and entry:
        entry = entry[0]
    return isinstance(entry, bool)


def is_array(entry):
    return isinstance(entry, (list, bool))


def outer_index(x, entries):
    """Returns the result of an outer expression. Slices and positions come first, and then one array at a time."""
    plain = [slice(None) if is_array(entry) else of_numpy(entry) for entry in entries]
    taken = sum(1 for entry in entries if entry is not None and entry != "...")
    result = x[tuple(plain)]
    axis = 0
    for entry in entries:
        if is_array(entry):
            array = of_numpy(entry)
            if array.dtype == bool and len(array) != result.shape[axis]:
                raise IndexError("did not match indexed array")
            result = result[(slice(None),) * axis + (array,)]
        if entry == "...":
            axis += x.ndim - taken
        elif entry is None or isinstance(entry, dict) or is_array(entry):
            axis += 1
    return result


def is_inside(x, entries):
    """Returns whether the slices and single positions without the arrays are a valid expression."""
    try:
        x[tuple(slice(None) if is_array(entry) else of_numpy(entry) for entry in entries)]
        return True
    except IndexError:
        return False


def kind_of(error, tags, x, entries, outer):
    """Returns the kind of NumPy's error, by the first text in `tags` that its message contains."""
    message = str(error)
    tag = next((tag for text, tag in tags if text in message), None)
    if tag is None:
        sys.exit(f"no tag for {entries}: {message}")
    if tag == "position" and (not any(map(is_array, entries)) or outer and not is_inside(x, entries)):
        tag = "shrink_out_of_range"
    return tag


def main():
    global broken
    number = 0
    while number < COUNT:
        sizes = [draw.choice([0, 1, 2, 2, 3, 4, 5]) for _ in range(draw.randint(1, 4))]
        broken = 0
        entries, outer = expression(sizes)
        if broken > 1:
            continue
        x = numpy.arange(1, 1 + int(numpy.prod(sizes)), dtype=numpy.int32).reshape(sizes)
        args = {"index": entries}
        if outer:
            args["outer"] = "yes"
        params = {"shape": sizes, "data": x.ravel().tolist()}
        line = {"id": number, "op": "array_index", "dtype": "int32", "tensors": {"params": params}, "args": args}
        try:
            result = outer_index(x, entries) if outer else x[tuple(map(of_numpy, entries))]
            if max(result.size, x.size) > MOST:
                continue
            line["expected"] = {"shape": list(result.shape), "data": result.ravel().tolist()}
        except (IndexError, ValueError) as error:
            line.update(error=True, error_kind=kind_of(error, TAGS, x, entries, outer))
        print(json.dumps(line, separators=(",", ":")))
        number += 1


if __name__ == "__main__":
    main()
