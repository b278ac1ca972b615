"""Whether each turn of a loop uses an array's element before anything else can happen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.written import is_pure_call
from lmemscope.sources.syntax import around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_BRANCHING = ("for_statement", "if_statement", "compound_statement")
_LEAVING = (
    *("return_statement", "goto_statement", "labeled_statement", "throw_statement"),
    *("gnu_asm_expression", "lambda_expression", "while_statement", "do_statement"),
    *("switch_statement", "co_await_expression", "co_return_statement"),
)
_CONDITIONAL = ("conditional_expression", "lambda_expression", "sizeof_expression", "decltype")


def begins_with_use(
    target: Target, body: Node, uses: Sequence[Node], dimensions: int, counter: bytes
) -> bool:
    """Whether each turn uses an element before anything could end it, the loop or the thread.

    Args:
        target: whose variable it is.
        body: of the loop.
        uses: subscripts of the array.
        dimensions: of the array: fewer subscripts make a pointer, and read nothing.
        counter: of the loop, never negative.
    """
    statements = (
        [one for one in body.named_children if one.type != "comment"]
        if body.type == "compound_statement"
        else [body]
    )
    for statement in statements:
        first = _first_turn(statement, counter, target)
        if first is not None and begins_with_use(target, first, uses, dimensions, counter):
            return True
        if not _comes_to_its_end(statement, target):
            return False
        if statement.type in _BRANCHING:
            continue
        inside = [
            one for one in uses if _is_within(one, statement) and not _is_pointer(one, dimensions)
        ]
        if any(_is_certain(one, statement, target) for one in inside):
            return True
    return False


def _comes_to_its_end(statement: Node, target: Target) -> bool:
    """Whether what follows a statement is executed, whatever the statement does."""
    if statement.type not in ("expression_statement", "declaration", *_BRANCHING):
        return False
    syntax = target.syntax
    is_branching = statement.type in _BRANCHING
    if is_branching and b"volatile" in target.meanings.words:
        return False  # A loop may wait for another thread, and never end.
    for one in walk(statement):
        if one.type in _LEAVING or one.type.startswith("preproc"):
            return False
        if one.type == "call_expression" and not is_pure_call(one, target):
            return False
        if one.type == "for_statement" and one.child_by_field_name("condition") is None:
            return False
        if one.type in ("break_statement", "continue_statement"):
            inner = next(around(one, "for_statement"), None)
            if inner is None or not _is_within(inner, statement):
                return False
    return not target.meanings.is_conditional(words_of([syntax.text(statement)]))


def _first_turn(statement: Node, counter: bytes, target: Target) -> Node | None:
    """The body of ``for (int j = 0; j <= i; …)``, where a counter ``i`` is not negative."""
    if statement.type != "for_statement":
        return None
    initial, condition = (statement.child_by_field_name(p) for p in ("initializer", "condition"))
    if initial is None or condition is None or initial.type != "declaration":
        return None
    made = initial.children_by_field_name("declarator")
    if len(made) != 1 or made[0].type != "init_declarator":
        return None
    name, value = (made[0].child_by_field_name(part) for part in ("declarator", "value"))
    if name is None or value is None or target.syntax.text(value) != b"0":
        return None
    own = target.syntax.text(name)
    text = target.syntax.text(condition).replace(b" ", b"")
    has_one = own != counter and text == own + b"<=" + counter
    return statement.child_by_field_name("body") if has_one else None


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
