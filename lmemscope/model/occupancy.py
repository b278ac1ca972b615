"""Occupancy: which part of a multiprocessor's warps a kernel can fill, and what keeps it there."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

BlockSource = Literal["launch", "launch-bounds", "option", "best", "default"]
"""What says a block's threads: a launch in sight, ``__launch_bounds__``, ``--block``, or nothing:
then it is the largest block of those with the highest occupancy, or what `fix` compares with."""

Limiter = Literal["registers", "shared memory", "warps", "blocks", "barriers"]
"""What keeps one more block from being resident."""


class Occupancy(Struct, frozen=True):
    """What a multiprocessor holds of a kernel at a time, whatever the clusters of its blocks.

    Attributes:
        share: warps that are resident, of those that can be.
        warps, blocks: that are resident; 0 where a block does not fit.
        block: threads of a block.
        block_from: what says so.
        limited_by: each of what allows no more blocks.
        dynamic_shared: bytes of dynamic shared memory of a block that count, as all launches in
            sight say; None where they do not say it, and none counts.
    """

    share: float
    warps: int
    blocks: int
    block: int
    block_from: BlockSource
    limited_by: tuple[Limiter, ...]
    dynamic_shared: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether the program says its block, and not this one what it could be."""
        return self.block_from in ("launch", "launch-bounds", "option")
