"""How large the blocks are that a project launches a kernel with, as far as its text says a number.

`block_of` answers only where each launch in sight has a constant block. Where one has a variable,
or stands in another file, this collects what the project gives that variable: a lower bound of the
largest block, good for not promising less.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lmemscope.formats.statements import parts_of
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.written import plain_name
from lmemscope.rules.launched import LARGEST_BLOCK, threads_of

_NAME = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")
_MOST = re.compile(r"\bmaxThreadsPerBlock\b|\bcudaOccupancyMaxPotentialBlockSize\w*")
"""What a device allows, or what a kernel's own registers do: up to the largest block."""
_HOPS = 3
"""Functions and variables that a block is followed through."""
_NOTHING = frozenset({"dim3", "int", "unsigned", "size_t", "const", "sizeof", "static_cast"})


def largest_block(target: Target) -> int | None:
    """The most threads that a launch in the project gives a target's kernels, where it says so."""
    names = {plain_name(hit.facts.demangled) for hit in target.hits}
    files = tuple(dict.fromkeys((*target.files, *target.project())))
    return largest_launch(names, files, target.hits[0].case.sources)


def largest_launch(
    kernels: Iterable[str], files: tuple[str, ...], sources: SourceText
) -> int | None:
    """The most threads that a launch in some files gives one of the kernels, where it says so.

    Args:
        kernels: names without namespace and template arguments.
        files: to look through.
        sources: their text.
    """
    project = _Project(files, sources)
    return max((size for name in kernels for size in project.launches(name)), default=None)


class _Project:
    """The text of a project's files, and what it gives names."""

    def __init__(self, files: tuple[str, ...], sources: SourceText) -> None:
        self._sources = sources
        self._files = files
        self._seen: set[str] = set()

    def launches(self, kernel: str) -> Iterator[int]:
        """Threads of the blocks of a kernel's launches, those that are known."""
        launch = re.compile(
            rf"(?<!\w){re.escape(kernel)}\s*(?:<[^;{{}}]*?>)?"
            r"\s*<\s*<\s*<(?P<shape>[^;]*?)>\s*>\s*>\s*\("
        )
        for file, found in self._matches(kernel, launch):
            parts = [*parts_of(found["shape"])]
            if len(parts) > 1:
                place = self._place(file, found.start())
                yield from self._sizes(parts[1], place, _HOPS)

    def _sizes(self, written: str, place: SourceLocation, hops: int) -> Iterator[int]:
        """What an expression may be, at most: itself, else what its names are given."""
        if _MOST.search(written):
            yield LARGEST_BLOCK
            return
        known = threads_of(written, self._sources, place)
        if known is not None:
            if known <= LARGEST_BLOCK:
                yield known
            return
        for name in dict.fromkeys(_NAME.findall(written)):
            if hops and name not in self._seen and name not in _NOTHING:
                self._seen.add(name)
                yield from self._given(name, hops - 1)

    def _given(self, name: str, hops: int) -> Iterator[int]:
        """What the project gives a name: in declarations, assignments and calls."""
        given = re.compile(
            rf"(?<!\w){name}(?:\s*\.\s*x)?\s*(?:=(?!=)\s*(?P<value>[^;]*)|(?P<made>\([^;]*\))\s*;)"
        )
        for file, found in self._matches(name, given):
            value = found["value"] or f"dim3{found['made']}"
            first = next(iter(parts_of(value)), "")
            yield from self._sizes(first, self._place(file, found.start()), hops)
        parameter = re.compile(
            rf"(?<!\w)(?P<function>[A-Za-z_]\w*)\s*\((?P<before>[^;{{}}()]*)(?<!\w){name}\s*"
            r"(?:=\s*[^,(){};]*)?(?:,[^;{}()]*)?\)\s*\{"
        )
        asking = re.compile(rf"&\s*{name}\b")
        for file, found in self._matches(name, asking):
            code = self._sources.code(file)
            if _MOST.search(code[max(0, found.start() - 80) : found.start()]):
                yield LARGEST_BLOCK
        for _, found in self._matches(name, parameter):
            yield from self._arguments(found["function"], found["before"].count(","), hops)

    def _arguments(self, function: str, position: int, hops: int) -> Iterator[int]:
        """What calls give a parameter of a function."""
        if not hops:
            return
        call = re.compile(rf"(?<!\w){function}\s*\((?P<given>[^;{{}}]*)\)\s*;")
        for file, found in self._matches(function, call):
            parts = [*parts_of(found["given"])]
            if position < len(parts):
                place = self._place(file, found.start())
                yield from self._sizes(parts[position], place, hops - 1)

    def _matches(self, word: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, re.Match[str]]]:
        for file in self._files:
            code = self._sources.code(file)
            if word in code:
                for found in pattern.finditer(code):
                    yield file, found

    def _place(self, file: str, offset: int) -> SourceLocation:
        code = self._sources.code(file)
        return SourceLocation(file, 1 + code.count("\n", 0, offset))
