"""Whether each turn of a loop uses an array's element before anything else can happen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.purity import is_pure_call
from lmemscope.rewrites.value_uses import VECTORS
from lmemscope.sources.syntax import around, holds, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_BRANCHING = ("for_statement", "if_statement", "compound_statement")
_LEAVING = (
    *("return_statement", "goto_statement", "labeled_statement", "throw_statement"),
    *("gnu_asm_expression", "lambda_expression", "while_statement", "do_statement"),
    *("switch_statement", "co_await_expression", "co_return_statement"),
)
_CONDITIONAL = ("conditional_expression", "lambda_expression", "sizeof_expression", "decltype")
_BARE = (
    *("parenthesized_expression", "comma_expression", "initializer_list", "argument_list"),
    "conditional_expression",
)
_NUMBERS = ("primitive_type", "sized_type_specifier", "placeholder_type_specifier")
_ENDING = re.compile(rb"\b(?:asm|__asm__|__asm)\b|\b__(?:trap|brkpt)\s*\(")
"""What may end a thread, where no call is seen: in an operator, or a constructor."""


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
        inside = [one for one in uses if holds(statement, one) and not _is_pointer(one, dimensions)]
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
    if target.meanings.classes and target.meanings.has(_ENDING):
        return False
    for one in walk(statement):
        if one.type in _LEAVING or one.type.startswith("preproc"):
            return False
        if one.type == "call_expression" and not is_pure_call(one, target):
            return False
        if one.type == "for_statement" and one.child_by_field_name("condition") is None:
            return False
        if one.type in ("break_statement", "continue_statement"):
            inner = next(around(one, "for_statement"), None)
            if inner is None or not holds(statement, inner):
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
    node, is_bare = use, True
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
        if above.type == "init_declarator" and not _is_read_into(above, use, is_bare, target):
            return False
        if above.type == "cast_expression":
            kind = above.child_by_field_name("type")
            text = b"void" if kind is None else target.syntax.text(kind)
            if text == b"void" or b"&" in text:
                return False
        if above.type == "call_expression":
            called = above.child_by_field_name("function")
            text = b"&" if called is None else target.syntax.text(called)
            if b"&" in text or b"void" in text:
                return False
        if is_bare and above.type == "expression_statement":
            return False  # `a[i];` reads nothing.
        if above.type == "field_expression" and node != use:
            return False
        is_bare = is_bare and above.type in _BARE
        node = above
    return True


def _is_read_into(declarator: Node, use: Node, is_bare: bool, target: Target) -> bool:
    """Whether what is made of an element is a value: an object may hold a reference to it."""
    named, statement = declarator.child_by_field_name("declarator"), declarator.parent
    if named is None or named.type == "reference_declarator" or statement is None:
        return False
    kind = statement.child_by_field_name("type")
    if not is_bare or kind is None or kind.type in _NUMBERS:
        return True
    text, own = target.syntax.text(kind), target.declared
    if own is not None and target.syntax.text(own.name) == _name(use, target):
        element = own.statement.child_by_field_name("type")
        if element is not None and target.syntax.text(element) == text:
            return not target.meanings.copies_otherwise()
    return VECTORS.fullmatch(text) is not None or not (
        b"<" in text or text.rpartition(b"::")[2] in target.meanings.classes
    )


def _name(use: Node, target: Target) -> bytes:
    """Of the array that an element is of."""
    return target.syntax.text(use).partition(b"[")[0].strip()


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
