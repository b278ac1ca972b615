"""Whether a rewrite is likely to help a target, by what the analysis knows of the object.

A trial shows what a rewrite does; advice is given before one, so it is asked here first. Nothing of
this is needed for a rewrite to be right, and a trial may succeed where it says no.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from lmemscope.model import IndexSource, KernelFacts
from lmemscope.rewrites.arrays import local_array
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rules.register_cap import register_limit, spare_registers

_WORD = 4


def always(target: Target) -> bool:
    """Of a rewrite that only proposes what helps."""
    return True


def is_named(target: Target) -> bool:
    """Whether the object's name is known for sure."""
    return all(
        hit.case.object is not None
        and hit.case.object.name is not None
        and hit.case.object.confidence != "possible"
        for hit in target.hits
    )


def is_reached_by_index_alone(target: Target) -> bool:
    """Whether the index is all that keeps it in memory: no pointer, call or other cause does."""
    return all(
        hit.case.object is not None
        and not hit.case.object.also
        and not hit.case.generic
        and all(one.function == hit.case.object.function for one in hit.case.accesses)
        for hit in target.hits
    )


def elements_of(target: Target) -> int | None:
    """How many elements the target's array has; None where that is not seen."""
    try:
        numbers = local_array(target, aligned=True).numbers
    except DeclinedError:
        return None
    return math.prod(numbers) if numbers is not None else None


def fits_registers(target: Target) -> bool:
    """Whether the registers that kernels leave unused hold the object, each element in its own."""
    return _fits(target, spare_registers)


def fits_limit(target: Target) -> bool:
    """Whether the registers that kernels may have hold the object, whatever they use now.

    For rewrites that make each index a constant: what loads elements and computes indices has
    registers today, which are free then, and what does not fit is spilled to where it is now.
    """
    return _fits(target, register_limit)


def _fits(target: Target, room: Callable[[KernelFacts], int]) -> bool:
    elements = elements_of(target) or 0
    return all(
        max(-(-hit.case.object.size // _WORD), elements) <= room(hit.facts)
        for hit in target.hits
        if hit.case.object is not None
    )


def index_sources(target: Target) -> tuple[IndexSource, ...]:
    """What the indices of the target are made of, in all kernels; empty where that is not known."""
    found = [hit.case.index for hit in target.hits]
    if any(one is None or not one.all_sources for one in found):
        return ()
    return tuple(source for one in found if one is not None for source in one.all_sources)


def is_counted(target: Target) -> bool:
    """Whether every index is made of loop counters, none of which follows data."""
    sources = index_sources(target)
    return (
        bool(sources)
        and all(one.kind == "loop-counter" for one in sources)
        and all(
            hit.case.index is not None and hit.case.index.least_uniform != "data-dependent"
            for hit in target.hits
        )
    )


def instructions_of(target: Target) -> int:
    """Instructions of the loops around the accesses once they are unrolled; 0 if not known."""
    found = (hit.case.index for hit in target.hits)
    return max((one.written_out or 0 for one in found if one is not None), default=0)
