"""JAX on the CPU: a compiled function for each workload, which always makes a new output."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from common import Peer, data, indices, slices

jax.config.update("jax_enable_x64", True)


def ways(workload):
    x = jax.numpy.asarray(data(workload))
    if workload["op"] == "slice":
        part = slices(workload)
        compiled = jax.jit(lambda x: x[part])
        yield "fresh", lambda: compiled(x).block_until_ready(), np.asarray
        return
    if workload["op"] == "transpose":
        compiled = jax.jit(lambda x: jax.numpy.transpose(x, workload["axes"]))
        yield "fresh", lambda: compiled(x).block_until_ready(), np.asarray
        return
    tuples = jax.numpy.asarray(indices(workload))

    def gather(x, tuples):
        columns = tuple(tuples[:, at] for at in range(tuples.shape[1]))
        return x.at[columns].get(mode="fill", fill_value=0)

    compiled = jax.jit(gather)
    yield "fresh", lambda: compiled(x, tuples).block_until_ready(), np.asarray


Peer("jax", f"jax {jax.__version__}").run(ways)
