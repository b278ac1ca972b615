"""Occupancy by figures: each limit on its own, and the block that it is of."""

from __future__ import annotations

import pytest

from lmemscope.analysis.block_occupancy import held
from lmemscope.analysis.multiprocessors import MULTIPROCESSORS
from lmemscope.analysis.occupancy import best_block, residency
from lmemscope.exporters.occupancy_text import occupancy_said


@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "barriers", "blocks", "limited_by"),
    [
        # 40 registers are 1280 of a warp: 12 warps on each of four partitions.
        ("sm_90", 128, 40, 0, 0, 12, ("registers",)),
        # Each block of 30000 bytes has 1024 more, rounded to 128: 31104 of 233472.
        ("sm_90", 128, 32, 30000, 0, 7, ("shared memory",)),
        ("sm_90", 256, 16, 0, 0, 8, ("warps",)),
        ("sm_90", 32, 16, 0, 0, 32, ("blocks",)),
        ("sm_120", 32, 16, 0, 5, 4, ("barriers",)),
        # Barriers limit nothing before 9.0.
        ("sm_80", 32, 16, 0, 5, 32, ("blocks",)),
        ("sm_75", 1024, 32, 0, 0, 1, ("warps",)),
        # 65536 registers are enough for 25 warps of 80, but not for 28.
        ("sm_90", 800, 80, 0, 0, 0, ("registers",)),
        ("sm_53", 512, 80, 0, 0, 0, ("registers",)),
        ("sm_89", 64, 32, 101377, 0, 0, ("shared memory",)),
        ("sm_90", 1025, 16, 0, 0, 0, ("warps",)),
    ],
)
def test_what_limits_the_blocks(
    arch: str,
    threads: int,
    registers: int,
    shared: int,
    barriers: int,
    blocks: int,
    limited_by: tuple[str, ...],
) -> None:
    found = residency(arch, threads, registers, shared, barriers)
    assert found is not None
    assert (found.blocks, found.limited_by) == (blocks, limited_by)
    assert found.warps == blocks * -(-threads // 32)


def test_suffixes_name_the_same_chip_and_unknown_ones_none() -> None:
    assert residency("sm_90a", 128, 40, 0) == residency("sm_90", 128, 40, 0)
    assert residency("sm_999", 128, 40, 0) is None
    assert held("sm_999", None, 40, 0) is None


def test_the_best_block_is_the_largest_of_those_with_most_warps() -> None:
    """45 registers: 48 × 32 = 1536 of a warp, 10 warps on each partition."""
    assert best_block("sm_90", 45, 0, 1024) == 640
    assert best_block("sm_90", 45, 0, 256) == 256
    # A bound that is no multiple of a warp is a block, too.
    assert best_block("sm_90", 16, 0, 100) == 100
    assert best_block("sm_90", 16, 300_000, 1024) is None


def test_every_architecture_fills_its_warps_with_a_small_kernel() -> None:
    for number, limits in MULTIPROCESSORS.items():
        block = best_block(f"sm_{number}", 16, 0, 1024)
        assert block is not None
        found = residency(f"sm_{number}", block, 16, 0)
        assert found is not None
        assert (found.warps, found.share) == (limits.warps, 1.0)


def test_in_words() -> None:
    small = held("sm_90", (64, "launch"), 255, 0)
    assert small is not None
    assert occupancy_said(small) == (
        "occupancy 12% with blocks of 64 threads (as launched), limited by registers"
    )
    full = held("sm_90", None, 16, 0)
    assert full is not None
    assert occupancy_said(full) == (
        "occupancy 100% with blocks of 1024 threads (the best block size)"
    )
