"""Loops over all elements of an array that ask none of them where it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.rewrites.ages import Counter
from lmemscope.rewrites.arrays import LocalArray, Use, is_whole
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.loops import is_constant_name
from lmemscope.rewrites.purity import is_pure, kinds_of
from lmemscope.rewrites.variables import number_at
from lmemscope.sources.syntax import around, first_named, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_INTEGER = re.compile(rb"(?:0[xXbB][\da-fA-F']+|\d[\d']*)[uUlLzZ]*")
_COMPUTING = (
    *("binary_expression", "unary_expression", "parenthesized_expression", "comment"),
    *("conditional_expression", "char_literal", "true", "false"),
    *("subscript_expression", "subscript_argument_list"),
)
_LITERALS = ("number_literal", "char_literal", "true", "false")


def sets_all(use: Use, counter: Counter, target: Target) -> bool:
    """Whether a loop gives every element the same constant."""
    if use.kind != "assign" or use.whole.parent is None or use.element is None:
        return False
    if use.whole.child_by_field_name("left") != use.element:
        return False
    if not _is_all(use.whole.parent, counter):
        return False
    value = use.whole.child_by_field_name("right")
    return value is not None and all(
        one.type in _LITERALS
        or not one.is_named
        or one.type in ("unary_expression", "parenthesized_expression")
        or (one.type == "identifier" and _is_fixed(one, counter, target))
        for one in walk(value)
    )


def _is_fixed(name: Node, counter: Counter, target: Target) -> bool:
    """Whether a name means the same in each turn of a loop."""
    if is_constant_name(name, target):
        return True
    number = target.syntax.text(name)
    assigned = (one for one in walk(counter.loop) if one.type == "assignment_expression")
    is_put = all(
        (left := one.child_by_field_name("left")) is not None
        and left.type == "subscript_expression"
        for one in assigned
    )
    calls = ("call_expression", "pointer_expression", "declaration", "lambda_expression")
    body = counter.loop.child_by_field_name("body")
    return (
        is_put
        and body is not None
        and number != target.syntax.text(counter.number.name)
        and not any(one.type in (*calls, "update_expression") for one in walk(body))
        and _is_local(name, target)
    )


def _is_local(name: Node, target: Target) -> bool:
    """Whether a name is a local variable that is no reference: nothing else is stored in it."""
    wanted = target.syntax.text(name)
    for block in around(name, "compound_statement"):
        for one in block.named_children:
            if one.type != "declaration" or one.start_byte > name.start_byte:
                continue
            for declarator in one.children_by_field_name("declarator"):
                named = declarator.child_by_field_name("declarator") or declarator
                if named.type == "identifier" and target.syntax.text(named) == wanted:
                    return True
    return False


def adds_all(use: Use, counter: Counter, array: LocalArray, target: Target) -> str | None:
    """What is promised of a loop that adds up all elements; None of another loop, "" of nothing.

    Whole numbers add up to the same in any order where the total has no sign; what each turn
    rounds to one does not.
    """
    statement = use.name
    while statement.parent is not None and statement.type != "expression_statement":
        statement = statement.parent
    added = first_named(statement)
    syntax = array.syntax
    if added is None or added.type != "assignment_expression" or use.kind != "read":
        return None
    if not _is_all(statement, counter) or not _is_only(statement, counter):
        return None
    left, right = added.child_by_field_name("left"), added.child_by_field_name("right")
    operator = added.child_by_field_name("operator")
    if left is None or right is None or operator is None or left.type != "identifier":
        return None
    if syntax.text(operator) != b"+=" or not is_pure(right, target):
        return None
    name, own = syntax.text(left), syntax.text(counter.number.name)
    for one in walk(right):
        if one.type != "identifier":
            continue
        if syntax.text(one) == name:
            return None
        is_index = any(
            other.indices and other.indices[0].start_byte == one.start_byte for other in array.uses
        )
        if syntax.text(one) == own and not is_index:
            return None
    total = number_at(name, left, syntax)
    if total is not None and not total.is_signed and _is_whole(right, array, target):
        return ""
    return f"adding up `{target.name}` in another order is the same"


def _is_whole(value: Node, array: LocalArray, target: Target) -> bool:
    """Whether a value is computed of whole numbers alone, elements of the array among them."""
    syntax = array.syntax
    if not is_whole(target.type or ""):
        return False
    elements = [use.element for use in array.uses if use.element is not None]
    pending = [value]
    while pending:
        one = pending.pop()
        if one in elements or not one.is_named:
            continue
        if one.type == "number_literal":
            if _INTEGER.fullmatch(syntax.text(one)) is None:
                return False
        elif one.type == "identifier":
            kinds = [kind.decode(errors="replace") for kind, _ in kinds_of(one, target)]
            if not kinds or not all(map(is_whole, kinds)):
                return False
        elif one.type not in _COMPUTING:
            return False
        pending += one.children
    return True


def _is_all(statement: Node, counter: Counter) -> bool:
    """Whether a loop does a statement in each turn: it is its body, or stands in it."""
    body = counter.loop.child_by_field_name("body")
    if statement.type != "expression_statement" or body is None:
        return False
    leaving = ("break_statement", "continue_statement", "return_statement", "goto_statement")
    if any(one.type in leaving for one in walk(body)):
        return False
    return statement == body or statement.parent == body


def _is_only(statement: Node, counter: Counter) -> bool:
    """Whether a loop does nothing else."""
    body = counter.loop.child_by_field_name("body")
    if body is None or statement == body:
        return body is not None
    return [one for one in body.named_children if one.type != "comment"] == [statement]
