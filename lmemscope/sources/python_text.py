"""The texts in a Python file: literals with line locations, and files that it reads."""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Iterator
from pathlib import PurePosixPath

from lmemscope.files import decoded_text, read_beside
from lmemscope.sources.located_text import Place, Spelling, Text, at
from lmemscope.sources.python_modules import project_of
from lmemscope.sources.python_values import OpenFile, Unknown, Value

_STEPS = 250_000
"""Effort limit for all values in a file: expressions visited, and text concatenated."""
_AT_ONCE = 40_000
"""Effort limit for one function."""
_LETTERS = 256
"""Number of characters concatenated per step."""
_SHOWN = 60
_SOURCES = tuple(".cu .cuh .h .hh .hpp .hxx .c .cc .cpp .cxx .inl .inc .ptx".split())
"""File name endings of sources, in lower case."""


class BeyondError(Exception):
    """Evaluating a file would take too long."""


class SourceTexts:
    """A file's literals, and the content of files it reads.

    Args:
        source: the file's text.
        path: its absolute path.

    Attributes:
        files: absolute paths where files were looked for, in order.
    """

    def __init__(self, source: str, path: str) -> None:
        self._lines = [f"{line}\n".encode("utf-8", "surrogatepass") for line in source.split("\n")]
        self._path = path
        self._literals: dict[ast.expr, Text] = {}
        self._left = self._before = _STEPS
        self.files: dict[str, None] = {}

    def step(self, letters: int = 0) -> None:
        """Count the effort.

        Raises:
            BeyondError: the limit was reached.
        """
        self._left -= 1 + letters // _LETTERS
        if self._left < 0 or self._left < self._before - _AT_ONCE:
            raise BeyondError

    def begin(self) -> None:
        """Start counting the effort for a function."""
        self._before = self._left

    @property
    def is_spent(self) -> bool:
        """Whether the effort limit was reached."""
        return self._left < 0

    def literal(self, node: ast.Constant, value: str) -> Text:
        """The text of a string literal."""
        known = self._literals.get(node)
        if known is None:
            places = self.places(node, iter(()))
            is_followed = len(places) == value.count("\n") + 1
            known = (
                Text(value, tuple(places)) if is_followed else at(value, (self._path, node.lineno))
            )
            self._literals[node] = known
        return known

    def places(self, node: ast.expr, inserted: Iterator[Text]) -> list[Place]:
        """The location of each line of a literal, found by parsing its spelling."""
        assert node.end_lineno is not None
        lines = self._lines[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        segment = b"".join(lines).decode("utf-8", "replace")
        self.step(len(segment))
        walker = Spelling(self._path, node.lineno, inserted)
        walker.walk(segment, node.end_lineno)
        return walker.places

    def contents(self, of: Value, written: str) -> Value:
        """What reading an open file or a path returns.

        Raises:
            TypeError: it is neither.
        """
        named = of.path if isinstance(of, OpenFile) else of
        if not isinstance(named, Text | PurePosixPath):
            raise TypeError
        path = named.value if isinstance(named, Text) else str(named)
        if self._is_foreign(path):
            return Unknown(f"`{written}`, of {path}, which is no file of the project")
        found = self.read(path)
        return Unknown(f"`{written}`, of the file {path}") if found is None else found

    def _is_foreign(self, path: str) -> bool:
        """Whether a file is outside the project and not named like a source.

        A program's text is shown if it does not compile, so a scanned file must not be able to
        reveal other files on the machine. Sources can be reached through ``#include`` anyway.
        """
        if path.lower().endswith(_SOURCES):
            return False
        project = os.path.join(project_of(self._path), "")
        candidates = (os.path.join(os.path.dirname(self._path), path), os.path.abspath(path))
        found = next(filter(os.path.lexists, candidates), None)
        return found is not None and not os.path.realpath(found).startswith(project)

    def read(self, path: str) -> Text | None:
        """The content of a file; None if it cannot be read."""
        # A relative path starts from the working directory, which is usually the file's own.
        for candidate in (os.path.join(os.path.dirname(self._path), path), os.path.abspath(path)):
            self.files[os.path.abspath(candidate)] = None
            try:
                value = decoded_text(read_beside(candidate))
            except (OSError, ValueError):
                continue
            self.step(len(value))
            file = os.path.normpath(candidate)
            count = value.count("\n") + 1
            return Text(value, tuple((file, number) for number in range(1, count + 1)))
        return None


@functools.lru_cache(maxsize=4096)
def written(node: ast.AST) -> str:
    """An expression as written, on one line; cached by the node itself."""
    return " ".join(ast.unparse(node).split())


def short(node: ast.AST) -> str:
    """An expression as written, on one line, truncated if long."""
    text = written(node)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
