r"""A loop over an array was not unrolled, so its index is not a constant.

What it is. The array is indexed only by counters of loops whose trip count is known, or has a known
maximum. Fully unrolled, every index would be a constant and the array could be in registers.

How to recognise it. PTX: the address advances by a constant step inside a loop that compares its
counter with a constant, or with a number that is at most a constant.

What it costs. As for a uniform dynamic index: 4 sectors per request.

How to remove it. ``#pragma unroll`` before every loop that indexes the array (in place of
``#pragma unroll 1``). The array must fit in the registers, and up to a maximum each iteration takes
a comparison. Loops with ``break`` or ``return`` can be unrolled too. Share a constant table.
Otherwise see dynamic-index.

When to leave it. When unrolling makes the code too large, or the array needs too many registers.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain
from lmemscope.rules.indexing import can_be_unrolled, unnamed


def severity(case: Case) -> Severity:
    """A warning always: it is in a loop by nature, with one address for all lanes."""
    return "warning"


def message(case: Case) -> str:
    """Which array, and the loop whose counter indexes it."""
    loop = case.index.loop if case.index is not None else None
    where = f" ({case.line(loop)})" if loop is not None else ""
    return (
        f"{case.described} is indexed by the counter of a loop that was not fully unrolled{where}"
    )


def advice(case: Case) -> tuple[Advice, ...]:
    """To unroll, if that leaves every index a constant."""
    # Beside the counters an index may be chosen between constants: unrolling may leave that.
    is_chosen = case.index is not None and case.index.other_uniformity not in (None, "uniform")
    found = unnamed(case)
    if found or is_chosen or not can_be_unrolled(case):
        return found
    loop = case.index.loop if case.index is not None else None
    first = f"the loop at {case.line(loop)} and every other" if loop is not None else "every"
    text = (
        f"Every index of {case.name} is a constant once {first} loop that indexes it is unrolled "
        "(`#pragma unroll`), loops of macros and inlined functions included. Keep it only if ptxas "
        "does not spill."
    )
    return (Advice(text, rewrite="unroll"),)


RULE = Rule("LM202", "rolled-loop", severity, certain, message, advice, __name__)
