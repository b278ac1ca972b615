r"""The arguments of printf or assert are handed over in memory.

What it is. Each call writes its arguments to a small buffer in the stack frame, whose address goes
to the run-time function.

How to recognise it. PTX: the object's address goes to ``vprintf`` or ``__assertfail``. SASS: STL
only, no LDL.

What it costs. One store per argument, only when the message is printed. The call itself costs
registers around it.

How to remove it. Compile it out of release builds (``#ifndef NDEBUG``).

When to leave it. Nearly always: a frame that is not touched costs nothing.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain


def severity(case: Case) -> Severity:
    """A note always: the stores happen only when something is printed."""
    return "note"


def message(case: Case) -> str:
    """How many bytes of the frame hold arguments."""
    return f"{case.share.frame_bytes or 0} bytes hold the arguments of printf or assert"


def advice(case: Case) -> tuple[Advice, ...]:
    """To leave it, or to compile the call out of release builds."""
    return (
        Advice(
            "Usually fine. To be rid of it in release builds, compile the call out.",
            "#ifndef NDEBUG\n  printf(…);\n#endif",
        ),
    )


RULE = Rule("LM401", "printf-args", severity, certain, message, advice, __name__)
