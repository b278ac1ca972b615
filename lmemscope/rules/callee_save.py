r"""A called function saves its caller's registers.

What it is. A function that is not inlined must preserve registers of its caller: it stores them on
entry (STL) and reloads them before it returns (LDL). ptxas counts them as spills.

How to recognise it. Unmarked LDL/STL through R1 at the beginning and end of a ``$kernel$function``;
ptxas reports spill bytes for that function, and often 0 for the kernel.

What it costs. A store and a load per register and call.

How to remove it. Inline the function (``__forceinline__``), unless it recurses, is called through a
pointer, is defined in another source (move it to a header, or use ``-dlto``), or belongs to CUDA.

When to leave it. Large functions that are called rarely: inlining them grows the code.
"""

from __future__ import annotations

from lmemscope.formats.demangle import original_name
from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain, traffic
from lmemscope.rules.inlining import (
    by_pointer,
    inlining,
    is_librarys,
    is_of_this_file,
    names_of,
    of_its_own,
    of_library,
    only_linked,
)
from lmemscope.rules.register_cap import HARDWARE_CAP


def severity(case: Case) -> Severity:
    """A warning always: the cost is per call, and how often it is made is not known here."""
    return "warning"


def message(case: Case) -> str:
    """Which functions save registers, and how much."""
    functions = {access.function for access in case.accesses}
    are = "are" if len(functions) > 1 else "is"
    why = "not inlined"
    if _is_routine(case):
        why = "a CUDA library routine"
    elif _is_on_its_own(case) and by_pointer(case.accesses):
        why = "kept for indirect calls because its address is stored"
    elif _is_on_its_own(case) and not is_of_this_file(case):
        why = "compiled for other files to call"
    text = (
        f"the caller's registers are saved on entry to {names_of(functions)}, which {are} {why}, "
        f"and restored before the return ({traffic(case)} in all)"
    )
    if why != "not inlined":
        return text
    linked = functions & only_linked(case.facts)
    if not linked:
        return text
    which = "they are" if linked == functions else f"{names_of(linked)} are"
    if case.facts.calls is not None and case.facts.calls.indirect:
        return (
            f"{text}; {which} linked because their addresses are taken, as for virtual functions, "
            "but no indirect call in the kernel matches their signature"
        )
    return (
        f"{text}; {which} linked because the kernel stores their addresses, as for virtual "
        "functions, but it calls none of them"
    )


def advice(case: Case) -> tuple[Advice, ...]:
    """Inlining where it is possible, for then there is no caller whose registers must be kept."""
    if _is_routine(case):
        return _of_routine(case)
    pointed = by_pointer(case.accesses)
    if _is_on_its_own(case) and not pointed:
        return of_its_own(case)
    called = dict.fromkeys(access.function for access in case.accesses)
    linked = only_linked(case.facts)
    known = {*case.facts.calls.reached, *case.facts.calls.pointed} if case.facts.calls else set()
    if linked and not known & {original_name(function) for function in called}:
        own = [function for function in called if function not in linked]
        # Whatever else saves registers may do so inside of what is not called either.
        return (
            Advice(
                f"Nothing to do about {names_of(linked & {*called})}: this kernel calls none of "
                "them; they are linked because their addresses are taken. Any cost is in the "
                "kernels that call them."
            ),
            *of_library(own),
        )
    direct = tuple(f for f in called if f not in pointed and f not in linked)
    found = inlining(case, direct) if direct else ()
    if not pointed:
        return found
    return (
        *found,
        Advice(
            f"Replace the indirect or virtual call of {names_of(pointed)} with a template "
            "parameter or a switch, so that the callee can be inlined; if there is no such call, "
            "do not store its address."
        ),
    )


def _is_routine(case: Case) -> bool:
    """Whether it is a routine that ptxas adds, compiled by itself for code that is linked later."""
    return _is_on_its_own(case) and is_librarys(case.facts, case.facts.name)


def _of_routine(case: Case) -> tuple[Advice, ...]:
    """The limit under which it has to save registers, for without one it needs none of them."""
    cap = case.facts.cubin.max_registers if case.facts.cubin is not None else None
    if cap is None or cap >= HARDWARE_CAP:
        return of_library([case.facts.name])
    return (
        Advice(
            f"It is compiled with a limit of {cap} registers (-maxrregcount), and must preserve "
            "its caller's. Raise or drop that limit; __launch_bounds__ on a kernel does not "
            "apply to it."
        ),
    )


def _is_on_its_own(case: Case) -> bool:
    """Whether it is a function's own code, which no kernel is known to call."""
    return case.facts.kind == "function" and {a.function for a in case.accesses} == {
        case.facts.name
    }


RULE = Rule("LM102", "callee-save", severity, certain, message, advice, __name__)
