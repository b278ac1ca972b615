"""Loops that count down from a run-time number, as a back substitution does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.loops import is_constant_name, is_number
from lmemscope.rewrites.steady import is_steady
from lmemscope.rewrites.variables import number_at, step_of
from lmemscope.sources.syntax import walk

if TYPE_CHECKING:
    from tree_sitter import Node

_MADE_OF = ("identifier", "number_literal", "binary_expression", "parenthesized_expression")
_ENDS = (b">", b">=")
_SIGNED = re.compile(rb"-?\d+")
"""An unsigned number would make the comparison one of unsigned numbers."""


@dataclass(frozen=True, slots=True)
class Falling:
    """A loop's head.

    Attributes:
        counter: that it declares.
        type: of the counter, as written.
        start: what the counter begins at, which nothing in the loop changes.
        is_exact: whether the counter can be all that the start can be: a promise of one is of both.
        is_natural: whether the counter is never negative in a turn.
    """

    counter: bytes
    type: bytes
    start: Node
    is_exact: bool
    is_natural: bool


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
    if number is None or not number.is_signed or not is_steady(number, loop, target, update):
        return None
    if step_of(update, syntax) != (counter, -1) or not _ends_at_number(condition, counter, target):
        return None
    if not _is_fixed(start, loop, target):
        return None
    kind = syntax.code[initial.start_byte : made[0].start_byte].strip()
    is_exact = _is_exact(start, kind, is_wide=number.is_wide, target=target)
    end = syntax.text(condition).replace(b" ", b"")[len(counter) :]
    return Falling(counter, kind, start, is_exact, not end.startswith((b">=-", b">-")))


def _ends_at_number(condition: Node, counter: bytes, target: Target) -> bool:
    if condition.type != "binary_expression":
        return False
    left, operator, right = (
        condition.child_by_field_name(one) for one in ("left", "operator", "right")
    )
    if left is None or operator is None or right is None:
        return False
    if _SIGNED.fullmatch(target.syntax.text(right).replace(b" ", b"")) is None:
        return False
    return target.syntax.text(left) == counter and target.syntax.text(operator) in _ENDS


def _is_exact(start: Node, kind: bytes, *, is_wide: bool, target: Target) -> bool:
    """Whether no conversion to the counter's type can change what a loop starts at."""
    if is_wide:
        return True
    numbers = [
        number_at(target.syntax.text(one), start, target.syntax)
        for one in walk(start)
        if one.type == "identifier" and not is_constant_name(one, target)
    ]
    return kind == b"int" and not any(one is None or one.is_wide for one in numbers)


def _is_fixed(start: Node, loop: Node, target: Target) -> bool:
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
        if number is None or not is_steady(number, loop, target):
            return False
    return True
