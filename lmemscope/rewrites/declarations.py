"""A declaration of several variables taken apart, so that some of them are declared otherwise.

Every variable keeps its place in the order. Two rewritings of one declaration take it apart alike,
so that their edits are those of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.model import Edit
from lmemscope.rewrites.arrays import alignment_of
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.written import BLOCKS
from lmemscope.sources.syntax import BRANCHES, Declared, Syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_COMMA = re.compile(rb"\s*,\s*")


@dataclass(frozen=True, slots=True)
class Part:
    """How one variable is declared instead.

    Attributes:
        text: what stands in place of the declaration's head.
        end: where the declarator goes on behind it.
        is_whole: whether no other variable can be declared with it.
    """

    text: bytes
    end: int
    is_whole: bool = True


def taken_apart(
    path: str, syntax: Syntax, statement: Node, parts: Mapping[int, Part], before: bytes = b""
) -> tuple[Edit, ...]:
    """The edits of a declaration some of whose variables are declared otherwise.

    Args:
        path, syntax: of its file.
        statement: the declaration.
        parts: those variables, by where their declarators begin.
        before: what stands before the declaration and counts for all of its variables.

    Raises:
        DeclinedError: it cannot be taken apart.
    """
    return tuple(_parts(path, syntax, statement, parts, before))


def declared_with(words: bytes, declared: Declared, target: Target) -> tuple[Edit, ...]:
    """A variable's declaration with words before its type, and blanks behind them.

    Raises:
        DeclinedError: it cannot be taken out of what else its statement declares.
    """
    syntax, statement = target.syntax, declared.statement
    head = syntax.data[statement.start_byte : declared.first.start_byte]
    begin = declared.declarator.start_byte
    parts = {begin: Part(words + head, begin)}
    return taken_apart(target.path, syntax, statement, parts, alignment_of(declared, syntax))


def _parts(
    path: str, syntax: Syntax, statement: Node, parts: Mapping[int, Part], before: bytes
) -> Iterator[Edit]:
    declarators = statement.children_by_field_name("declarator")
    head = syntax.data[statement.start_byte : declarators[0].start_byte]
    end = syntax.lines_end() + syntax.indent(statement)
    last: bytes | None = None
    for number, one in enumerate(declarators):
        part = parts.get(one.start_byte)
        kind = head if part is None else part.text
        begin = one.start_byte if number else statement.start_byte
        if number and kind == last:
            if part is not None:
                yield Edit(path, begin, part.end, b"")
            continue
        if number:
            yield _comma(path, syntax, statement, declarators[number - 1].end_byte, begin, end)
        if part is None:
            if number:
                yield Edit(path, begin, begin, before + head, "head")
        elif part.end == one.start_byte and not number and kind.endswith(head):
            yield Edit(path, begin, begin, kind.removesuffix(head))
        else:
            yield Edit(path, begin, part.end, kind)
        last = None if part is not None and part.is_whole else kind


def _comma(path: str, syntax: Syntax, statement: Node, start: int, stop: int, end: bytes) -> Edit:
    """The end of a statement where a comma is."""
    parent, between = statement.parent, syntax.code[start:stop]
    while parent is not None and parent.type in BRANCHES:
        parent = parent.parent
    if parent is None or parent.type not in BLOCKS or _COMMA.fullmatch(between) is None:
        line = statement.start_point.row + 1
        raise DeclinedError(f"the statement on line {line} declares other variables, too")
    at = start + between.index(b",")
    is_blank = not syntax.data[at + 1 : stop].strip()
    return Edit(path, at, stop, b";" + end) if is_blank else Edit(path, at, at + 1, b";")
