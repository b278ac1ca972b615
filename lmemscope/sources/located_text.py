"""Strings of which each line knows where it stands, and how literals spell them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Place = tuple[str, int]
"""File and 1-based line."""

_LITERAL = re.compile(r"([rRbBuUfF]{0,2})(\"\"\"|'''|\"|')")


@dataclass(frozen=True, slots=True)
class Text:
    """A string and where its lines come from.

    Attributes:
        value: the string.
        places: one for each line of ``value``.
    """

    value: str
    places: tuple[Place, ...]

    def __add__(self, other: Text) -> Text:
        """Concatenation; a line begun by one and filled by the other is at the one with text."""
        return joined((self, other))

    def as_program(self) -> str:
        """The string with ``#line`` directives wherever its lines do not follow each other."""
        lines: list[str] = []
        expected: Place | None = None
        continued = False
        for text, place in zip(self.value.split("\n"), self.places, strict=True):
            if place != expected and not continued:
                lines.append(f'#line {place[1]} "{place[0]}"')
            lines.append(text)
            continued = text.endswith("\\")
            expected = (place[0], place[1] + 1)
        return "\n".join(lines) + "\n"


def joined(texts: Sequence[Text]) -> Text:
    """Texts one after another, at least one."""
    first, *others = texts
    places = list(first.places)
    is_blank = not first.value.rpartition("\n")[2].strip()
    for text in others:
        if is_blank:
            places[-1] = text.places[0]
        places += text.places[1:]
        _, newline, last = text.value.rpartition("\n")
        is_blank = (is_blank or bool(newline)) and not last.strip()
    return Text("".join(text.value for text in texts), tuple(places))


def at(value: str, place: Place) -> Text:
    """A string all of whose lines are at one place."""
    return Text(value, (place,) * (value.count("\n") + 1))


class Spelling:
    """Follows the spelling of adjacent string literals and notes where lines of text begin."""

    def __init__(self, path: str, line: int, inserted: Iterator[Text]) -> None:
        self._path, self._line, self._inserted = path, line, inserted
        self._empty = True
        self.places: list[Place] = [(path, line)]

    def walk(self, segment: str, last_line: int) -> None:
        """Follow the literals at the beginning of a text, up to a line."""
        position = 0
        while position < len(segment) and self._line <= last_line:
            match = _LITERAL.match(segment, position)
            if match is None:
                if segment[position] == "#":
                    position = segment.find("\n", position)
                    if position < 0:
                        return
                elif segment[position] == ")" or segment[position].isalpha():
                    return
                self._line += segment[position] == "\n"
                position += 1
                continue
            if self._empty:
                self.places[-1] = (self._path, self._line)
            prefix, quote = match.group(1).lower(), match.group(2)
            position = self._body(segment, match.end(), quote, "r" in prefix, "f" in prefix)

    def _body(self, segment: str, position: int, quote: str, raw: bool, formatted: bool) -> int:
        while position < len(segment) and not segment.startswith(quote, position):
            char = segment[position]
            if char == "\\" and position + 1 < len(segment):
                following = segment[position + 1]
                if raw:
                    self._text(char)
                    if following == "\n":
                        self._line += 1
                        self._text("\n")
                elif following == "\n":
                    self._line += 1
                elif following == "n":
                    self._text("\n")
                else:
                    self._text("x")
                position += 2
                continue
            if formatted and char == "{" and segment[position + 1 : position + 2] != "{":
                self._insert()
                end = segment.find("}", position)
                position = end + 1 if end >= 0 else len(segment)
                continue
            if formatted and char in "{}":
                position += 1
            if char == "\n":
                self._line += 1
            self._text(char)
            position += 1
        return position + len(quote)

    def _text(self, char: str) -> None:
        if char == "\n":
            self.places.append((self._path, self._line))
        self._empty = char == "\n"

    def _insert(self) -> None:
        text = next(self._inserted, None)
        if text is not None and len(text.places) > 1:
            self.places += text.places[1:]
        self._empty = False
