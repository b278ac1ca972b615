"""Whether a variable is what its declaration says: not accessed as another type, and alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lmemscope.analysis.expansion import Expansion
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.base import Case
from lmemscope.rules.declared import NO_TYPES, bytes_of, declaration_of, rest_of_block
from lmemscope.rules.enclosing import body_lines, function_head
from lmemscope.rules.remembered import Remembered

_CAST = (
    r"(?:\(\s*(?P<c>(?:(?:const|volatile|unsigned|signed|struct)\s+)*[A-Za-z_][\w:<>]*"
    r"(?:\s+(?:long|int|char|const))*)\s*\*+\s*(?:const\s*|__restrict__\s*)*\)"
    r"|\breinterpret_cast\s*<\s*(?P<cpp>[^;<>]*(?:<[^<>]*>)?[^;<>]*)>)"
)
_ANY_CAST = re.compile(_CAST)
_QUALIFIERS = "const|constexpr|static|volatile|unsigned|signed|long|struct"


def is_reinterpreted(case: Case, *, but_for_name: bool = False) -> bool:
    """Whether an object is accessed through a pointer to another type, as far as its text shows.

    What the function that declares it does with it counts, macros replaced, and casts on the lines
    of accesses that are not of an element's size.

    Args:
        case: whose object.
        but_for_name: types of an element's size are no others: an index selects a whole element.
    """
    found, made = case.object, declaration_of(case)
    element = made.element_bytes if but_for_name and made is not None else None
    if found is None or found.name is None:
        return False
    root = re.split(r"\.|->", found.name)[0]
    if found.declared is not None:
        cast = re.compile(rf"{_CAST}\s*[(&\s]*(?<![\w.>]){re.escape(root)}(?!\w)")
        macros = Expansion(case.sources)
        named = re.compile(rf"(?<![\w.>]){re.escape(root)}(?!\w)")
        text = rest_of_block(case.sources, found.declared, root).split("\n")
        for number, line in enumerate(text, found.declared.line):
            if named.search(line) is None:
                continue
            replaced = macros.of_line(found.declared.file, number)
            casts = (one for text in (line, *replaced[-1:]) for one in cast.finditer(text))
            if any(element is None or _pointee_bytes(one) != element for one in casts):
                return True
    size = made.element_bytes if made is not None and made.is_wide else None
    if size is None:
        return False
    lines = {
        access.chain[0].location
        for access in (*case.accesses, *case.generic)
        if access.chain and access.width != size
    }
    return any(casts_pointer(case.sources, line) for line in lines)


def casts_pointer(sources: SourceText, place: SourceLocation) -> bool:
    """Whether a line makes a pointer one to another type."""
    return _ANY_CAST.search(sources.line(place.file, place.line)) is not None


def _pointee_bytes(cast: re.Match[str]) -> int | None:
    """Bytes of what a cast makes a pointer to; None where its name does not tell."""
    return bytes_of(cast["c"] or (cast["cpp"] or "").rstrip("*& "))


def namesakes(case: Case) -> tuple[SourceLocation, ...]:
    """Other declarations of a variable's name in its function, where accesses may be theirs.

    Empty where every access lies in the scope of the variable's own declaration alone.
    """
    found = case.object
    if found is None or found.name is None or found.declared is None:
        return ()
    own, sources = found.declared, case.sources
    name = re.split(r"\.|->", found.name)[0]
    there = _DECLARED.of(sources, (own, name), lambda: _find_declared(sources, own, name))
    if there is None or not there.others:
        return ()
    others = there.others
    lines = {
        frame.location.line
        for access in (*case.accesses, *case.generic)
        for frame in access.chain
        if frame.location.file == own.file and there.first <= frame.location.line <= there.last
    }
    mine = _scope(sources, own, name)
    theirs = [_scope(sources, other, name) for other in others]
    inner = [scope for scope in theirs if scope[0] > mine[0]]
    alone = all(
        mine[0] <= line <= mine[1] and not any(a <= line <= b for a, b in inner) for line in lines
    )
    return () if alone else others


@dataclass(frozen=True, slots=True)
class _Declared:
    """The lines of a function, and where else in it a variable's name is declared."""

    first: int
    last: int
    others: tuple[SourceLocation, ...]


_DECLARED: Remembered[tuple[SourceLocation, str], _Declared | None] = Remembered()


def _find_declared(sources: SourceText, own: SourceLocation, name: str) -> _Declared | None:
    """The declarations besides a variable's own; None where its function is not in sight."""
    head = function_head(sources, own)
    if head is None or not re.fullmatch(r"\w+", name):
        return None
    begin = SourceLocation(own.file, head.line)
    last = max(number for number, _ in body_lines(sources, begin))
    text = "\n".join(
        "" if line.lstrip().startswith("#") else line
        for line in sources.code_lines(own.file)[head.line - 1 : last]
    )
    others = tuple(
        SourceLocation(own.file, line)
        for found in _declaration_of(name).finditer(text)
        if found["type"] not in NO_TYPES
        and _DECLARES.fullmatch(found["between"]) is not None
        # There are no arrays of references: `i && table[i]`.
        and not (found["behind"] == "[" and found["between"].rstrip().endswith("&"))
        and (line := head.line + text.count("\n", 0, found.start("name"))) != own.line
    )
    return _Declared(head.line, last, others)


_LABEL = r"(?:(?:case\b[^;:{}]{1,80}|[A-Za-z_]\w*)\s*:(?!:))"
_DECLARES = re.compile(r"(?:[\s*&]|\w|::|<[^<>]*>)*|[\s*&]*\w[^&|<>]*,[\s*&]*")
"""What stands between a type and a name: more words of the type, stars, other variables."""


def _declaration_of(name: str) -> re.Pattern[str]:
    """Where a statement, or the head of a loop, declares a name: a product is at neither."""
    return re.compile(
        rf"(?:[;{{}}]|\bfor\s*\()\s*(?:{_LABEL}\s*)*(?:(?:{_QUALIFIERS})\s+)*"
        r"(?P<type>[A-Za-z_](?:\w|::)*(?:<[^;{}]{0,200}?>)?)(?=[\s*&])"
        rf"(?P<between>[^;{{}}()=]{{1,300}}?)(?<!\w)(?P<name>{name})\s*"
        r"(?P<behind>[\[;,({]|=(?!=))"
    )


def _scope(sources: SourceText, declared: SourceLocation, name: str) -> tuple[int, int]:
    text = rest_of_block(sources, declared, name)
    return declared.line, declared.line + text.count("\n")
