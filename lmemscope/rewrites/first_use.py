"""Whether each turn of a loop uses an array's element before anything else can happen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.written import is_pure_call
from lmemscope.sources.syntax import walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CONDITIONAL = ("conditional_expression", "lambda_expression", "sizeof_expression", "decltype")


def begins_with_use(target: Target, body: Node, uses: Sequence[Node], dimensions: int) -> bool:
    """Whether each turn uses an element before anything could end it, the loop or the thread.

    Args:
        target: whose variable it is.
        body: of the loop.
        uses: subscripts of the array.
        dimensions: of the array: fewer subscripts make a pointer, and read nothing.
    """
    statements = (
        [one for one in body.named_children if one.type != "comment"]
        if body.type == "compound_statement"
        else [body]
    )
    for statement in statements:
        if statement.type not in ("expression_statement", "declaration"):
            return False
        if not all(
            is_pure_call(one, target) for one in walk(statement) if one.type == "call_expression"
        ):
            return False
        if any(one.type in ("gnu_asm_expression", "lambda_expression") for one in walk(statement)):
            return False
        if target.meanings.is_conditional(words_of([target.syntax.text(statement)])):
            return False
        inside = [
            one for one in uses if _is_within(one, statement) and not _is_pointer(one, dimensions)
        ]
        if any(_is_certain(one, statement, target) for one in inside):
            return True
    return False


def _is_certain(use: Node, statement: Node, target: Target) -> bool:
    """Whether a statement reads or writes an element whatever happens."""
    node = use
    while node != statement and node.parent is not None:
        above = node.parent
        if above.type in _CONDITIONAL and node != above.child_by_field_name("condition"):
            return False
        if above.type == "binary_expression" and node == above.child_by_field_name("right"):
            operator = above.child_by_field_name("operator")
            if operator is None or target.syntax.text(operator) in (b"&&", b"||", b"and", b"or"):
                return False
        if above.type == "pointer_expression":
            return False
        if above.type == "init_declarator":
            declarator = above.child_by_field_name("declarator")
            if declarator is None or declarator.type == "reference_declarator":
                return False
        if above.type == "field_expression" and node != use:
            return False
        node = above
    return True


def position_of(subscript: Node) -> int:
    """Which dimension of its array a subscript is of, from 0."""
    inner, depth = subscript.child_by_field_name("argument"), 0
    while inner is not None and inner.type == "subscript_expression":
        inner, depth = inner.child_by_field_name("argument"), depth + 1
    return depth


def _is_pointer(use: Node, dimensions: int) -> bool:
    """Whether the subscripts stop before the last dimension: nothing is read then."""
    depth, node = position_of(use) + 1, use
    while node.parent is not None and node.parent.type == "subscript_expression":
        if node.parent.child_by_field_name("argument") != node:
            break
        node, depth = node.parent, depth + 1
    return depth < dimensions


def _is_within(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte
