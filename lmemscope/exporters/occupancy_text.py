"""Describe occupancy in words: the fraction, the block size, and what limits it."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.exporters.layout import span
from lmemscope.model import BlockSource, KernelFacts, Limiter, Occupancy, count

_LOW = 0.25
"""Fraction of a multiprocessor's warps below which the latency of local memory is poorly hidden."""
_SAID: dict[BlockSource, str] = {
    "launch": "as launched",
    "launch-bounds": "its launch bounds",
    "option": "--block",
    "best": "the best block size",
    "default": "assumed",
}


def percent(share: float) -> int:
    """A fraction as a whole percentage."""
    return round(100 * share)


def block_said(block: int, source: BlockSource) -> str:
    """``blocks of 128 threads (as launched)``."""
    return f"blocks of {count(block, 'thread')} ({_SAID[source]})"


def limits_said(limited_by: Sequence[Limiter]) -> str:
    """``limited by registers``; empty if only the number of warps limits it."""
    named = [one for one in limited_by if one != "warps"]
    return f"limited by {' and '.join(named)}" if named else ""


def occupancy_said(held: Occupancy) -> str:
    """``occupancy 50% with blocks of 128 threads (as launched), limited by registers``."""
    limits = limits_said(held.limited_by) if held.share < 1 else ""
    said = f"occupancy {percent(held.share)}% with {block_said(held.block, held.block_from)}"
    if held.dynamic_shared:
        said += f" and {count(held.dynamic_shared, 'byte')} of dynamic shared memory"
    return f"{said}, {limits}" if limits else said


def occupancies_said(kernels: Sequence[KernelFacts]) -> str | None:
    """The occupancy of a template's instances; None if one of them is unknown."""
    held = [one.occupancy for one in kernels if one.occupancy is not None]
    if not held or len(held) != len(kernels):
        return None
    if len(set(held)) == 1:
        return occupancy_said(held[0])
    return f"occupancy {span([percent(one.share) for one in held])}%"


def low_occupancy(kernels: Sequence[KernelFacts]) -> str:
    """A note for rows of kernels with few warps, if the program gives the block size."""
    held = [one.occupancy for one in kernels if one.occupancy is not None]
    known = [one for one in held if one.is_known and one.share <= _LOW]
    if not known or len(known) != len(kernels):
        return ""
    return f", occupancy {span([percent(one.share) for one in known])}%"
