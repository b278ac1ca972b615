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

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, by_cost


def severity(case: Case) -> Severity:
    """By loop and divergence; never less than a warning."""
    found = by_cost(case)
    return "warning" if found == "note" else found


def message(case: Case) -> str:
    """Which variable, and where its address goes."""
    hidden = ""
    if not case.accesses:
        hidden = "; it is accessed by generic LD and ST only, which no count of LDL and STL shows"
    return f"the address of {case.described} is needed{_receiver(case)}{hidden}"


def advice(case: Case) -> tuple[Advice, ...]:
    """Inlining, or values."""
    receiver = _callee(case)
    if receiver == _POINTER:
        return (
            Advice(
                "Replace the function pointer or virtual call by a template parameter or a "
                "switch, so that the callee can be inlined."
            ),
            Advice("Or pass the values instead of a pointer."),
        )
    if receiver is not None:
        return (
            Advice(
                f"Inline {receiver} (`__forceinline__`), so that no address is needed.",
                f"__device__ __forceinline__ … {receiver.rpartition('::')[2]}(…)",
            ),
            Advice("Pass the values instead of a pointer, and return a structure by value."),
            Advice(
                "Where the function only reads through it, `const` and `__restrict__` let the "
                "compiler keep values in registers between the calls."
            ),
        )
    return (Advice(f"Keep the address of {case.name} inside the function: use values instead."),)


def _callee(case: Case) -> str | None:
    said = case.object.evidence if case.object is not None else ()
    for text in said:
        if text.startswith("its address goes to "):
            name = text.removeprefix("its address goes to ")
            return name if name == _POINTER else short_name(demangle(name))
    return None


def _receiver(case: Case) -> str:
    callee = _callee(case)
    if callee == _POINTER:
        return ": it goes to a function that is called through a pointer"
    return f": it is passed to {callee}, which is not inlined" if callee is not None else ""


_POINTER = "a function pointer"

RULE = Rule("LM301", "address-taken", severity, message, advice, __name__)
