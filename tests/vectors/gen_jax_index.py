#!/usr/bin/env python3
"""Makes golden vectors of updates by the index expressions of JAX's tests.

    venv/bin/python gen_jax_index.py > jax_index.jsonl

SPECS lists the shapes and expressions of JAX's tests/lax_numpy_indexing_test.py, each once. Each has five cases: set,
add, subtract, minimum and maximum. The answers are NumPy's. Every run writes the same bytes.
"""

import ast
import json

import numpy

from gen_index_update import COMBINE, changed
from gen_array_index import of_numpy

SPECS = {
    (): ["None", "None, None", "..., None", ""],
    (3,): [
        *("1", "-1", "-2", ":", "...", "None", "", "[0, 1]", "[-1, 1]", "[-2, -1]", "[[0, 0]]", "[[0, 1]]", "[0, 1, 0]"),
        *("[0, 2, 1]", "::-1", "[True, True, False]"),
    ],
    (0,): ["[]"],
    (2, 3): ["[0, 1], 1:2", "0:2, [0, 2]"],
    (3, 3): [
        *("0", "2, 1", "[1, 2, 1]", "[1, 2, 0]", "[0, 1, 2]", "[[1, 2, 1], [0, 1, -1]]", "[0, 1], [1, 2]"),
        *("[[0, 1]], [1, 2]", "0:3:-2"),
    ],
    (3, 4): [":", ":, :", "...", "None", "..., None", "0, None, ...", "", "..., 1"],
    (4, 2): ["[True, True, False, True]", "[[True, False], [False, True], [False, False], [True, True]]"],
    (5,): ["1:3"],
    (5, 4): ["1:3", "1:3, 0:2", ":3, 0:2"],
    (5, 4, 3): ["1:3, 0:2", "1:3, 0:"],
    (6, 6): ["[[1, 2, 0], [3, 4, -1]]", "[[-1, 0, 1], [2, 3, 4]]"],
    (10,): [
        *("1:3", "1:-1", ":-1", ":", "3:1:-1", "1:8:-1", ":1:-2", "::-1", "0:8:2", "0:8:3", "1:3:2", "1::2", "1:5"),
    ],
    (10, 4): [":, 0:2", "1, :"],
    (10, 8): [
        *("1:3", "1:", ":3", "-3:", "3:1:-1", "0:8:-1", "::-1", "1:8:3", "::2", ":1:-2", "::-2", "1:3, 0:2"),
        *("1:, :2", "::-1, :2"),
    ],
    (10, 8, 3): ["1:3, 0:2", "1:3, 0:", "1:, 0:2"],
    (3, 2, 3): ["0, :, [0, 1, 2]", "1, :, [0, 1, 2]", "2, :, [0, 1, 2]"],
    (3, 4, 5): [
        *("2", "1, 2", "-1, 2", "1, 2, 3", ":, :", "0, ...", "..., 2, 3", "1, None, ...", "0:4:2"),
        *("[0, 2, 0, 1]", "[0, 2, 1]", "[0, 1, 2]", "[[0, 2, 0, 1], [-1, -2, 1, 0]]", "[0, -1]", "[0, 1]"),
        *("[0, 2, 0, 1], [-1, 0, -1, 2]", "[[0, 2, 0, 1]], [-1, 0, -1, 2]", "[[0], [-1]], [[2, 3, 0, 3]]"),
        *("[[0], [-1]], [[2, 3, 0]]", "[[0], [-1]], [[0, 2, 3]]", "0, [0, 1]", "0, 1, [[2, 3, 0, 3]]"),
        *("0, 1, [[2, 3, 0]]", "0, 1, [[0, 2, 3]]", "[0, 1], [0]"),
        *("..., [0, 2], :", "..., [[0, 2], [1, 3]], :", "..., [[0, 2], [1, 1]], :"),
        *("..., [0, 2], [-1, 2]", "[0, 2], ..., [-1, 2]", "[0, 2], [-1, 2], ...", "[0, 2], [-1, 2], 1:3"),
        *("[0, 2], 1:3, [-1, 2]", "[0, 2, -2], ::2, [-1, 2, 1]", "[0, 2, -2], ::2, [-1, 2, -1]"),
        *("[0, 2], None, [-1, 2]", "[0, 2], None, None, [-1, 2]", "..., [0, 2], None, None, [-1, 2]"),
        *("[[0, 2], [2, 0]], ..., [[1, 0], [1, 0]]", "..., [0, 2, -1, 0], :", "..., [0, 2, -1, 0], :, [0, 2, -1, 0], None"),
        "[0, 2, -1, 0], ..., [[0], [2], [-1], [0]], None",
    ],
    (4, 5, 6): [
        *("[0, 2, 1, 3], [-1, 0, -2, 1]", "[[0, 2, -1, 1]], [-1, 0, -2, 2]", "[0, 1, 2, 3], [-2, -1, 0, 1]"),
        "[[-1, 0, 1, 2]], [-2, -1, 0, 2]",
    ],
}


def entry(node):
    if isinstance(node, ast.Slice):
        begin, end, stride = (part and ast.literal_eval(part) for part in (node.lower, node.upper, node.step))
        return {"range": [begin, end, 1 if stride is None else stride]}
    value = ast.literal_eval(node)
    return "..." if value is Ellipsis else value


def entries(text):
    if not text:
        return []
    index = ast.parse(f"x[{text},]", mode="eval").body.slice
    return [entry(node) for node in index.elts]


def main():
    number = 0
    for sizes, texts in SPECS.items():
        for text in texts:
            for combine in ("update", "add", "sub", "min", "max"):
                index = entries(text)
                x = numpy.arange(1, 1 + int(numpy.prod(sizes)), dtype=numpy.int32).reshape(sizes)
                selected = x[tuple(map(of_numpy, index))].shape
                # The value has the selection's shape, this shape with some sizes 1 and without leading dimensions, or
                # no dimensions.
                shape = [
                    list(selected),
                    [1 if at % 2 else size for at, size in enumerate(selected)][len(selected) // 2 :],
                    [],
                ][number % 3]
                data = [(number * 5 + at * 7) % 41 - 20 for at in range(int(numpy.prod(shape)))]
                value = numpy.array(data, numpy.int32).reshape(shape)
                result = changed(x, index, False, value, combine)
                args = {"index": index} | ({} if combine == "update" else {"combine": combine})
                tensors = {
                    "params": {"shape": list(sizes), "data": x.ravel().tolist()},
                    "value": {"shape": shape, "data": data},
                }
                line = {"id": number, "op": "index_update", "dtype": "int32", "tensors": tensors, "args": args}
                line["expected"] = {"shape": list(sizes), "data": result.ravel().tolist()}
                print(json.dumps(line, separators=(",", ":")))
                number += 1


main()
