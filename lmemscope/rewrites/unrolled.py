"""A loop that steps an index through arrays, written as an unrolled loop over all their places.

In each turn it asks whether this is where the index is: only then does it compare and move. Indices
beyond those for which a step stays within the arrays need no turn: a step from there was undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from lmemscope.model import Edit
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.places import Extent, Place, moved
from lmemscope.rewrites.stepped import Stepped
from lmemscope.rewrites.variables import Number
from lmemscope.rewrites.written import indent_unit
from lmemscope.sources.edits import patched
from lmemscope.sources.syntax import around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_TURN, _FIRST, _OPEN, _ON = b"lmem_i", b"lmem_first", b"lmem_open", b"lmem_on"
NAMES = frozenset({_TURN, _FIRST, _OPEN, _ON})
_COMPARING = (b"<", b">", b"<=", b">=", b"==", b"!=")


def unrolled(
    target: Target,
    loop: Stepped,
    arrays: frozenset[bytes],
    extent: Extent,
    counter: Number,
) -> bytes:
    """The text in the place of a loop and what is done at its end.

    Args:
        target: in whose file it is.
        loop: in its parts.
        arrays: local arrays of one extent, whose indices become constants.
        extent: theirs.
        counter: the index.

    Raises:
        DeclinedError: it is not told which elements a step uses.
    """
    return _Writer(target, loop, arrays, extent, counter).text()


class _Writer:
    def __init__(
        self,
        target: Target,
        loop: Stepped,
        arrays: frozenset[bytes],
        extent: Extent,
        counter: Number,
    ) -> None:
        self._target, self._syntax = target, target.syntax
        self._loop, self._arrays, self._extent, self._counter = loop, arrays, extent, counter
        self._line = loop.loop.start_point.row + 1
        self._end = self._syntax.lines_end()
        certain = {self._offset(one) for one in self._subscripts(loop.body) if self._is_sure(one)}
        every = {self._offset(one) for one in self._subscripts((*loop.conditions, *loop.body))}
        if not certain or min(every) < min(certain) or max(every) > max(certain):
            raise DeclinedError(f"line {self._line} uses elements that not every step uses")
        self._low, self._high = min(certain), max(certain)
        if self._extent.number is not None and self._extent.number <= self._high - self._low:
            raise DeclinedError(f"line {self._line} steps further than the array is long")
        ends = {self._offset(one) for one in self._subscripts(loop.tail)}
        if len(ends) > 1 or not all(self._low <= one <= self._high for one in ends):
            raise DeclinedError(f"line {self._line} ends in a way that is not rewritten")
        self._ending = next(iter(ends), None)

    def text(self) -> bytes:
        """All of it, as a block."""
        loop, outer = self._loop, self._syntax.indent(self._loop.loop)
        declared = self._target.declared
        unit = indent_unit(declared.function, self._syntax) if declared is not None else b"  "
        one, two, three, four = (outer + unit * depth for depth in (1, 2, 3, 4))
        lines = [b"{"]
        if loop.start is not None:
            written = self._syntax.text(loop.start).rstrip(b"; \t\r\n")
            lines.append(one + written + b";")
        lines += [
            one + b"const auto %s = %s;" % (_FIRST, loop.counter),
            one + b"bool %s = false;" % _OPEN,
            one + b"#pragma unroll",
            one + self._head(),
            two + b"%s = %s || %s == %s;" % (_OPEN, _OPEN, _TURN, _FIRST),
            two + b"const bool %s = %s && %s;" % (_ON, _OPEN, self._condition()),
        ]
        step = self._pieces(loop.body, self._in_turn)
        if loop.is_in_head:
            step.append(self._syntax.text(loop.update) + b";")
        ending = self._pieces(loop.tail, self._in_turn)
        if ending:
            lines += [two + b"if (%s) {" % _OPEN, three + b"if (%s) {" % _ON]
            lines += [four + piece for piece in step]
            lines.append(three + b"} else {")
            lines += [four + piece for piece in ending]
            lines += [three + b"}", two + b"}"]
        else:
            lines += [two + b"if (%s) {" % _ON, *(three + piece for piece in step), two + b"}"]
        lines += [two + b"%s = %s;" % (_OPEN, _ON), one + b"}"]
        for position, edge in enumerate(self._edges() if ending else ()):
            # The index gets to the first of them by steps, to any by beginning there.
            begins = b"%s == %s" % (_FIRST, edge.text())
            is_next = position == 0 and self._has_far
            reached = b"%s || %s" % (_OPEN, begins) if is_next else begins
            lines.append(one + b"if (" + reached + b") {")
            lines += [two + piece for piece in self._pieces(loop.tail, self._at(edge))]
            lines.append(one + b"}")
        lines.append(outer + b"}")
        return self._end.join(lines)

    def _head(self) -> bytes:
        low, high = Place(-self._low), Place(-1 - self._high, self._extent)
        if self._loop.step < 0:
            return b"for (int %s = %s; %s >= %s; --%s) {" % (
                _TURN,
                high.text(),
                _TURN,
                low.text(),
                _TURN,
            )
        return b"for (int %s = %s; %s <= %s; ++%s) {" % (
            _TURN,
            low.text(),
            _TURN,
            high.text(),
            _TURN,
        )

    @property
    def _has_far(self) -> bool:
        """Whether the end may be done one step beyond the last turn."""
        assert self._ending is not None
        return self._ending > self._low if self._loop.step < 0 else self._ending < self._high

    def _edges(self) -> Iterator[Place]:
        """Where the end may be done but no step: the one that steps get to first."""
        assert self._ending is not None
        below = [Place(-self._low - n) for n in range(1, self._ending - self._low + 1)]
        above = [
            Place(-1 - self._high + n, self._extent)
            for n in range(1, self._high - self._ending + 1)
        ]
        yield from (*below, *above) if self._loop.step < 0 else (*above, *below)

    def _condition(self) -> bytes:
        loop, parts = self._loop, []
        if loop.bound is not None:
            parts.append(b"(" + self._with(loop.bound, self._in_turn) + b")")
        if loop.asked is not None:
            sign = b"!" if loop.asked.is_negated else b""
            parts.append(sign + b"(" + self._with(loop.asked.node, self._in_turn) + b")")
        return b" && ".join(parts) or b"true"

    def _in_turn(self, offset: int) -> bytes:
        return moved(_TURN, offset)

    def _at(self, edge: Place) -> Callable[[int], bytes]:
        return lambda offset: edge.text(offset)

    def _pieces(self, nodes: Iterable[Node], index: Callable[[int], bytes]) -> list[bytes]:
        return [self._with(one, index) for one in nodes]

    def _with(self, node: Node, index: Callable[[int], bytes]) -> bytes:
        """A node's text with constants for indices."""
        edits = [
            Edit(self._target.path, one.start_byte, one.end_byte, index(self._distance(one)))
            for one in (self._index(subscript) for subscript in self._subscripts((node,)))
        ]
        if index == self._in_turn:
            edits += [
                Edit(self._target.path, one.start_byte, one.end_byte, _TURN)
                for one in self._compared(node)
            ]
        return patched(self._syntax.source(node), edits, node.start_byte)

    def _compared(self, node: Node) -> Iterator[Node]:
        """Where the index itself is compared with a number, before it is stepped."""
        if not self._counter.is_signed or node not in self._loop.conditions:
            return
        for one in walk(node):
            if one.type != "binary_expression":
                continue
            left, right = one.child_by_field_name("left"), one.child_by_field_name("right")
            operator = one.child_by_field_name("operator")
            if left is None or right is None or operator is None:
                continue
            if self._syntax.text(operator) not in _COMPARING or right.type != "number_literal":
                continue
            if left.type == "identifier" and self._syntax.text(left) == self._loop.counter:
                yield left

    def _subscripts(self, nodes: Iterable[Node]) -> Iterator[Node]:
        """Subscripts of the arrays by the index, outermost extents alone."""
        for node in (one for part in nodes for one in walk(part)):
            if node.type != "subscript_expression":
                continue
            array = node.child_by_field_name("argument")
            if array is None or self._syntax.text(array) not in self._arrays:
                continue
            names = (one for one in walk(self._index(node)) if one.type == "identifier")
            if any(self._syntax.text(one) == self._loop.counter for one in names):
                yield node

    def _index(self, subscript: Node) -> Node:
        given = subscript.child_by_field_name("indices")
        inside = [] if given is None else [n for n in given.named_children if n.type != "comment"]
        if len(inside) != 1:
            raise DeclinedError(f"line {self._line} uses an index of a form that is not rewritten")
        return inside[0]

    def _offset(self, subscript: Node) -> int:
        return self._distance(self._index(subscript))

    def _distance(self, index: Node) -> int:
        found = self._loop.offset(index, self._syntax)
        if found is None:
            raise DeclinedError(
                f"line {index.start_point.row + 1} uses an element that is not a fixed number of "
                "places away"
            )
        return found

    def _is_sure(self, subscript: Node) -> bool:
        """Whether every step evaluates it."""
        for above in around(
            subscript, "if_statement", "conditional_expression", "binary_expression"
        ):
            if above.start_byte < min(one.start_byte for one in self._loop.body):
                break
            if above.type == "conditional_expression":
                condition = above.child_by_field_name("condition")
                if condition is None or not _holds(condition, subscript):
                    return False
            elif above.type == "if_statement":
                if above.start_byte >= self._loop.body[0].start_byte and any(
                    _holds(one, above) for one in self._loop.body
                ):
                    return False
            else:
                operator, right = (above.child_by_field_name(one) for one in ("operator", "right"))
                if operator is None or right is None or not _holds(right, subscript):
                    continue
                if self._syntax.text(operator) in (b"&&", b"||"):
                    return False
        taken = subscript.parent
        if taken is not None and taken.type == "pointer_expression":
            return False  # An address may be that behind the last element.
        return not any(True for _ in around(subscript, "sizeof_expression", "decltype"))


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte
