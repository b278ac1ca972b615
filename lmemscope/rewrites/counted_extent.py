"""The extent of an array that a loop's counter indexes, for loops that are bounded by it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.first_use import begins_with_use, position_of
from lmemscope.rewrites.loops import index_of
from lmemscope.rewrites.places import (
    array_at,
    extent_of,
    is_declared_again,
    is_declared_name,
    known_arrays,
)
from lmemscope.rewrites.rows import is_first_row
from lmemscope.sources.syntax import Declared, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 128
"""Turns: beyond these the code of an unrolled loop is larger than what it saves."""
_EXTENT = re.compile(r"\[(\d+)\]")


def counted_extent(
    target: Target, loop: Node, counter: bytes, body: Node
) -> tuple[bytes | None, bool]:
    """The extent that the counter alone indexes, and whether each turn begins with such a use."""
    declared = target.declared
    assert declared is not None
    found: dict[bytes, None] = {}
    first: list[Node] = []
    goes_on = False
    for subscript in own_subscripts(target):
        if all(one != loop for one in around(subscript, "for_statement")):
            continue
        position = position_of(subscript)
        index = index_of(subscript)
        if index is None or target.syntax.text(index) != counter:
            continue
        extent = _of(target, position)
        if extent is None:
            return None, False
        found[extent] = None
        first.append(subscript)
        goes_on = goes_on or _may_go_on(subscript, target)
    if len(found) != 1:
        return None, False
    (extent,) = found
    first += _beside(target, body, counter)
    is_sure = not (goes_on or _is_of_rows(declared.statement, target)) and begins_with_use(
        target, body, first, len(declared.extents), counter
    )
    return extent, is_sure


def _may_go_on(subscript: Node, target: Target) -> bool:
    """Whether a subscript is of an array's first row, and may find the next one's elements."""
    row = subscript.child_by_field_name("argument")
    index = index_of(row) if row is not None and row.type == "subscript_expression" else None
    return index is not None and is_first_row(index, target)


def _is_of_rows(statement: Node, target: Target) -> bool:
    """Whether a declaration's type is a name for arrays."""
    kind = statement.child_by_field_name("type")
    return kind is None or target.meanings.is_row(target.syntax.text(kind))


def _beside(target: Target, body: Node, counter: bytes) -> Iterator[Node]:
    """Elements that a body uses by the counter, of other local arrays of the same extent."""
    declared, syntax = target.declared, target.syntax
    extent = extent_of(declared.array, syntax) if declared and declared.array else None
    if declared is None or extent is None or len(declared.extents) != 1:
        return
    names, own = known_arrays((body,), extent, syntax), declared.statement
    for node in walk(body):
        if node.type != "subscript_expression":
            continue
        array, index = node.child_by_field_name("argument"), index_of(node)
        if array is None or index is None or syntax.text(index) != counter:
            continue
        other = array_at(syntax.text(array), node, syntax) if syntax.text(array) in names else None
        statement = None if other is None else next(around(other, "declaration"), None)
        if other is None or statement is None or _is_of_rows(statement, target):
            continue
        inner = other.child_by_field_name("declarator")
        if inner is None or inner.type != "identifier":
            continue  # Its elements are rows.
        if not _is_local_name(extent.text, min(statement.start_byte, own.start_byte), target):
            yield node


def _is_local_name(text: bytes, before: int, target: Target) -> bool:
    """Whether arrays behind a byte may see another meaning of a name in their extents each.

    What a function declares by such a name itself must be one thing, before both.
    """
    declared, words = target.declared, set(words_of([text]))
    assert declared is not None
    local = [
        node
        for node in walk(declared.function)
        if node.type in ("identifier", "type_identifier")
        and target.syntax.text(node) in words
        and is_declared_name(node)
    ]
    return len(local) > 1 or any(node.start_byte >= before for node in local)


def own_subscripts(target: Target) -> Iterator[Node]:
    """The subscripts of the variable itself: not of a member that is called like it."""
    declared = target.declared
    assert declared is not None
    for name in target.syntax.uses(declared.name, declared.scope):
        node = name
        while node.parent is not None and node.parent.type == "subscript_expression":
            if node.parent.child_by_field_name("argument") != node:
                break
            node = node.parent
            yield node


def is_shadowed(target: Target, declared: Declared) -> bool:
    """Whether something else in its scope is declared by its name, or a macro may use it."""
    syntax = target.syntax
    name = syntax.text(declared.name)
    return name in syntax.macros or any(
        is_declared_name(node) for node in syntax.uses(declared.name, declared.scope)
    )


def _of(target: Target, position: int) -> bytes | None:
    """An extent of the array, as a number where it is known; None beyond what is worth it."""
    declared = target.declared
    assert declared is not None
    numbers = {tuple(_EXTENT.findall(hit.finding.type or "")) for hit in target.hits}
    known = [int(one[position]) for one in numbers if position < len(one)]
    if any(number > MOST for number in known) or position >= len(declared.extents):
        return None
    extent = declared.extents[position]
    if extent is not None:
        text = target.syntax.text(extent)
        if target.meanings.is_redefined(words_of([text])) or is_declared_again(
            text, declared, target.syntax
        ):
            return None  # It may mean something else at the loop.
        whole = extent.type in ("number_literal", "identifier", "parenthesized_expression")
        return text if whole else b"(" + text + b")"
    return str(known[0]).encode() if len(set(known)) == 1 else None
