"""Loops that count down from a run-time number, as a back substitution does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.loops import is_constant_name, is_number
from lmemscope.rewrites.steady import is_steady
from lmemscope.rewrites.variables import head_of, number_at
from lmemscope.sources.syntax import walk

if TYPE_CHECKING:
    from tree_sitter import Node

_MADE_OF = ("identifier", "number_literal", "binary_expression", "parenthesized_expression")
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
    head = head_of(loop, syntax)
    if head is None or head.start is None or head.step > 0 or head.sign not in (b">", b">="):
        return None
    counter, start, end = head.counter, head.start, syntax.text(head.bound).replace(b" ", b"")
    number = number_at(counter, head.condition, syntax)
    if number is None or not number.is_signed or _SIGNED.fullmatch(end) is None:
        return None
    if not is_steady(number, loop, target, head.update):
        return None
    if not _is_fixed(start, loop, target):
        return None
    kind = syntax.code[head.initial.start_byte : number.name.start_byte].strip()
    is_exact = _is_exact(start, kind, is_wide=number.is_wide, target=target)
    return Falling(counter, kind, start, is_exact, not end.startswith(b"-"))


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
