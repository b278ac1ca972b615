"""Dynamic shared memory of launches in Python."""

from __future__ import annotations

import pytest

from lmemscope.rules.python_launches import asks_for_shared_memory


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("k[grid, block](x)", False),
        ("k[grid, block, stream](x)", False),
        ("k[grid, block, stream, 0](x)", False),
        ("k[grid, block, 0, 4 * n](x)", True),
        ("k[(n, 1), (128, 1, 1), stream, size](x)", True),
        ("k[(n, 1), (128, 1)](x)", False),
        ("a[1, 2, 3, 4] = f(x)", False),
        ("k((1,), (1,), (x,), shared_mem=n)", True),
        ("k((1,), (1,), (x,), n)", True),
        ("k((1,), (1,), (x,), 0)", False),
        ("k((n, 1), (128,), (x, y * 2, z ** 3), stream=s)", False),
        # Other libraries' arguments.
        ("k(x, block=(128, 1, 1), grid=(1, 1), shared=n)", True),
        ("k.prepared_call((1, 1), (128, 1, 1), x, shared_size=n)", True),
        ("cuLaunchKernel(k, 1, 1, 1, 128, 1, 1, n, s, x, 0)", True),
        ("launch(s, LaunchConfig(grid=1, block=128, shmem_size=n), k, x)", True),
        # What is written elsewhere.
        ("k((1,), (1,), (x,), **options)", True),
        ("k(*shape, (x,))", True),
        ("import numba\nk[shape](x)", True),
        ("handlers[key](x)", False),
        ("import numpy as np\nprint(*x)\nnp.stack(*x)\n", False),
        ("def f(*args, **more):\n  return args\nf(*x)\nself.f(**x)", False),
    ],
)
def test_the_fourth_part_is_bytes(text: str, asked: bool) -> None:
    assert asks_for_shared_memory(text) is asked
