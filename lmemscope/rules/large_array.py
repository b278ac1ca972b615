r"""An array is too large for registers, whatever its index.

What it is. A thread has at most 255 registers of 4 bytes, 1020 bytes. A larger array cannot be in
registers at once, even with constant indices.

How to recognise it. A stack object of more than 1020 bytes, indexed by loop counters only, unless
constant loops use at most 1020 bytes of it.

What it costs. Up to 2048 threads share an L1 cache, so accesses reach L2 or device memory.

How to remove it. Process the array in pieces. If only part of it is live at a time, unrolling its
loops may split it. Or give one thread's work to a warp, or use global memory laid out by thread.
Shared memory (48 KB static) fits at most 1.5 KB per thread, for a block of one warp.

When to leave it. When it is accessed once.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, by_cost, certain
from lmemscope.rules.indexing import conditions


def severity(case: Case) -> Severity:
    """By loop and divergence, but never a note: it hardly fits the L1 cache."""
    found = by_cost(case)
    return "warning" if found == "note" else found


def message(case: Case) -> str:
    """Which array, and the size that a thread can hold in registers."""
    return f"{case.described} is larger than the 1020 bytes of registers a thread can have"


def advice(case: Case) -> tuple[Advice, ...]:
    """Pieces that fit registers first, for other memory only moves the traffic."""
    return (
        Advice(
            f"{case.name} does not fit in one thread's registers: if all of it is live at once, "
            "process it in pieces that fit, or distribute it across the threads of a warp."
            f"{conditions(case)}",
            is_none=True,
        ),
    )


RULE = Rule("LM203", "large-array", severity, certain, message, advice, __name__)
