"""Tables that indices come from, and whose numbers a compiler does not look at.

Host code may set a variable of the module in constant or device memory (``cudaMemcpyToSymbol``), so
compilers do not rely on what it is initialised with, unless it is const: then an index that is read
from it at a constant place is a constant itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

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


@dataclass(frozen=True, slots=True)
class IndexTable:
    """A variable of the module whose elements are indices.

    Attributes:
        name: as the source has it.
        place: of its declaration.
        is_const: whether it is declared so, and may not change.
        type: of an element, as written.
        dimensions: subscripts that an element has.
        files: that may name it.
    """

    name: str
    place: SourceLocation
    is_const: bool
    type: str
    dimensions: int
    files: tuple[str, ...]


def index_tables(case: Case) -> tuple[IndexTable, ...]:
    """The tables that an object's indices come from, where they come from nothing else.

    Each has an initialiser in sight, and no string or pasted token of the project names it; beside
    them the indices count loops of constant trip counts. Empty where that is not so.
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
    """The variable of a name, which nothing but its name leads to.

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
            dimensions = one["extents"].count("[")
            found.append(IndexTable(name, place, is_const, one["type"], dimensions, ()))
    if len(found) != 1:
        return None
    start, (table,) = sources.main or files[0], found
    others = (
        file
        for file in sources.mentioning(start, name)
        if _knows(sources, file, table) and os.path.abspath(file) not in map(os.path.abspath, files)
    )
    every = (*files, *others)
    # A module that is loaded has its variables set by their names, and assembly names them too.
    if any(sources.is_quoted(file, name) for file in (*every, *sources.mentioning(start, name))):
        return None
    if may_be_pasted(name, sources, every):
        return None
    return replace(table, files=every)


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
