"""A sliding mean whose window is sized at run time: Numba's three ways, and what each costs.

    lmemscope scan kernels/numba_window.py --run-python

Compiling Numba kernels takes no GPU: pip install 'lmemscope[numba]'.
"""

import functools

from numba import cuda, float32


# 1. The size is a constant of an enclosing function: one kernel for each size that is used.
@functools.lru_cache
def make_mean(size):
    @cuda.jit("void(float32[:, ::1], float32[:, ::1])")
    def mean_closed(x, out):
        ring = cuda.local.array(size, float32)
        column = cuda.grid(1)
        for i in range(size):
            ring[i] = 0
        total = float32(0)
        for i in range(x.shape[0]):
            total += x[i, column] - ring[i % size]
            ring[i % size] = x[i, column]
            out[i, column] = total / size

    return mean_closed


mean_of_16 = make_mean(16)


# 2. The sizes are computed first; the second kernel works in an array of the host's, whose last
#    dimension is the thread, so that neighbours touch neighbouring words.
@cuda.jit("void(float32[:, ::1], float32, int32[::1])")
def sizes_needed(x, limit, sizes):
    column = cuda.grid(1)
    size = 1
    for i in range(x.shape[0]):
        if abs(x[i, column]) > limit:
            size = min(size + 1, x.shape[0])
    sizes[column] = size


@cuda.jit("void(float32[:, ::1], int32[::1], float32[:, ::1], float32[:, ::1])")
def mean_in_global(x, sizes, work, out):
    column = cuda.grid(1)
    size = sizes[column]
    for i in range(size):
        work[i, column] = 0
    total = float32(0)
    for i in range(x.shape[0]):
        total += x[i, column] - work[i % size, column]
        work[i % size, column] = x[i, column]
        out[i, column] = total / size


# 3. One array of the largest size there is; the size only bounds the loops.
LARGEST = 64


@cuda.jit("void(float32[:, ::1], int32, float32[:, ::1])")
def mean_maximal(x, size, out):
    ring = cuda.local.array(LARGEST, float32)
    column = cuda.grid(1)
    for i in range(LARGEST):
        ring[i] = 0
    total = float32(0)
    for i in range(x.shape[0]):
        total += x[i, column] - ring[i % size]
        ring[i % size] = x[i, column]
        out[i, column] = total / size
