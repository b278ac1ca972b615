r"""An array that is local in PTX was kept in registers by ptxas.

What it is. The PTX declares and accesses ``.local`` memory, but ptxas resolved all indices, or
selects among registers. The SASS has no local memory.

How to recognise it. A depot in PTX; a frame of 0; no LDL/STL.

What it costs. Nothing in memory; perhaps some select instructions.

How to remove it. There is nothing to remove. Tools that only read PTX report it wrongly.

When to leave it. Always; but a small change of the source can bring it back.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain


def severity(case: Case) -> Severity:
    """A note always: nothing is left of it in the machine code."""
    return "note"


def message(case: Case) -> str:
    """How much PTX declares, so that a reader of PTX sees that it is known."""
    size = case.facts.ptx.local_bytes if case.facts.ptx is not None else 0
    text = f"PTX declares {size} bytes of local memory, which ptxas promoted to registers"
    names = dict.fromkeys(f"`{one.name}`" for one in case.facts.objects if one.name is not None)
    return f"{text}: {', '.join(names)}" if names else text


def advice(case: Case) -> tuple[Advice, ...]:
    """None, but said, so that nobody looks for it."""
    return (Advice("Nothing to do."),)


RULE = Rule("LM601", "promoted", severity, certain, message, advice, __name__)
