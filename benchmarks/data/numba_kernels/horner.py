"""Polynomials whose degree every launch says, at many points."""

import numpy as np
from numba import cuda, float32


@cuda.jit("void(float32[:, ::1], int32, float32[:, ::1])")
def k(x, count, out):
    terms = cuda.local.array(32, float32)
    column = cuda.grid(1)
    for i in range(count):
        terms[i] = x[i, column] * float32(0.5)
    for n in range(out.shape[0]):
        at = x[n, column]
        value = float32(0)
        for i in range(count):
            value = value * at + terms[i]
        out[n, column] = value


def arrays(rng):
    x = rng.random((64, 8448 * 128), dtype=np.float32)
    return x, np.zeros_like(x)


def launch(x, out):
    k[8448, 128](x, 12, out)
