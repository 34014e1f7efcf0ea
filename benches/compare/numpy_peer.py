"""Times NumPy: the usual expression for each workload, and the same operation into a reused output."""

import numpy as np
from common import Peer, boxes, data, indices, slices, update_values


def ways(workload):
    x = data(workload)
    if workload["op"] == "slice":
        view = x[slices(workload)]
        out = np.empty(view.shape, view.dtype)
        yield "fresh", lambda: view.copy(order="C"), np.asarray
        yield "resident", lambda: (np.copyto(out, view), out)[1], np.asarray
        return
    if workload["op"] == "transpose":
        view = x.transpose(workload["axes"])
        out = np.empty(view.shape, view.dtype)
        yield "fresh", lambda: view.copy(order="C"), np.asarray
        yield "resident", lambda: (np.copyto(out, view), out)[1], np.asarray
        return
    if workload["op"] == "update":
        part, new = slices(workload), update_values(workload)

        def update(x):
            x[part] = new
            return x

        yield "fresh", lambda: update(x.copy()), np.asarray
        kept = x.copy()
        yield "resident", lambda: update(kept), np.asarray
        return
    if workload["op"] == "crop":
        (height, width), (begins, flips) = workload["size"], boxes(workload)
        begins, flips = begins.tolist(), flips.tolist()

        def crop(out):
            for n, ((y, left), flip) in enumerate(zip(begins, flips)):
                part = x[n, y : y + height, left : left + width]
                out[n] = part[:, ::-1] if flip else part
            return out

        out = np.empty((len(x), height, width, *x.shape[3:]), x.dtype)
        yield "fresh", lambda: crop(np.empty_like(out)), np.asarray
        yield "resident", lambda: crop(out), np.asarray
        return
    tuples = indices(workload)
    depth = tuples.shape[1]
    yield "fresh", lambda: x[tuple(tuples.T)], np.asarray
    rows = x.reshape((-1,) + x.shape[depth:])
    out = np.empty(tuples.shape[:1] + rows.shape[1:], x.dtype)

    def take():
        row_numbers = np.ravel_multi_index(tuple(tuples.T), x.shape[:depth])
        return np.take(rows, row_numbers, axis=0, out=out, mode="clip")

    yield "resident", take, np.asarray


Peer("numpy", f"numpy {np.__version__}").run(ways)
