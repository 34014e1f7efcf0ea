"""Times NumPy, JAX, TensorFlow and PyTorch on the cases of `cpu_limit select` (benches/users), which select elements by
masks, index arrays and start indices. TensorFlow and PyTorch also turn random crops of pictures into normalised planes,
as `preprocess` does.

    python3 benches/compare/selection.py [--check] [numpy] [jax] [tensorflow] [torch]

It needs the named libraries, or all four if none is named; `torch` also needs torchvision. It prints the minimum time
of 9 runs of each case, in ms. JAX's calls are compiled, and its updates in place can reuse the memory of the array.
With `taskset -c 0` all libraries use one processor. With `--check`, the program compares values instead of measuring
times. Most arrays are then 64 times smaller, and each result is compared with the result of the first library that has
the case.
"""

import os
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy

is_check = "--check" in sys.argv
side = 512 if is_check else 4096
x = numpy.arange(side * side, dtype=numpy.float32).reshape(side, side)
y = x[::-1].copy()
generator = numpy.random.default_rng(1)
mask = generator.random((side, side)) < 0.5
table = x.reshape(-1, 64)
row_mask = generator.random(len(table)) < 0.5
true_count = int(mask.sum())
rows, columns = (numpy.arange(side // 2) * step % side for step in (1531, 2087))
edge = round(x.size ** (1 / 3))
cube = x.reshape(edge, edge, edge)
index_count = x.size // 256
ids = numpy.arange(index_count) * 2087 % len(table)
firsts, lasts = (numpy.arange(index_count) * step % edge for step in (77, 31))
caches = x.reshape(64, side // 4, side // 16)
tokens = caches[:, :16].copy()
begins = numpy.arange(64, dtype=numpy.int32) * 613 % (side // 4 - 16)
starts = (numpy.arange(2 * side, dtype=numpy.int32) * 1871 % (side - 63)).reshape(side, 2)

pictures = generator.integers(0, 256, (64, 256, 256, 3), numpy.uint8)
corners = generator.integers(0, 33, (64, 2)).tolist()
flips = (generator.random(64) < 0.5).tolist()
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def of_numpy():
    windows = numpy.lib.stride_tricks.sliding_window_view(x, (64, 64))
    changed, pasted, sums = x.copy(), caches.copy(), x.copy()
    written, added = x.copy(), table.copy()
    patches = windows[starts[:, 0], starts[:, 1]]

    def update():
        changed[mask] = 0
        return changed

    def write():
        written[numpy.ix_(rows, columns)] = 0
        return written

    def add():
        numpy.add.at(added, ids, table[:index_count])
        return added

    def paste():
        for cache, begin, new in zip(pasted, begins, tokens):
            cache[begin : begin + 16] = new
        return pasted

    def scatter():
        for (row, column), patch in zip(starts.tolist(), patches):
            sums[row : row + 64, column : column + 64] += patch
        return sums

    return {
        "nonzero": lambda: numpy.argwhere(mask),
        "boolean_mask of rows": lambda: table[row_mask],
        "boolean_mask of elements": lambda: x[mask],
        "select": lambda: numpy.where(mask, x, y),
        "masked_update": update,
        "index, outer": lambda: x[numpy.ix_(rows, columns)],
        "index, mixed": lambda: cube[firsts, :, lasts],
        "index_update, outer": write,
        "index_update, add": add,
        "paste": paste,
        "xla_gather": lambda: windows[starts[:, 0], starts[:, 1]],
        "xla_scatter, add": scatter,
    }


def of_jax():
    import jax
    from jax import lax, numpy as jnp

    def compiled(function, *arrays):
        function = jax.jit(function)
        arrays = [jnp.array(array) for array in arrays]
        return lambda: jax.block_until_ready(function(*arrays))

    def in_place(function, first, *arrays):
        function = jax.jit(function, donate_argnums=0)
        state = [jnp.array(first)]
        arrays = [jnp.array(array) for array in arrays]

        def run():
            state[0] = jax.block_until_ready(function(state[0], *arrays))
            return state[0]

        return run

    gather = lax.GatherDimensionNumbers((1, 2), (), (0, 1))
    scatter = lax.ScatterDimensionNumbers((1, 2), (), (0, 1))
    slices = lambda x, starts: lax.gather(x, starts, gather, (64, 64), mode="clip")
    append = jax.vmap(lambda cache, new, begin: lax.dynamic_update_slice(cache, new, (begin, 0)))
    patches = slices(jnp.array(x), starts)
    count = int(row_mask.sum())
    masked_rows = lambda t, m: t[jnp.nonzero(m, size=count)[0]]
    masked_elements = lambda x, m: x.ravel()[jnp.nonzero(m.ravel(), size=true_count)[0]]
    return {
        "nonzero": compiled(lambda m: jnp.argwhere(m, size=true_count), mask),
        "boolean_mask of rows": compiled(masked_rows, table, row_mask),
        "boolean_mask of elements": compiled(masked_elements, x, mask),
        "select": compiled(jnp.where, mask, x, y),
        "masked_update": in_place(lambda x, m: jnp.where(m, 0, x), x, mask),
        "index, outer": compiled(lambda x, r, c: x[jnp.ix_(r, c)], x, rows, columns),
        "index, mixed": compiled(lambda x, a, b: x[a, :, b], cube, firsts, lasts),
        "index_update, outer": in_place(lambda x, r, c: x.at[jnp.ix_(r, c)].set(0), x, rows, columns),
        "index_update, add": in_place(lambda t, i, u: t.at[i].add(u), table, ids, table[:index_count]),
        "paste": in_place(append, caches, tokens, begins),
        "xla_gather": compiled(slices, x, starts),
        "xla_scatter, add": in_place(lambda x, s, u: lax.scatter_add(x, s, u, scatter), x, starts, patches),
    }


def of_tensorflow():
    import tensorflow as tf

    a, b, m, c = (tf.constant(array) for array in (x, y, mask, row_mask))
    t, r, k = tf.constant(table), tf.constant(rows), tf.constant(columns)
    places = tf.constant(numpy.stack([firsts, lasts], -1))
    swapped = tf.constant(cube.transpose(0, 2, 1).copy())
    zero = tf.constant(0.0)
    batch = tf.constant(pictures)

    @tf.function
    def normalised(batch):
        parts = []
        for picture, (top, left), flip in zip(tf.unstack(batch), corners, flips):
            part = picture[top : top + 224, left : left + 224]
            parts.append(part[:, ::-1] if flip else part)
        floats = (tf.cast(tf.stack(parts), tf.float32) / 255 - MEAN) / DEVIATION
        return tf.transpose(floats, [0, 3, 1, 2])

    return {
        "nonzero": lambda: tf.where(m),
        "boolean_mask of rows": lambda: tf.boolean_mask(t, c),
        "boolean_mask of elements": lambda: tf.boolean_mask(a, m),
        "select": lambda: tf.where(m, a, b),
        "masked_update": lambda: tf.where(m, zero, a),
        "index, outer": lambda: tf.gather(tf.gather(a, r, axis=0), k, axis=1),
        # `gather_nd` indexes the leading dimensions, so the cube is transposed in advance.
        "index, mixed": lambda: tf.gather_nd(swapped, places),
        "index_update, add": lambda: tf.tensor_scatter_nd_add(t, ids[:, None], t[:index_count]),
        "crops normalised": lambda: normalised(batch),
    }


def of_torch():
    import torch
    from torchvision.transforms.v2 import functional

    a, b, m, c, t = (torch.from_numpy(array) for array in (x, y, mask, row_mask, table))
    r, k, f, l = (torch.from_numpy(array) for array in (rows, columns, firsts, lasts))
    torch_cube, changed, pasted = torch.from_numpy(cube), a.clone(), torch.from_numpy(caches).clone()
    new = torch.from_numpy(tokens)
    written, added, places = a.clone(), t.clone(), torch.from_numpy(ids)
    zero = torch.tensor(0.0)
    batch = torch.from_numpy(pictures).permute(0, 3, 1, 2)
    floats = torch.empty(64, 3, 224, 224)

    def paste():
        for cache, begin, token in zip(pasted, begins.tolist(), new):
            cache[begin : begin + 16] = token
        return pasted

    def normalised():
        for out, picture, (top, left), flip in zip(floats, batch, corners, flips):
            part = functional.crop(picture, top, left, 224, 224)
            part = functional.horizontal_flip(part) if flip else part
            part = functional.to_dtype(part, torch.float32, scale=True)
            out.copy_(functional.normalize(part, MEAN, DEVIATION, inplace=True))
        return floats

    return {
        "nonzero": lambda: torch.nonzero(m),
        "boolean_mask of rows": lambda: t[c],
        "boolean_mask of elements": lambda: a[m],
        "select": lambda: torch.where(m, a, b),
        "masked_update": lambda: changed.masked_fill_(m, 0),
        "index, outer": lambda: a[r[:, None], k],
        "index, mixed": lambda: torch_cube[f, :, l],
        "index_update, outer": lambda: written.index_put_((r[:, None], k), zero),
        "index_update, add": lambda: added.index_put_((places,), t[:index_count], accumulate=True),
        "paste": paste,
        "crops normalised": normalised,
    }


libraries = [name for name in sys.argv[1:] if name != "--check"] or ["numpy", "jax", "tensorflow", "torch"]
if is_check and len(libraries) < 2:
    sys.exit("--check compares libraries: name at least two")
expected, differs = {}, False
for name in libraries:
    for case, run in globals()[f"of_{name}"]().items():
        result = run()
        if is_check:
            # The next case can change the array, so this makes a copy.
            values = numpy.array(result)
            first_name, first_values = expected.setdefault(case, (name, values))
            # The libraries add rows and normalise pictures in different orders, so results are rounded differently.
            is_equal = first_values.shape == values.shape and numpy.allclose(first_values, values, rtol=1e-5, atol=1e-5)
            differs |= not is_equal
            verdict = "first" if first_name == name else f"{'equals' if is_equal else 'DIFFERS FROM'} {first_name}"
            print(f"{name:10} {case:24} {verdict}", flush=True)
            continue
        times = []
        for _ in range(9):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        print(f"{name:10} {case:24} {1000 * min(times):8.2f} ms", flush=True)
sys.exit(differs)
