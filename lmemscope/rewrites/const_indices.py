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
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting, count
from lmemscope.rewrites.base import Rewrite, Target
from lmemscope.rewrites.index_tables import IndexTable, index_tables
from lmemscope.rewrites.likelihood import fits_registers, is_reached_by_index_alone
from lmemscope.rewrites.loops import LOOPS, counters, index_names, indexing_loops, unroll_edit
from lmemscope.rewrites.places import is_declared_name
from lmemscope.rewrites.value_uses import element_at, takes_value
from lmemscope.rewrites.written import files_of, in_file, lines_of
from lmemscope.rules.indexing import listed
from lmemscope.sources.syntax import FUNCTIONS, around, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SPACE = re.compile(rb"__(?:constant|device)__(?!\w)")


def propose(target: Target) -> Iterator[Rewriting]:
    """The word `const` in the declarations; that, and the loops that read the tables unrolled."""
    tables = [index_tables(hit.case) for hit in target.hits]
    every = {one.name: one for each in tables for one in each}
    if not all(tables) or not all(_is_read(target, one) for one in every.values()):
        return
    found = [_declared_const(target, one) for one in every.values() if not one.is_const]
    edits = tuple(edit for edit in found if edit is not None)
    if not edits or len(edits) != len(found):
        return
    names = listed([f"`{one.name}`" for one in every.values() if not one.is_const])
    them = "it" if len(edits) == 1 else "them"
    summary = f"make {names} const, so that indices read from {them} can be constants"
    yield Rewriting("const-indices", "safe", edits, summary)
    loops = _unrolled(target, {name.encode() for name in every})
    if loops:
        text = f"{summary}, and unroll {count(len(loops), 'loop')}"
        yield Rewriting("const-indices", "safe", (*edits, *loops), text)


def _is_read(target: Target, table: IndexTable) -> bool:
    """Whether the value of an element is all that a project takes of a table."""
    name, element = table.name.encode(), table.type.encode()
    own = os.path.abspath(table.place.file)
    homes = [in_file(target, file) for file in dict.fromkeys((*target.files, *table.files))]
    for home in homes:
        if home is None or name in home.syntax.macros:
            return False
        for use in walk(home.syntax.root):
            if use.type != "identifier" or home.syntax.text(use) != name:
                continue
            if is_declared_name(use):
                rows = {one.start_point.row for one in around(use, "declaration")}
                is_own = table.place.line - 1 in rows and home.path == own
                if is_own or outermost(use, FUNCTIONS) is not None:
                    continue
                return False  # Another declaration of it would stay as it is.
            place = element_at(use, element, table.dimensions, home)
            if place is None or not takes_value(place, element, home):
                return False
    return True


def _declared_const(target: Target, table: IndexTable) -> Edit | None:
    """The word behind that of the table's memory; None where the declaration is not found."""
    place = in_file(target, os.path.abspath(table.place.file))
    if place is None:
        return None
    syntax, name = place.syntax, table.name.encode()
    if name in syntax.macros:
        return None
    for node in walk(syntax.root):
        if node.type != "declaration" or node.start_point.row != table.place.line - 1:
            continue
        text = syntax.text(node)
        space = _SPACE.search(text.partition(name)[0])
        if space is not None and len(node.children_by_field_name("declarator")) == 1:
            at = node.start_byte + space.end()
            return place.edit(at, at, b" const")
    return None


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


def _is_likely(target: Target) -> bool:
    """Whether constant indices leave nothing that keeps it in memory."""
    return is_reached_by_index_alone(target) and fits_registers(target)


REWRITE = Rewrite(
    "const-indices",
    frozenset({"dynamic-index"}),
    propose,
    __name__,
    nothing="its indices are not read from constant tables that could be const",
    is_likely=_is_likely,
)
