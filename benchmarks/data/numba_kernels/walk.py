"""Depth-first walks of an implicit tree, with a stack of 24."""

import numpy as np
from numba import cuda, int32


@cuda.jit("void(int32[::1], int32[::1])")
def k(seeds, out):
    stack = cuda.local.array(24, int32)
    column = cuda.grid(1)
    stack[0] = seeds[column]
    top = 1
    total = 0
    while top > 0:
        top -= 1
        node = stack[top]
        total += node & 255
        if node & 1 == 0 and top < 22 and node < 1 << 20:
            stack[top] = node * 2 + 1
            stack[top + 1] = node * 2 + (node >> 3 & 1)
            top += 2
    out[column] = total


def arrays(rng):
    seeds = rng.integers(1, 64, 8448 * 128, dtype=np.int32)
    return seeds, np.zeros(8448 * 128, np.int32)


def launch(seeds, out):
    k[8448, 128](seeds, out)
