"""Occupancy of a kernel: the resident warps of a multiprocessor, and what limits them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

BlockSource = Literal["launch", "launch-bounds", "option", "best", "default"]
"""The origin of the block size: a visible launch, ``__launch_bounds__``, ``--block``, or none.
Without an origin it is the largest block among those with the highest occupancy, or the size that
`fix` compares with."""

Limiter = Literal["registers", "shared memory", "warps", "blocks", "barriers"]
"""The resource that limits the number of resident blocks."""


class Occupancy(Struct, frozen=True):
    """What a multiprocessor can hold of a kernel at a time, ignoring thread block clusters.

    Attributes:
        share: resident warps as a fraction of the maximum.
        warps, blocks: resident; 0 if a block does not fit.
        block: threads of a block.
        block_from: the origin of the block size.
        limited_by: each resource that prevents a further block.
        dynamic_shared: bytes of dynamic shared memory counted per block, on which all visible
            launches agree; None if they do not, and then none is counted.
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
        """Whether the program gives the block size, rather than an assumption of this model."""
        return self.block_from in ("launch", "launch-bounds", "option")
