"""What instructions wait for each other: the longest chain of dependent ones in a basic block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmemscope.analysis.ptx.promoted import Selection
from lmemscope.analysis.ptx.timing import chained, waited_for
from lmemscope.formats.ptx_body import Instruction
from lmemscope.formats.ptx_operands import defined, read
from lmemscope.model import STALLS, Stall

_TYPICAL: Mapping[Stall, float] = {
    "arithmetic": 4,
    "fp64": 8,
    "special": 20,
    "shared": 29,
    "local": 41,
    "global": 263,
}
"""Cycles, to choose the longest chain with (`lmemscope.analysis.cost` has their sources)."""


def longest_chain(
    rows: Sequence[Instruction], in_registers: Mapping[int, Selection]
) -> dict[Stall, float]:
    """How often the longest chain of a basic block waits, by what for.

    A warp issues in order and stops at the first instruction whose operand is not there yet, so
    what is independent overlaps within a block, and little does beyond its end.

    Args:
        rows: the block.
        in_registers: promoted local accesses by their lines; a load waits for one move after the
            other, all of them into one register.
    """
    chains: dict[str, tuple[float, tuple[float, ...]]] = {}
    nothing = (0.0, (0.0,) * len(STALLS))
    longest = nothing
    for one in rows:
        before = max((chains.get(name, nothing) for name in read(one)), default=nothing)
        stall = waited_for(one)
        number = chained(one)
        if one.line in in_registers:
            number = in_registers[one.line].moves
            stall = "arithmetic" if number else None
        made = before
        if stall is not None:
            at = STALLS.index(stall)
            counts = list(before[1])
            counts[at] += 1
            # The rest of what one instruction becomes waits for arithmetic.
            counts[0] += number - 1
            total = before[0] + _TYPICAL[stall] + (number - 1) * _TYPICAL["arithmetic"]
            made = (total, tuple(counts))
        for register in defined(one):
            chains[register] = made
        longest = max(longest, made)
    return dict(zip(STALLS, longest[1], strict=True))
