#!/usr/bin/env python3
"""Makes golden vectors of updates by the index expressions of JAX's tests.

    venv/bin/python gen_jax_index.py > jax_index.jsonl

SPECS lists the shapes and expressions of JAX's tests/lax_numpy_indexing_test.py, each once. Each expression has five
cases: set, add, subtract, minimum and maximum. The results are NumPy's. Every run writes the same bytes.
"""

import ast
import json

import numpy

from gen_index_update import COMBINE, updated
from gen_array_index import numpy_entry

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
    case_id = 0
    for sizes, texts in SPECS.items():
        for text in texts:
            for combine in ("update", "add", "sub", "min", "max"):
                index = entries(text)
                x = numpy.arange(1, 1 + int(numpy.prod(sizes)), dtype=numpy.int32).reshape(sizes)
                selected_shape = x[tuple(map(numpy_entry, index))].shape
                # The value has the selection's shape, this shape with some sizes 1 and without leading dimensions, or
                # no dimensions.
                shape = [
                    list(selected_shape),
                    [1 if i % 2 else size for i, size in enumerate(selected_shape)][len(selected_shape) // 2 :],
                    [],
                ][case_id % 3]
                data = [(case_id * 5 + i * 7) % 41 - 20 for i in range(int(numpy.prod(shape)))]
                value = numpy.array(data, numpy.int32).reshape(shape)
                result = updated(x, index, False, value, combine)
                args = {"index": index} | ({} if combine == "update" else {"combine": combine})
                tensors = {
                    "params": {"shape": list(sizes), "data": x.ravel().tolist()},
                    "value": {"shape": shape, "data": data},
                }
                line = {"id": case_id, "op": "index_update", "dtype": "int32", "tensors": tensors, "args": args}
                line["expected"] = {"shape": list(sizes), "data": result.ravel().tolist()}
                print(json.dumps(line, separators=(",", ":")))
                case_id += 1


main()
