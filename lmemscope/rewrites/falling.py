"""Loops that count down from a run-time number, as a back substitution does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.loops import is_constant_name, is_number
from lmemscope.rewrites.variables import changed_by, is_only_counted, number_at, step_of
from lmemscope.sources.syntax import walk

if TYPE_CHECKING:
    from tree_sitter import Node

_MADE_OF = ("identifier", "number_literal", "binary_expression", "parenthesized_expression")
_ENDS = (b">", b">=")


@dataclass(frozen=True, slots=True)
class Falling:
    """A loop's head.

    Attributes:
        counter: that it declares.
        type: of the counter, as written.
        start: what the counter begins at, which nothing in the loop changes.
    """

    counter: bytes
    type: bytes
    start: Node


def falling(loop: Node, target: Target) -> Falling | None:
    """The head of ``for (int i = n - 1; i >= 0; --i)``; None of any other loop."""
    syntax = target.syntax
    parts = [loop.child_by_field_name(one) for one in ("initializer", "condition", "update")]
    initial, condition, update = parts
    if loop.type != "for_statement" or initial is None or condition is None or update is None:
        return None
    made = initial.children_by_field_name("declarator") if initial.type == "declaration" else []
    if len(made) != 1 or made[0].type != "init_declarator":
        return None
    name, start = (made[0].child_by_field_name(one) for one in ("declarator", "value"))
    if name is None or name.type != "identifier" or start is None:
        return None
    counter = syntax.text(name)
    number = number_at(counter, condition, syntax)
    if number is None or not number.is_signed or not is_only_counted(number, syntax):
        return None
    if step_of(update, syntax) != (counter, -1) or not _ends_at_number(condition, counter, target):
        return None
    changed = {one for node in walk(loop) if node != update for one in changed_by(node, syntax)}
    if counter in changed or not _is_fixed(start, changed, target):
        return None
    return Falling(counter, syntax.data[initial.start_byte : made[0].start_byte].strip(), start)


def _ends_at_number(condition: Node, counter: bytes, target: Target) -> bool:
    if condition.type != "binary_expression":
        return False
    left, operator, right = (
        condition.child_by_field_name(one) for one in ("left", "operator", "right")
    )
    if left is None or operator is None or right is None or right.type != "number_literal":
        return False
    return target.syntax.text(left) == counter and target.syntax.text(operator) in _ENDS


def _is_fixed(start: Node, changed: set[bytes], target: Target) -> bool:
    """Whether a start that is no constant has one value whenever the loop's body asks for it."""
    syntax = target.syntax
    if is_number(start, target) or target.meanings.has_effects(words_of([syntax.text(start)])):
        return False
    for one in walk(start):
        if one.is_named and one.type not in _MADE_OF:
            return False
        if one.type != "identifier" or is_constant_name(one, target):
            continue
        number = number_at(syntax.text(one), start, syntax)
        if number is None or syntax.text(one) in changed:
            return False
        if not number.is_const and not is_only_counted(number, syntax):
            return False
    return True
