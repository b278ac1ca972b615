"""A histogram of bytes for each thread."""

import numpy as np
from numba import cuda, int32


@cuda.jit("void(uint8[:, ::1], int32[:, ::1])")
def k(x, out):
    bins = cuda.local.array(64, int32)
    column = cuda.grid(1)
    for j in range(64):
        bins[j] = 0
    for n in range(x.shape[0]):
        bins[x[n, column] & 63] += 1
    for j in range(64):
        out[j, column] = bins[j]


def arrays(rng):
    x = rng.integers(0, 256, (256, 8448 * 128), dtype=np.uint8)
    return x, np.zeros((64, 8448 * 128), np.int32)


def launch(x, out):
    k[8448, 128](x, out)
