r"""A called function saves its caller's registers.

What it is. A function that is not inlined must keep the registers that its caller expects back, so
it stores them on entry (STL) and reloads them before it returns (LDL). ptxas counts them as spills,
although nothing ran out.

How to recognise it. Unmarked LDL/STL through R1 at the beginning and end of a ``$kernel$function``;
ptxas reports spill bytes for that function, and often 0 for the kernel itself.

What it costs. A store and a load per register and call; in a loop around the call, each time.

How to remove it. Inline the function (``__forceinline__``), unless it calls itself, is called
through a pointer, is defined in another source (a header or ``-dlto`` helps there), or is CUDA's
own. A function that must stay a call saves less when it needs fewer registers.

When to leave it. Large functions that are called rarely: inlining them grows the code.
"""

from __future__ import annotations

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain, traffic
from lmemscope.rules.indexing import listed
from lmemscope.rules.inlining import inlining


def severity(case: Case) -> Severity:
    """A warning always: the cost is per call, and how often it is made is not known here."""
    return "warning"


def message(case: Case) -> str:
    """Which functions save registers, and how much."""
    functions = sorted({short_name(demangle(access.function)) for access in case.accesses})
    return (
        f"{', '.join(functions)}: not inlined, so registers of the caller are saved on entry "
        f"and restored before the return ({traffic(case)} in all)"
    )


def advice(case: Case) -> tuple[Advice, ...]:
    """Inlining where it is possible, for then there is no caller whose registers must be kept."""
    pointed = {
        access.function
        for access in case.accesses
        if any(evidence.kind == "called-by-pointer" for evidence in access.evidence)
    }
    called = dict.fromkeys(access.function for access in case.accesses)
    direct = tuple(function for function in called if function not in pointed)
    found = inlining(case, direct) if direct else ()
    if not pointed:
        return found
    names = listed(sorted(short_name(demangle(function)) for function in pointed))
    return (
        *found,
        Advice(
            f"Replace the pointer that calls {names} by a template parameter or a switch, so that "
            "the callee can be inlined."
        ),
    )


RULE = Rule("LM102", "callee-save", severity, certain, message, advice, __name__)
