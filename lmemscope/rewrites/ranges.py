"""Which whole numbers an expression can be, by what its source says of its variables.

A counter of a loop is between the loop's ends, a variable is what it began with or what is assigned
to it, and what is masked is no larger than the mask. All else is not known. Numbers are those of
``int``: an expression that may leave it, or that another type may turn round, has no range.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.given_numbers import check_given
from lmemscope.rewrites.loops import constant_at
from lmemscope.rewrites.purity import is_pure
from lmemscope.rewrites.settled import is_settled
from lmemscope.rewrites.steady import assigned, is_steady
from lmemscope.rewrites.variables import Number, head_of, number_at
from lmemscope.sources.syntax import around, first_named, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
_LITERAL = re.compile(rb"(?:0[xX][0-9a-fA-F]+|[1-9]\d*|0)([uU]?)")
_ASKING = frozenset((b"<", b">", b"<=", b">=", b"==", b"!=", b"&&", b"||"))
_BITS = 32
_ARITHMETIC = ("binary_expression", "unary_expression", "parenthesized_expression", "comment")
_DEEP = 12
"""Variables that one begins with another's value."""


@dataclass(frozen=True, slots=True)
class Range:
    """Whole numbers from one to another, both included.

    Attributes:
        low, high: the ends; of no number at all, the first is above the second.
        is_signed: whether the type is known to be ``int``, so that numbers below zero stay there.
        promises: what has to be so, and nothing shows.
    """

    low: int
    high: int
    is_signed: bool = True
    promises: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it is of no number: what a variable has that was never given one."""
        return self.low > self.high

    def with_(self, other: Range) -> Range:
        """The numbers of both."""
        promises = tuple(dict.fromkeys((*self.promises, *other.promises)))
        is_signed = self.is_signed and other.is_signed
        if self.is_empty or other.is_empty:
            kept = other if self.is_empty else self
            return Range(kept.low, kept.high, is_signed, promises)
        return Range(min(self.low, other.low), max(self.high, other.high), is_signed, promises)


NOTHING = Range(0, -1)
"""No number: an element that is copied to another adds none to those of the array."""


@dataclass(frozen=True)
class Ranges:
    """Ranges in one file.

    Attributes:
        target: with the file, and what is known of the program.
        own: name of an array whose elements count as `NOTHING`.
        most: what a bound that is not known is promised not to exceed.
        asking: where variables are declared whose range is being found: a copy of one to itself
            adds no number, and of anything else made of it nothing is known.
        given: what is assigned to each variable, by where it is declared.
    """

    target: Target
    own: bytes
    most: int
    asking: set[int] = field(default_factory=set, compare=False)
    given: dict[int, tuple[Node, ...] | None] = field(default_factory=dict, compare=False)

    def of(self, node: Node, depth: int = 0) -> Range | None:
        """The range of an expression; None where it is not known."""
        found = self._of(node, depth)
        if found is None or found.is_empty:
            return found
        if found.low < _LEAST or found.high > _MOST or (found.low < 0 and not found.is_signed):
            return None  # It overflows, or is turned round.
        return found

    def _of(self, node: Node, depth: int) -> Range | None:
        kind, text = node.type, self.target.syntax.text(node)
        if depth > _DEEP or node.has_error:
            return None
        if kind == "number_literal":
            return _literal(text)
        if kind == "identifier":
            return self._named(node, depth + 1)
        if kind == "parenthesized_expression":
            inner = first_named(node)
            return None if inner is None else self.of(inner, depth)
        if kind == "subscript_expression":
            array = node.child_by_field_name("argument")
            while array is not None and array.type == "subscript_expression":
                array = array.child_by_field_name("argument")
            is_own = array is not None and self.target.syntax.text(array) == self.own
            return NOTHING if is_own else None
        if kind == "conditional_expression":
            ways = [node.child_by_field_name(one) for one in ("consequence", "alternative")]
            ranges = [None if way is None else self.of(way, depth) for way in ways]
            return None if None in ranges else ranges[0].with_(ranges[1])  # type: ignore[union-attr,arg-type]
        return self._binary(node, depth) if kind == "binary_expression" else None

    def _binary(self, node: Node, depth: int) -> Range | None:
        sides = [node.child_by_field_name(one) for one in ("left", "operator", "right")]
        if any(one is None for one in sides):
            return None
        left, operator, right = (one for one in sides if one is not None)
        sign = self.target.syntax.text(operator)
        if sign == b"&":
            return self._masked(left, right)
        one, other = self.of(left, depth), self.of(right, depth)
        if one is None or other is None:
            return None
        if one.is_empty or other.is_empty:
            return None  # Of an element anything can be made.
        promises = tuple(dict.fromkeys((*one.promises, *other.promises)))
        is_signed = one.is_signed and other.is_signed
        if sign == b"+":
            return Range(one.low + other.low, one.high + other.high, is_signed, promises)
        if sign == b"-":
            return Range(one.low - other.high, one.high - other.low, is_signed, promises)
        if sign == b"%" and one.low >= 0 and other.low == other.high > 0:
            return Range(0, min(one.high, other.high - 1), is_signed, promises)
        if sign == b">>" and one.low >= 0 and other.low == other.high and 0 <= other.low < 32:
            return Range(one.low >> other.low, one.high >> other.low, is_signed, promises)
        return None

    def by_operator(self, node: Node) -> Range | None:
        """What a division by a number, or a mask, leaves of what is not known."""
        while node.type == "parenthesized_expression" and (inner := first_named(node)) is not None:
            node = inner
        right = node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        sign = b"" if operator is None else self.target.syntax.text(operator)
        number = self.of(right) if right is not None and sign in (b"%", b"&") else None
        if number is None or number.promises or number.high < 1:
            return None
        most = number.high - (sign == b"%")
        return Range(-most, most)

    def _masked(self, left: Node, right: Node) -> Range | None:
        """What is behind a mask: any whole number, for no other has the operator."""
        for mask, other in ((left, right), (right, left)):
            number: Node | None = mask
            while number is not None and number.type == "parenthesized_expression":
                number = first_named(number)
            if number is None or number.type != "number_literal":
                continue
            found = _literal(self.target.syntax.text(number))
            is_signed = self._is_signed(other)
            if found is not None and is_signed is not None:
                return Range(0, found.high, found.is_signed and is_signed)
        return None

    def _is_signed(self, node: Node) -> bool | None:
        """Whether an expression of local whole numbers is signed; None: a class may be in it."""
        is_signed = True
        for one in walk(node):
            if one.type == "number_literal":
                found = _literal(self.target.syntax.text(one))
                is_signed &= found is not None and found.is_signed
            elif one.type == "identifier":
                name = self.target.syntax.text(one)
                number = number_at(name, one, self.target.syntax)
                if number is None or self._is_macro(name):
                    return None
                is_signed &= number.is_signed
            elif one.is_named and one.type not in _ARITHMETIC:
                return None
        return is_signed

    def _is_macro(self, name: bytes) -> bool:
        return name in self.target.syntax.macros or bool(self.target.meanings.definitions((name,)))

    def _named(self, name: Node, depth: int) -> Range | None:
        target, syntax = self.target, self.target.syntax
        text = syntax.text(name)
        if self._is_macro(text):
            return None
        number = number_at(text, name, syntax)
        if number is None or number.bits != _BITS:
            return None  # A narrower one may cut off what it is given.
        loop = next(
            (
                one
                for one in around(name, "for_statement")
                if (start := one.child_by_field_name("initializer")) is not None
                and start.start_byte <= number.name.start_byte < start.end_byte
            ),
            None,
        )
        if loop is not None:
            return self._counted(number, name, loop, depth)
        declared = number.name.start_byte
        if declared not in self.given:
            self.given[declared] = assigned(number, target)
        given = self.given[declared]
        if number.value is None or given is None:
            return None
        if declared in self.asking:
            return NOTHING
        self.asking.add(declared)
        ranges = [self.of(one, depth) for one in (number.value, *given)]
        self.asking.discard(declared)
        whole = NOTHING
        for found in ranges:
            if found is None or (not number.is_signed and found.low < 0 and not found.is_empty):
                return None
            whole = whole.with_(found)
        return Range(whole.low, whole.high, number.is_signed, whole.promises)

    def _counted(self, number: Number, name: Node, loop: Node, depth: int) -> Range | None:
        """The range of what a ``for`` counts up, in its body."""
        body, head = loop.child_by_field_name("body"), head_of(loop, self.target.syntax)
        if body is None or head is None or number.value is None or head.step < 0:
            return None
        if not body.start_byte <= name.start_byte < body.end_byte or loop.has_error:
            return None
        if head.counter != self.target.syntax.text(name):
            return None
        sign = head.sign
        start = self.of(number.value, depth)
        if sign not in (b"<", b"<=") or start is None or start.is_empty or start.low < 0:
            return None
        if not number.is_signed or not is_steady(number, loop, self.target, head.update):
            return None
        end = self._bound(head.bound, depth)
        if end is None:
            return None
        promises = tuple(dict.fromkeys((*start.promises, *end.promises)))
        high = end.high - (sign == b"<")
        # Where it never runs nothing is given to the array.
        return Range(min(start.low, high), high, True, promises) if high >= 0 else NOTHING

    def _bound(self, bound: Node, depth: int) -> Range | None:
        found = self.of(bound, depth)
        if found is not None and not found.is_empty:
            return found
        constant = constant_at(bound, self.target) if is_settled(bound, self.target) else None
        if constant is not None:
            return Range(constant, constant)
        syntax, words = self.target.syntax, words_of([self.target.syntax.text(bound)])
        numbers = [
            number_at(syntax.text(one), one, syntax)
            for one in walk(bound)
            if one.type == "identifier"
        ]
        if not numbers or any(one is None for one in numbers) or not is_pure(bound, self.target):
            return None
        if self.target.meanings.definitions(words):
            return None
        check_given(syntax.text(bound), self.most, self.target)
        text = syntax.text(bound).decode(errors="replace")
        return Range(0, self.most, True, (f"`{text}` never exceeds {self.most}",))


def _literal(text: bytes) -> Range | None:
    found = _LITERAL.fullmatch(text)
    if found is None:
        return None
    number = int(text.rstrip(b"uU"), 0)
    return Range(number, number, not found[1]) if number <= _MOST else None
