r"""Memory of a run-time size is taken from the stack.

What it is. ``alloca`` moves the stack pointer by a value known only at run time.

How to recognise it. PTX: ``alloca``, ``stacksave``. The static frame may be 0 while LDL/STL go
through the moved pointer.

What it costs. Local memory of that size; the stack depth is unknown, so it can overflow.

How to remove it. An array of the largest size; it is still local memory unless every index is a
constant. Or dynamic shared memory, sized at launch.

When to leave it. Hardly ever in a kernel.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, by_cost, certain, traffic


def severity(case: Case) -> Severity:
    """By loop and divergence, but never a note: the stack can overflow."""
    found = by_cost(case)
    return "warning" if found == "note" else found


def message(case: Case) -> str:
    """How much goes through the moved stack pointer, which the frame's size does not show."""
    frame = case.facts.stack_frame
    return (
        f"alloca allocates stack at run time, which the static frame of {frame} bytes does not "
        f"include: {traffic(case)}"
    )


def advice(case: Case) -> tuple[Advice, ...]:
    """A size fixed at compile time, or shared memory sized at launch: both have a known depth."""
    return (
        Advice(
            "Use an array of the largest possible size: the stack depth is then known, though "
            "the array may still be in local memory."
        ),
        Advice("Or allocate it in dynamic shared memory (`extern __shared__`), sized at launch."),
    )


RULE = Rule("LM404", "alloca", severity, certain, message, advice, __name__)
