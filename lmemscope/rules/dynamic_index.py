r"""An array is indexed with a value that is not known at compile time.

What it is. Registers have no addresses: an instruction names its register, so an array can live in
registers only if every index is a constant. One run-time index puts all of it in local memory.

How to recognise it. PTX: ``ld.local``/``st.local`` whose address adds a computed register to the
object's start. SASS: LDL/STL through a register other than R1. ptxas: a stack frame, no spills.

What it costs. A load through the L1 cache for what would have been a register. If all lanes use one
index, 4 sectors per request; where lanes may differ, up to 32.

How to remove it. Unrolling helps only where the index is nothing but loop counters and the number
of trips is, or can be, a constant: write a constant bound with the run-time bound as a condition
inside, or, for a ring (``i % size``), move the elements instead of the index. An index that is read
from a table of the module (``state[order[i]]``) is a constant where the table is ``const``, and the
loop unrolled: without the word, host code may change it. Comparing with each
index suits at most 32 elements that fit the registers left and that no pointer goes to; it costs a
comparison per element and access. Shared memory suits what fits 48 KB at one copy per thread of
the block and needs no constructor; with the thread as the last dimension, elements of 4 bytes have
a bank per lane, 8 and 16 bytes take 2 and 4 passes without conflict, and lanes with 1- or 2-byte
elements share banks by 4 or 2. Neither suits an array that is accessed as another type, too. Data
as an index leaves the last two; a larger array than both allow needs another algorithm. Of an array
whose only index is ``threadIdx.x`` each thread uses one element: a variable, or ``__shared__`` that
was forgotten.

When to leave it. Rarely executed code, and arrays so large that shared memory would cost occupancy.
Raising the register limit does nothing: nothing is spilled.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, by_cost, certain
from lmemscope.rules.index_tables import constant_tables
from lmemscope.rules.indexing import (
    index_clause,
    left_alone,
    unnamed,
    with_members,
    without_usable_advice,
)
from lmemscope.rules.own_element import own_element
from lmemscope.rules.selecting import of_components, selection
from lmemscope.rules.shared import shared_memory
from lmemscope.rules.unrolling import constant_bound


def severity(case: Case) -> Severity:
    """By loop and divergence alone: outside of loops and with one address it is cheap."""
    return by_cost(case)


def message(case: Case) -> str:
    """Which array, by which index, and what that is made of."""
    return f"{case.described} is indexed at run time{index_clause(case)}"


def advice(case: Case) -> tuple[Advice, ...]:
    """One element if no more are used; else a constant index, selection, shared memory."""
    own = own_element(case)
    if own:
        return own
    constant = constant_bound(case) or selection(case) or of_components(case)
    constant = (*constant_tables(case), *constant)
    found = (*unnamed(case), *with_members(case, constant), *shared_memory(case))
    return left_alone(case) or found or without_usable_advice(case)


RULE = Rule("LM201", "dynamic-index", severity, certain, message, advice, __name__)
