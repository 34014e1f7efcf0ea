"""Times PyTorch on the CPU. PyTorch has no negative steps, so a slice with one is made forwards and then flipped."""

import torch
from common import Peer, boxes, data, indices, slices, update_values


def forwards(part, size):
    """Returns a slice of the same positions in ascending order, and whether `part` has them in descending order."""
    positions = range(size)[part]
    if positions.step > 0 or len(positions) == 0:
        return slice(positions.start, max(positions.stop, 0), abs(positions.step)), False
    return slice(positions[-1], positions[0] + 1, -positions.step), True


def ways(workload):
    x = torch.from_numpy(data(workload))
    if workload["op"] == "slice":
        parts = [forwards(*pair) for pair in zip(slices(workload), workload["shape"])]
        view = x[tuple(part for part, _ in parts)]
        flipped = [dim for dim, (_, backwards) in enumerate(parts) if backwards]
        if flipped:
            yield "fresh", lambda: view.flip(flipped), torch.Tensor.numpy
            return
        out = torch.empty(view.shape, dtype=view.dtype)
        yield "fresh", lambda: view.clone(memory_format=torch.contiguous_format), torch.Tensor.numpy
        yield "resident", lambda: out.copy_(view), torch.Tensor.numpy
        return
    if workload["op"] == "transpose":
        view = x.permute(workload["axes"])
        out = torch.empty(view.shape, dtype=view.dtype)
        yield "fresh", lambda: view.clone(memory_format=torch.contiguous_format), torch.Tensor.numpy
        yield "resident", lambda: out.copy_(view), torch.Tensor.numpy
        return
    if workload["op"] == "update":
        part, new = slices(workload), torch.from_numpy(update_values(workload))

        def update(x):
            x[part].copy_(new)
            return x

        yield "fresh", lambda: update(x.clone()), torch.Tensor.numpy
        kept = x.clone()
        yield "resident", lambda: update(kept), torch.Tensor.numpy
        return
    if workload["op"] == "crop":
        (height, width), (begins, flips) = workload["size"], boxes(workload)
        begins, flips = begins.tolist(), flips.tolist()

        def crop(out):
            for n, ((y, left), flip) in enumerate(zip(begins, flips)):
                part = x[n, y : y + height, left : left + width]
                out[n].copy_(part.flip(1) if flip else part)
            return out

        out = torch.empty(len(x), height, width, *x.shape[3:], dtype=x.dtype)
        yield "fresh", lambda: crop(torch.empty_like(out)), torch.Tensor.numpy
        yield "resident", lambda: crop(out), torch.Tensor.numpy
        return
    columns = tuple(torch.from_numpy(indices(workload)).long().T.contiguous())
    yield "fresh", lambda: x[columns], torch.Tensor.numpy
    if len(columns) == 1:
        out = torch.empty(len(columns[0]), *x.shape[1:], dtype=x.dtype)
        yield "resident", lambda: torch.index_select(x, 0, columns[0], out=out), torch.Tensor.numpy


with torch.inference_mode():
    Peer("torch", f"torch {torch.__version__}, {torch.get_num_threads()} threads").run(ways)
