"""Const tables of indices

A module variable in constant or device memory from which indices are read (`state[order[i]]`)
becomes const, so that an index read at a constant position is a constant. A second variant also
unrolls the loops that read it and those that index the array.

Safe: the project takes only the values of its elements, and no macro or string can form its name.
Declined if another file declares it `extern`, or a function gets an element.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting, SourceText, count
from lmemscope.rewrites.base import Rewrite, Target
from lmemscope.rewrites.loops import LOOPS, counters, index_names, indexing_loops, unroll_edit
from lmemscope.rewrites.places import is_declared_name
from lmemscope.rewrites.value_uses import element_at, takes_value
from lmemscope.rewrites.written import files_of, homes, in_file, lines_of
from lmemscope.rules.base import Case
from lmemscope.rules.indexing import listed
from lmemscope.rules.pasted_names import may_be_pasted
from lmemscope.sources.syntax import FUNCTIONS, around, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SPACE = re.compile(rb"__(?:constant|device)__(?!\w)")


@dataclass(frozen=True, slots=True)
class _Table:
    """A variable of the module whose elements are indices, with its initialiser in sight.

    Host code may set it (``cudaMemcpyToSymbol``), so that compilers do not rely on what it is
    initialised with, unless it is const.

    Attributes:
        home: the target in the file that declares it.
        declaration: it.
        name: as the source has it.
        space: where the word for its memory ends.
        is_const: whether it is declared so, and may not change.
        element: type of an element, as written.
        dimensions: subscripts that an element has.
    """

    home: Target
    declaration: Node
    name: bytes
    space: int
    is_const: bool
    element: bytes
    dimensions: int


def propose(target: Target) -> Iterator[Rewriting]:
    """The word `const` in the declarations; that, and the loops that read the tables unrolled."""
    names = [_table_names(hit.case) for hit in target.hits]
    every = [_table(target, one) for one in dict.fromkeys(one for each in names for one in each)]
    tables = [one for one in every if one is not None]
    if not all(names) or len(tables) != len(every):
        return
    if not all(_is_read(target, one) for one in tables):
        return
    changed = [one for one in tables if not one.is_const]
    if not changed or any(one.name in one.home.syntax.macros for one in changed):
        return
    edits = tuple(one.home.edit(one.space, one.space, b" const") for one in changed)
    shown = listed([f"`{one.name.decode()}`" for one in changed])
    them = "it" if len(edits) == 1 else "them"
    summary = f"make {shown} const, so that indices read from {them} can be constants"
    yield Rewriting("const-indices", "safe", edits, summary)
    loops = _unrolled(target, {one.name for one in tables})
    if loops:
        text = f"{summary}, and unroll {count(len(loops), 'loop')}"
        yield Rewriting("const-indices", "safe", (*edits, *loops), text)


def _table_names(case: Case) -> tuple[str, ...]:
    """Names of what an object's indices are read from, where they come from nothing else.

    Beside them the indices count loops of constant trip counts. Empty where that is not so.
    """
    found: dict[str, None] = {}
    for source in case.index.all_sources if case.index is not None else ():
        if source.kind == "loop-counter" and source.constant_trip:
            continue
        if source.kind != "memory" or source.name is None:
            return ()
        found[source.name.rpartition("::")[2]] = None
    return tuple(found)


def _table(target: Target, name: str) -> _Table | None:
    """The one variable of a name that the files in sight initialise."""
    own, found = name.encode(), list[_Table]()
    for home in homes(target, own):
        syntax = home.syntax
        for node in walk(syntax.root) if own in syntax.words() else ():
            if node.type != "declaration" or outermost(node, FUNCTIONS) is not None:
                continue
            given = node.children_by_field_name("declarator")
            declared = None if len(given) != 1 else given[0].child_by_field_name("declarator")
            value, dimensions = given[0].child_by_field_name("value"), 0
            while declared is not None and declared.type == "array_declarator":
                declared, dimensions = declared.child_by_field_name("declarator"), dimensions + 1
            head = syntax.code[node.start_byte : given[0].start_byte]
            space, kind = _SPACE.search(head), node.child_by_field_name("type")
            if (
                declared is None
                or syntax.text(declared) != own
                or not dimensions
                or space is None
                or kind is None
                or value is None
                or value.type != "initializer_list"
            ):
                continue
            is_const = not {b"const", b"constexpr"}.isdisjoint(head.split())
            end = node.start_byte + space.end()
            element = syntax.text(kind)
            found.append(_Table(home, node, own, end, is_const, element, dimensions))
    return found[0] if len(found) == 1 else None


def _is_read(target: Target, table: _Table) -> bool:
    """Whether the value of an element is all that a project takes of a table."""
    sources, name = target.hits[0].case.sources, table.name.decode()
    mentioning = sources.mentioning(sources.main or table.home.path, name)
    own = {*map(os.path.abspath, target.files)}
    others = (one for one in mentioning if os.path.abspath(one) not in own)
    files = (*target.files, *(one for one in others if _knows(sources, one, table)))
    # A module that is loaded has its variables set by their names, and assembly names them too.
    if any(sources.is_quoted(file, name) for file in (*files, *mentioning)):
        return False
    if may_be_pasted(name, sources, files):
        return False
    for home in (in_file(target, file) for file in files):
        if home is None or table.name in home.syntax.macros:
            return False
        for use in walk(home.syntax.root):
            if use.type != "identifier" or home.syntax.text(use) != table.name:
                continue
            if is_declared_name(use):
                is_own = table.declaration in around(use, "declaration")
                if is_own or outermost(use, FUNCTIONS) is not None:
                    continue
                return False  # Another declaration of it would stay as it is.
            place = element_at(use, table.element, table.dimensions, home)
            if place is None or not takes_value(place, table.element, home):
                return False
    return True


def _knows(sources: SourceText, file: str, table: _Table) -> bool:
    """Whether a name in another of the project's files may be the table.

    It declares it, or includes what does; any other has something else of the name.
    """
    name = table.name.decode()
    if re.search(rf"\bextern\b[^;{{}}()]*\b{name}\b", sources.code(file)):
        return True
    declares = os.path.basename(table.home.path)
    reached = (file, *sources.quoted(file, searched=True))
    included = re.compile(rf'#\s*include\s*[<"](?:[^<>"]*/)?{re.escape(declares)}[">]')
    return any(included.search(line) for one in reached for line in sources.bare_lines(one))


def _unrolled(target: Target, tables: Collection[bytes]) -> tuple[Edit, ...]:
    """Pragmas before the loops that read the tables, or index the array."""
    made: list[Edit | None] = []
    for one in files_of(target):
        loops = [*indexing_loops(one), *_reading_loops(one, tables)]
        made += [unroll_edit(one, loop) for loop in loops]
    return tuple(dict.fromkeys(edit for edit in made if edit is not None))


def _reading_loops(target: Target, tables: Collection[bytes]) -> Iterator[Node]:
    """Loops whose counters index tables, in the functions that accesses of the array are in."""
    lines = lines_of(target)
    for node in walk(target.syntax.root):
        if node.type != "subscript_expression":
            continue
        argument = node.child_by_field_name("argument")
        if argument is None or target.syntax.text(argument) not in tables:
            continue
        function = outermost(node, FUNCTIONS)
        if function is None or not any(
            function.start_point.row < line <= function.end_point.row + 1 for line in lines
        ):
            continue
        names = index_names(node, target)
        for loop in around(node, *LOOPS):
            if names & counters(loop, target) and not loop.has_error:
                yield loop


REWRITE = Rewrite(
    "const-indices",
    frozenset({"dynamic-index"}),
    propose,
    __name__,
    nothing="its indices are not read from constant tables that could be const",
)
