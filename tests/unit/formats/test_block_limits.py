"""The threads that a block may have, as a cubin alone tells."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from lmemscope.formats.cubin import Cubin
from lmemscope.formats.ptx import PtxModule

CACHE = Path(__file__).parents[2] / "support" / "data" / "triton_cache" / "SP4G"
RECORD = struct.pack("<BBH", 4, 0x10, 12)


def test_it_is_what_the_ptx_beside_it_says() -> None:
    cubin = Cubin((CACHE / "mix_rows.cubin").read_bytes())
    (function,) = PtxModule((CACHE / "mix_rows.ptx").read_bytes()).functions
    bounds = function.launch_bounds
    assert bounds is not None
    assert cubin.function("mix_rows").max_threads == bounds.max_threads == 32


@pytest.mark.parametrize(
    ("dimensions", "threads"),
    [((8, 4, 2), 64), ((1024, 1, 1), 1024), ((0, 1, 1), None), ((1 << 31, 1 << 31, 4), None)],
)
def test_a_product_that_no_block_has_is_not_known(
    dimensions: tuple[int, ...], threads: int | None
) -> None:
    data = (CACHE / "mix_rows.cubin").read_bytes()
    assert data.count(RECORD) == 1
    at = data.index(RECORD) + len(RECORD)
    changed = data[:at] + struct.pack("<III", *dimensions) + data[at + 12 :]
    assert Cubin(changed).function("mix_rows").max_threads == threads
