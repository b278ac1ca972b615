"""What is said of local memory that a pointer may lead to: ``address-taken`` of nobody's variable.

Code that takes any pointer asks at run time whether it leads into local memory, and has a way of
its own for that (`lmemscope.analysis.ptx.local_tests`).
"""

from __future__ import annotations

from lmemscope.model import Advice, is_library
from lmemscope.rules.base import Case

_ATOMICS = "/__atomic/"
"""The folder of libcu++ that holds what atomic objects are made of."""


def is_behind_test(case: Case) -> bool:
    """Whether all of it only runs where a pointer is found to lead into local memory."""
    if case.object is not None:
        return "local-test" in case.shown
    return bool(case.accesses) and all(
        any(one.kind == "local-test" for one in access.evidence) for access in case.accesses
    )


def asked(case: Case) -> str:
    """That a pointer may lead there, and whose code asks."""
    if case.object is not None:
        return (
            f"the address of {case.described} is needed by a library's code that runs only where "
            "another pointer leads to a thread's own variable, which it asks at run time "
            "(`isspacep.local`)"
        )
    whose = "a library's" if _is_librarys(case) else "the program's"
    return (
        f"a pointer may lead to a thread's own variable: {whose} code asks that at run time "
        "(`isspacep.local`), and uses local memory only if so"
    )


def where_it_leads(case: Case) -> tuple[Advice, ...]:
    """To leave it, to say where the pointer leads, or to use what does not ask.

    A variable that has an address for it is stored and loaded wherever the pointer leads.
    """
    promise = (
        "ay where the pointer leads, on the line in front, as a promise: "
        "`__builtin_assume(__isGlobal(pointer));`, or `__isShared` where it leads there; then the "
        "code for local variables is left out"
    )
    if case.object is not None:
        return (Advice(f"S{promise}, and {case.name} is not needed in memory for it."),)
    found = [
        Advice(
            "Leave it where the pointer never leads to a local variable: these instructions do "
            "not run then, and asking takes one instruction and a branch."
        ),
        Advice(f"Or s{promise}. Of a kernel's own parameter it is known."),
    ]
    chains = [access.chain for access in case.accesses]
    if all(one and _ATOMICS in one[0].location.file for one in chains):
        found.append(
            Advice(
                "Or use `atomicAdd` and its like with the pointer itself, where a relaxed order "
                "will do: they do not ask."
            )
        )
    return tuple(found)


def _is_librarys(case: Case) -> bool:
    """Whether the code that asks is a library's."""
    chains = [access.chain for access in (*case.accesses, *case.generic)]
    return all(chain and is_library(chain[0].location.file) for chain in chains)
