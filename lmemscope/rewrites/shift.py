"""Shift the ring instead of advancing its head

Instead of the head, the elements of a ring buffer move: at each step an unrolled loop moves each by
one position, and `window[(head + 3) % N]` becomes `window[3]`. Every index is a constant.

Safe: element `i` is always what `(head + i) % N` was. The head is declared beside the array, starts
at 0 and only steps by one; every index is checked for each value of the head. It costs a move of
every element per step: long rings that are read little are better in shared memory.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.accessors import joined
from lmemscope.rewrites.arrays import (
    LocalArray,
    element_type,
    is_arithmetic,
    local_array,
    words_of,
)
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.classes import helper_edits
from lmemscope.rewrites.computed import Computer, UnknownError, Value
from lmemscope.rewrites.loops import constant_at, indexing_loops, is_constant, unroll_edit
from lmemscope.rewrites.places import extent_of, is_declared_again
from lmemscope.rewrites.steady import is_only_named
from lmemscope.rewrites.value_uses import element_at, takes_value
from lmemscope.rewrites.variables import Number, number_at, step_of
from lmemscope.rewrites.written import in_arguments, is_continued
from lmemscope.sources.edits import patched
from lmemscope.sources.syntax import around, changed, holds, walk

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 128
"""Elements: beyond these no registers hold them."""
_SIZES = (2, 3, 5, 8, 13, 33)
"""What an extent by a name may be in other instances, if no number is as large."""
_TURNS = 4096
_VECTOR = re.compile(
    r"(?:const )?(?:(?:u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]|__half2?|half2?"
    r"|__nv_bfloat16)"
)
_HELPER = b"""\
// Moves each element of a ring by one place: the first becomes the last.
template <class Element, int Count>
__host__ __device__ __forceinline__ void lmem_shift(Element (&ring)[Count]) {
    const Element first = ring[0];
#pragma unroll
    for (int i = 0; i < Count - 1; ++i) ring[i] = ring[i + 1];
    ring[Count - 1] = first;
}
"""


def propose(target: Target) -> Iterator[Rewriting]:
    """The array with a step of all its elements behind each step of its head."""
    declared = target.declared
    if declared is None or declared.array is None or len(declared.extents) != 1:
        return
    heads = [*_heads(target)]
    if not heads:
        return
    array = local_array(target)
    extent = extent_of(declared.array, target.syntax)
    if extent is None:
        raise DeclinedError("its extent is left to its initializer")
    is_again = is_declared_again(extent.text, declared, target.syntax)
    if is_again or target.meanings.is_redefined(words_of([extent.text])):
        raise DeclinedError(f"`{extent.text.decode(errors='replace')}` is defined again")
    largest = max(array.numbers or (MOST + 1,))
    if largest > MOST:
        raise DeclinedError(f"{largest} elements are too many to move in each step")
    is_fixed = constant_at(declared.extents[0] or declared.array, target) is not None
    sizes = (largest,) if is_fixed else (largest, *_SIZES)
    _check_elements(array)
    reasons = []
    for head in heads:
        try:
            yield _Ring(array, head, sizes, extent.text).rewriting()
            return
        except DeclinedError as declined:
            reasons.append(declined)
    raise reasons[0]


def _heads(target: Target) -> Iterator[Number]:
    """Variables in the array's indices that begin at 0 where it does, and are stepped."""
    declared, syntax, seen = target.declared, target.syntax, set[int]()
    assert declared is not None
    for use in syntax.uses(declared.name, declared.scope):
        given = use.parent.child_by_field_name("indices") if use.parent is not None else None
        for name in walk(given) if given is not None else ():
            number = number_at(syntax.text(name), name, syntax)
            if name.type != "identifier" or number is None or number.name.start_byte in seen:
                continue
            seen.add(number.name.start_byte)
            is_for = number.scope.type == "for_statement"
            scope = number.scope.parent if is_for else number.scope
            value = b"" if number.value is None else syntax.text(number.value).strip(b"{} uUlL")
            if scope != declared.scope or value != b"0":
                continue
            if is_for and is_constant(number.scope, target):
                continue  # Unrolling is for that.
            if is_only_named(number, target) and any(_changes(number, target)):
                yield number


def _changes(number: Number, target: Target) -> Iterator[Node]:
    for node in walk(number.scope):
        what = changed(node)
        if what is not None and _is(what, number, target):
            yield node


def _is(node: Node, number: Number, target: Target) -> bool:
    """Whether a node names a variable."""
    syntax = target.syntax
    if node.type != "identifier" or syntax.text(node) != syntax.text(number.name):
        return False
    found = number_at(syntax.text(node), node, syntax)
    return found is not None and found.name == number.name


def _check_elements(array: LocalArray) -> None:
    """That elements can be moved, and nothing has the place of one.

    Raises:
        DeclinedError: otherwise.
    """
    kinds = {(hit.finding.type or "").partition("[")[0].strip() for hit in array.target.hits}
    if not all(is_arithmetic(kind) or _VECTOR.fullmatch(kind) for kind in kinds):
        raise DeclinedError("its elements are not of an arithmetic or a vector type")
    if array.is_const or array.is_volatile:
        raise DeclinedError("its elements are const or volatile")
    target, kind = array.target, element_type(array.target)
    for use in array.uses:
        line = use.name.start_point.row + 1
        if use.kind == "size":
            continue
        if use.element is None or use.kind in ("passed", "other"):
            raise DeclinedError(f"line {line} uses it in another way than by one element")
        place = element_at(use.name, kind, 1, target)
        if place is None or not takes_value(place, kind, target, may_assign=True):
            raise DeclinedError(f"line {line} keeps the place of an element")
        inner = next(around(use.name, "lambda_expression", "gnu_asm_expression"), None)
        if inner is not None and inner.start_byte > array.declared.statement.start_byte:
            raise DeclinedError(f"line {line} uses it in a function of its own")
    for one in walk(array.declared.function):
        if one.type in ("goto_statement", "labeled_statement"):
            raise DeclinedError(f"line {one.start_point.row + 1} has a `goto` or its label")


class _Ring:
    """An array with the variable that is its head."""

    def __init__(
        self, array: LocalArray, head: Number, sizes: tuple[int, ...], extent: bytes
    ) -> None:
        self._array, self._head, self._extent = array, head, extent
        self._target, self._syntax = array.target, array.syntax
        self._name = self._syntax.text(head.name)
        self._steps = tuple(dict.fromkeys(map(self._step, _changes(head, self._target))))
        indices = (index for use in array.uses for index in use.indices)
        literals = self._literals((*indices, *itertools.chain(*self._steps)))
        self._sizes = (sizes[0], *(one for one in sizes[1:] if one > max(literals, default=0)))
        self._is_wrapped = self._wraps()

    def rewriting(self) -> Rewriting:
        """All edits."""
        target, array = self._target, self._array
        edits, first, is_filled = list[Edit](), self._first(), False
        for use in array.uses:
            if use.kind == "size":
                continue
            index, line = use.indices[0], use.name.start_point.row + 1
            if any(_is(one, self._head, target) for one in walk(index)):
                edits.append(target.edit(index.start_byte, index.end_byte, self._text(index)))
            elif use.name.start_byte < first:
                is_filled = True
            else:
                raise DeclinedError(f"line {line} uses an element by its place, which moves")
        if array.declared.value is None and not is_filled:
            assert array.declared.array is not None
            at = array.declared.array.end_byte  # What is moved must have a value.
            edits.append(target.edit(at, at, b" = {}"))
        edits += map(self._moving, self._steps)
        for loop in indexing_loops(target):
            is_moving = any(holds(loop, one) for step in self._steps for one in step)
            if is_constant(loop, target) and not is_moving:
                edit = unroll_edit(target, loop)
                edits += [edit] if edit is not None else []
        helper = helper_edits(
            *(target, target.path, self._syntax, array.declared.function),
            *(b"lmem_shift", _HELPER),
        )
        summary = f"move the elements of `{target.name}` where `{self._name.decode()}` steps"
        return Rewriting("shift", "safe", joined((*helper, *dict.fromkeys(edits))), summary)

    def _first(self) -> int:
        """Where the statement of the array's block begins that has the first step in it."""
        node = min((step[0] for step in self._steps), key=lambda one: one.start_byte)
        while node.parent is not None and node.parent != self._array.declared.scope:
            node = node.parent
        if node.start_byte < self._array.declared.statement.start_byte:
            raise DeclinedError(f"`{self._name.decode()}` steps where the array is not")
        return node.start_byte

    def _step(self, change: Node) -> tuple[Node, ...]:
        """The statements around a change of the head that do nothing else; or a loop's update."""
        for loop in around(change, "for_statement"):
            update = loop.child_by_field_name("update")
            if update is not None and holds(update, change):
                return (update,)
        own = next(around(change, "expression_statement", "if_statement"), change)
        for above in around(own, "if_statement"):
            asked = above.child_by_field_name("condition")
            if asked is None or self._name not in words_of([self._syntax.text(asked)]):
                break
            own = above
        if not self._is_step(own):
            return (own,)
        first = own.prev_named_sibling
        while first is not None and self._is_step(first):
            own, first = first, first.prev_named_sibling
        found, node = [own], own.next_named_sibling
        while node is not None and self._is_step(node):
            found.append(node)
            node = node.next_named_sibling
        return tuple(found)

    def _is_step(self, node: Node) -> bool:
        """Whether a statement computes, and changes the head alone."""
        changes = [what for one in walk(node) if (what := changed(one)) is not None]
        return (
            node.type in ("expression_statement", "if_statement")
            and bool(changes)
            and all(one.type != "subscript_expression" for one in walk(node))
            and all(_is(one, self._head, self._target) for one in changes)
        )

    def _wraps(self) -> bool:
        """Whether the head stays below the extent; else it counts on, and indices wrap.

        Raises:
            DeclinedError: not all steps are by one.
        """
        if all(self._is_by_one(step, is_wrapped=True) for step in self._steps):
            return True
        number, name = self._head, self._name.decode()
        can_end = number.bits < 32 or not (number.is_signed or number.is_wide)
        if can_end and any((1 << number.bits) % size for size in self._sizes):
            raise DeclinedError(f"`{name}` may come to the end of its type")
        if all(self._is_by_one(step, is_wrapped=False) for step in self._steps):
            return False
        line = self._steps[0][0].start_point.row + 1
        raise DeclinedError(f"line {line} does not step `{name}` round it by one")

    def _is_by_one(self, step: tuple[Node, ...], *, is_wrapped: bool) -> bool:
        for size, is_signed in itertools.product(self._sizes, (True, False)):
            for value in self._values(step, size, is_wrapped=is_wrapped):
                machine = self._computer(size, is_signed, {}, self._of_head(value))
                try:
                    for one in step:
                        machine.run(one)
                except UnknownError:
                    return False
                wanted = (value + 1) % size if is_wrapped else value + 1
                if machine.own != self._of_head(wanted):
                    return False
        return True

    def _of_head(self, number: int) -> Value:
        return Value(number).to(self._head.is_signed, self._head.bits)

    def _values(self, nodes: tuple[Node, ...], size: int, *, is_wrapped: bool) -> list[int]:
        """Values that the head may have, as many as tell."""
        if is_wrapped:
            return list(range(size))
        numbers = (*self._literals(nodes), 1 << 20, 1 << 30)
        near = (one + beside for one in numbers for beside in (-1, 0, 1))
        return [*range(3 * size + 2), *(one for one in near if 0 <= one < 1 << 31)]

    def _literals(self, nodes: tuple[Node, ...]) -> list[int]:
        texts = (self._syntax.text(one) for node in nodes for one in walk(node))
        return [int(text) for text in texts if text.isdigit()]

    def _computer(
        self, size: int, is_signed: bool, counters: dict[int, Value], value: Value
    ) -> Computer:
        def named(node: Node) -> Value:
            number = number_at(self._syntax.text(node), node, self._syntax)
            if number is not None and number.name.start_byte in counters:
                return counters[number.name.start_byte]
            if self._syntax.text(node) == self._extent:
                return Value(size).to(is_signed, 32)
            known = constant_at(node, self._target)
            if known is None or (number is not None and not number.is_const):
                raise UnknownError
            return Value(known).to(is_signed, 32)

        return Computer(self._syntax, named, self._name, value)

    def _text(self, index: Node) -> bytes:
        """An index with the head at 0, checked for all of the head's values.

        Raises:
            DeclinedError: it does not move with the head.
        """
        line = index.start_point.row + 1
        error = DeclinedError(f"line {line} has an index that does not move with its head")
        numbers = [
            number_at(self._syntax.text(one), one, self._syntax)
            for one in walk(index)
            if one.type == "identifier" and not _is(one, self._head, self._target)
        ]
        counted = {
            one.name.start_byte: one for one in numbers if one is not None and not one.is_const
        }
        zero, found = Value(0, self._head.is_signed), set[int]()
        try:
            for size, is_signed in itertools.product(self._sizes, (True, False)):
                turns = [self._turns(one, size, is_signed) for one in counted.values()]
                for values in itertools.product(*turns):
                    own = dict(zip(counted, values, strict=True))
                    made = self._computer(size, is_signed, own, zero).value(index).number
                    found.add(made)
                    for head in self._values((index,), size, is_wrapped=self._is_wrapped):
                        machine = self._computer(size, is_signed, own, self._of_head(head))
                        if machine.value(index).number != (head + made) % size or made >= size:
                            raise error
        except UnknownError:
            raise error from None
        if len(found) == 1:
            return b"%d" % found.pop()
        text = b"0" if self._head.is_signed else b"0u"
        heads = (one for one in walk(index) if _is(one, self._head, self._target))
        edits = [self._target.edit(one.start_byte, one.end_byte, text) for one in heads]
        return patched(self._syntax.source(index), edits, index.start_byte)

    def _turns(self, number: Number, size: int, is_signed: bool) -> list[Value]:
        """The values of a constant loop's counter.

        Raises:
            UnknownError: they are not computed.
        """
        loop, syntax = number.scope, self._syntax
        ends = [loop.child_by_field_name(one) for one in ("condition", "update")]
        condition, update = ends
        step = None if update is None else step_of(update, syntax)
        changes = [one for one in _changes(number, self._target) if one != update]
        if loop.type != "for_statement" or condition is None or step is None or changes:
            raise UnknownError
        if number.value is None or not is_only_named(number, self._target):
            raise UnknownError
        machine = self._computer(size, is_signed, {}, Value(0))
        at = machine.value(number.value).to(number.is_signed, number.bits)
        found: list[Value] = []
        while len(found) <= _TURNS:
            own = {number.name.start_byte: at}
            if not self._computer(size, is_signed, own, Value(0)).value(condition).number:
                return found
            found.append(at)
            at = Value(at.number + step[1]).to(number.is_signed, number.bits)
        raise UnknownError

    def _moving(self, step: tuple[Node, ...]) -> Edit:
        """The call behind a step of the head."""
        start, end = step[0].start_byte, step[-1].end_byte
        is_macro = is_continued(self._target, self._syntax.line_start(start))
        if is_macro or in_arguments(step[0], self._target):
            raise DeclinedError("its head steps in a macro")
        call = b"lmem_shift(" + self._array.name + b")"
        above = step[0].parent
        if above is not None and above.type == "for_statement":
            return replace(self._target.edit(end, end, b", " + call), counts="each")
        if above is None or above.type not in ("compound_statement", "case_statement"):
            raise DeclinedError(f"line {step[0].start_point.row + 1} steps its head without braces")
        after = self._syntax.lines_end() + self._syntax.indent(step[0]) + call + b";"
        return replace(self._target.edit(end, end, after), counts="each")


REWRITE = Rewrite(
    "shift",
    frozenset({"dynamic-index", "rolled-loop"}),
    propose,
    __name__,
    nothing="its elements are not read as a ring or a window whose index moves by one",
)
