#!/usr/bin/env python3
"""Makes golden vectors of XLA's general gather and scatter.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt jax==0.10.2
    venv/bin/python gen_xla.py > xla.jsonl

The answers are those of XLA on the CPU, by JAX's lax.gather and lax.scatter with random dimension numbers. For indices
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
MOST = 300
draw = random.Random(3)
SCATTERS = {
    "update": lax.scatter,
    "add": lax.scatter_add,
    "mul": lax.scatter_mul,
    "min": lax.scatter_min,
    "max": lax.scatter_max,
}


def tensor(shape, most=99):
    values = [n for n in range(-most, most + 1) if n]
    return {"shape": list(shape), "data": [draw.choice(values) for _ in range(int(numpy.prod(shape)))]}


def array(tensor):
    return jax.numpy.array(numpy.array(tensor["data"], numpy.int32).reshape(tensor["shape"]))


def case(scatters):
    """Returns a case, or None if the case is too large or its answer depends on an order that XLA leaves open. It is
    also None for scatters by tuples without integers, because XLA's answer then differs from StableHLO's."""
    operand = [draw.choice([1, 2, 3, 4, 5, 7]) for _ in range(draw.randint(1, 5))]
    lead = [draw.choice([1, 2, 3, 4]) for _ in range(draw.randint(0, 2))]
    dropped, batching, map, window, sizes = [], [], [], [], []
    for d, size in enumerate(operand):
        role = draw.choice(["batching", "index", "index", "box", "box", "kept", "kept", "one"])
        if role == "batching":
            batching.append(d)
        if role in ("index", "box"):
            map.append(d)
        if role in ("index", "one"):
            dropped.append(d)
        if role in ("box", "kept"):
            window.append(draw.choice([size, draw.randint(1, size)]))
        sizes.append(window[-1] if role in ("box", "kept") else 1)
    draw.shuffle(map)
    places = [None] * len(lead)
    for d in batching:
        at = draw.randint(0, len(lead))
        lead.insert(at, operand[d])
        places.insert(at, d)
    indices_batching = [places.index(d) for d in batching]
    rank = len(lead) + len(window)
    offsets = sorted(draw.sample(range(rank), len(window)))
    if draw.random() < 0.4:
        offsets = list(range(len(lead), rank))
    canonical = offsets == list(range(len(lead), rank))
    windows, batch = iter(window), iter(lead)
    result = [next(windows) if d in offsets else next(batch) for d in range(rank)]
    if max(numpy.prod(operand), numpy.prod(result)) > MOST:
        return None
    combine = draw.choice(list(SCATTERS))
    moves = any(sizes[d] > 1 for d in map)
    if scatters and not map:
        return None
    if scatters and combine == "update" and moves and not canonical:
        return None
    clamp = draw.random() < 0.5
    tuples = []
    is_bad = draw.random() < 0.5
    for _ in range(int(numpy.prod(lead))):
        for d in map:
            last = operand[d] - sizes[d]
            wild = is_bad and draw.random() < 0.2
            values = [-1, last + 1, operand[d], -(2**31), 2**31 - 1, draw.randint(-9, 9)]
            tuples.append(draw.choice(values) if wild else draw.randint(0, last))
    starts = numpy.array(tuples, numpy.int32).reshape([*lead, len(map)])
    mode = "clip" if clamp else "fill"
    numbers = dict(operand_batching_dims=tuple(batching))
    params = tensor(operand, 9 if combine == "mul" else 99)
    tensors = {"tensor" if scatters else "params": params}
    if scatters:
        updates = tensor(result, 2 if combine == "mul" else 99)
        numbers = lax.ScatterDimensionNumbers(
            update_window_dims=tuple(offsets),
            inserted_window_dims=tuple(dropped),
            scatter_dims_to_operand_dims=tuple(map),
            scatter_indices_batching_dims=tuple(indices_batching),
            **numbers,
        )
        answer = SCATTERS[combine](array(params), starts, array(updates), numbers, mode=mode)
    else:
        numbers = lax.GatherDimensionNumbers(
            offset_dims=tuple(offsets),
            collapsed_slice_dims=tuple(dropped),
            start_index_map=tuple(map),
            start_indices_batching_dims=tuple(indices_batching),
            **numbers,
        )
        answer = lax.gather(array(params), starts, numbers, tuple(sizes), mode=mode, fill_value=0)
    at = draw.randint(0, len(lead))
    moved = [d + (d >= at) for d in indices_batching]
    indices = numpy.moveaxis(starts, -1, at)
    if len(map) == 1 and draw.random() < 0.5:
        at, moved, indices = len(lead), indices_batching, starts[..., 0]
    tensors["indices"] = {"shape": list(indices.shape), "data": indices.ravel().tolist()}
    if scatters:
        tensors["updates"] = updates
        names = ["update_window_dims", "inserted_window_dims", "input_batching_dims"]
        names += ["scatter_indices_batching_dims", "scatter_dims_to_operand_dims"]
    else:
        names = ["offset_dims", "collapsed_slice_dims", "operand_batching_dims"]
        names += ["start_indices_batching_dims", "start_index_map"]
    args = dict(zip(names, [offsets, dropped, batching, moved, map], strict=True), index_vector_dim=at)
    if scatters and combine != "update":
        args["combine"] = combine
    if not scatters:
        args["slice_sizes"] = sizes
    bad = False
    if clamp:
        args["out_of_range"] = "clamp"
    else:
        lasts = numpy.array([operand[d] - sizes[d] for d in map])
        bad = bool(((starts < 0) | (starts > lasts)).any())
    answer = {"shape": list(answer.shape), "data": numpy.asarray(answer).ravel().tolist()}
    key = "ignore" if scatters else "zero_fill"
    outcome = {"error": True, "error_kind": "out_of_range", key: answer} if bad else {"expected": answer}
    op = "xla_scatter" if scatters else "xla_gather"
    return {"op": op, "dtype": "int32", "tensors": tensors, "args": args, **outcome}


number = 0
while number < COUNT:
    if line := case(number % 2 == 1):
        print(json.dumps({"id": number, **line}, separators=(",", ":")))
        number += 1
