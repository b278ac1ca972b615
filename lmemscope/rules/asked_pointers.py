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
        any(one.kind == "local-test" for one in access.evidence_facts) for access in case.accesses
    )


def asked(case: Case) -> str:
    """That a pointer may lead there, and whose code asks."""
    if case.object is not None:
        return (
            f"the address of {case.described} is needed by library code that runs only if another "
            "pointer points to a local variable, which it tests at run time (`isspacep.local`)"
        )
    whose = "a library's" if _is_librarys(case) else "the program's"
    return (
        f"a pointer may point to a local variable: {whose} code tests this at run time "
        "(`isspacep.local`), and uses local memory only then"
    )


def where_it_leads(case: Case) -> tuple[Advice, ...]:
    """To leave it, to say where the pointer leads, or to use what does not ask.

    A variable that has an address for it is stored and loaded wherever the pointer leads.
    """
    promise = (
        "tate the pointer's address space on the line before: "
        "`__builtin_assume(__isGlobal(pointer));`, or `__isShared` for shared memory. The "
        "compiler then omits the code for local variables"
    )
    if case.object is not None:
        return (Advice(f"S{promise}, and {case.name} need not be in memory for it."),)
    found = [
        Advice(
            "Leave it if the pointer never points to a local variable: these instructions then "
            "do not run, and the test is one instruction and a branch."
        ),
        Advice(f"Or s{promise}. For a kernel's own parameter, the compiler knows it."),
    ]
    chains = [access.chain for access in case.accesses]
    if all(one and _ATOMICS in one[0].location.file for one in chains):
        found.append(
            Advice(
                "Or use `atomicAdd` or a similar function directly on the pointer, if relaxed "
                "ordering is enough: these functions do not test it."
            )
        )
    return tuple(found)


def _is_librarys(case: Case) -> bool:
    """Whether the code that asks is a library's."""
    chains = [access.chain for access in (*case.accesses, *case.generic)]
    return all(chain and is_library(chain[0].location.file) for chain in chains)
