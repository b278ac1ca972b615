"""The index that the counter of a rolled loop makes, where other indices stand on the line too.

Compilers read an element once for several lines and name the line of one of them, on which another
element may be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.ptx.leaves import Leaf
from lmemscope.analysis.spelling import Spelling
from lmemscope.formats.statements import Subscript
from lmemscope.model import SourceLocation, SourceText

_COUNTER = re.compile(r"\bfor\s*\(\s*(?:[\w:]+\s+)*([A-Za-z_]\w*)\s*=(?!=)")
_CONSTANT = (
    r"\bfor\s*\(\s*(?:[\w:]+\s+)*{name}\s*=\s*\d+\s*;"
    r"\s*{name}\s*[<>]=?\s*(?:\d+|[A-Z][A-Z0-9_]*)\s*;"
)
"""A loop from a number to a number, or to what is spelled as a constant."""
_BEGUN = r"\bfor\s*\(\s*(?:[\w:]+\s+)*{name}\s*=\s*\d+\s*;"
"""A loop from a number, to whatever ends it."""
_OF_ONE = re.compile(r"(?:\w|[-+*\s()])+")
"""Sums and products, of names and numbers."""
_REACH = 8
"""Lines above an access in which the head of its loop is looked for."""
_WORD = re.compile(r"[A-Za-z_]\w*")


def running(
    candidates: Sequence[Subscript], file: str, leaves: Iterable[Leaf], sources: SourceText
) -> Sequence[Subscript]:
    """The subscripts of a line that an access with a computed index may be.

    The counter of a loop that is written out is a constant in each of its turns: an index of other
    things is another subscript's. Where no counter is part of an index, its loop is written out,
    whatever ends it.

    Args:
        candidates: of the line.
        file: that they stand in.
        leaves: what the access's index is made of.
        sources: the user's files.
    """
    counters = [leaf for leaf in leaves if leaf.kind == "loop-counter"]
    if any(leaf.constant_trip for leaf in counters):
        return candidates
    loop = _CONSTANT if counters else _BEGUN
    kept = [one for one in candidates if not _is_counter(one, loop, file, sources)]
    return kept or candidates


def _is_counter(subscript: Subscript, loop: str, file: str, sources: SourceText) -> bool:
    """Whether an index is made of nothing but the counter of a loop of some form around it."""
    names = set(_WORD.findall(subscript.text))
    if len(names) != 1 or _OF_ONE.fullmatch(subscript.text) is None:
        return False
    head = re.compile(loop.format(name=re.escape(names.pop())))
    first = max(1, subscript.line - _REACH)
    return any(head.search(sources.line(file, at)) for at in range(first, subscript.line + 1))


def counted(
    expression: str,
    loop: SourceLocation,
    named: ObjectName,
    names: Names,
    spelling: Spelling,
    sources: SourceText,
) -> str | None:
    """The index as written: another one than the line's, if that is made of other loops' counters.

    Args:
        expression: the index on the access's line.
        loop: the line of the loop whose counter the access is indexed by.
        named: the variable.
        names, spelling: of the unit.
        sources: the user's files.

    Returns:
        None where several indices have that counter.
    """
    heads = _COUNTER.findall(sources.line(loop.file, loop.line))
    words = set(_WORD.findall(expression))
    if len(heads) != 1 or not words or heads[0] in words:
        return expression
    variable, last = named.variable, names.scopes.last(named.variable)
    lines = range(variable.line, (last or 0) + 1)
    around = "\n".join(sources.line(variable.file, number) for number in lines)
    # What is no counter itself may well be computed from this one.
    if not words <= set(_COUNTER.findall(around)):
        return expression
    texts = {text for text in spelling.all_of(named) if heads[0] in _WORD.findall(text)}
    if not texts:
        return expression
    return texts.pop() if len(texts) == 1 else None
