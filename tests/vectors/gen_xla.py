#!/usr/bin/env python3
"""Makes golden vectors of XLA's general gather and scatter.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python gen_xla.py > xla.jsonl

The results are those of XLA on the CPU, by JAX's lax.gather and lax.scatter with random dimension numbers. For indices
out of range, the mode is `clip`, or `fill`: gathers return zeros and scatters drop the update. In JAX, index tuples are
along the last dimension of the indices; in the vectors, they can be along any dimension. gen_vectors.py describes the
format. Every run writes the same bytes.
"""

import json
import os
import random

os.environ["JAX_PLATFORMS"] = "cpu"
import jax.numpy
import numpy
from jax import lax

COUNT = 500
# The maximum number of elements of a tensor.
MAX_ELEMENTS = 300
draw = random.Random(3)
SCATTER_FUNCTIONS = {
    "update": lax.scatter,
    "add": lax.scatter_add,
    "mul": lax.scatter_mul,
    "min": lax.scatter_min,
    "max": lax.scatter_max,
}


def draw_tensor(shape, largest=99):
    values = [n for n in range(-largest, largest + 1) if n]
    return {"shape": list(shape), "data": [draw.choice(values) for _ in range(int(numpy.prod(shape)))]}


def array(tensor):
    return jax.numpy.array(numpy.array(tensor["data"], numpy.int32).reshape(tensor["shape"]))


def draw_case(is_scatter):
    """Returns a case, or None if the case is too large or its result depends on an order that XLA leaves open. Also
    returns None for scatters by tuples without integers, because XLA's result then differs from StableHLO's."""
    operand_shape = [draw.choice([1, 2, 3, 4, 5, 7]) for _ in range(draw.randint(1, 5))]
    batch_shape = [draw.choice([1, 2, 3, 4]) for _ in range(draw.randint(0, 2))]
    collapsed_dims, batching_dims, index_map, window_shape, slice_sizes = [], [], [], [], []
    for d, size in enumerate(operand_shape):
        role = draw.choice(["batching", "index", "index", "box", "box", "kept", "kept", "one"])
        if role == "batching":
            batching_dims.append(d)
        if role in ("index", "box"):
            index_map.append(d)
        if role in ("index", "one"):
            collapsed_dims.append(d)
        if role in ("box", "kept"):
            window_shape.append(draw.choice([size, draw.randint(1, size)]))
        slice_sizes.append(window_shape[-1] if role in ("box", "kept") else 1)
    draw.shuffle(index_map)
    operand_dim_of_batch = [None] * len(batch_shape)
    for d in batching_dims:
        position = draw.randint(0, len(batch_shape))
        batch_shape.insert(position, operand_shape[d])
        operand_dim_of_batch.insert(position, d)
    indices_batching_dims = [operand_dim_of_batch.index(d) for d in batching_dims]
    rank = len(batch_shape) + len(window_shape)
    window_dims = sorted(draw.sample(range(rank), len(window_shape)))
    if draw.random() < 0.4:
        window_dims = list(range(len(batch_shape), rank))
    has_trailing_windows = window_dims == list(range(len(batch_shape), rank))
    window_sizes, batch_sizes = iter(window_shape), iter(batch_shape)
    result_shape = [next(window_sizes) if d in window_dims else next(batch_sizes) for d in range(rank)]
    if max(numpy.prod(operand_shape), numpy.prod(result_shape)) > MAX_ELEMENTS:
        return None
    combine = draw.choice(list(SCATTER_FUNCTIONS))
    has_long_windows = any(slice_sizes[d] > 1 for d in index_map)
    if is_scatter and not index_map:
        return None
    if is_scatter and combine == "update" and has_long_windows and not has_trailing_windows:
        return None
    is_clamped = draw.random() < 0.5
    tuples = []
    has_bad_starts = draw.random() < 0.5
    for _ in range(int(numpy.prod(batch_shape))):
        for d in index_map:
            last_start = operand_shape[d] - slice_sizes[d]
            is_bad = has_bad_starts and draw.random() < 0.2
            values = [-1, last_start + 1, operand_shape[d], -(2**31), 2**31 - 1, draw.randint(-9, 9)]
            tuples.append(draw.choice(values) if is_bad else draw.randint(0, last_start))
    starts = numpy.array(tuples, numpy.int32).reshape([*batch_shape, len(index_map)])
    mode = "clip" if is_clamped else "fill"
    dimension_numbers = dict(operand_batching_dims=tuple(batching_dims))
    params = draw_tensor(operand_shape, 9 if combine == "mul" else 99)
    tensors = {"tensor" if is_scatter else "params": params}
    if is_scatter:
        updates = draw_tensor(result_shape, 2 if combine == "mul" else 99)
        dimension_numbers = lax.ScatterDimensionNumbers(
            update_window_dims=tuple(window_dims),
            inserted_window_dims=tuple(collapsed_dims),
            scatter_dims_to_operand_dims=tuple(index_map),
            scatter_indices_batching_dims=tuple(indices_batching_dims),
            **dimension_numbers,
        )
        result = SCATTER_FUNCTIONS[combine](array(params), starts, array(updates), dimension_numbers, mode=mode)
    else:
        dimension_numbers = lax.GatherDimensionNumbers(
            offset_dims=tuple(window_dims),
            collapsed_slice_dims=tuple(collapsed_dims),
            start_index_map=tuple(index_map),
            start_indices_batching_dims=tuple(indices_batching_dims),
            **dimension_numbers,
        )
        result = lax.gather(array(params), starts, dimension_numbers, tuple(slice_sizes), mode=mode, fill_value=0)
    index_vector_dim = draw.randint(0, len(batch_shape))
    moved_batching_dims = [d + (d >= index_vector_dim) for d in indices_batching_dims]
    indices = numpy.moveaxis(starts, -1, index_vector_dim)
    if len(index_map) == 1 and draw.random() < 0.5:
        index_vector_dim, moved_batching_dims, indices = len(batch_shape), indices_batching_dims, starts[..., 0]
    tensors["indices"] = {"shape": list(indices.shape), "data": indices.ravel().tolist()}
    if is_scatter:
        tensors["updates"] = updates
        argument_names = ["update_window_dims", "inserted_window_dims", "input_batching_dims"]
        argument_names += ["scatter_indices_batching_dims", "scatter_dims_to_operand_dims"]
    else:
        argument_names = ["offset_dims", "collapsed_slice_dims", "operand_batching_dims"]
        argument_names += ["start_indices_batching_dims", "start_index_map"]
    args = dict(
        zip(argument_names, [window_dims, collapsed_dims, batching_dims, moved_batching_dims, index_map], strict=True),
        index_vector_dim=index_vector_dim,
    )
    if is_scatter and combine != "update":
        args["combine"] = combine
    if not is_scatter:
        args["slice_sizes"] = slice_sizes
    is_out_of_range = False
    if is_clamped:
        args["out_of_range"] = "clamp"
    else:
        last_starts = numpy.array([operand_shape[d] - slice_sizes[d] for d in index_map])
        is_out_of_range = bool(((starts < 0) | (starts > last_starts)).any())
    result = {"shape": list(result.shape), "data": numpy.asarray(result).ravel().tolist()}
    key = "ignore" if is_scatter else "zero_fill"
    outcome = {"error": True, "error_kind": "out_of_range", key: result} if is_out_of_range else {"expected": result}
    op = "xla_scatter" if is_scatter else "xla_gather"
    return {"op": op, "dtype": "int32", "tensors": tensors, "args": args, **outcome}


number = 0
while number < COUNT:
    if line := draw_case(number % 2 == 1):
        print(json.dumps({"id": number, **line}, separators=(",", ":")))
        number += 1
