"""Whole-number expressions of a source computed for some values of their variables, as C does.

What a rewrite has to know of an index or of a step of one, it tries out for every value: an
expression is of few operators, and its variables have few values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.sources.syntax import Syntax, first_named

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERAL = re.compile(rb"(0[xX][0-9a-fA-F]+|[1-9]\d*|0)([uU]?)([lL]{0,2})([uU]?)")


class UndefinedError(Exception):
    """The language gives the expression no value: an overflow, or a division by zero."""


class UnknownError(Exception):
    """It has something that is not computed."""


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

    def promoted(self) -> Value:
        """As an operator takes it: at least as an ``int``."""
        return self if self.bits >= 32 else Value(self.number)


Named = Callable[["Node"], Value]
"""The value of an identifier. Raises `UnknownError`."""


def computed(node: Node, syntax: Syntax, named: Named) -> Value:
    """The value of an expression that changes nothing.

    Raises:
        UndefinedError, UnknownError: see there.
    """
    return _Computer(syntax, named).value(node)


@dataclass
class Variables:
    """Variables that statements change: their values by name, with the types they are stored in."""

    values: dict[bytes, Value]


def executed(statements: Sequence[Node], syntax: Syntax, named: Named, own: Variables) -> None:
    """Run statements that change some variables, and nothing else.

    Raises:
        UndefinedError, UnknownError: see there.
    """
    machine = _Computer(syntax, named, own)
    for one in statements:
        machine.run(one)


class _Computer:
    def __init__(self, syntax: Syntax, named: Named, own: Variables | None = None) -> None:
        self._syntax, self._named, self._own = syntax, named, own

    def run(self, node: Node) -> None:
        if node.type == "compound_statement":
            for one in node.named_children:
                self.run(one)
        elif node.type == "expression_statement" and first_named(node) is not None:
            self.value(_given(first_named(node)))
        elif node.type == "if_statement":
            clause = _given(node.child_by_field_name("condition"))
            asked = _given(clause.child_by_field_name("value"))
            other = node.child_by_field_name("alternative")
            if self.value(asked).number:
                self.run(_given(node.child_by_field_name("consequence")))
            elif other is not None:
                self.run(other.named_children[-1])
        elif node.type in ("assignment_expression", "update_expression"):
            self.value(node)
        elif node.type != "comment":
            raise UnknownError

    def value(self, node: Node) -> Value:
        kind, text = node.type, self._syntax.text(node)
        if kind in ("parenthesized_expression", "condition_clause"):
            return self.value(_given(first_named(node)))
        if kind == "number_literal":
            return _literal(text)
        if kind == "identifier":
            if self._own is not None and text in self._own.values:
                return self._own.values[text]
            return self._named(node)
        if kind == "unary_expression":
            return self._unary(node)
        if kind == "binary_expression":
            return self._binary(node)
        if kind == "conditional_expression":
            asked = self.value(_given(node.child_by_field_name("condition"))).number
            parts = [
                self.value(_given(node.child_by_field_name(one)))
                for one in ("consequence", "alternative")
            ]
            first, second = _together(*parts)
            return first if asked else second
        if kind == "cast_expression":
            return self._cast(node)
        if kind in ("assignment_expression", "update_expression"):
            return self._changed(node)
        raise UnknownError

    def _cast(self, node: Node) -> Value:
        kind = self._syntax.text(_given(node.child_by_field_name("type")))
        known = {b"int": (True, 32), b"unsigned": (False, 32), b"unsigned int": (False, 32)}
        if kind not in known:
            raise UnknownError
        return self.value(_given(node.child_by_field_name("value"))).to(*known[kind])

    def _unary(self, node: Node) -> Value:
        operator = self._syntax.text(_given(node.child_by_field_name("operator")))
        given = self.value(_given(node.child_by_field_name("argument"))).promoted()
        if operator == b"!":
            return Value(int(not given.number))
        made = {b"-": -given.number, b"+": given.number, b"~": ~given.number}.get(operator)
        if made is None:
            raise UnknownError
        return _fitting(made, given)

    def _binary(self, node: Node) -> Value:
        operator = self._syntax.text(_given(node.child_by_field_name("operator")))
        left = self.value(_given(node.child_by_field_name("left")))
        if operator in (b"&&", b"||"):
            if bool(left.number) == (operator == b"||"):
                return Value(int(bool(left.number)))
            right = self.value(_given(node.child_by_field_name("right")))
            return Value(int(bool(right.number)))
        right = self.value(_given(node.child_by_field_name("right")))
        return _combined(operator, left, right)

    def _changed(self, node: Node) -> Value:
        field = "argument" if node.type == "update_expression" else "left"
        name = _given(node.child_by_field_name(field))
        own = self._own.values if self._own is not None else {}
        key = self._syntax.text(name)
        if name.type != "identifier" or key not in own:
            raise UnknownError
        before = own[key]
        operator = _given(node.child_by_field_name("operator"))
        written = self._syntax.text(operator)
        if node.type == "update_expression":
            made = _combined(written[:1], before, Value(1))
        else:
            right = self.value(_given(node.child_by_field_name("right")))
            made = right if written == b"=" else _combined(written[:-1], own[key], right)
        own[key] = made.to(before.is_signed, before.bits)
        is_postfix = node.type == "update_expression" and operator.start_byte > name.start_byte
        return before if is_postfix else own[key]


def _combined(operator: bytes, left: Value, right: Value) -> Value:
    left, right = _together(left, right)
    one, other = left.number, right.number
    if operator in (b"/", b"%"):
        if other == 0:
            raise UndefinedError
        quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
        return _fitting(quotient if operator == b"/" else one - quotient * other, left)
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
        b"|": one | other,
        b"^": one ^ other,
    }
    if operator not in made:
        raise UnknownError
    return _fitting(made[operator], left)


def _together(left: Value, right: Value) -> tuple[Value, Value]:
    """Both as the type that C combines them in."""
    left, right = left.promoted(), right.promoted()
    bits = max(left.bits, right.bits)
    wider = [one for one in (left, right) if one.bits == bits]
    is_signed = all(one.is_signed for one in wider)
    return left.to(is_signed, bits), right.to(is_signed, bits)


def _fitting(number: int, like: Value) -> Value:
    if like.is_signed and not -(1 << (like.bits - 1)) <= number < 1 << (like.bits - 1):
        raise UndefinedError
    return Value(number, like.is_signed, like.bits).to(like.is_signed, like.bits)


def _literal(text: bytes) -> Value:
    found = _LITERAL.fullmatch(text)
    if found is None:
        raise UnknownError
    number = int(found[1], 0)
    is_signed, bits = not (found[2] or found[4]), 64 if found[3] else 32
    if number >= 1 << 31:
        raise UnknownError
    return Value(number, is_signed, bits)


def _given(node: Node | None) -> Node:
    if node is None:
        raise UnknownError
    return node
