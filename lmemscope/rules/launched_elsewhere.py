"""How large the blocks are that a project launches a kernel with, as far as its text says a number.

`block_of` answers only where each launch in sight has a constant block. Where one has a variable,
or stands in another file, this collects what the project gives that variable: a lower bound of the
largest block, good for not promising less.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod
from types import MappingProxyType

from lmemscope.analysis.occupancy import LARGEST_BLOCK
from lmemscope.formats.statements import closed_at, parts_of
from lmemscope.formats.words import last_word
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.block_sizes import (
    alternatives,
    arguments_given,
    template_arguments,
    threads_of,
)
from lmemscope.rules.constants import number_of
from lmemscope.rules.declared import NO_TYPES, rest_of_block
from lmemscope.rules.enclosing import is_in_loop
from lmemscope.rules.launch_reader import Launches, launches_in
from lmemscope.rules.launch_syntax import without_casts
from lmemscope.rules.remembered import Remembered
from lmemscope.rules.scopes import declarations_of

_NAME = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")
_REACHED = re.compile(
    r"(?<![\w.>])(?:[A-Za-z_]\w*(?:\s*\[[^\[\]]*\])*\s*(?:\.|->)\s*)*(?P<last>[A-Za-z_]\w*)"
)
"""A name, or a member by its whole path: ``group[i].block``."""
_MOST = re.compile(r"\bmaxThreadsPerBlock\b|\bcudaOccupancyMaxPotentialBlockSize\w*")
"""What a device allows, or what a kernel's own registers do: up to the largest block."""
_HOPS = 4
"""Functions and variables that a block is followed through."""
_NOTHING = frozenset({"dim3", "int", "unsigned", "size_t", "const", "sizeof", "static_cast"})
_ARITHMETIC = re.compile(r"(?:\w|\s|[-+*/%()]|<<)+")
"""An expression that has a value only where all of its names have one."""
_LEAST = -(2**31)
"""Number that an argument is at least."""
_CALLED = re.compile(r"\w\s*\(")
_SHAPE = re.compile(r"dim3\s*[({](?P<parts>.*)[)}]", re.DOTALL)
_BEFORE = 80
"""Characters before an address that may be a call that gives it a value, or before a member."""
_SUBSCRIPT = re.compile(r"\[[^\[\]]*+\]")
_INDEXED = re.compile(r"\[\s*+[A-Za-z_][^\[\]]*+\]")
"""The same that may select any element."""
_STATEMENTS = frozenset({"if", "constexpr", "for", "while", "switch", "catch"})
"""Words before parentheses and a brace that name no function."""
_CASES = 64
"""Combinations of values that an expression is computed for."""
_PROJECTS: Remembered[tuple[str, ...], _Project] = Remembered()
"""By the files that are looked through."""


def largest_launch(
    kernels: Iterable[str], home: str, sources: SourceText, files: Iterable[str] = ()
) -> int | None:
    """The most threads that a launch in a project gives one of some kernels, where it says so.

    Args:
        kernels: names without namespace, with the arguments of an instance where one is meant.
        home: the file that defines them.
        sources: the unit's, and the project around it.
        files: to look through besides that file, the unit's, and those that these quote.
    """
    project = _project(home, sources, files)
    found = (max(project.sizes(name), default=None) for name in dict.fromkeys(kernels))
    return max((size for size in found if size is not None), default=None)


def launch_sizes(kernel: str, home: str, sources: SourceText) -> frozenset[int]:
    """Threads of blocks that a project's launches give a kernel, as far as they are known.

    Args:
        kernel: its name without namespace, with the arguments of an instance where one is meant.
        home: the file that defines it.
        sources: the unit's, and the project around it.
    """
    return frozenset(_project(home, sources, ()).sizes(kernel))


def arguments(
    kernel: str, position: int, home: str, sources: SourceText, files: Iterable[str] = ()
) -> Sequence[tuple[int, SourceLocation]]:
    """The numbers that launches in a project give a parameter, and where they are given.

    Args:
        kernel, home, sources, files: as of `largest_launch`, for one kernel.
        position: of the parameter.
    """
    return tuple(_project(home, sources, files).arguments(kernel, position))


def launches_of(kernel: str, sources: SourceText, files: Sequence[str]) -> Launches:
    """The launches of a kernel, of whatever instance, that a project has.

    Args:
        kernel: its plain name.
        sources: the unit's, and the project around it.
        files: around the kernel; the first is asked where the project is.
    """
    return _PROJECTS.of(sources, tuple(files), lambda: _Project(tuple(files), sources)).launches_of(
        kernel
    )


def _project(home: str, sources: SourceText, files: Iterable[str]) -> _Project:
    starts = (home, sources.main or home)
    near = (one for start in starts for one in sources.quoted(start, searched=True))
    looked = tuple(dict.fromkeys((*starts, *near, *files)))
    return _PROJECTS.of(sources, looked, lambda: _Project(looked, sources))


class _Project:
    """The text of a project's files, and what it gives names.

    Args:
        files: those that are looked through in any case.
        sources: their text, and which others hold a word.
    """

    def __init__(self, files: tuple[str, ...], sources: SourceText) -> None:
        # It is kept for as long as the text is, and not the other way round.
        self._text = weakref.ref(sources)
        self._files = files
        self._own = frozenset(map(os.path.abspath, files))
        self._known: dict[tuple[str, SourceLocation], tuple[int, ...]] = {}
        self._sizes: dict[str, tuple[int, ...]] = {}
        self._constant: dict[tuple[object, ...], int | None] = {}
        self._found: dict[tuple[str, str | None], tuple[tuple[str, re.Match[str]], ...]] = {}

    @property
    def _sources(self) -> SourceText:
        sources = self._text()
        assert sources is not None, "who asks holds it"
        return sources

    def sizes(self, kernel: str) -> tuple[int, ...]:
        """Threads of an instance's launches; every finding of a kernel asks for them."""
        if kernel not in self._sizes:
            self._sizes[kernel] = tuple(self._launches(kernel))
        return self._sizes[kernel]

    def arguments(self, kernel: str, position: int) -> Iterator[tuple[int, SourceLocation]]:
        """Numbers that launches of a kernel, of whatever instance, give a parameter."""
        for one in self.launches_of(kernel).written:
            text = without_casts(one.given[position] if position < len(one.given) else "")
            place = one.given_at or one.place
            value = number_of(text, self._sources, place, least=_LEAST)
            path = _REACHED.sub("x", _INDEXED.sub("", text))
            if value is not None:
                yield value, place
            elif _ARITHMETIC.fullmatch(path) and not _CALLED.search(text):
                # Of what calls make of their arguments nothing is known.
                yield from ((each, place) for each in self._values(text, place, _HOPS))

    def launches_of(self, kernel: str) -> Launches:
        """The launches of a kernel by its plain name, none of another's of that name."""
        files = (one for one in self._holding(kernel) if not self._is_namesake(kernel, one))
        return launches_in(self._sources, files, kernel)

    def _launches(self, kernel: str) -> Iterator[int]:
        """Threads of the blocks of an instance's launches, those that are known."""
        name, own = kernel.partition("<")[0].rpartition("::")[2], template_arguments(kernel)
        for one in self.launches_of(name).written:
            given = arguments_given(one.instance, own, self._sources, one.place)
            if given is None or len(one.shape) < 2:
                continue
            for size in self._values(one.shape[1], one.place, _HOPS, given):
                if 0 < size <= LARGEST_BLOCK:
                    yield size

    def _is_namesake(self, kernel: str, file: str) -> bool:
        """Whether a file of the project has a kernel of that name of its own."""
        if self._is_own(file):
            return False
        name = re.escape(kernel)
        defined = re.compile(rf"\b__global__\b[^;{{}}]*?(?<!\w){name}\s*\([^;{{}}]*\{{")
        others = (
            one
            for one in (file, *self._sources.quoted(file, searched=True))
            if not self._is_own(one)
        )
        return any(
            defined.search(self._sources.code(one)) is not None
            for one in others
            if self._sources.names(one, kernel) and self._sources.names(one, "__global__")
        )

    def _is_own(self, file: str) -> bool:
        return os.path.abspath(file) in self._own

    def _values(
        self,
        written: str,
        place: SourceLocation,
        hops: int,
        arguments: Mapping[str, int] = MappingProxyType({}),
    ) -> Iterator[int]:
        """What an expression may be: itself, else what its names are given."""
        if _MOST.search(written):
            yield LARGEST_BLOCK
            return
        known = self._threads(written, place, arguments)
        if known is None:
            known = number_of(written, self._sources, place, least=_LEAST)
        if known is not None:
            yield known
            return
        written = without_casts(written)
        choices = alternatives(written)
        if choices:
            for one in choices:
                yield from self._values(one, place, hops, arguments)
            return
        shape = _SHAPE.fullmatch(written.strip())
        if shape is not None:
            parts = parts_of(shape["parts"])
            yield from _products([*self._values(one, place, hops)] for one in parts)
            return
        # What selects an element is not its value.
        reached = {one["last"]: one[0] for one in _REACHED.finditer(_SUBSCRIPT.sub("", written))}
        names = [one for one in reached if one not in _NOTHING]
        if not hops:
            return
        given = {
            name: (reached[name] != name and self._of_member(reached[name], place, hops - 1))
            or self._given(name, place, hops - 1)
            for name in names
        }
        written = _REACHED.sub(lambda one: one["last"], _SUBSCRIPT.sub("", written))
        if _ARITHMETIC.fullmatch(written) is None or _CALLED.search(written) is not None:
            yield from (value for values in given.values() for value in values)
            return
        unknown = [
            name for name in names if number_of(name, self._sources, place, least=_LEAST) is None
        ]
        for values in islice(product(*(given[name] for name in unknown)), _CASES):
            meant = dict(zip(unknown, values, strict=True))
            text = _NAME.sub(lambda one: str(meant.get(one[0], one[0])), written)  # noqa: B023 - called at once
            computed = number_of(text, self._sources, place, least=_LEAST)
            if computed is not None:
                yield computed

    def _threads(self, written: str, place: SourceLocation, given: Mapping[str, int]) -> int | None:
        """What an expression is itself; each call of a function is met on many ways."""
        key = (written, place, *given.items())
        if key not in self._constant:
            self._constant[key] = threads_of(written, self._sources, place, given)
        return self._constant[key]

    def _given(self, name: str, place: SourceLocation, hops: int) -> tuple[int, ...]:
        """What a name is given before a line: in declarations, assignments and calls."""
        if (name, place) not in self._known:
            self._known[name, place] = ()  # What is given itself has no value of that.
            self._known[name, place] = tuple(dict.fromkeys(self._gifts(name, place, hops)))
        return self._known[name, place]

    def _of_member(self, path: str, place: SourceLocation, hops: int) -> tuple[int, ...]:
        """What a member is given: ``config.threads = 256``.

        Of the object itself in its own file; else of others there; else in whatever file.

        Args:
            path: of the member, with its object.
            place: that it is read at.
            hops: functions and variables that may still be followed.
        """
        *_, owner, name = re.findall(r"[A-Za-z_]\w*", _SUBSCRIPT.sub("", path))
        given = re.compile(
            rf"(?:\.|->)\s*{name}\s*(?:\.\s*(?P<side>[xyz])\s*)?=(?!=)\s*(?P<value>[^;]*)"
        )
        here = self._matches(name, given, place.file)
        own = tuple(one for one in here if self._owner(*one) == owner)
        return self._of_sides(own or here or self._matches(name, given), hops)

    def _owner(self, file: str, found: re.Match[str]) -> str:
        """The name of the object in front of a member."""
        start = max(0, found.start() - _BEFORE)
        before = _SUBSCRIPT.sub("", self._sources.code(file)[start : found.start()])
        return last_word(before)

    def _of_sides(self, found: Iterable[tuple[str, re.Match[str]]], hops: int) -> tuple[int, ...]:
        """What assignments to a block as a whole, and to its ``x``, ``y`` and ``z``, make of it.

        Which of them are executed is not told apart: each side may have each of its values.
        """
        whole: list[int] = []
        sides: dict[str, list[int]] = {"x": [], "y": [], "z": []}
        given: set[str] = set()
        for file, one in found:
            value = one["value"] or f"dim3{one.groupdict().get('made')}"
            first = next(iter(parts_of(value)), "").strip().rstrip("}")
            place = self._place(file, one.start())
            if one["side"] is not None:
                given.add(one["side"])
                sides[one["side"]] += self._values(first, place, hops)
                continue
            shape = _SHAPE.fullmatch(first)
            parts = [*parts_of(shape["parts"])] if shape is not None else []
            if len(parts) > 1:
                for side, part in zip("xyz", parts, strict=False):
                    given.add(side)
                    sides[side] += self._values(part, place, hops)
            else:
                whole += self._values(first, place, hops)
        sides["x"] += whole if given else []
        if any(not sides[side] for side in given):
            return ()  # How long a side is that has another length than one is not known.
        if given:
            return tuple(_products(values or [1] for values in sides.values()))
        return tuple(whole)

    def _gifts(self, name: str, place: SourceLocation, hops: int) -> Iterator[int]:
        given = re.compile(
            # What begins with a name is found faster than what begins with a type.
            rf"{name}(?<!\w{name})(?:\s*\.\s*(?P<side>[xyz]))?\s*"
            r"(?:=(?!=)\s*(?P<value>[^;]*)|(?P<made>[({][^;]*[)}])\s*;)"
        )
        file = place.file
        of_name = declarations_of(name, self._sources, place)
        meant = {one.at for one in of_name if one.file == file and one.scope.is_local}
        found = tuple(
            (at, one)
            for at, one in self._matches(name, given, file)
            if not meant or one.start() in meant or not _is_typed(one)
        )
        above = [one for one in found if self._place(file, one[1].start()).line <= place.line]
        declared = [number for number, (_, one) in enumerate(above) if _is_typed(one)]
        found = tuple(above[declared[-1] :]) if declared else found
        parameter = re.compile(
            r"(?<!\w)(?P<function>[A-Za-z_]\w*)\s*(?:=\s*\[[^\[\]]*\]\s*)?"
            rf"\((?P<before>(?:[^;{{}}()]|\([^;{{}}()]*\))*)(?<!\w){name}\s*"
            r"(?:=\s*(?P<value>[^,(){};]*))?(?:,(?:[^;{}()]|\([^;{}()]*\))*)?\)\s*(?:const\b\s*|mutable\b\s*)?(?::[^;{}]*)?\{"
        )
        handed = [
            (at, one)
            for at, one in self._matches(name, parameter, file)
            if one["function"] not in _STATEMENTS
        ]
        ends = self._stepped(name, above[declared[-1] :] if declared else (), hops)
        if ends is not None and not ends:
            return  # It is more than what it begins with, and nobody knows how much.
        yield from ends or ()
        # Only what its own file does not give it is a name of the whole project.
        is_own = found or handed or meant
        yield from self._of_sides(found if is_own else self._matches(name, given), hops)
        counted = re.compile(
            rf"\bfor\s*\([^;{{}}]*(?<!\w){name}\s*=(?!=)[^;{{}}]*;\s*{name}\s*<(?P<too>=?)(?P<end>[^;&|]+);"
        )
        for at, one in self._matches(name, counted, file):
            # A counter goes on to its end.
            end = one["end"] if one["too"] else f"{one['end']} - 1"
            yield from self._values(end.strip(), self._place(at, one.start()), hops)
        parts = (self._listed, self._elements, self._initialised)
        for part, where in (one for listed in parts for one in listed(name, file)):
            yield from self._values(part, where, hops)
        asking = re.compile(rf"&\s*{name}\b")
        for at, one in self._matches(name, asking, file):
            code = self._sources.code(at)
            if _MOST.search(code[max(0, one.start() - _BEFORE) : one.start()]):
                yield LARGEST_BLOCK
        for at, one in handed:
            if one["value"]:
                yield from self._values(one["value"], self._place(at, one.start()), hops)
            position = len([*parts_of(one["before"])]) - 1
            yield from self._arguments(one["function"], position, hops, "(")
        template = re.compile(
            rf"\btemplate\s*<(?P<before>[^<>;{{}}]*)(?<!\w){name}\s*(?:=[^<>,;{{}}]*)?"
            r"(?:,[^<>;{}]*)?>[^;{}()<>]*?(?P<function>[A-Za-z_]\w*)\s*\("
        )
        for _, one in self._matches(name, template, file):
            yield from self._arguments(one["function"], one["before"].count(","), hops, "<")

    def _listed(self, name: str, file: str) -> Iterator[tuple[str, SourceLocation]]:
        """The elements of lists that a ``for`` takes one after the other: ``for (int b : {…})``."""
        taken = re.compile(
            rf"\bfor\s*\([^;{{}}()]*(?<!\w){name}\s*:\s*"
            r"(?:\{(?P<listed>[^;{}]*)\}|(?P<of>[A-Za-z_]\w*))\s*\)"
        )
        for at, one in self._matches(name, taken, file):
            if one["of"] is not None:
                yield from self._elements(one["of"], at)
            else:
                place = self._place(at, one.start())
                yield from ((part, place) for part in parts_of(one["listed"]))

    def _elements(self, name: str, file: str) -> Iterator[tuple[str, SourceLocation]]:
        """The elements that a variable's own list has: ``int sizes[] = {64, 128}``."""
        made = re.compile(rf"(?<!\w){name}\s*(?:\[[^\[\]]*\])?\s*=?\s*\{{(?P<listed>[^;{{}}]*)\}}")
        for at, one in self._matches(name, made, file):
            place = self._place(at, one.start())
            yield from ((part, place) for part in parts_of(one["listed"]))

    def _initialised(self, name: str, file: str) -> Iterator[tuple[str, SourceLocation]]:
        """What constructors give a member: ``S() : name(4) {``."""
        made = re.compile(
            rf"(?<!:)[:,]\s*{name}\s*(?:\((?P<value>[^;{{}}()]+)\)|\{{(?P<braced>[^;{{}}]+)\}})\s*[,{{]"
        )
        for at, one in self._matches(name, made, file):
            yield one["value"] or one["braced"], self._place(at, one.start())

    def _stepped(
        self, name: str, declared: Sequence[tuple[str, re.Match[str]]], hops: int
    ) -> tuple[int, ...] | None:
        """What a variable is compared with that is made larger in loops; None of another.

        ``int b = 32; while (b <= 512) { k<<<1, b>>>(); b *= 2; }``
        """
        if not declared:
            return None
        file, first = declared[0]
        place = self._place(file, first.start())
        block = rest_of_block(self._sources, place, name)
        own = rf"(?<![\w.>]){name}\s*"
        step = re.search(rf"{own}(?:(?:[*+]|<<)=|\+\+|=(?!=)[^;]*\b{name}\b)", block)
        if step is None:
            return None
        end = re.compile(rf"{own}<(?P<too>=?)(?!<)(?P<end>[^;&|(){{}}<]+)[;&|)]")
        ends = [
            value
            for one in end.finditer(block)
            for value in self._values(
                one["end"].strip() if one["too"] else f"{one['end'].strip()} - 1", place, hops
            )
        ]
        before = self._sources.code(file)[max(0, first.start() - _BEFORE) : first.start()]
        is_looped = is_in_loop(block, step.start()) or is_in_loop(before, len(before))
        return tuple(ends) if ends or is_looped else None

    def _arguments(self, function: str, position: int, hops: int, opening: str) -> Iterator[int]:
        """What calls give a parameter of a function, or of a template where ``<`` opens them."""
        if not hops:
            return
        begun = rf"{function}(?<!\w{function})"  # Which is found faster than a lookbehind.
        # Or of a constructor, that of a variable.
        call = re.compile(rf"{begun}\s*(?:<[^;{{}}()<>]*>\s*)?(?:(?<!\w)[A-Za-z_]\w*\s*)?\(")
        if opening == "<":
            call = re.compile(rf"{begun}\s*<(?=[^;{{}}<>]*>\s*\()")
        for file, found in self._matches(function, call):
            code = self._sources.code(file)
            end = closed_at(code, found.end() - 1)
            parts = [*parts_of(code[found.end() : end - 1])] if end is not None else []
            if position < len(parts):
                place = self._place(file, found.start())
                yield from self._values(parts[position], place, hops - 1)

    def _matches(
        self, word: str, pattern: re.Pattern[str], alone: str | None = None
    ) -> tuple[tuple[str, re.Match[str]], ...]:
        """Where a pattern with a word is found: in one file alone, or in all of the project."""
        key = (pattern.pattern, alone)
        if key not in self._found:
            files = (alone,) if alone is not None else self._holding(word)
            self._found[key] = tuple(
                (file, found)
                for file in files
                if self._sources.names(file, word)
                for found in pattern.finditer(self._sources.code(file))
            )
        return self._found[key]

    def _holding(self, word: str) -> tuple[str, ...]:
        """Its own files, and the others of the project that hold a word."""
        found = self._sources.mentioning(self._files[0], word)
        return (*self._files, *(one for one in found if one not in self._own))

    def _place(self, file: str, offset: int) -> SourceLocation:
        code = self._sources.code(file)
        return SourceLocation(file, 1 + code.count("\n", 0, offset))


def _is_typed(name: re.Match[str]) -> bool:
    """Whether a word stands before a name, with nothing but blanks, ``*`` and ``&`` between."""
    before = name.string[max(0, name.start() - _BEFORE) : name.start()]
    kind = before.rstrip("*& \t\n")
    return kind != before and last_word(kind) not in ("", *NO_TYPES)


def _products(sides: Iterable[Iterable[int]]) -> Iterator[int]:
    """Threads of blocks whose sides may have each of some values."""
    # The largest first: of more combinations than are looked at, those count.
    ordered = [sorted({*values}, reverse=True) for values in sides]
    yield from (prod(one) for one in islice(product(*ordered), _CASES))
