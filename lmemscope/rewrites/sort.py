"""Insert with constant indices

A loop that moves elements up or down until a comparison fails, as in insertion into a sorted list,
becomes an unrolled loop over all positions: each compares, and moves or inserts only if it is the
current one. Every index is a constant. Payload arrays that move along are rewritten alike.

Safe: the same comparisons of the same elements happen in the same order, so the order of equal
elements and the effect of NaN are unchanged; the list need not be sorted. It costs a comparison and
two selections per position and array: long arrays with few insertions are better in shared memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting, count
from lmemscope.rewrites.arrays import elements, words_of
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.loops import (
    LOOPS,
    PRAGMA,
    index_of,
    indexing_loops,
    is_constant,
    unroll_edit,
)
from lmemscope.rewrites.places import (
    Extent,
    Place,
    extent_of,
    is_declared_again,
    known_arrays,
    moved,
)
from lmemscope.rewrites.purity import is_pure, is_pure_call
from lmemscope.rewrites.steady import is_only_named
from lmemscope.rewrites.stepped import Stepped, behind, distance, stepped
from lmemscope.rewrites.variables import Number, changed_by, number_at
from lmemscope.rewrites.written import (
    BLOCKS,
    in_arguments,
    indent_unit,
    is_continued,
    may_be_body,
)
from lmemscope.sources.edits import patched
from lmemscope.sources.syntax import Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 64
"""Elements: beyond these the code is larger than what it saves."""
_NAMES = frozenset((b"lmem_i", b"lmem_first", b"lmem_open", b"lmem_on"))
_COMPARING = (b"<", b">", b"=", b"!")
_IN_TURN = partial(moved, b"lmem_i")
_LEAVING = re.compile(rb"\b(?:break|continue|return|goto|case|asm)\b")


@dataclass(frozen=True, slots=True)
class _Insertion:
    """A loop that is rewritten.

    Attributes:
        loop: in its parts.
        counter: its index.
        edit: of the loop, and of what is stored behind it.
    """

    loop: Stepped
    counter: Number
    edit: Edit


def propose(target: Target) -> Iterator[Rewriting]:
    """The loops that move its elements; with the loops around them that begin the index, too."""
    declared = target.declared
    if declared is None or declared.array is None:
        return
    moving = [one for one in _loops(target) if _moves(one, target)]
    if not moving:
        return
    extent = extent_of(declared.array, target.syntax)
    if extent is None:
        raise DeclinedError("its extent is left to its initializer")
    largest = max((_size(hit.finding.type) for hit in target.hits), default=0)
    if largest > MOST:
        raise DeclinedError(f"{largest} elements are too many to compare one after the other")
    if target.meanings.is_redefined(words_of([extent.text])) or is_declared_again(
        extent.text, declared, target.syntax
    ):
        raise DeclinedError(f"`{extent.text.decode(errors='replace')}` is defined again")
    elements(
        target.path,
        target.syntax,
        declared.name,
        declared.scope,
        len(declared.extents),
        is_const=False,
    )
    made = [_insertion(target, one, extent) for one in moving]
    edits = [one.edit for one in made]
    rewritten = {one.loop.loop for one in made}
    whole = [
        one
        for one in indexing_loops(target)
        if is_constant(one, target) and rewritten.isdisjoint((one, *around(one, *LOOPS)))
    ]
    beginning = [one for one in _beginning(target, made) if one not in whole]
    holding = {outer for one in rewritten for outer in around(one, *LOOPS)}
    first = [*edits, *_unrolling(target, (one for one in whole if one not in holding))]
    summary = f"step through `{target.name}` at constant indices"
    yield Rewriting("sort", "safe", tuple(first), summary)
    every = [*edits, *_unrolling(target, (*whole, *beginning))]
    if set(every) != set(first):
        around_it = f" in {count(len(every) - len(first), 'unrolled loop')}"
        yield Rewriting("sort", "safe", tuple(every), summary + around_it)


def _loops(target: Target) -> Iterator[Stepped]:
    """The loops with a stepped index that use its elements."""
    assert target.declared is not None
    seen: list[Node] = []
    for use in target.syntax.uses(target.declared.name, target.declared.scope):
        loop = next(around(use, *LOOPS), None)
        if loop is None or loop in seen or loop.start_byte < target.declared.scope.start_byte:
            continue
        seen.append(loop)
        made = stepped(loop, target.syntax)
        if made is not None:
            yield made


def _moves(loop: Stepped, target: Target) -> bool:
    """Whether a step puts an element of the array into another place."""
    if loop.loop.type == "for_statement" and loop.leaves is None and is_constant(loop.loop, target):
        return False  # Unrolling is enough.
    assert target.declared is not None
    name, used, is_put = target.syntax.text(target.declared.name), set[int](), False
    for subscript in (node for one in loop.body for node in walk(one)):
        array = subscript.child_by_field_name("argument")
        if array is None or target.syntax.text(array) != name:
            continue
        index = index_of(subscript)
        offset = distance(index, loop.counter, target.syntax) if index is not None else None
        if offset is None:
            continue
        used.add(offset)
        whole = subscript
        while whole.parent is not None and whole.parent.type in (
            "subscript_expression",
            "field_expression",
        ):
            whole = whole.parent
        above = whole.parent
        is_put |= above is not None and (
            (above.type == "assignment_expression" and above.child_by_field_name("left") == whole)
            or above.type == "argument_list"
        )
    return is_put and len(used) > 1


def _insertion(target: Target, loop: Stepped, extent: Extent) -> _Insertion:
    """The edit of a loop.

    Raises:
        DeclinedError: it cannot be told to mean the same.
    """
    syntax, line = target.syntax, loop.loop.start_point.row + 1
    counter = number_at(loop.counter, loop.body[0] if loop.owns else loop.loop, syntax)
    name = loop.counter.decode()
    if counter is None or counter.is_const or not is_only_named(counter, target):
        raise DeclinedError(f"line {line}: `{name}` is no plain local number")
    inner = number_at(loop.counter, loop.update, syntax)
    if inner is None or inner.name != counter.name:
        raise DeclinedError(f"line {line}: `{name}` means several things")
    if not all(is_pure(one, target) for one in loop.conditions):
        calls = (node for one in loop.conditions for node in walk(one))
        if all(one.type != "call_expression" or is_pure_call(one, target) for one in calls):
            raise DeclinedError(f"line {line} asks something with an effect")
    _check(loop.loop, target)
    writer = _Writer(
        target, loop, () if loop.owns else tuple(_stores(loop, target)), extent, counter
    )
    for one in writer.tail:
        _check(one, target)
    start, text, before = loop.loop.start_byte, writer.text(), loop.loop.prev_sibling
    if before is not None and PRAGMA.match(syntax.text(before)) is not None:
        start, text = before.start_byte, syntax.indent(loop.loop) + text
    end = (loop.loop, *writer.tail)[-1].end_byte
    return _Insertion(loop, counter, target.edit(start, end, text))


def _check(statement: Node, target: Target) -> None:
    """That a statement may stand in a loop of its own, where it is executed at most once.

    Raises:
        DeclinedError: it may not.
    """
    syntax, line = target.syntax, statement.start_point.row + 1
    words, meanings = words_of([syntax.text(statement)]), target.meanings
    if meanings.has_effects(words, calls=False) or _LEAVING.search(meanings.definitions(words)):
        raise DeclinedError(f"line {line}: a macro may change something")
    calls = (node for node in walk(statement) if node.type == "call_expression")
    if not all(is_pure_call(one, target) for one in calls):
        raise DeclinedError(f"line {line} calls what may do more than compute")
    if words & _NAMES:
        raise DeclinedError(f"line {line}: names of the new loop are taken")
    in_block = statement.parent is not None and statement.parent.type in BLOCKS
    is_headed = in_block and may_be_body(statement, syntax)
    begin = syntax.line_start(statement.start_byte)
    if is_headed or in_arguments(statement, target) or is_continued(target, begin):
        raise DeclinedError(f"line {line} stands in a macro")


def _stores(loop: Stepped, target: Target) -> Iterator[Node]:
    """The statements right behind a loop that use an element by the index that it leaves."""
    for one in behind(loop.loop):
        if any(loop.counter in changed_by(node, target.syntax) for node in walk(one)):
            return
        if one.type == "if_statement":
            clause, then = (one.child_by_field_name(name) for name in ("condition", "consequence"))
            is_whole = one.child_by_field_name("alternative") is None
            if clause is None or then is None or not is_whole or not is_pure(clause, target):
                return
            inside = then.named_children if then.type == "compound_statement" else [then]
            if len(inside) != 1 or inside[0].type != "expression_statement":
                return
        subscripts = (node for node in walk(one) if node.type == "subscript_expression")
        indices = (index for node in subscripts if (index := index_of(node)) is not None)
        if all(distance(index, loop.counter, target.syntax) is None for index in indices):
            return
        yield one


class _Writer:
    """Writes a loop, and what is stored at its index behind it, with constant indices.

    In each turn it asks whether this is where the index is: only then does it compare and move.
    Indices beyond those for which a step stays within the arrays need no turn: a step from there
    was undefined.
    """

    def __init__(
        self,
        target: Target,
        loop: Stepped,
        tail: tuple[Node, ...],
        extent: Extent,
        counter: Number,
    ) -> None:
        self._counter = counter
        self._target, self._syntax, self._loop, self._extent = target, target.syntax, loop, extent
        self._line = loop.loop.start_point.row + 1
        self._arrays = known_arrays((loop.loop, *tail), extent, target.syntax)
        certain = {
            self._offset(one)
            for part in loop.body
            for one in self._subscripts((part,))
            if _is_sure(one, part, target.syntax)
        }
        every = {self._offset(one) for one in self._subscripts((*loop.conditions, *loop.body))}
        if not certain or min(every) < min(certain) or max(every) > max(certain):
            raise DeclinedError(f"line {self._line} uses elements that not every step uses")
        self._low, self._high = min(certain), max(certain)
        if extent.number is not None and extent.number <= self._high - self._low:
            raise DeclinedError(f"line {self._line} steps further than the array is long")
        self.tail = tuple(one for one in tail if any(True for _ in self._subscripts((one,))))
        ends = {self._offset(one) for one in self._subscripts(self.tail)}
        if len(ends) > 1 or not all(self._low <= one <= self._high for one in ends):
            raise DeclinedError(f"line {self._line} ends in a way that is not rewritten")
        self._ending = next(iter(ends), None)

    def text(self) -> bytes:
        """The text in the place of all of it."""
        loop, outer = self._loop, self._syntax.indent(self._loop.loop)
        declared = self._target.declared
        assert declared is not None
        unit = indent_unit(declared.function, self._syntax)
        one, two = outer + unit, outer + unit * 2
        start = b"" if loop.start is None else self._syntax.text(loop.start).rstrip(b"; \t\r\n")
        lines = [
            b"{",
            *([one + start + b";"] if start else []),
            one + b"const auto lmem_first = %s;" % loop.counter,
            one + b"bool lmem_open = false;",
            one + b"#pragma unroll",
            one + self._head(),
            two + b"lmem_open = lmem_open || lmem_i == lmem_first;",
            two + b"const bool lmem_on = lmem_open && %s;" % self._condition(),
            *(two + text for text in self._turn(unit)),
            two + b"lmem_open = lmem_on;",
            one + b"}",
        ]
        for edge, is_next in self._edges():
            # The index gets to the first of them by steps, to any by beginning there.
            reached = b"lmem_open || " if is_next else b""
            lines.append(one + b"if (%slmem_first == %s) {" % (reached, edge.text()))
            lines += [two + self._text(part, edge.text) for part in self.tail]
            lines.append(one + b"}")
        return self._syntax.lines_end().join([*lines, outer + b"}"])

    def _turn(self, unit: bytes) -> list[bytes]:
        """A step where the index is at this position, or what is stored where it stays."""
        step = [unit + self._text(part, _IN_TURN) for part in self._loop.body]
        if self._loop.is_in_head:
            step.append(unit + self._syntax.text(self._loop.update) + b";")
        ending = [unit + self._text(part, _IN_TURN) for part in self.tail]
        if not ending:
            return [b"if (lmem_on) {", *step, b"}"]
        turn = [b"if (lmem_on) {", *step, b"} else {", *ending, b"}"]
        return [b"if (lmem_open) {", *(unit + text for text in turn), b"}"]

    def _head(self) -> bytes:
        low, high = Place(-self._low).text(), Place(-1 - self._high, self._extent).text()
        if self._loop.step < 0:
            return b"for (int lmem_i = %s; lmem_i >= %s; --lmem_i) {" % (high, low)
        return b"for (int lmem_i = %s; lmem_i <= %s; ++lmem_i) {" % (low, high)

    def _edges(self) -> Iterator[tuple[Place, bool]]:
        """Where the end may be done but no step, and whether steps get there: to the first."""
        if self._ending is None:
            return
        below = [Place(-self._low - n) for n in range(1, self._ending - self._low + 1)]
        behind = range(1, self._high - self._ending + 1)
        above = [Place(-1 - self._high + n, self._extent) for n in behind]
        near, far = (below, above) if self._loop.step < 0 else (above, below)
        yield from ((one, one is near[0]) for one in near)
        yield from ((one, False) for one in far)

    def _condition(self) -> bytes:
        loop, parts = self._loop, []
        if loop.bound is not None:
            parts.append(b"(" + self._text(loop.bound, _IN_TURN) + b")")
        if loop.leaves is not None:
            parts.append(b"!(" + self._text(loop.leaves, _IN_TURN) + b")")
        return b" && ".join(parts) or b"true"

    def _text(self, node: Node, place: Callable[[int], bytes]) -> bytes:
        """A node's text with constants for indices."""
        edits = []
        for one in self._subscripts((node,)):
            index, text = index_of(one), place(self._offset(one))
            assert index is not None
            edits.append(Edit(self._target.path, index.start_byte, index.end_byte, text))
        for one in self._compared(node):
            edits.append(Edit(self._target.path, one.start_byte, one.end_byte, place(0)))
        return patched(self._syntax.source(node), edits, node.start_byte)

    def _compared(self, node: Node) -> Iterator[Node]:
        """Where the index itself is compared with a number, before it is stepped."""
        if not self._counter.is_signed or node not in self._loop.conditions:
            return
        for one in walk(node):
            left, right = one.child_by_field_name("left"), one.child_by_field_name("right")
            if left is None or right is None or one.type != "binary_expression":
                continue
            is_compared = self._syntax.text(one)[len(self._syntax.text(left)) :].lstrip()[:1]
            is_counter = self._syntax.text(left) == self._loop.counter
            if is_counter and right.type == "number_literal" and is_compared in _COMPARING:
                yield left

    def _subscripts(self, nodes: Iterable[Node]) -> Iterator[Node]:
        """Subscripts of the arrays by the index, outermost extents alone."""
        for node in (one for part in nodes for one in walk(part)):
            array = node.child_by_field_name("argument")
            if node.type != "subscript_expression" or array is None:
                continue
            if self._syntax.text(array) not in self._arrays:
                continue
            index = index_of(node)
            if index is None:
                raise DeclinedError(f"line {self._line} uses an index in another form")
            names = (one for one in walk(index) if one.type == "identifier")
            if any(self._syntax.text(one) == self._loop.counter for one in names):
                yield node

    def _offset(self, subscript: Node) -> int:
        index = index_of(subscript)
        found = None if index is None else self._loop.offset(index, self._syntax)
        if found is None:
            raise DeclinedError(
                f"line {subscript.start_point.row + 1} uses an element that is not a fixed number "
                "of places away"
            )
        return found


def _is_sure(subscript: Node, statement: Node, syntax: Syntax) -> bool:
    """Whether a statement evaluates an element in any case."""
    node = subscript
    while node != statement and node.parent is not None:
        above = node.parent
        if above.type in ("if_statement", "sizeof_expression", "decltype"):
            return False
        if above.type == "pointer_expression" and node == subscript:
            return False  # An address may be that behind the last element.
        if above.type == "conditional_expression" and node != above.child_by_field_name(
            "condition"
        ):
            return False
        if above.type == "binary_expression" and node == above.child_by_field_name("right"):
            operator = above.child_by_field_name("operator")
            if operator is None or syntax.text(operator) in (b"&&", b"||"):
                return False
        node = above
    return True


def _beginning(target: Target, made: list[_Insertion]) -> Iterator[Node]:
    """Constant loops around insertions whose counters say where an index begins."""
    for one in made:
        start = one.loop.start or one.counter.value
        names = (
            set()
            if start is None
            else {target.syntax.text(node) for node in walk(start) if node.type == "identifier"}
        )
        for loop in around(one.loop.loop, "for_statement"):
            update = loop.child_by_field_name("update")
            if update is None or not is_constant(loop, target):
                continue
            if names & {target.syntax.text(node) for node in walk(update)}:
                yield loop


def _unrolling(target: Target, loops: Iterable[Node]) -> list[Edit]:
    edits = (unroll_edit(target, loop) for loop in loops)
    return list(dict.fromkeys(edit for edit in edits if edit is not None))


def _size(type_: str | None) -> int:
    found = re.search(r"\[(\d+)\]", type_ or "")
    return int(found[1]) if found is not None else 0


REWRITE = Rewrite(
    "sort",
    frozenset({"dynamic-index", "rolled-loop"}),
    propose,
    __name__,
    nothing="no loop is read as one that moves its elements to insert one among them",
)
