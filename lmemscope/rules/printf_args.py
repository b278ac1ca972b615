r"""The arguments of printf or assert are passed in memory.

What it is. Each call writes its arguments to a small buffer in the stack frame and passes its
address to the run-time function.

How to recognise it. PTX: the object's address goes to ``vprintf`` or ``__assertfail``. SASS: STL
only, no LDL.

What it costs. One store per argument, only when the message is printed.

How to remove it. Compile it out of release builds: ``assert`` with ``-DNDEBUG``, ``printf`` between
``#ifndef NDEBUG`` and ``#endif``, with an ``if`` or ``else`` that has no braces. The calls of a
function share one buffer, so compile out all of them. For a local array printed with ``%s`` see
address-taken.

When to leave it. Nearly always: a frame that is not accessed costs nothing.
"""

from __future__ import annotations

import re

from lmemscope.model import Advice, Evidence, Severity, SourceLocation, calling_line
from lmemscope.rules.base import Case, Rule, certain
from lmemscope.rules.enclosing import function_head
from lmemscope.rules.indexing import listed
from lmemscope.rules.inlining import only_linked

_CONDITION = re.compile(
    r"\b(?:if|for|while|do|switch|return|goto|catch)\b|\?|&&|\|\||^[ \t]*#", re.MULTILINE
)
"""What may keep a thread from coming to the end of a text."""
_DEBUG = re.compile(r"DEBUG|VERBOSE|TRACE", re.IGNORECASE)
"""A condition for builds in which something is printed."""
_ASSERTS = re.compile(r"\bassert\s*\(")


def severity(case: Case) -> Severity:
    """A note always: the stores happen only when something is printed."""
    return "note"


def message(case: Case) -> str:
    """How many bytes of the frame hold arguments, and which where they have none of their own."""
    size, prints = case.share.frame_bytes, case.language.prints
    if not size and case.object is not None and case.object.function in only_linked(case.facts):
        return (
            f"arguments of {prints} are in the frame of a function that is linked because "
            "its address is taken, and that the kernel does not call"
        )
    if not size and case.object is not None and case.object.function == case.facts.name:
        size = case.object.size
        return (
            f"{size} bytes hold the arguments of {prints}, in a stack slot shared with a "
            "variable: they do not enlarge the frame"
        )
    if not size:
        return f"arguments of {prints} are in the frame of a called function"
    return f"{size} bytes hold the arguments of {prints}"


def advice(case: Case) -> tuple[Advice, ...]:
    """To leave it, or to compile the call out of release builds."""
    place = case.location
    if case.facts.ptx is not None and case.facts.ptx.only_prints:
        what = "kernel" if case.facts.kind == "entry" else "function"
        text = f"Leave it: the {what} stores no results, so printing is its purpose."
        return (Advice(text, is_none=True),)
    text = "Leave it if the message is rare: nothing is stored unless it is printed."
    if place is not None and _is_run_by_all(case, place):
        text = "Every thread prints, and stores the arguments to do so."
    written = case.sources.line(place.file, place.line) if place is not None else ""
    if any("assert" in (evidence.subject or "") for evidence in _evidence(case)):
        if _ASSERTS.search(written):
            return (Advice(f"{text} `-DNDEBUG` compiles `assert` out of release builds."),)
        return (Advice(f"{text} If it comes from `assert`, `-DNDEBUG` compiles it out."),)
    if place is None:
        return (
            Advice(
                "Leave it: nothing is stored unless it is printed, and lmemscope does not know "
                "which line prints. It may be a library's error message.",
                is_none=True,
            ),
        )
    if _is_of_debug_builds(case, place):
        return (Advice(f"{text} It is in a branch for debug builds.", is_none=True),)
    text += " To remove it from release builds, compile "
    lines = [case.line(one) for one in calls_at(case)]
    if len(lines) > 1:
        return (
            Advice(
                f"{text}out every call that shares the buffer, at {listed(lines)}, together with "
                "conditions that guard only those calls."
            ),
        )
    text += "the call out"
    if "printf" not in written:
        return (Advice(f"{text}, which a macro or function on that line makes."),)
    return (Advice(f"{text} (`#ifndef NDEBUG`, together with a condition that guards only it)."),)


def _is_run_by_all(case: Case, place: SourceLocation) -> bool:
    """Whether nothing in a kernel's text stands between its beginning and a call that prints."""
    head = function_head(case.sources, place)
    if head is None or "__global__" not in head.text:
        return False
    lines = range(head.line, place.line + 1)
    text = "\n".join(case.sources.line(place.file, number) for number in lines)
    return "printf" in text and _CONDITION.search(text) is None


def _is_of_debug_builds(case: Case, place: SourceLocation) -> bool:
    """Whether a line is inside of an ``#if`` that asks for a build for debugging."""
    depth = 0
    for number in range(place.line - 1, 0, -1):
        text = case.sources.line(place.file, number).lstrip()
        if not text.startswith("#"):
            continue
        if re.match(r"#\s*endif\b", text):
            depth += 1
        elif re.match(r"#\s*if", text):
            if not depth and _DEBUG.search(text) is not None:
                return True
            depth = max(depth - 1, 0)
    return False


def calls_at(case: Case) -> tuple[SourceLocation, ...]:
    """The lines of the calls that print what the object holds.

    Where no call is known to get it, those that store in it: a store of a message that is the same
    for all calls can have the line of the function's caller.
    """
    if case.object is not None and case.object.handed_at:
        return case.object.handed_at
    places = {calling_line(access.chain) for access in (*case.accesses, *case.generic)}
    return tuple(sorted(place for place in places if place is not None))


def _evidence(case: Case) -> tuple[Evidence, ...]:
    return case.object.evidence_facts if case.object is not None else ()


RULE = Rule("LM401", "printf-args", severity, certain, message, advice, __name__)
