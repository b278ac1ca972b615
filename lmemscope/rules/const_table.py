r"""A table of constants is built in local memory by every thread.

What it is. An array inside a function gets constants, is never changed, and is read with a
run-time index. The compiler writes it to the stack on each call.

How to recognise it. PTX: stores of constants at constant offsets, then loads by a computed index,
and no other store.

What it costs. The stores on each call, and the indexed loads.

How to remove it. ``static const`` or ``__constant__`` at namespace scope: one copy for all threads.
``__constant__`` is fast when all lanes read one element; a table read at different indices is
better off in global memory (``static const __device__``) or computed.

When to leave it. Never worth it, except in cold code.
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
    """Which table, and what its index is made of."""
    return f"{case.described} holds constants that every thread writes again{index_clause(case)}"


def advice(case: Case) -> tuple[Advice, ...]:
    """One copy for all threads; constant memory only where all lanes read one element."""
    found = case.object
    code = None
    if found is not None and found.name is not None and found.type is not None:
        element, bracket, rest = found.type.removeprefix("const ").partition("[")
        code = f"static __device__ const {element} {found.name}{bracket}{rest} = {{…}};"
        if not case.is_divergent:
            code = f"__constant__ {element} {found.name}{bracket}{rest} = {{…}};"
    return (
        Advice(
            "Make it one table for all threads: `static const` with constant initialisers, or "
            "`__constant__` where all lanes read the same element.",
            code,
        ),
    )


RULE = Rule("LM204", "const-table", severity, certain, message, advice, __name__)
