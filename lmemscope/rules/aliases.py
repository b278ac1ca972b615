"""Other variables of a name in the same function."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.base import Case
from lmemscope.rules.declared import NO_TYPES, rest_of_block
from lmemscope.rules.enclosing import body_lines, function_head
from lmemscope.rules.remembered import Remembered

_QUALIFIERS = "const|constexpr|static|volatile|unsigned|signed|long|struct"


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
