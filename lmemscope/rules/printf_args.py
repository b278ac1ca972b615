r"""The arguments of printf or assert are handed over in memory.

What it is. Each call writes its arguments to a small buffer in the stack frame, whose address goes
to the run-time function.

How to recognise it. PTX: the object's address goes to ``vprintf`` or ``__assertfail``. SASS: STL
only, no LDL.

What it costs. One store per argument, only when the message is printed. The call itself costs
registers around it.

How to remove it. Compile it out of release builds: ``assert`` with ``-DNDEBUG``, ``printf`` between
``#ifndef NDEBUG`` and ``#endif``.

When to leave it. Nearly always: a frame that is not touched costs nothing.
"""

from __future__ import annotations

import re

from lmemscope.model import Advice, Evidence, Severity
from lmemscope.rules.base import Case, Rule, certain
from lmemscope.rules.declared import whole_statement

_PRINTS = re.compile(r"(?:if\s*\(.*\)\s*)?(?:std::)?printf\s*\(")


def severity(case: Case) -> Severity:
    """A note always: the stores happen only when something is printed."""
    return "note"


def message(case: Case) -> str:
    """How many bytes of the frame hold arguments."""
    return f"{case.share.frame_bytes or 0} bytes hold the arguments of printf or assert"


def advice(case: Case) -> tuple[Advice, ...]:
    """To leave it, or to compile the call out of release builds."""
    if any("assert" in (evidence.subject or "") for evidence in _evidence(case)):
        return (Advice("Usually fine. `-DNDEBUG` compiles assert out of release builds."),)
    text = "Usually fine. To be rid of it in release builds, compile the call out."
    place = case.location
    call = whole_statement(case.sources, place.file, place.line) if place is not None else ""
    if place is None or not _PRINTS.match(call):
        return (Advice(text),)
    if re.match(r"\s*else\b", case.sources.line(place.file, place.line + 1)):
        return (Advice(text),)
    return (Advice(text, f"#ifndef NDEBUG\n{call}\n#endif"),)


def _evidence(case: Case) -> tuple[Evidence, ...]:
    return case.object.evidence if case.object is not None else ()


RULE = Rule("LM401", "printf-args", severity, certain, message, advice, __name__)
