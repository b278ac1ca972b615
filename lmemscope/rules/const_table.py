r"""A table of constants is built in local memory by every thread.

What it is. A local array of constants is never changed and is read with a dynamic index. The
compiler writes it to the stack on each call.

How to recognise it. PTX: stores of constants at constant offsets, then loads at a computed index,
and no other store.

What it costs. The stores on each call, and the loads.

How to remove it. Keep one copy for all threads. If all lanes read one element, use ``__constant__``
at namespace scope. If lanes read different elements, which ``__constant__`` serialises, use
``static const`` in the function: global memory through L1. Both need a constant initialiser; for a
computed table use a ``constexpr`` function. Or compute the element where it is read.

When to leave it. Only in rarely executed code.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, by_cost, certain
from lmemscope.rules.indexing import index_clause


def severity(case: Case) -> Severity:
    """By loop and divergence, but never a note: one copy for all threads is always better."""
    found = by_cost(case)
    return "warning" if found == "note" else found


def message(case: Case) -> str:
    """Which table, and what its index is made of; of one without an index, that it is large."""
    evidence = case.object.evidence_facts if case.object is not None else ()
    large = next((e for e in evidence if e.kind == "constant-stores" and e.bytes is not None), None)
    if large is not None:
        return (
            f"{case.described} holds constants that every thread rewrites: more than the "
            f"{large.limit} bytes that a thread can hold in registers"
        )
    return (
        f"{case.described} holds constants that every thread rewrites, and is dynamically "
        f"indexed{index_clause(case)}"
    )


def advice(case: Case) -> tuple[Advice, ...]:
    """One copy for all threads."""
    loads = [access for access in (*case.accesses, *case.generic) if not access.is_store]
    is_uniform = bool(loads) and all(access.uniformity == "uniform" for access in loads)
    where = "`static const` where it is declared"
    if is_uniform:
        where += ", or `__constant__` at namespace scope: all lanes read the same element"
    conditions = (
        "Its initialisers must be constants (literals or a `constexpr` function, which can also "
        "compute what statements fill it with), and nothing else may write to it, including "
        "functions that receive it."
    )
    return (
        Advice(
            f"Make {case.name} one table for all threads: {where}. {conditions}",
            rewrite="static-table",
        ),
    )


RULE = Rule("LM204", "const-table", severity, certain, message, advice, __name__)
