r"""A loop over an array was not unrolled, so its index is not a constant.

What it is. The array is indexed only by counters of loops with constant trip counts. Fully
unrolled, every index would be a constant and the array could be in registers.

How to recognise it. PTX: the address advances by a constant step inside a loop that compares its
counter with a constant.

What it costs. As for a uniform dynamic index: 4 sectors per request.

How to remove it. ``#pragma unroll`` before every loop that indexes the array (in place of
``#pragma unroll 1``). Trip counts must be compile-time constants, and the array must fit in the
free registers. Loops with ``break`` or ``return`` can be unrolled too. Share a constant table.
Otherwise see dynamic-index.

When to leave it. When unrolling makes the code too large, or the array needs too many registers.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain
from lmemscope.rules.const_table import unchanged_table
from lmemscope.rules.indexing import unnamed, with_members, without_usable_advice
from lmemscope.rules.shared import shared_memory
from lmemscope.rules.unrolling import unrolled_loop


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
    """To unroll, where trips are constant and the array fits registers; else as for any index.

    What is a table need not be copied for each thread, whether the loops are unrolled or not.
    """
    table = unchanged_table(case)
    if table:
        # No better off with a copy in shared memory for each thread; nor does it need registers.
        unrolled = unrolled_loop(case, is_table=True)
        return (
            *with_members(case, unrolled),
            *unchanged_table(case, "Or make" if unrolled else "Make"),
        )
    unrolled = unrolled_loop(case)
    if unrolled:
        return with_members(case, unrolled)
    return (*unnamed(case), *shared_memory(case)) or without_usable_advice(case)


RULE = Rule("LM202", "rolled-loop", severity, certain, message, advice, __name__)
