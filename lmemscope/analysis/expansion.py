"""The user's lines with the macros replaced that their files define."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from lmemscope.formats.macros import Definitions, Macro, definitions_of, expanded
from lmemscope.formats.statements import Statement, statement_at
from lmemscope.model import SourceLocation, SourceText, is_library

_WORD = re.compile(r"[A-Za-z_]\w*")
_DEEPEST = 4
"""How often macros are replaced in what macros were replaced by."""
_LONGEST = 12
"""Lines of a call at most."""


class Expansion:
    """Macros of one unit's files.

    Args:
        sources: the user's files.
    """

    def __init__(self, sources: SourceText) -> None:
        self._sources = sources
        self._definitions: dict[str, Definitions] = {}
        self._included: dict[str, dict[str, frozenset[Macro | None]]] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._texts: dict[tuple[str, str, int], tuple[str, ...]] = {}
        self._statements: dict[SourceLocation, tuple[Statement, ...]] = {}

    def of_line(self, file: str, number: int) -> tuple[str, ...]:
        """A line with its macros replaced once, twice, and so on; empty without a macro's call."""
        text = self._sources.line(file, number)
        if not self._uses(file, text):
            return ()
        last = number
        while text.count("(") > text.count(")") and last - number < _LONGEST:
            last += 1
            text += "\n" + self._sources.line(file, last)
        return self.of_text(text, file, number)

    def of_text(self, text: str, file: str, number: int) -> tuple[str, ...]:
        """As `of_line`, of a text that stands at a line of a file."""
        key = (text, file, number)
        if key not in self._texts:
            uses = self._uses(file, text)
            self._texts[key] = tuple(self._replaced(text, file, number)) if uses else ()
        return self._texts[key]

    def statements(self, place: SourceLocation) -> tuple[Statement, ...]:
        """The statement at a place as it stands, then as `of_line` has its lines."""
        if place not in self._statements:
            written = statement_at(partial(self._sources.line, place.file), place.line)
            made = written.rewritten(lambda text, _: self.of_text(text, place.file, place.line))
            self._statements[place] = (written, *made)
        return self._statements[place]

    def _uses(self, file: str, text: str) -> bool:
        """Whether a text may hold the name of a macro."""
        known = self._known(file)
        return bool(known) and not known.isdisjoint(_WORD.findall(text))

    def _replaced(self, text: str, file: str, number: int) -> Iterator[str]:
        macros = self._macros(file, number)
        for _ in range(_DEEPEST):
            replaced = expanded(text, macros)
            if replaced is None:
                return
            text = replaced
            yield text

    def _macros(self, file: str, number: int) -> dict[str, Macro]:
        """The macros that have one definition at a line."""
        self._known(file)
        found = dict(self._included[file])
        found.update(self._definitions[file].before(number))
        single = {name: next(iter(ones)) for name, ones in found.items() if len(ones) == 1}
        return {name: macro for name, macro in single.items() if macro is not None}

    def _known(self, file: str) -> frozenset[str]:
        """Names of all macros that a file may use."""
        if file not in self._names:
            own = self._defined(file)
            self._included[file] = included = self._of_includes(file)
            mine = {name for _, name, macro in own.steps if macro is not None}
            self._names[file] = frozenset({*mine, *included})
        return self._names[file]

    def _of_includes(self, file: str) -> dict[str, frozenset[Macro | None]]:
        found: dict[str, frozenset[Macro | None]] = {}
        for path in self._sources.quoted(file):
            for macro, ones in self._defined(path).before(None):
                found[macro] = found.get(macro, frozenset()) | ones
        return found

    def _defined(self, file: str) -> Definitions:
        if file not in self._definitions:
            # A library's macros are no part of what a user has written.
            lines = () if is_library(file) else self._sources.lines(file)
            self._definitions[file] = definitions_of(lines)
        return self._definitions[file]
