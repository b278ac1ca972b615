"""Reconstruct CuPy programs from the record of a file's run."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from lmemscope.files import read_input
from lmemscope.sources.cupy import CupyProgram, distinct, programs_of_call
from lmemscope.sources.encoding import decoded_python
from lmemscope.sources.located_text import Text, at
from lmemscope.sources.python_followed import Met
from lmemscope.sources.python_text import SourceTexts
from lmemscope.sources.python_trees import nodes
from lmemscope.sources.python_values import Unknown, Value

_SHORTEST = 4
"""Minimum number of characters by which a line is recognised in the file."""
_MOST = 2000
"""Maximum number of lines with placeholders compared with a file's texts."""
_PLACE = re.compile(r"\{[^{}]{0,200}\}|%(?:\(\w{1,60}\))?[a-z]|\$\w{1,60}|\$\{\w{1,60}\}")


def captured_programs(
    made: Sequence[Mapping[str, Any]], path: str
) -> list[tuple[str, CupyProgram]]:
    """The programs and the files that made them, each once, in order of creation.

    Args:
        made: as recorded by `tools.cupy_capture`.
        path: of the file that was run; programs made by other files say so.
    """
    found: dict[CupyProgram, str] = {}
    places: dict[str, _Places] = {}
    for one in made:
        file, line = str(one["file"]), int(one["line"])
        where = places.setdefault(file, _Places(file))
        words = {name: where.value(value, line) for name, value in one["words"].items()}
        arguments = tuple(where.value(value, line) for value in one["arguments"])
        call = ast.Call(ast.Name("made"), [], [], lineno=line, col_offset=0)
        for program in programs_of_call([Met(call, one["kind"], arguments, words)], None, file)[0]:
            notes = program.notes if file == path else (*program.notes, f"made at {file}:{line}")
            found.setdefault(replace(program, notes=notes), file)
    return [*zip(found.values(), distinct([*found]), strict=True)]


class _Places:
    """Maps lines of recorded texts to lines of the file that made them.

    A text that is a literal in the file has the literal's lines. In any other text, a line is
    located if it occurs exactly once in the file, literally or with placeholders. Lines between two
    located lines of equal distance lie between them; the rest are at the call.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._literals: dict[str, Text] = {}
        self._lines: dict[str, int] = {}
        self._patterns: list[tuple[int, list[str]]] = []
        try:
            source = decoded_python(read_input(file))
            tree = ast.parse(source, file)
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return
        texts = SourceTexts(source, file)
        for node in nodes(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._literals.setdefault(node.value, texts.literal(node, node.value))
        lines = [line.strip() for line in source.split("\n")]
        counts = Counter(lines)
        for number, line in enumerate(lines, start=1):
            if counts[line] == 1 and len(line) >= _SHORTEST:
                self._lines[line] = number
                parts = _parts(line)
                if len(parts) > 1 and len(self._patterns) < _MOST:
                    self._patterns.append((number, parts))

    def value(self, told: Any, line: int) -> Value:
        """A recorded value, with locations for its strings."""
        if isinstance(told, str):
            return self._text(told, line)
        if isinstance(told, list):
            return tuple(self.value(one, line) for one in told)
        if isinstance(told, dict):
            return Unknown(f"an object of type {told['unknown']}")
        return told

    def _text(self, value: str, line: int) -> Text:
        known = self._literals.get(value)
        if known is not None:
            return known
        if "\n" not in value:
            return at(value, (self._file, line))
        numbers = _between([self._number(one.strip()) for one in value.split("\n")])
        return Text(value, tuple((self._file, number or line) for number in numbers))

    def _number(self, line: str) -> int | None:
        if line in self._lines:
            return self._lines[line]
        if len(line) < _SHORTEST:
            return None
        found = [
            (sum(map(len, parts)), number) for number, parts in self._patterns if _fits(parts, line)
        ]
        # The line with most literal text, unless two have equally much.
        longest = [number for length, number in found if length == max(found)[0]]
        return longest[0] if len(longest) == 1 else None


def _parts(line: str) -> list[str]:
    """The parts of a line around its placeholders."""
    doubled = line.replace("{{", "\1").replace("}}", "\2")
    parts = _PLACE.split(doubled)
    return [part.replace("\1", "{").replace("\2", "}") for part in parts]


def _fits(parts: list[str], line: str) -> bool:
    """Whether a line consists of the parts with values between them."""
    first, *middle, last = parts
    if sum(map(len, parts)) < _SHORTEST or not line.startswith(first) or not line.endswith(last):
        return False
    position = len(first)
    for part in middle:
        position = line.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return position <= len(line) - len(last)


def _between(numbers: list[int | None]) -> list[int | None]:
    """Line numbers, completed between two located lines that are as far apart as in the file."""
    found = list(numbers)
    known = [(index, number) for index, number in enumerate(numbers) if number is not None]
    for (index, number), (following, other) in pairwise(known):
        if following - index == other - number:
            found[index:following] = range(number, other)
    return found
