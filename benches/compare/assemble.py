"""Times NumPy on the cases of `cpu_limit assemble` (benches/users), which assemble arrays from other arrays.

    python3 benches/compare/assemble.py

Needs NumPy. Prints the minimum time of 9 runs of each case, in ms.
"""

import time

import numpy

x = numpy.arange(1 << 24, dtype=numpy.float32).reshape(4096, 4096)
tile = x.ravel()[: 1 << 20].reshape(1024, 1024)
images = numpy.arange(64 * 512 * 682 * 3).astype(numpy.uint8).reshape(64, 512, 682, 3)
plane = images[..., 0]
frame = ((0, 0), (8, 8), (8, 8), (0, 0))

CASES = {
    "concat f32, axis 0": lambda: numpy.concatenate([x, x], 0),
    "concat f32, axis 1": lambda: numpy.concatenate([x, x], 1),
    "stack f32, axis 0": lambda: numpy.stack([x, x], 0),
    "stack f32, last axis": lambda: numpy.stack([x, x], -1),
    "3 planes to pixels, u8": lambda: numpy.stack([plane] * 3, -1),
    "pad f32 by zeros": lambda: numpy.pad(x, 8),
    "pad f32, reflected": lambda: numpy.pad(x, 8, "reflect"),
    "pad pixels by zeros": lambda: numpy.pad(images, frame),
    "pad pixels, reflected": lambda: numpy.pad(images, frame, "reflect"),
    "roll f32, axis 1": lambda: numpy.roll(x, 101, 1),
    "tile f32, 4 x 4": lambda: numpy.tile(tile, (4, 4)),
    "repeat f32, axis 0": lambda: numpy.repeat(tile, 16, 0),
    "repeat f32, last axis": lambda: numpy.repeat(x, 2, 1),
}
for name, run in CASES.items():
    times = []
    for _ in range(9):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    print(f"{name:24} {1000 * min(times):6.2f} ms")
