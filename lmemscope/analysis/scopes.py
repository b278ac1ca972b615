"""The lines on which a variable is known by its name: from its declaration to its block's end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lmemscope.model import SourceText, Variable

_LONGEST = 4000
"""Lines of a block at most."""


class Scopes:
    """Scopes of one unit's variables.

    Args:
        sources: the user's files.
    """

    def __init__(self, sources: SourceText) -> None:
        self._sources = sources
        self._ends: dict[tuple[str, int, str], int | None] = {}

    def holds(self, variable: Variable, file: str, line: int) -> bool:
        """Whether a line is in a variable's scope, or where that is cannot be told.

        Args:
            variable: whose.
            file, line: in the function that declares it, or in a lambda there.
        """
        if variable.is_parameter or variable.line <= 0 or line <= 0 or file != variable.file:
            return True
        end = self._end(variable)
        return end is None or variable.line <= line <= end

    def last(self, variable: Variable) -> int | None:
        """The last line of a variable's scope; None where it cannot be told."""
        return None if variable.is_parameter else self._end(variable)

    def function_end(self, variables: Iterable[Variable]) -> int:
        """The last line on which one of a function's variables, or its parameters, is known."""
        return max((self._end(one) or one.line for one in variables), default=0)

    def _end(self, variable: Variable) -> int | None:
        key = (variable.file, variable.line, variable.name)
        if key not in self._ends:
            self._ends[key] = self.end(*key)
        return self._ends[key]

    def end(self, file: str, line: int, name: str) -> int | None:
        """The last line of the block that a name stands in, or of the loop in whose head it does;
        None where that cannot be told.

        Args:
            file, line: of the name.
            name: its first mention on that line counts.
        """
        named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        first = named.search(self._sources.code_line(file, line))
        if first is None:
            return None  # Declared by a macro, or without a name.
        braces = parentheses = 0
        header = False
        # Whether it is declared in the head of a loop or a condition: then that is its scope.
        for number, text in self._lines(file, line):
            for char in text[first.end() if number == line else 0 :]:
                braces += (char == "{") - (char == "}")
                parentheses += (char == "(") - (char == ")")
                if parentheses < 0:
                    parentheses, header = 0, True
                elif braces < 0 or (header and not parentheses and not braces and char in ";}"):
                    return number
        return None

    def _lines(self, file: str, first: int) -> Iterator[tuple[int, str]]:
        """Lines from one on; of what the preprocessor chooses from, the first alone."""
        skipped = depth = 0
        for number in range(first, first + _LONGEST):
            text = self._sources.code_line(file, number)
            word = text.lstrip()[1:].lstrip() if text.lstrip().startswith("#") else None
            if word is not None:
                if word.startswith("if"):
                    depth += 1
                elif word.startswith("el") and not skipped:
                    skipped = max(depth, 1)
                elif word.startswith("endif"):
                    skipped = 0 if skipped >= max(depth, 1) else skipped
                    depth = max(depth - 1, 0)
                continue
            if not skipped:
                yield number, text
