"""Writes the node tests of ONNX for Slice, Concat, Pad, Tile, Compress, NonZero, Where and TensorScatter, and of the
gathers and scatters, as JSON lines.

    python3 -m venv venv
    venv/bin/pip install onnx==1.23.2
    venv/bin/python gen_onnx.py > onnx.jsonl

A line is an object with the test's `name`, `op`, `attributes`, `inputs` by their names in the operator's definition,
and `output`. The inputs of Concat are named `inputs0`, `inputs1`, … A tensor has `dtype`, `shape` and `hex`: its bytes
in little-endian order.
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")

from onnx import defs, helper
from onnx.backend.test.case.node import collect_testcases

OPERATORS = {
    *("Slice", "Concat", "Pad", "Tile", "Compress", "NonZero", "Where"),
    *("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "TensorScatter"),
}


def tensor(array):
    little_endian = array.astype(array.dtype.newbyteorder("<"))
    return {"dtype": str(array.dtype), "shape": list(array.shape), "hex": little_endian.tobytes().hex()}


def attribute(value):
    return value.decode() if isinstance(value, bytes) else value


for case in collect_testcases(None):
    graph = case.model.graph
    if len(graph.node) != 1 or graph.node[0].op_type not in OPERATORS:
        continue
    node = graph.node[0]
    names = [parameter.name for parameter in defs.get_schema(node.op_type).inputs]
    if node.op_type == "Concat":
        names = [f"inputs{number}" for number in range(len(node.input))]
    for inputs, outputs in case.data_sets:
        input_arrays = iter(inputs)
        line = {
            "name": case.name,
            "op": node.op_type,
            "attributes": {
                attribute_proto.name: attribute(helper.get_attribute_value(attribute_proto))
                for attribute_proto in node.attribute
            },
            "inputs": {name: tensor(next(input_arrays)) for name, input_name in zip(names, node.input) if input_name},
            "output": tensor(outputs[0]),
        }
        json.dump(line, sys.stdout)
        sys.stdout.write("\n")
