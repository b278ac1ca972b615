"""A local array that Numba refuses; read by a test, never run."""

from numba import cuda, float32


@cuda.jit
def mean(x, size, out):
    ring = cuda.local.array(size, float32)
    out[0] = ring[0] + x[0]
