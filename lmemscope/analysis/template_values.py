"""What an instance of a template is made for, by the names of its parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.statements import parts_of
from lmemscope.model import SourceLocation, SourceText

_HEADER = re.compile(r"\btemplate\s*<")
_PARAMETER = re.compile(
    r"\s*(?:[\w:]+(?:\s*<[^<>]*>)?[\s*&]+)+(?P<name>[A-Za-z_]\w*)\s*(?:=(?!=).*)?", re.DOTALL
)
_TRUTH = {"true": True, "false": False, "(bool)1": True, "(bool)0": False}
_REACH = 400
"""Lines of a function at most in front of one of its lines."""
_LONGEST = 12
"""Lines of a template's head at most."""


class TemplateValues:
    """Template arguments of one unit's functions.

    Args:
        sources: the user's files.
    """

    def __init__(self, sources: SourceText) -> None:
        self._sources = sources
        self._known: dict[tuple[str, SourceLocation], Mapping[str, str]] = {}

    def of(self, function: str, place: SourceLocation) -> Mapping[str, bool]:
        """The template parameters of a function that are true or false in it.

        Args:
            function: its mangled name.
            place: a line in it.
        """
        given = self.arguments(function, place)
        return {name: _TRUTH[value] for name, value in given.items() if value in _TRUTH}

    def arguments(self, function: str, place: SourceLocation) -> Mapping[str, str]:
        """The template arguments of a function, by the names of the parameters.

        Args:
            function: its mangled name.
            place: a line in it, or of its template's head.

        Returns:
            Nothing where a parameter has no name, or stands for any number of arguments.
        """
        key = (function, place)
        if key not in self._known:
            self._known[key] = self._found(function, place)
        return self._known[key]

    def _found(self, function: str, place: SourceLocation) -> Mapping[str, str]:
        name, arguments = _instance(short_name(demangle(function)))
        if not arguments:
            return {}
        parameters = [_PARAMETER.fullmatch(one) for one in self._head(name, place)]
        known = [one["name"] for one in parameters if one is not None]
        if not len(known) == len(parameters) == len(arguments):
            return {}
        return dict(zip(known, arguments, strict=True))

    def _head(self, name: str, place: SourceLocation) -> list[str]:
        """The parameters of the nearest template in front of a line, if it is the function's."""
        for number in range(place.line, max(place.line - _REACH, 0), -1):
            if not (match := _HEADER.search(self._sources.line(place.file, number))):
                continue
            lines = [self._sources.line(place.file, number + n) for n in range(_LONGEST)]
            text = " ".join(lines)
            inside, end = _bracketed(text, match.end() - 1)
            before = re.split("[;{]", text[end:])[0]
            is_ours = re.search(rf"\b{re.escape(name)}\s*\(", before) is not None
            # A head beside it is a class's, or of another branch of an ``#if``.
            is_only = _HEADER.search(before) is None and not self._is_inside(place.file, number)
            return list(parts_of(inside, angles=True)) if is_ours and is_only else []
        return []

    def _is_inside(self, file: str, number: int) -> bool:
        """Whether what stands before a template is another's head, or the beginning of one."""
        before = _HEADER.split(self._sources.line(file, number))[0]
        while number > 1 and (not before.strip() or before.lstrip().startswith("#")):
            number -= 1
            before = self._sources.line(file, number)
        return before.rstrip().endswith(("<", ">", ","))


def taken(text: str, known: Mapping[str, bool]) -> str:
    """A text with blanks for what ``name ? a : b`` does not choose, for names that are known.

    Args:
        text: of a statement.
        known: truth values of names.
    """
    for name, value in known.items():
        for match in reversed(
            list(re.finditer(rf"((?:!\s*)?)(?<![\w.>]){re.escape(name)}\s*\?", text))
        ):
            before = text[: match.start()].rstrip()
            if before and not before.endswith((*"=([{,?:", "return")):
                continue  # a part of a larger condition
            colon, end = _alternatives(text, match.end())
            if colon is None:
                continue
            kept = (match.end(), colon) if value != bool(match[1]) else (colon + 1, end)
            for start, stop in ((match.start(), kept[0]), (kept[1], end)):
                text = text[:start] + re.sub(r"[^\n]", " ", text[start:stop]) + text[stop:]
    return text


def _alternatives(text: str, at: int) -> tuple[int | None, int]:
    """Offsets of the colon of a ``?:``, and of its end; ``at`` is behind the question mark."""
    depth = asked = 0
    colon: int | None = None
    for index in range(at, len(text)):
        char = text[index]
        depth += (char in "([{") - (char in ")]}")
        if depth < 0 or (depth == 0 and char in ";,"):
            return colon, index
        if depth == 0 and char == "?":
            asked += 1
        elif (
            depth == 0 and char == ":" and ":" not in (text[index - 1], text[index + 1 : index + 2])
        ):
            if not asked and colon is not None:
                return colon, index
            if not asked:
                colon = index
            asked = max(asked - 1, 0)
    return colon, len(text)


def _instance(short: str) -> tuple[str, tuple[str, ...]]:
    """A function's plain name and its template arguments."""
    if not short.endswith(">"):
        return "", ()
    depth = 0
    for at in range(len(short) - 1, -1, -1):
        depth += (short[at] == ">") - (short[at] == "<")
        if depth == 0:
            name = short[:at].rpartition("::")[2].rpartition(" ")[2]
            return name, tuple(one.strip() for one in parts_of(short[at + 1 : -1], angles=True))
    return "", ()


def _bracketed(text: str, at: int) -> tuple[str, int]:
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == "<") - (text[index] == ">")
        if depth == 0:
            return text[at + 1 : index], index + 1
    return "", len(text)
