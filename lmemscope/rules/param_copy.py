r"""A kernel parameter passed by value is copied to local memory.

What it is. Parameters live in constant memory. When one that holds an array is indexed at run
time, changed, or has its address taken, the compiler copies it to each thread's stack frame first.

How to recognise it. PTX: ``ld.param`` and ``st.local`` of the same words at the same distances, at
the kernel's beginning.

What it costs. The copy by every thread, then the indexed accesses.

How to remove it. Declare the parameter ``const __grid_constant__``: it is then read in place. Or
index it with constants, or pass a pointer.

When to leave it. Small structures in long kernels.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, by_cost, certain
from lmemscope.rules.indexing import index_clause


def severity(case: Case) -> Severity:
    """By loop and divergence, but never a note: every thread makes the copy."""
    found = by_cost(case)
    return "warning" if found == "note" else found


def message(case: Case) -> str:
    """Which parameter, and what its index is made of."""
    return f"the parameter {case.described} is copied to every thread's stack{index_clause(case)}"


def advice(case: Case) -> tuple[Advice, ...]:
    """Reading it in place; where it is changed, a copy of the changing part alone."""
    name = case.object.name if case.object is not None else None
    plain = (name or "parameter").partition(".")[0]
    return (
        Advice(
            f"Read {plain} in place: declare it const __grid_constant__ (sm_70 and newer), and do "
            "not change it.",
            f"const __grid_constant__ … {plain}",
        ),
        Advice("Copy what changes into a variable of its own, or pass a pointer to device memory."),
    )


RULE = Rule("LM302", "param-copy", severity, certain, message, advice, __name__)
