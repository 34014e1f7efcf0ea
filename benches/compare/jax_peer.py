"""Times JAX on the CPU: a compiled function for each workload. It makes a new output, except in updates with a
donated argument."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from common import Peer, boxes, data, indices, slices, update_values

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
    if workload["op"] == "update":
        part, new = slices(workload), jax.numpy.asarray(update_values(workload))
        begin = [bound.start or 0 for bound in part]
        compiled = jax.jit(jax.lax.dynamic_update_slice)
        yield "fresh", lambda: compiled(x, new, begin).block_until_ready(), np.asarray
        # JAX reuses the memory of a donated argument for the result.
        donating = jax.jit(jax.lax.dynamic_update_slice, donate_argnums=0)
        kept = [x.copy()]

        def update():
            kept[0] = donating(kept[0], new, begin).block_until_ready()
            return kept[0]

        yield "resident", update, np.asarray
        return
    if workload["op"] == "crop":
        begins, flips = map(jax.numpy.asarray, boxes(workload))
        sizes = (*workload["size"], *workload["shape"][1 + len(workload["size"]) :])
        zero_begins = jax.numpy.zeros(len(sizes) - begins.shape[1], begins.dtype)

        def crop(item, begin, flip):
            part = jax.lax.dynamic_slice(item, (*begin, *zero_begins), sizes)
            return jax.numpy.where(flip, jax.numpy.flip(part, axis=1), part)

        compiled = jax.jit(jax.vmap(crop))
        yield "fresh", lambda: compiled(x, begins, flips).block_until_ready(), np.asarray
        return
    tuples = jax.numpy.asarray(indices(workload))

    def gather(x, tuples):
        columns = tuple(tuples[:, at] for at in range(tuples.shape[1]))
        return x.at[columns].get(mode="fill", fill_value=0)

    compiled = jax.jit(gather)
    yield "fresh", lambda: compiled(x, tuples).block_until_ready(), np.asarray


Peer("jax", f"jax {jax.__version__}").run(ways)
