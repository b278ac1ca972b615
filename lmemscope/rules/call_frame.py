r"""Calls need a stack: recursion, function pointers, virtual functions, results in memory.

What it is. A function that calls itself, or is called through a pointer, keeps its values on the
stack across the call; large results are returned there.

How to recognise it. The kernel's own frame may be 0. ptxas warns "cannot be statically determined";
the LDL/STL are in the called function; the minimum stack is unknown.

What it costs. A store and a load per value and call. The driver reserves cudaLimitStackSize bytes
for every resident thread, and overflowing it is an error.

How to remove it. Iterate, with an explicit stack where needed; replace function pointers and
virtual functions by templates or a switch.

When to leave it. When the depth is small and the code is not hot.
"""

from __future__ import annotations

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain, traffic


def severity(case: Case) -> Severity:
    """A warning always: how often the call is made is not known here."""
    return "warning"


def message(case: Case) -> str:
    """Why values are kept across calls: recursion first, for it alone has no known depth."""
    calls = case.facts.calls
    if calls is not None and calls.recursive:
        names = ", ".join(short_name(demangle(name)) for name in calls.recursive)
        hidden = ""
        if case.facts.stack_frame == 0:
            hidden = "; the kernel's own frame of 0 bytes does not show it"
        return (
            f"{names} calls itself and keeps its values on the stack: {traffic(case)} per call"
            f"{hidden}"
        )
    if calls is not None and calls.indirect:
        return f"calls through pointers keep values on the stack: {traffic(case)} per call"
    return f"calls pass values through the stack: {traffic(case)}"


def advice(case: Case) -> tuple[Advice, ...]:
    """By what makes the calls: recursion into a loop, pointers into a switch, the rest inlined."""
    calls = case.facts.calls
    if calls is not None and calls.recursive:
        return (
            Advice("Replace the recursion by a loop, with an explicit stack where it needs one."),
            Advice(
                "If it stays, size the stack for its depth before the launch.",
                "cudaDeviceSetLimit(cudaLimitStackSize, bytes);",
            ),
        )
    if calls is not None and calls.indirect:
        return (
            Advice(
                "Replace function pointers and virtual functions by a template parameter or a "
                "switch, so that the callee can be inlined."
            ),
        )
    return (Advice("Inline the called function (`__forceinline__`)."),)


RULE = Rule("LM403", "call-frame", severity, certain, message, advice, __name__)
