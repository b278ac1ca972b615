"""Systems of four equations, with pivots."""

import numpy as np
from numba import cuda, float64


@cuda.jit("void(float64[:, ::1], float64[:, ::1])")
def k(x, out):
    a = cuda.local.array((4, 5), float64)
    column = cuda.grid(1)
    for i in range(4):
        for j in range(5):
            a[i, j] = x[5 * i + j, column]
    for i in range(4):
        best = i
        for m in range(i + 1, 4):
            if abs(a[m, i]) > abs(a[best, i]):
                best = m
        for j in range(5):
            held = a[best, j]
            a[best, j] = a[i, j]
            a[i, j] = held
        for m in range(i + 1, 4):
            factor = a[m, i] / a[i, i]
            for j in range(5):
                a[m, j] -= factor * a[i, j]
    for i in range(3, -1, -1):
        value = a[i, 4]
        for m in range(i + 1, 4):
            value -= a[i, m] * a[m, 4]
        a[i, 4] = value / a[i, i]
        out[i, column] = a[i, 4]


def arrays(rng):
    x = rng.random((20, 8448 * 128))
    return x, np.zeros((4, 8448 * 128))


def launch(x, out):
    k[8448, 128](x, out)
