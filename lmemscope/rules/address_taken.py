r"""The address of a variable leaves the function.

What it is. A pointer to a local variable goes to a function that is not inlined, into memory, or
into inline assembly. A register has no address, so the variable lives in the stack frame.

How to recognise it. PTX: ``cvta.local`` or the object's address stored to a parameter or to
memory; then generic ``ld``/``st``. In SASS these may be generic LD/ST: zero LDL/STL although there
is a frame.

What it costs. Loads and stores around each use; generic accesses are slower than LDL.

How to remove it. Inline the called function, pass values instead of pointers and return a
structure, or index an array through constants only.

When to leave it. Calls into large functions that are called rarely.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, by_cost, certain


def severity(case: Case) -> Severity:
    """By loop and divergence, but never a note: the address can be avoided in most kernels."""
    found = by_cost(case)
    return "warning" if found == "note" else found


def message(case: Case) -> str:
    """Which variable, and which function gets its address, as far as evidence tells."""
    hidden = ""
    if not case.accesses:
        hidden = "; it is accessed by generic LD and ST only, which no count of LDL and STL shows"
    return f"the address of {case.described} is needed{_clause(_receiver(case))}{hidden}"


def advice(case: Case) -> tuple[Advice, ...]:
    """By who gets the address: what is called through a pointer cannot be inlined, others can."""
    receiver = _receiver(case)
    if receiver is None:
        return (
            Advice(f"Keep the address of {case.name} inside the function: use values instead."),
        )
    if receiver.name is None:
        return (
            Advice(
                "Replace the function pointer or virtual call by a template parameter or a "
                "switch, so that the callee can be inlined."
            ),
            Advice("Or pass the values instead of a pointer."),
        )
    return (
        Advice(
            f"Inline {receiver.name} (`__forceinline__`), so that no address is needed.",
            f"__device__ __forceinline__ … {receiver.name.rpartition('::')[2]}(…)",
        ),
        Advice("Pass the values instead of a pointer, and return a structure by value."),
        Advice(
            "Where the function only reads through it, `const` and `__restrict__` let the "
            "compiler keep values in registers between the calls."
        ),
    )


@dataclass(frozen=True, slots=True)
class _Receiver:
    """Who gets the address: a function's short name, or None where it is called by pointer."""

    name: str | None


def _receiver(case: Case) -> _Receiver | None:
    """The first function that gets the address; None where it goes elsewhere."""
    for evidence in case.object.evidence if case.object is not None else ():
        if evidence.kind == "address-passed":
            symbol = evidence.subject
            return _Receiver(short_name(demangle(symbol)) if symbol is not None else None)
    return None


def _clause(receiver: _Receiver | None) -> str:
    if receiver is None:
        return ""
    if receiver.name is None:
        return ": it goes to a function that is called through a pointer"
    return f": it is passed to {receiver.name}, which is not inlined"


RULE = Rule("LM301", "address-taken", severity, certain, message, advice, __name__)
