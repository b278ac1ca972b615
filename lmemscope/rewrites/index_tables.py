"""Tables that indices come from, and whose numbers a compiler does not look at.

Host code may set a variable of the module in constant or device memory (``cudaMemcpyToSymbol``), so
compilers do not rely on what it is initialised with, unless it is const: then an index that is read
from it at a constant place is a constant itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from lmemscope.formats.statements import closed_at
from lmemscope.model import SourceLocation, SourceText, is_library
from lmemscope.rules.base import Case
from lmemscope.rules.pasted_names import may_be_pasted
from lmemscope.rules.remembered import Remembered

_DECLARED = (
    r"(?P<before>(?:\b(?:static|inline|__constant__|__device__|const|constexpr)\s+|"
    r"__align__\s*\([^()]*\)\s*|alignas\s*\([^()]*\)\s*)+)"
    r"(?P<type>(?:[A-Za-z_][\w:]*\s+)*?[A-Za-z_][\w:]*)\s+(?P<const>const\s+)?{name}\s*"
    r"(?P<extents>(?:\[[^\[\]]*\]\s*)+)=?\s*\{{"
)
"""Of a variable of the module, with its initialiser."""
_SPACES = frozenset({"__constant__", "__device__"})
_OPENS = re.compile(r"[\s\\]*(?=\[)")
_SKIPPED = " \t\r\n\\"
_SIGN = r"<<=|>>=|<=>|->|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^<>=!]=|(?<!\w)\w+|."
_BEHIND = re.compile(rf"[\s\\]*({_SIGN})", re.DOTALL)
_BEFORE = re.compile(rf"(?:{_SIGN})\Z", re.DOTALL)
_OPERATORS = frozenset("+ - * / % ^ | & && || << >> < > <= >= == !=".split())
"""Signs whose operands are values, where they stand between two."""
_PREFIXES = frozenset("+ - ~ ! *".split())
_BETWEEN = _OPERATORS | frozenset("? : ; , )".split())
"""What stands behind an operand that nothing is assigned to."""
_CONTROL = re.compile(r"\b(?:if|while|switch)\Z")
_OPERAND = re.compile(r"(?<!\breturn)(?<!\bcase)[\w\]]\Z")
"""What stands before a sign that has two operands; behind a parenthesis it may have one."""
_LOOKED = 400
"""Characters before an element that say what is done with it."""
_CAST = re.compile(
    r"\(\s*(?:(?:const|unsigned|signed|long|short|int|char|float|double|bool|size_t|uint"
    r"|u?int\d+_t)\s*)+\)\Z"
)
"""Of a number, by value."""
_GIVEN_TO = re.compile(r"(?P<first>[;{}(),=])(?P<declared>[^;{}(),=]*)=\Z")
_SUBSCRIPT = re.compile(r"\[[^\[\]]*\]")
_REFERRING = re.compile(
    r"&\s*(?:\w+\s*::\s*)*(?:\w+|operator\s*[^\s\w(]{1,3})\s*\([^;{}]{0,400}\{|\bdecltype\s*\(\s*auto\s*\)"
    r"|->[^;{}]{0,200}&\s*\{"
)
"""A function that may return a reference."""


@dataclass(frozen=True, slots=True)
class IndexTable:
    """A variable of the module whose elements are indices.

    Attributes:
        name: as the source has it.
        place: of its declaration.
        is_const: whether it is declared so, and may not change.
        type: of an element, as written.
        dimensions: subscripts that an element has.
    """

    name: str
    place: SourceLocation
    is_const: bool
    type: str
    dimensions: int


def index_tables(case: Case) -> tuple[IndexTable, ...]:
    """The tables that an object's indices come from, where they come from nothing else.

    Each has an initialiser in sight, and nothing in the project does more with it than to read its
    elements; beside them the indices count loops of constant trip counts. Empty where that is not
    so.
    """
    index = case.index
    if index is None:
        return ()
    found: dict[str, IndexTable] = {}
    for source in index.all_sources:
        if source.kind == "loop-counter" and source.constant_trip:
            continue
        if source.kind != "memory" or source.name is None:
            return ()
        name = source.name.rpartition("::")[2]
        files = tuple(dict.fromkeys(_files(case)))
        key = (files, name)
        table = _TABLES.of(case.sources, key, partial(_table, case.sources, files, name))
        if table is None:
            return ()
        found[name] = table
    return tuple(found.values())


def _files(case: Case) -> Iterator[str]:
    """The unit's own files, the declaration's first."""
    starts = [case.facts.home, case.sources.main]
    if case.location is not None:
        starts.insert(0, case.location.file)
    for start in starts:
        if start is not None and not is_library(start):
            yield start
            yield from case.sources.quoted(start, searched=True)


_TABLES: Remembered[tuple[tuple[str, ...], str], IndexTable | None] = Remembered()


def _table(sources: SourceText, files: Sequence[str], name: str) -> IndexTable | None:
    """The variable of a name, of which a project only reads elements.

    Args:
        sources: with the project around them.
        files: the unit's own.
        name: as the source has it.
    """
    if re.fullmatch(r"[A-Za-z_]\w*", name) is None:
        return None
    declared = re.compile(_DECLARED.format(name=name))
    found: list[IndexTable] = []
    for file in files:
        text = sources.code(file)
        if name not in text or not any(space in text for space in _SPACES):
            continue
        for one in declared.finditer(text):
            words = set(f"{one['before']} {one['type']} {one['const'] or ''}".split())
            if words.isdisjoint(_SPACES):
                continue
            line = 1 + text.count("\n", 0, one.start(0))
            is_const = bool(words & {"const", "constexpr"})
            place = SourceLocation(file, line)
            found.append(IndexTable(name, place, is_const, one["type"], one["extents"].count("[")))
    if len(found) != 1:
        return None
    start, (table,) = sources.main or files[0], found
    others = (
        file
        for file in sources.mentioning(start, name)
        if _knows(sources, file, table) and os.path.abspath(file) not in map(os.path.abspath, files)
    )
    every = (*files, *others)
    # A module that is loaded has its variables set by their names.
    if any(sources.is_quoted(file, name) for file in sources.mentioning(start, name)):
        return None
    if may_be_pasted(name, sources, every):
        return None
    if all(_is_read(sources, file, table, declared) for file in every):
        return table
    return None


def _knows(sources: SourceText, file: str, table: IndexTable) -> bool:
    """Whether a name in another of the project's files may be the table.

    It declares it, or includes what does; any other has something else of the name.
    """
    if re.search(rf"\bextern\b[^;{{}}()]*\b{table.name}\b", sources.code(file)):
        return True
    declares = os.path.basename(table.place.file)
    reached = (file, *sources.quoted(file, searched=True))
    included = re.compile(rf'#\s*include\s*[<"](?:[^<>"]*/)?{re.escape(declares)}[">]')
    return any(included.search(line) for one in reached for line in sources.bare_lines(one))


def _is_read(sources: SourceText, file: str, table: IndexTable, declared: re.Pattern[str]) -> bool:
    """Whether a file does nothing with a table but declare it and take the values of elements."""
    text, name = sources.code(file), table.name
    if sources.is_quoted(file, name):
        return False  # Assembly names symbols in strings, and so do old programs.
    declarations = [one.span() for one in declared.finditer(text)]
    for use in re.finditer(rf"(?<![\w.])(?<!->){name}(?!\w)", text):
        if any(begin <= use.start() < end for begin, end in declarations):
            continue
        at, subscripts = use.end(), 0
        while (opened := _OPENS.match(text, at)) is not None:
            closed = closed_at(text, opened.end())
            if closed is None:
                return False
            at, subscripts = closed, subscripts + 1
        # What has fewer subscripts is a part of the table, and its address.
        if subscripts != table.dimensions or not _is_value(text, use.start(), at):
            return False
    return True


def _is_value(text: str, start: int, end: int) -> bool:
    """Whether the value of an element is all that is taken of it, as far as its text says so.

    Nothing may have a reference to it: an overload for what is const may be another function, and a
    cast may change it.

    Args:
        text: of the file.
        start, end: of the element in it.
    """
    front = text[max(0, start - _LOOKED) : start].rstrip(_SKIPPED)
    found, signed = _BEHIND.match(text, end), _BEFORE.search(front)
    if found is None or signed is None:
        return False
    behind, before = found[1], signed[0]
    rest = front[: signed.start()].rstrip(_SKIPPED)
    is_infix = before in _OPERATORS and (before == "&&" or _OPERAND.search(rest) is not None)
    if before in ("&", "++", "--") and not is_infix:
        return False
    if before == "=" and behind in ("]", ";", ",", ")"):
        given = _GIVEN_TO.search(front)
        if given is None or front[: given.start("declared")].endswith("(auto)"):
            return False
        return "&" not in _SUBSCRIPT.sub("", given["declared"])
    if behind == "]":
        return True
    if before == ")":
        return behind in _BETWEEN and _CAST.search(front) is not None
    if behind in _OPERATORS or behind == "?":
        return True
    if behind not in _BETWEEN:
        return False
    if before == "return":
        return _REFERRING.search(text) is None
    if before == "(":
        return behind == ")" and _CONTROL.search(rest) is not None
    return is_infix or before in _PREFIXES
