"""The eight nearest of 256 numbers."""

import numpy as np
from numba import cuda, float32

NEAR = 8


@cuda.jit("void(float32[:, ::1], float32[::1], float32[:, ::1])")
def k(x, query, out):
    near = cuda.local.array(NEAR, float32)
    column = cuda.grid(1)
    for i in range(NEAR):
        near[i] = float32(1e30)
    for n in range(x.shape[0]):
        distance = abs(x[n, column] - query[column])
        at = NEAR - 1
        if distance < near[at]:
            while at > 0 and near[at - 1] > distance:
                near[at] = near[at - 1]
                at -= 1
            near[at] = distance
    for i in range(NEAR):
        out[i, column] = near[i]


def arrays(rng):
    x = rng.random((256, 8448 * 64), dtype=np.float32)
    query = rng.random(8448 * 64, dtype=np.float32)
    return x, query, np.zeros((NEAR, 8448 * 64), np.float32)


def launch(x, query, out):
    k[8448, 64](x, query, out)
