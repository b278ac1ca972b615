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
    ],
)
def test_the_fourth_part_is_bytes(text: str, asked: bool) -> None:
    assert asks_for_shared_memory(text) is asked
