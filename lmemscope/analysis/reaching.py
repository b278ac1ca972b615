"""Which assignments to a pointer may be the last before a line: the order of statements.

An assignment hides those before it on every line of its block behind it. In loops, what is assigned
further down comes first again; jumps and lambdas have no order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lmemscope.analysis.scopes import Scopes
from lmemscope.model import SourceLocation

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
        lines: its file, its first line and its last.
        set_at: where it sets pointers, by their names.
    """

    def __init__(
        self,
        scopes: Scopes,
        lines: tuple[str, int, int],
        set_at: Mapping[str, Sequence[Place]],
    ) -> None:
        self._file, self._set_at = lines[0], set_at
        self._around: dict[int, tuple[int, ...]] = {}
        self._found: dict[Place, _Found] = {}
        self._jumps: list[tuple[int, tuple[int, ...]]] = []
        wanted = frozenset(one for places in set_at.values() for one in places)
        self._read(scopes, lines, wanted)

    def hidden(self, place: SourceLocation) -> set[tuple[str, Place]]:
        """Assignments, by the pointer, that others come behind on every way to a line."""
        if place.file != self._file or place.line not in self._around:
            return set()
        return {
            (name, one)
            for name, places in self._set_at.items()
            for one in set(places).difference(self._reaching(places, place.line))
        }

    def _reaching(self, places: Sequence[Place], line: int) -> Sequence[Place]:
        """Those of assignments to one pointer that may be the last before a line."""
        around = self._around[line]
        hiding = [
            one
            for one in places
            if one.line < line
            and (found := self._found.get(one)) is not None
            and found.is_straight
            and around[: len(found.blocks)] == found.blocks
            and not any(
                one.line < jump <= line and found.blocks[: len(blocks)] == blocks
                for jump, blocks in self._jumps
            )
        ]
        if not hiding:
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

    def _read(self, scopes: Scopes, lines: tuple[str, int, int], wanted: frozenset[Place]) -> None:
        file, first, last = lines
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
