"""What a loop's end is made of: the counter of a loop around it, or what differs by thread."""

from __future__ import annotations

import re

from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.base import Case
from lmemscope.rules.constants import meaning
from lmemscope.rules.enclosing import function_head, varies_by_instance
from lmemscope.rules.indexing import listed
from lmemscope.rules.loops import Loop, loop_at

_NAME = re.compile(r"(?<![\w.>])[A-Za-z_]\w*(?!\s*\()")
_BY_THREAD = re.compile(r"\[|->|\b(?:threadIdx|blockIdx)\b|(?<![\w)\]\s])\s*\*\s*\w|__(?:ldg|shfl)")
"""An expression that reads memory, or the thread's number."""
_LINES_LOOKED_AT = 400


def outer_loop(sources: SourceText, loop: Loop) -> Loop | None:
    """The loop around another whose counter that one's end is made of; None where none is."""
    return _around(sources, loop, loop.bound or "")


def _around(sources: SourceText, loop: Loop, written: str) -> Loop | None:
    """The nearest loop around another whose counter an expression of its head has."""
    names = set(_NAME.findall(written))
    indent = _indent(sources, loop.file, loop.line)
    for line in range(loop.line - 1, max(loop.line - _LINES_LOOKED_AT, 0), -1):
        text = sources.line(loop.file, line)
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        if re.match(r"[^\s#].*\)\s*\{?\s*$", text) and "for" not in text:
            return None  # A function begins there.
        found = loop_at(sources, loop.file, line)
        if found is not None and found.counter in names and found.declares_counter:
            return found if _indent(sources, loop.file, line) < indent else None
    return None


def outer_loops(sources: SourceText, loop: Loop) -> tuple[Loop, ...]:
    """That loop, the one around it whose counter it starts or ends at in turn, and so on."""
    found = [loop]
    while True:
        inner = found[-1]
        outer = _around(sources, inner, f"{inner.start} {inner.bound or inner.condition}")
        if outer is None:
            return tuple(found[1:])
        found.append(outer)


def around_too(case: Case, loop: Loop) -> str:
    """To unroll these as well, as a sentence; empty where there are none."""
    places = [
        f"that at {case.line(SourceLocation(one.file, one.line))}, which counts `{one.counter}`"
        for one in outer_loops(case.sources, loop)
    ]
    return f" Also unroll {listed(places)}." if places else ""


def differs_by_thread(sources: SourceText, loop: Loop) -> bool:
    """Whether the text shows that a loop's end has many values: it is data, or set several times.

    What is a parameter, or nowhere in sight, is not known to.
    """
    bound = loop.bound or ""
    if _BY_THREAD.search(bound) is not None:
        return True
    place = SourceLocation(loop.file, loop.line)
    head = function_head(sources, place)
    first = head.line if head is not None else max(loop.line - _LINES_LOOKED_AT, 1)
    for name in set(_NAME.findall(bound)):
        made = meaning(name, sources, place)
        if made is not None and _BY_THREAD.search(made.value) is not None:
            return True
        given = re.compile(rf"(?<![\w.>]){name}\s*=(?!=)\s*([^;,]+)")
        lines = (sources.line(loop.file, number) for number in range(first, loop.line))
        values = {one[1].strip() for text in lines for one in given.finditer(text)}
        if len(values) > 1 or any(_BY_THREAD.search(value) for value in values):
            return True
    return False


def is_of_template(sources: SourceText, loop: Loop) -> bool:
    """Whether a loop's end is made of a template's parameters, which are known when compiling."""
    names = set(_NAME.findall(loop.bound or ""))
    place = SourceLocation(loop.file, loop.line)
    return bool(names) and varies_by_instance(names, sources, place) is True


def _indent(sources: SourceText, file: str, line: int) -> int:
    text = sources.line(file, line).expandtabs()
    return len(text) - len(text.lstrip())
