"""Whole-number expressions of a source computed for some values of their variables, as C does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.sources.syntax import Syntax, first_named

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERAL = re.compile(rb"(0[xX][0-9a-fA-F]+|[1-9]\d*|0)([uU]?)([lL]{0,2})([uU]?)")

_IF = ("condition", "consequence")


class UnknownError(Exception):
    """An expression has something that is not computed, or that the language gives no value."""


@dataclass(frozen=True, slots=True)
class Value:
    """A whole number with its type."""

    number: int
    is_signed: bool = True
    bits: int = 32

    def to(self, is_signed: bool, bits: int) -> Value:
        """As another type has it."""
        number = self.number % (1 << bits)
        if is_signed and number >= 1 << (bits - 1):
            number -= 1 << bits
        return Value(number, is_signed, bits)


Named = Callable[["Node"], Value]
"""The value of an identifier. Raises `UnknownError`."""


class Computer:
    """Computes expressions and statements that change one variable at most.

    Args:
        syntax: of the file.
        named: values of other names.
        name, value: the variable, and what it is; statements change it.
    """

    def __init__(self, syntax: Syntax, named: Named, name: bytes, value: Value) -> None:
        self._syntax, self._named, self._name, self.own = syntax, named, name, value

    def run(self, node: Node) -> None:
        """Run a statement, or an expression for its effect.

        Raises:
            UnknownError: see there.
        """
        if node.type == "compound_statement":
            for one in node.named_children:
                self.run(one)
        elif node.type == "if_statement":
            clause, then = (_given(node.child_by_field_name(one)) for one in _IF)
            if node.child_by_field_name("alternative") is not None:
                raise UnknownError
            if self.value(_given(clause.child_by_field_name("value"))).number:
                self.run(then)
        elif node.type != "comment":
            is_whole = node.type == "expression_statement"
            self.value(_given(first_named(node)) if is_whole else node)

    def value(self, node: Node) -> Value:
        """The value of an expression.

        Raises:
            UnknownError: see there.
        """
        kind, text = node.type, self._syntax.text(node)
        if kind == "parenthesized_expression":
            return self.value(_given(first_named(node)))
        if kind == "number_literal":
            return _literal(text)
        if kind == "identifier":
            return self.own if text == self._name else self._named(node)
        if kind in ("assignment_expression", "update_expression"):
            return self._changed(node)
        if kind == "conditional_expression":
            ways = (node.child_by_field_name(one) for one in (*_IF, "alternative"))
            asked, *parts = (self.value(_given(one)) for one in ways)
            return _together(*parts)[0 if asked.number else 1]
        operator = node.child_by_field_name("operator")
        written = b"" if operator is None else self._syntax.text(operator)
        if kind == "unary_expression" and written == b"-":
            argument = self.value(_given(node.child_by_field_name("argument")))
            return _combined(b"-", Value(0), argument)
        if kind != "binary_expression":
            raise UnknownError
        left, right = (_given(node.child_by_field_name(one)) for one in ("left", "right"))
        return _combined(written, self.value(left), self.value(right))

    def _changed(self, node: Node) -> Value:
        is_step = node.type == "update_expression"
        name = _given(node.child_by_field_name("argument" if is_step else "left"))
        if name.type != "identifier" or self._syntax.text(name) != self._name:
            raise UnknownError
        operator, before = _given(node.child_by_field_name("operator")), self.own
        written = self._syntax.text(operator)
        made = Value(1) if is_step else self.value(_given(node.child_by_field_name("right")))
        if written != b"=":
            made = _combined(written[:1], before, made)
        self.own = made.to(before.is_signed, before.bits)
        return before if is_step and operator.start_byte > name.start_byte else self.own


def _combined(operator: bytes, left: Value, right: Value) -> Value:
    left, right = _together(left, right)
    one, other = left.number, right.number
    compared = {
        b"<": one < other,
        b">": one > other,
        b"<=": one <= other,
        b">=": one >= other,
        b"==": one == other,
        b"!=": one != other,
    }
    if operator in compared:
        return Value(int(compared[operator]))
    made = {
        b"+": one + other,
        b"-": one - other,
        b"*": one * other,
        b"&": one & other,
    }
    if operator == b"%" and other:
        made[operator] = abs(one) % abs(other) * (-1 if one < 0 else 1)
    if operator not in made:
        raise UnknownError
    number, limit = made[operator], 1 << (left.bits - 1)
    if left.is_signed and not -limit <= number < limit:
        raise UnknownError
    return Value(number).to(left.is_signed, left.bits)


def _together(left: Value, right: Value) -> tuple[Value, Value]:
    """Both as the type that C combines them in."""
    bits = max(left.bits, right.bits, 32)
    is_signed = all(one.is_signed or one.bits < bits for one in (left, right))
    return left.to(is_signed, bits), right.to(is_signed, bits)


def _literal(text: bytes) -> Value:
    found = _LITERAL.fullmatch(text)
    if found is None or int(found[1], 0) >= 1 << 31:
        raise UnknownError
    return Value(int(found[1], 0), not (found[2] or found[4]), 64 if found[3] else 32)


def _given(node: Node | None) -> Node:
    if node is None:
        raise UnknownError
    return node
