"""The index that the counter of a rolled loop makes, where other indices stand on the line too.

Compilers read an element once for several lines and name the line of one of them, on which another
element may be written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.scopes import Scopes
from lmemscope.analysis.spelling import Spelling
from lmemscope.formats.statements import Subscript, bracketed
from lmemscope.model import SourceLocation, SourceText

_COUNTER = re.compile(r"\bfor\s*\(\s*(?:[\w:]+\s+)*([A-Za-z_]\w*)\s*=(?!=)")
_HEAD = (
    r"\bfor\s*\(\s*(?:[\w:]+\s+)*{name}\s*=(?!=)\s*(?P<first>[^;=]*);"
    r"\s*(?:{name}\s*[<>]=?\s*(?P<last>[^;=]*);)?"
)
"""The head of the loop that counts in a variable."""
_CONSTANT = re.compile(r"\d+|[A-Z][A-Z0-9_]*")
"""A number, or what is spelled as a constant."""
_OF_ONE = re.compile(r"(?:\w|[-+*\s()\[\]])+")
"""Sums and products, of names and numbers."""
_REACH = 40
"""Lines above an access in which the head of its loop is looked for."""
_WORD = re.compile(r"[A-Za-z_]\w*")
_ELEMENT = re.compile(r"\b[A-Za-z_]\w*\s*(?:\[[^][]*\]|(?:\.|->)\s*[A-Za-z_]\w*)")
"""An element or a member."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The loops around an access, and those whose counters its index has.

    Attributes:
        around: where each of the machine's loops stands; without those that nothing tells of.
        counted: where those stand that its index has the counters of.
        any_counted: whether it has any loop's.
        any_constant: whether it has that of a loop whose trip count is constant.
    """

    around: frozenset[SourceLocation]
    counted: frozenset[SourceLocation]
    any_counted: bool
    any_constant: bool


def running(
    candidates: Sequence[Subscript], file: str, turns: Turns, sources: SourceText
) -> Sequence[Subscript]:
    """The subscripts of a line that an access with a computed index may be; none if it is another
    line's.

    The counter of a loop that is written out is a constant in each of its turns: an index of other
    things is another subscript's. Where no counter is part of an index, its loop is written out,
    whatever ends it. Where a loop is not written out, an index that has its counter is one of that.

    Args:
        candidates: of the line.
        file: that they stand in.
        turns: the loops of the access.
        sources: the user's files.
    """
    heads = [_heads(one, file, sources) for one in candidates]
    known = [
        (one, found)
        for one, found in zip(candidates, heads, strict=True)
        if not any(place in turns.around - turns.counted for place in found.places)
        and not (
            found.is_whole
            and not turns.any_constant
            and (not turns.any_counted or found.is_constant)
        )
    ]
    if len({one.path for one, _ in known}) == 1 and all(found.is_whole for _, found in known):
        # An offset that all have in common, of a pointer, would be part of each.
        fitting = [one for one in known if turns.counted and one[1].places >= turns.counted]
        known = fitting or known
    return [one for one, _ in known]


def in_turn(
    candidates: Sequence[Subscript],
    turn: int,
    of_data: Sequence[bool],
    file: str,
    sources: SourceText,
) -> Sequence[Subscript]:
    """The subscripts that the accesses of one turn may be, where a line's come in turn.

    Compilers keep the order of the text mostly, but either side of a comparison may be read first:
    ``w[j] < w[k]``. It is another one where an index of nothing but counters would be of data, and
    none of data the other index.

    Args:
        candidates: of the line, as many as accesses come in a turn.
        turn: of the access among them.
        of_data: whether the index of the accesses of each turn depends on data.
        file: that they stand in.
        sources: the user's files.
    """
    whole = [_heads(one, file, sources).is_whole for one in candidates]
    pairs = set(zip(whole, of_data, strict=True))
    if not {(True, True), (False, False)} <= pairs:
        return (candidates[turn],)
    fitting = [one for one, is_whole in zip(candidates, whole, strict=True) if not is_whole]
    return fitting if of_data[turn] else candidates


@dataclass(frozen=True, slots=True)
class _Heads:
    """The loops that count in the names of an index.

    Attributes:
        places: where they stand, and where those do whose counters they begin at.
        is_whole: whether it is made of nothing but counters, which begin at numbers or counters.
        is_constant: whether they all end at constants.
    """

    places: frozenset[SourceLocation]
    is_whole: bool
    is_constant: bool


def _heads(subscript: Subscript, file: str, sources: SourceText) -> _Heads:
    names = _parts(subscript.text)
    places: set[SourceLocation] = set()
    is_whole = bool(names) and _OF_ONE.fullmatch(subscript.text) is not None
    is_constant = True
    seen: set[str] = set()
    while names:
        name = names.pop()
        seen.add(name)
        head = _head(name, file, subscript.line, sources)
        if head is None:
            is_whole = is_whole and _CONSTANT.fullmatch(name) is not None
            continue
        place, first, last = head
        places.add(place)
        is_constant = is_constant and _CONSTANT.fullmatch(last) is not None
        if _CONSTANT.fullmatch(first) is None:
            is_whole = is_whole and _OF_ONE.fullmatch(first) is not None
            names |= words(first) - seen
    return _Heads(frozenset(places), is_whole, is_whole and is_constant)


def words(text: str) -> set[str]:
    """Names in an index."""
    return set(_WORD.findall(text))


def _parts(text: str) -> set[str]:
    """Names that an index is computed from; ``_`` for elements of arrays and members."""
    dimensions = bracketed(text) or [text]
    found: set[str] = set()
    for one in dimensions:
        before = ""
        while one != before:
            before, one = one, _ELEMENT.sub(" _ ", one)
        found |= words(one)
    return found


def _head(
    name: str, file: str, line: int, sources: SourceText
) -> tuple[SourceLocation, str, str] | None:
    """The loop around a line that counts in a name: where it is, what it begins and ends with."""
    head, scopes = re.compile(_HEAD.format(name=re.escape(name))), Scopes(sources)
    for number in range(line, max(0, line - _REACH), -1):
        text = sources.line(file, number)
        found = head.search(text) if name in text else None
        end = scopes.end(file, number, name) if found is not None else None
        if found is not None and (end is None or line <= end):
            last = (found["last"] or "").strip()
            return SourceLocation(file, number), found["first"].strip(), last
    return None


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
    names_there = words(expression)
    if len(heads) != 1 or not names_there or heads[0] in names_there:
        return expression
    variable, last = named.variable, names.scopes.last(named.variable)
    lines = range(variable.line, (last or 0) + 1)
    around = "\n".join(sources.line(variable.file, number) for number in lines)
    # What is no counter itself may well be computed from this one.
    if not names_there <= set(_COUNTER.findall(around)):
        return expression
    texts = {text for text in spelling.all_of(named) if heads[0] in words(text)}
    if not texts:
        return expression
    return texts.pop() if len(texts) == 1 else None
