r"""A local variable is declared volatile.

What it is. ``volatile`` demands a memory access for every use, so the variable cannot live in a
register.

How to recognise it. PTX: ``ld.volatile.local``, ``st.volatile.local``.

What it costs. A store and a load for every use.

How to remove it. Drop ``volatile``. Where it should stop an optimisation, an empty
``asm volatile("" : "+r"(x));`` does that without memory.

When to leave it. When the memory traffic is the purpose, as in micro-benchmarks.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain


def severity(case: Case) -> Severity:
    """An error in a loop with different addresses across lanes; never less than a warning."""
    return "error" if case.loop_depth and case.is_divergent else "warning"


def message(case: Case) -> str:
    """Which variable, and that every use of it goes to memory."""
    return f"{case.described} is volatile: every use is a memory access"


def advice(case: Case) -> tuple[Advice, ...]:
    """To drop the word, or what has its effect without memory."""
    return (
        Advice("Drop `volatile`; no other thread can see a local variable."),
        Advice(
            "To keep a value from being optimised away, use an empty assembly statement.",
            'asm volatile("" : "+r"(x));',
        ),
    )


RULE = Rule("LM303", "volatile", severity, certain, message, advice, __name__)
