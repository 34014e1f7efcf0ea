#!/usr/bin/env python3
"""Makes golden vectors of NumPy's index expressions with arrays.

    venv/bin/python gen_array_index.py [COUNT] > array_index.jsonl

Draws random expressions from a grammar. The results are those of NumPy's `x[…]`. In an outer expression, each array
selects along its own axis, so NumPy applies one array at a time. Every run writes the same bytes.
"""

import json
import random
import sys

import numpy

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 600
# The maximum number of elements of a tensor.
MAX_ELEMENTS = 300
# Parts of NumPy's error messages, each with the kind of the error.
ERROR_KINDS = [
    ("single ellipsis", "multiple_ellipses"),
    ("too many indices", "too_many_specs"),
    ("slice step cannot be zero", "stride_zero"),
    ("did not match indexed array", "mask_shape"),
    ("shape mismatch", "array_shapes"),
    ("out of bounds", "position"),
]
draw = random.Random(1)
# The number of rules that the current expression breaks. An expression that breaks several rules is dropped, because
# NumPy does not specify which error comes first.
broken_rule_count = 0


def breaks(chance):
    global broken_rule_count
    is_broken = draw.random() < chance
    broken_rule_count += is_broken
    return is_broken


def nested(sizes, value):
    return [nested(sizes[1:], value) for _ in range(sizes[0])] if sizes else value()


def draw_position(size):
    return draw.choice([size, -size - 1]) if breaks(1 if not size else 0.004) else draw.randrange(-size, size)


def draw_bound(size):
    return None if draw.random() < 0.3 else draw.randint(-size - 1, size + 1)


def draw_array(sizes, axis, is_outer, common_sizes):
    """Draws an array of positions or a mask. Returns it with the number of axes that it indexes."""
    if draw.random() < 0.3:
        rank = 1 if is_outer else draw.choice([0] + [1, 1, 2, 3])
        mask_sizes = sizes[axis : axis + rank]
        mask_shape = list(mask_sizes)
        if mask_shape and breaks(0.03):
            mask_shape[0] += 1
        return nested(mask_shape, lambda: draw.random() < 0.5), len(mask_sizes)
    shape = (
        [draw.randint(0, 4)]
        if is_outer
        else draw.choice([common_sizes, [common_sizes[0], 1], [common_sizes[1]], [common_sizes[1]], [1]])
    )
    return nested(shape, lambda: draw_position(sizes[axis])), 1


def draw_expression(sizes):
    is_outer = draw.random() < 0.3
    common_sizes = [draw.randint(1, 3), draw.randint(0, 3)]
    entries, axis, ellipsis_count = [], 0, 0
    while axis < len(sizes) and draw.random() < 0.93:
        random_number = draw.random()
        if random_number < 0.1:
            entries.append(None)
        elif random_number < 0.2 and (not ellipsis_count or breaks(0.05)):
            entries.append("...")
            ellipsis_count += 1
            axis += draw.randint(0, len(sizes) - axis)
        elif random_number < 0.35:
            entries.append(draw_position(sizes[axis]))
            axis += 1
        elif random_number < 0.6:
            stride = draw.choice([1, 1, 1, 2, 3, -1, -2]) if not breaks(0.01) else 0
            entries.append({"range": [draw_bound(sizes[axis]), draw_bound(sizes[axis]), stride]})
            axis += 1
        else:
            entry, indexed_axes = draw_array(sizes, axis, is_outer, common_sizes)
            entries.append(entry)
            axis += indexed_axes
    if breaks(0.02):
        entries.append([0])
    return entries, is_outer


def numpy_entry(entry):
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
    """Returns the result of an outer expression. Slices and single positions are applied first, and then one array at a
    time."""
    entries_without_arrays = [slice(None) if is_array(entry) else numpy_entry(entry) for entry in entries]
    indexed_axes = sum(1 for entry in entries if entry is not None and entry != "...")
    result = x[tuple(entries_without_arrays)]
    axis = 0
    for entry in entries:
        if is_array(entry):
            array = numpy_entry(entry)
            if array.dtype == bool and len(array) != result.shape[axis]:
                raise IndexError("did not match indexed array")
            result = result[(slice(None),) * axis + (array,)]
        if entry == "...":
            axis += x.ndim - indexed_axes
        elif entry is None or isinstance(entry, dict) or is_array(entry):
            axis += 1
    return result


def is_inside(x, entries):
    """Returns whether the slices and single positions without the arrays are a valid expression."""
    try:
        x[tuple(slice(None) if is_array(entry) else numpy_entry(entry) for entry in entries)]
        return True
    except IndexError:
        return False


def error_kind_of(error, error_kinds, x, entries, is_outer):
    """Returns the kind of NumPy's error, by the first text in `error_kinds` that its message contains."""
    message = str(error)
    kind = next((kind for text, kind in error_kinds if text in message), None)
    if kind is None:
        sys.exit(f"no kind for {entries}: {message}")
    if kind == "position" and (not any(map(is_array, entries)) or is_outer and not is_inside(x, entries)):
        kind = "shrink_out_of_range"
    return kind


def main():
    global broken_rule_count
    case_id = 0
    while case_id < COUNT:
        sizes = [draw.choice([0, 1, 2, 2, 3, 4, 5]) for _ in range(draw.randint(1, 4))]
        broken_rule_count = 0
        entries, is_outer = draw_expression(sizes)
        if broken_rule_count > 1:
            continue
        x = numpy.arange(1, 1 + int(numpy.prod(sizes)), dtype=numpy.int32).reshape(sizes)
        args = {"index": entries}
        if is_outer:
            args["outer"] = "yes"
        params = {"shape": sizes, "data": x.ravel().tolist()}
        line = {"id": case_id, "op": "array_index", "dtype": "int32", "tensors": {"params": params}, "args": args}
        try:
            result = outer_index(x, entries) if is_outer else x[tuple(map(numpy_entry, entries))]
            if max(result.size, x.size) > MAX_ELEMENTS:
                continue
            line["expected"] = {"shape": list(result.shape), "data": result.ravel().tolist()}
        except (IndexError, ValueError) as error:
            line.update(error=True, error_kind=error_kind_of(error, ERROR_KINDS, x, entries, is_outer))
        print(json.dumps(line, separators=(",", ":")))
        case_id += 1


if __name__ == "__main__":
    main()
