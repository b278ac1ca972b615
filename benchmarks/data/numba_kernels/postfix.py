"""A calculator with a stack of 16, whose program all threads share."""

import numpy as np
from numba import cuda, float32


@cuda.jit("void(int32[::1], float32[:, ::1], float32[::1])")
def k(program, x, out):
    stack = cuda.local.array(16, float32)
    column = cuda.grid(1)
    top = 0
    for n in range(program.shape[0]):
        code = program[n]
        if code >= 0:
            stack[top] = x[code, column]
            top += 1
        else:
            top -= 1
            if code == -1:
                stack[top - 1] += stack[top]
            elif code == -2:
                stack[top - 1] *= stack[top]
            else:
                stack[top - 1] = max(stack[top - 1], stack[top])
    out[column] = stack[0]


def arrays(rng):
    program, depth = [0], 1
    while len(program) < 200:
        if depth < 2 or (depth < 15 and rng.random() < 0.5):
            program.append(int(rng.integers(0, 8)))
            depth += 1
        else:
            program.append(-int(rng.integers(1, 4)))
            depth -= 1
    program += [-1] * (depth - 1)
    x = rng.random((8, 8448 * 128), dtype=np.float32)
    return np.array(program, np.int32), x, np.zeros(8448 * 128, np.float32)


def launch(program, x, out):
    k[8448, 128](program, x, out)
