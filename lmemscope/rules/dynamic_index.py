r"""An array is indexed with a value that is not known at compile time.

What it is. Registers have no addresses: an instruction names its register, so an array can live in
registers only if every index is a constant. One run-time index puts all of it in local memory.

How to recognise it. PTX: ``ld.local``/``st.local`` whose address adds a computed register to the
object's start. SASS: LDL/STL through a register other than R1. ptxas: a stack frame, no spills.

What it costs. A load through the L1 cache for what would have been a register. If all lanes use one
index, 4 sectors per request; if lanes differ, up to 32.

How to remove it. Make the index constant: unroll the loop that computes it, shift the array instead
of moving an index, or select with a chain of comparisons when the array is small. Otherwise put
the array in shared memory, laid out so that each thread has its own bank.

When to leave it. Rarely executed code, and arrays so large that shared memory would cost occupancy.
Raising the register limit does nothing: nothing is spilled.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, by_cost, certain
from lmemscope.rules.indexing import constant_index, index_clause, selection, shared_memory


def severity(case: Case) -> Severity:
    """By loop and divergence alone: outside of loops and with one address it is cheap."""
    return by_cost(case)


def message(case: Case) -> str:
    """Which array, by which index, and what that is made of."""
    return f"{case.described} is indexed at run time{index_clause(case)}"


def advice(case: Case) -> tuple[Advice, ...]:
    """A constant index first, then selection for small arrays, then shared memory."""
    return (*constant_index(case), *selection(case), shared_memory(case))


RULE = Rule("LM201", "dynamic-index", severity, certain, message, advice, __name__)
