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
from lmemscope.rules.base import Case, Offer, Rule, certain
from lmemscope.rules.indexing import can_be_unrolled, unnamed, with_members, without_usable_advice
from lmemscope.rules.register_cap import spare_registers

_BEST = ("unroll", "static-table")
"""What leaves neither comparisons nor a copy in shared memory."""


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


def advice(case: Case, offer: Offer) -> tuple[Advice, ...]:
    """To unroll, or one table for all threads; else as for any index."""
    size = case.object.size if case.object is not None else 0
    best = tuple(one for one in offer.advice if one.rewrite in _BEST)
    # Beside the counters an index may be chosen between constants: unrolling may leave that.
    is_chosen = case.index is not None and case.index.other_uniformity not in (None, "uniform")
    if is_chosen:
        best = tuple(one for one in offer.advice if one.rewrite != "unroll") or best
    elif not best and not unnamed(case) and can_be_unrolled(case):
        why = dict(offer.declined).get("unroll")
        best = (_unroll(case, why), *(offer.advice if why is not None else ()))
    if best and size // 4 > spare_registers(case.facts):
        # Not all of it may fit.
        best = (*best, *(one for one in offer.advice if one not in best))
    found = with_members(case, best or offer.advice) or unnamed(case)
    return found or without_usable_advice(case, offer)


def _unroll(case: Case, why: str | None) -> Advice:
    """To unroll the loops, where no rewrite was asked, or why that is not done."""
    if why is not None:
        return Advice(
            f"Every index of {case.name} is a constant once all loops that index it are unrolled, "
            f"those of macros and inlined functions included. `fix` does not offer that: {why}."
        )
    loop = case.index.loop if case.index is not None else None
    first = f"the loop at {case.line(loop)} and every other" if loop is not None else "every"
    return Advice(
        f"Unroll {first} loop that indexes {case.name} and stays rolled (`#pragma unroll`), loops "
        "of macros and inlined functions included: every index is then a constant. Keep it only "
        "if ptxas does not spill.",
        rewrite="unroll",
    )


RULE = Rule("LM202", "rolled-loop", severity, certain, message, advice, __name__)
