"""Strings that record the source location of each line, and parsing of literals into them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Place = tuple[str, int]
"""File and 1-based line."""

_LITERAL = re.compile(r"([rRbBuUfF]{0,2})(\"\"\"|'''|\"|')")


@dataclass(frozen=True, slots=True)
class Text:
    """A string with the locations of its lines.

    Attributes:
        value: the string.
        places: one per line of ``value``.
    """

    value: str
    places: tuple[Place, ...]

    def __add__(self, other: Text) -> Text:
        """Concatenation; a line that both contribute to is located at the one that has text."""
        return joined((self, other))

    def as_program(self) -> str:
        """The string with ``#line`` directives wherever its lines are not consecutive."""
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
    """One or more texts concatenated."""
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
    """A string whose lines are all at one location."""
    return Text(value, (place,) * (value.count("\n") + 1))


class Spelling:
    """Parses adjacent string literals and records where lines of text begin."""

    def __init__(self, path: str, line: int, inserted: Iterator[Text]) -> None:
        self._path, self._line, self._inserted = path, line, inserted
        self._empty = True
        self.places: list[Place] = [(path, line)]

    def walk(self, segment: str, last_line: int) -> None:
        """Parse the literals at the start of a text, up to a line."""
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
