r"""The kernel was compiled for debugging: everything is in memory.

What it is. ``-G`` (or ``-O0`` for ptxas) keeps every variable in local memory for the debugger.

How to recognise it. ``.target sm_90, debug`` in the PTX, which other compilers also write for
optimised code with debug information.

What it costs. Figures of a debug build do not tell which local memory the release build has.

How to remove it. Compile without ``-G``; ``-lineinfo`` keeps line information for profilers.

When to leave it. While debugging.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain, traffic


def severity(case: Case) -> Severity:
    """A warning always: figures of a debug build do not tell those of the release build."""
    return "warning"


def message(case: Case) -> str:
    """How much traffic the debug build has: what of it is there without -G, it cannot show."""
    return f"compiled for debugging: {traffic(case)}; a release build shows which of them remain"


def advice(case: Case) -> tuple[Advice, ...]:
    """The release build, with line information for profilers."""
    return (Advice("Compile without -G; use -lineinfo to keep line information.", "-lineinfo"),)


RULE = Rule("LM501", "debug-build", severity, certain, message, advice, __name__)
