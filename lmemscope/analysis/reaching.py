"""Which assignments to a pointer may be the last before a line: the order of statements.

An assignment hides those before it on every line of its block behind it. In loops, what is assigned
further down comes first again; jumps and lambdas have no order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lmemscope.analysis.scopes import Scopes

_JUMP = re.compile(r"\b(?:case|default)\b|^\s*\w+\s*:(?!:)")
_UNORDERED = re.compile(r"\bgoto\b|\[\s*[&=]")


class Place(NamedTuple):
    """Where a statement begins, by line and column."""

    line: int
    column: int


class _Found(NamedTuple):
    """The blocks around a place, and whether its statement is one of the innermost block's own."""

    blocks: tuple[int, ...]
    is_straight: bool


class Order:
    """The order of the statements of one function.

    Args:
        scopes: of the source.
        file: of the function.
        first, last: lines of it.
        places: of the assignments that will be asked about.
    """

    def __init__(
        self, scopes: Scopes, file: str, first: int, last: int, places: Iterable[Place]
    ) -> None:
        self._around: dict[int, tuple[int, ...]] = {}
        self._found: dict[Place, _Found] = {}
        self._jumps: list[tuple[int, tuple[int, ...]]] = []
        self._read(scopes, file, first, last, frozenset(places))

    def reaching(self, places: Sequence[Place], line: int) -> Sequence[Place]:
        """Those of assignments to one pointer that may be the last before a line."""
        around = self._around.get(line)
        hiding = [
            one
            for one in places
            if around is not None
            and one.line < line
            and (found := self._found.get(one)) is not None
            and found.is_straight
            and around[: len(found.blocks)] == found.blocks
            and not any(
                one.line < jump <= line and found.blocks[: len(blocks)] == blocks
                for jump, blocks in self._jumps
            )
        ]
        if around is None or not hiding:
            return places
        last = max(hiding)
        depth = len(self._found[last].blocks)

        def comes_back(one: Place) -> bool:
            """Whether a block behind the last one, or one statement, may be a loop of both."""
            found = self._found.get(one)
            if found is None or (not found.is_straight and found.blocks == around):
                return True
            return found.blocks[: depth + 1] == around[: depth + 1] and len(around) > depth

        return [one for one in places if one >= last and (one.line <= line or comes_back(one))]

    def _read(
        self, scopes: Scopes, file: str, first: int, last: int, wanted: frozenset[Place]
    ) -> None:
        blocks: list[int] = []
        opened = parentheses = 0
        before = ";"
        for number, conditions, text in scopes.lines(file, first):
            if number > last:
                break
            if _UNORDERED.search(text):
                self._around.clear()
                return
            lowest, jump = tuple(blocks), _JUMP.search(text)
            for column, char in enumerate(text):
                if (place := Place(number, column)) in wanted:
                    is_own = before in ";{}" and not parentheses and not conditions
                    self._found[place] = _Found(tuple(blocks), is_own)
                if jump is not None and jump.start() == column:
                    self._jumps.append((number, tuple(blocks)))
                if char == "{":
                    opened += 1
                    blocks.append(opened)
                elif char == "}" and blocks:
                    blocks.pop()
                    lowest = min(lowest, tuple(blocks), key=len)
                parentheses += (char == "(") - (char == ")")
                before = before if char.isspace() else char
            self._around[number] = lowest
