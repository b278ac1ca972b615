"""How far behind a ring's head an element is: an index that moves with the head, and by how much.

An index moves with the head where, whatever the head is, it is what it would be with a head of 0,
and the head, round the array. So what takes its place in an array that moves instead is the same
expression with a head of 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.computed import (
    Named,
    UndefinedError,
    UnknownError,
    Value,
    Variables,
    computed,
    executed,
)
from lmemscope.rewrites.extents import SIGNS, Extents
from lmemscope.rewrites.heads import Advance, Head, changes_of, following
from lmemscope.rewrites.places import Extent
from lmemscope.rewrites.steady import is_only_named
from lmemscope.rewrites.variables import Number, number_at, step_of
from lmemscope.sources.syntax import Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST = 300
"""Turns of a loop over ages."""
_DEEPEST = 4
"""Variables that an index is computed from, one from the other."""
_LOOPS = ("for_statement", "while_statement", "do_statement")
_IN_INDEX = frozenset(
    (
        "binary_expression",
        "unary_expression",
        "conditional_expression",
        "parenthesized_expression",
        "number_literal",
        "identifier",
        "comment",
    )
)


@dataclass(frozen=True, slots=True)
class Counter:
    """A loop's counter, and the loop."""

    number: Number
    loop: Node


@dataclass(frozen=True, slots=True)
class Derived:
    """A variable that an index is kept in.

    Attributes:
        number: the variable, which its initializer computes.
        rest: the statements behind its declaration that bring it into range.
    """

    number: Number
    rest: tuple[Node, ...]


class Ages:
    """The indices of one array, seen from one head.

    Args:
        target: whose array it is.
        head: of the ring.
        extents: of the array.
        extent: as written.
    """

    def __init__(self, target: Target, head: Head, extents: Extents, extent: Extent) -> None:
        self._target, self._syntax = target, target.syntax
        self._head, self._extents, self._extent = head, extents, extent
        self._meant: dict[int, Number | None] = {}

    def text(self, index: Node) -> bytes | None:
        """The index with a head of 0; None of an index that the head is not in.

        Raises:
            DeclinedError: it does not move with the head by one each, or its age is not fixed.
        """
        head, line = self._head, index.start_point.row + 1
        if any(one.taken == index for one in head.advances):
            return b"0"
        parts = list(self._parts(index, 0))
        if not any(self._is_head(one) for one in parts):
            return None
        if any(one.is_named and one.type not in _IN_INDEX for one in walk(index)):
            raise DeclinedError(f"line {line} has an index of a form that is not computed")
        counters = list(self._counters(parts))
        derived = {one.number.name.start_byte: one for one in self._derived(parts)}
        for one in derived.values():
            self._check(one, index)
        literals = frozenset(
            int(text)
            for one in parts
            if one.type == "number_literal" and (text := self._syntax.text(one)).isdigit()
        )
        bases: dict[int, set[int]] = {}
        is_counter, below = len(counters) == 1, False
        for size in self._extents.sizes:
            for is_signed in SIGNS:
                for values in self._turns(counters, size, is_signed):
                    at = self._value(index, derived, values, head.value_of(0), size, is_signed)
                    if at is None:
                        raise DeclinedError(f"line {line} has an index that is not computed")
                    base = at.number
                    below |= base < 0
                    if base >= size and not at.is_signed:
                        raise DeclinedError(f"line {line} has an index that wraps round its type")
                    bases.setdefault(size, set()).add(base % size)
                    is_counter &= [one.number for one in values.values()] == [base % size]
                    for before in head.values(size, literals):
                        found = self._value(index, derived, values, before, size, is_signed)
                        if found is None or not 0 <= found.number < size:
                            continue  # There is no such element.
                        if found.number != (base + before.number) % size:
                            raise DeclinedError(
                                f"line {line} has an index that does not move with "
                                f"`{head.name.decode()}`"
                            )
        return self._written(index, counters, derived, bases, is_counter=is_counter, below=below)

    def counters(self, index: Node) -> list[Node]:
        """The loops whose counters are in an index."""
        return [one.loop for one in self._counters(list(self._parts(index, 0)))]

    def _written(
        self,
        index: Node,
        counters: list[Counter],
        derived: Mapping[int, Derived],
        bases: Mapping[int, set[int]],
        *,
        is_counter: bool,
        below: bool,
    ) -> bytes:
        if is_counter:
            return self._syntax.text(counters[0].number.name)
        ages = {(size, next(iter(found))) for size, found in bases.items() if len(found) == 1}
        if len(ages) == len(bases):
            if len({age for _, age in ages}) == 1:
                return b"%d" % next(iter(ages))[1]
            back = {size - age for size, age in ages}
            if len(back) == 1:
                return self._extent.text + b" - %d" % next(iter(back))
        text = self._without(index, derived)
        if below or any(one.rest for one in derived.values()):
            whole = self._extent.whole
            return b"((" + text + b") % " + whole + b" + " + whole + b") % " + whole
        return text

    def _without(self, node: Node, derived: Mapping[int, Derived]) -> bytes:
        """An expression's text with 0 for the head."""
        if node.type == "identifier":
            if self._is_head(node):
                return b"0"
            own = self._number(node)
            if own is not None and own.name.start_byte in derived and own.value is not None:
                return b"(" + self._without(own.value, derived) + b")"
            return self._syntax.text(node)
        if node.type == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            operator = node.child_by_field_name("operator")
            if left is not None and right is not None and operator is not None:
                one, other = self._without(left, derived), self._without(right, derived)
                sign = self._syntax.text(operator)
                if sign in (b"+", b"-") and other == b"0":
                    return one
                if sign == b"+" and one == b"0":
                    return other
                return one + b" " + sign + b" " + other
        if not node.children:
            return self._syntax.text(node)
        parts, at = [], node.start_byte
        for child in node.children:
            parts += [self._syntax.data[at : child.start_byte], self._without(child, derived)]
            at = child.end_byte
        return b"".join((*parts, self._syntax.data[at : node.end_byte]))

    def _parts(self, node: Node, depth: int) -> Iterator[Node]:
        """The nodes of an expression, and of what its variables are computed from."""
        if depth > _DEEPEST:
            raise DeclinedError("its index is computed from too many variables")
        for one in walk(node):
            yield one
            own = self._derived_at(one)
            if own is not None:
                assert own.number.value is not None
                yield from self._parts(own.number.value, depth + 1)
                for statement in own.rest:
                    yield from walk(statement)

    def _derived_at(self, node: Node) -> Derived | None:
        if node.type != "identifier" or self._is_head(node):
            return None
        number = self._number(node)
        if number is None or number.value is None or number.scope.type in _LOOPS:
            return None
        if number.name.parent is None or number.name.parent.parent is None:
            return None
        if not self._involves(number.value, _DEEPEST):
            return None
        name, statement = self._syntax.text(number.name), number.name.parent.parent
        return Derived(number, following(statement, name, self._syntax))

    def _involves(self, expression: Node, depth: int) -> bool:
        """Whether an expression has the head in it, by other variables too."""
        for one in walk(expression):
            if self._is_head(one):
                return True
            number = self._number(one) if one.type == "identifier" and depth else None
            value = None if number is None else number.value
            if value is not None and self._involves(value, depth - 1):
                return True
        return False

    def _derived(self, parts: list[Node]) -> Iterator[Derived]:
        for one in parts:
            found = self._derived_at(one)
            if found is not None:
                yield found

    def _counters(self, parts: list[Node]) -> Iterator[Counter]:
        seen = []
        for one in parts:
            if one.type != "identifier" or self._is_head(one):
                continue
            number = self._number(one)
            if number is None or number.scope.type != "for_statement" or number.name in seen:
                continue
            seen.append(number.name)
            yield Counter(number, number.scope)

    def _check(self, derived: Derived, use: Node) -> None:
        """That a variable is what it was computed as where it is used."""
        number, syntax = derived.number, self._syntax
        name, line = syntax.text(number.name).decode(), use.start_point.row + 1
        known = [*derived.rest]
        for change in changes_of(number, syntax):
            if not any(one.start_byte <= change.start_byte < one.end_byte for one in known):
                raise DeclinedError(f"line {line}: `{name}` changes between its uses")
        if not is_only_named(number, self._target):
            raise DeclinedError(f"line {line}: `{name}` is no plain local number")
        for advance in self._head.advances:
            if _is_between(advance, number.name, use):
                raise DeclinedError(f"line {line}: the ring moves between `{name}` and its use")

    def _turns(
        self, counters: list[Counter], size: int, is_signed: bool
    ) -> Iterator[dict[int, Value]]:
        """The values of loops' counters, all together."""
        named = self._extents.named(size, is_signed)
        ranges = [turns(one, self._syntax, named) for one in counters]
        total = 1
        for one in ranges:
            total *= len(one)
        if total > _MOST * 4:
            raise DeclinedError("its ages are too many to try out")
        for values in itertools.product(*ranges):
            yield {
                one.number.name.start_byte: value
                for one, value in zip(counters, values, strict=True)
            }

    def _value(
        self,
        index: Node,
        derived: Mapping[int, Derived],
        counters: Mapping[int, Value],
        head: Value,
        size: int,
        is_signed: bool,
    ) -> Value | None:
        constant = self._extents.named(size, is_signed)

        def named(node: Node) -> Value:
            if self._is_head(node):
                return head
            number = self._number(node)
            if number is None:
                return constant(node)
            key = number.name.start_byte
            if key in counters:
                return counters[key]
            if key in derived and number.value is not None:
                made = computed(number.value, self._syntax, named)
                own = Variables(
                    {self._syntax.text(number.name): made.to(number.is_signed, number.bits)}
                )
                executed(derived[key].rest, self._syntax, named, own)
                return own.values[self._syntax.text(number.name)]
            return constant(node)

        try:
            return computed(index, self._syntax, named)
        except (UndefinedError, UnknownError):
            return None

    def _number(self, node: Node) -> Number | None:
        if node.start_byte not in self._meant:
            found = number_at(self._syntax.text(node), node, self._syntax)
            self._meant[node.start_byte] = found
        return self._meant[node.start_byte]

    def _is_head(self, node: Node) -> bool:
        if node.type != "identifier" or self._syntax.text(node) != self._head.name:
            return False
        found = self._number(node)
        return found is not None and found.name == self._head.number.name


def turns(counter: Counter, syntax: Syntax, named: Named) -> list[Value]:
    """The values that a loop's counter has in the loop.

    Raises:
        DeclinedError: they are not fixed.
    """
    number, loop = counter.number, counter.loop
    name, line = syntax.text(number.name), loop.start_point.row + 1
    condition, update = (loop.child_by_field_name(one) for one in ("condition", "update"))
    step = None if update is None else step_of(update, syntax)
    declined = DeclinedError(f"line {line} counts `{name.decode()}` in a form that is not known")
    changes = [one for one in changes_of(number, syntax) if one != update]
    if number.value is None or condition is None or step is None or step[0] != name or changes:
        raise declined

    def own(node: Node) -> Value:
        return at if syntax.text(node) == name else named(node)

    try:
        at = computed(number.value, syntax, named).to(number.is_signed, number.bits)
        found: list[Value] = []
        while computed(condition, syntax, own).number and len(found) <= _MOST:
            found.append(at)
            at = Value(at.number + step[1]).to(number.is_signed, number.bits)
    except (UndefinedError, UnknownError):
        raise declined from None
    if len(found) > _MOST:
        raise declined
    return found


def is_whole(counter: Counter, extents: Extents, syntax: Syntax) -> bool:
    """Whether a loop's counter names each element once."""
    for size in extents.sizes:
        for is_signed in SIGNS:
            values = turns(counter, syntax, extents.named(size, is_signed))
            if sorted(one.number for one in values) != list(range(size)):
                return False
    return True


def _is_between(advance: Advance, declared: Node, use: Node) -> bool:
    """Whether the head may step after a declaration and before a use."""
    if any(declared.start_byte < one.start_byte < use.start_byte for one in advance.parts):
        is_head = advance.loop is not None and _holds(advance.loop, declared)
        if not is_head:
            return True
    return any(
        not _holds(loop, declared) and any(_holds(loop, one) for one in advance.parts)
        for loop in around(use, *_LOOPS)
    )


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte
