r"""An array is indexed with a value that is not known at compile time.

What it is. An instruction names its registers, so an array can be in registers only if every index
is a constant. One dynamic index puts the whole array in local memory.

How to recognise it. PTX: ``ld.local``/``st.local`` whose address adds a computed register to the
object's start. SASS: LDL/STL through a register other than R1. ptxas: a stack frame, no spills.

What it costs. A load through L1 instead of a register: 4 sectors per request for a uniform index,
else up to 32.

How to remove it. If the index consists of loop counters with a constant trip count, unroll; for a
run-time bound, loop to a constant and test the bound inside. In a ring (``i % size``), move the
elements instead of the index. Make a table of indices (``state[order[i]]``) ``const``, and unroll
its loop. Comparing with each index suits up to 32 elements without pointers to them. Shared memory
suits arrays without constructors whose copies for a block fit in 48 KB; make the thread the last
dimension to avoid bank conflicts. Neither suits an array that is also accessed as another type.
Otherwise change the algorithm. If the only index is ``threadIdx.x``, use a variable, or add a
missing ``__shared__``.

When to leave it. Rarely executed code, and arrays whose shared memory would cost too much
occupancy. A higher register limit changes nothing.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, by_cost, certain
from lmemscope.rules.indexing import (
    index_clause,
    left_alone,
    unnamed,
)


def severity(case: Case) -> Severity:
    """By loop and divergence alone: outside of loops and with one address it is cheap."""
    return by_cost(case)


def message(case: Case) -> str:
    """Which array, by which index, and what that is made of."""
    return f"{case.described} is dynamically indexed{index_clause(case)}"


def advice(case: Case) -> tuple[Advice, ...]:
    """To leave it if it costs little; what to look at where no name says it."""
    return left_alone(case) or unnamed(case)


RULE = Rule("LM201", "dynamic-index", severity, certain, message, advice, __name__)
