"""Shift the ring instead of advancing its head

Instead of the head, the elements of a ring buffer move: at each step an unrolled loop moves each by
one position, and `window[(head + 3) % N]` becomes `window[3]`. Every index is a constant.

Safe: element `i` is always what `(head + i) % N` was. At the start the head is 0 or all elements
are equal, and the head only steps by one; every index is checked for each value of the head. Unsafe
if a loop sums all elements by position, which changes the order of additions. It costs a move of
every element per step: long rings that are read little are better in shared memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.accessors import joined
from lmemscope.rewrites.ages import Ages, Counter, is_whole
from lmemscope.rewrites.arrays import (
    LocalArray,
    Use,
    element_type,
    is_arithmetic,
    local_array,
    words_of,
)
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.classes import helper_edits
from lmemscope.rewrites.extents import Extents
from lmemscope.rewrites.heads import Advance, Head, changes_of, head_of
from lmemscope.rewrites.likelihood import always
from lmemscope.rewrites.loops import LOOPS, indexing_loops, is_constant, unroll_edit
from lmemscope.rewrites.places import Extent, extent_of, is_declared_again
from lmemscope.rewrites.steady import is_only_named
from lmemscope.rewrites.totals import adds_all, sets_all
from lmemscope.rewrites.value_uses import element_at, takes_value
from lmemscope.rewrites.variables import Number, number_at
from lmemscope.rewrites.written import in_arguments, is_continued
from lmemscope.sources.syntax import around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 128
"""Elements: beyond these no registers hold them."""
_VECTOR = re.compile(
    r"(?:const )?(?:(?:u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]|__half2?|half2?"
    r"|__nv_bfloat16)"
)
_NAMES = {1: b"lmem_shift", -1: b"lmem_shift_back"}
_BLOCKS = ("compound_statement", "case_statement")
_HELPERS = {
    1: b"""\
// Moves each element of a ring by one place: the first becomes the last.
template <class Element, int Count>
__host__ __device__ __forceinline__ void lmem_shift(Element (&ring)[Count]) {
    const Element first = ring[0];
#pragma unroll
    for (int i = 0; i < Count - 1; ++i) ring[i] = ring[i + 1];
    ring[Count - 1] = first;
}
""",
    -1: b"""\
// Moves each element of a ring by one place: the last becomes the first.
template <class Element, int Count>
__host__ __device__ __forceinline__ void lmem_shift_back(Element (&ring)[Count]) {
    const Element last = ring[Count - 1];
#pragma unroll
    for (int i = Count - 1; i > 0; --i) ring[i] = ring[i - 1];
    ring[0] = last;
}
""",
}


def propose(target: Target) -> Iterator[Rewriting]:
    """The array with a step of all its elements behind each step of its head."""
    declared = target.declared
    if declared is None or declared.array is None or len(declared.extents) != 1:
        return
    heads = tuple(one for one in _candidates(target) if any(changes_of(one, target.syntax)))
    is_round = _is_round(target)
    if not heads or not (is_round or _steps_back(heads, target)):
        return
    array = local_array(target)
    extent = extent_of(declared.array, target.syntax)
    if extent is None:
        raise DeclinedError("its extent is left to its initializer")
    if target.meanings.is_redefined(words_of([extent.text])) or is_declared_again(
        extent.text, declared, target.syntax
    ):
        raise DeclinedError(f"`{extent.text.decode(errors='replace')}` is defined again")
    extents = Extents(target, extent, declared.array)
    if array.numbers is not None and max(array.numbers) > MOST:
        raise DeclinedError(f"{max(array.numbers)} elements are too many to move in each step")
    _check_elements(array)
    reasons: list[str] = []
    for number in heads:
        try:
            head = head_of(number, extents, target.syntax)
            if head.is_wrapped or is_round:
                yield _Shifter(array, head, extents, extent).rewriting()
                return
        except DeclinedError as declined:
            reasons.append(str(declined))
    if is_round and reasons:
        raise DeclinedError(reasons[0])


def _steps_back(heads: tuple[Number, ...], target: Target) -> bool:
    """Whether a statement may bring a head back to where the array begins."""
    for head in heads:
        for change in changes_of(head, target.syntax):
            if change.type == "assignment_expression":
                return True
    return False


def _is_round(target: Target) -> bool:
    """Whether an index is computed round the array: only then a head may count on."""
    assert target.declared is not None
    syntax = target.syntax
    pending = [one for index in _indices(target) for one in walk(index)]
    seen = []
    while pending:
        one = pending.pop()
        if one.type == "binary_expression":
            operator = one.child_by_field_name("operator")
            if operator is not None and syntax.text(operator) in (b"%", b"&"):
                return True
        number = number_at(syntax.text(one), one, syntax) if one.type == "identifier" else None
        if number is not None and number.value is not None and number.name not in seen:
            seen.append(number.name)
            pending += walk(number.value)
    return False


def _indices(target: Target) -> Iterator[Node]:
    """The subscripts of the array."""
    assert target.declared is not None
    for use in target.syntax.uses(target.declared.name, target.declared.scope):
        subscript = use.parent
        if subscript is None or subscript.type != "subscript_expression":
            continue
        given = subscript.child_by_field_name("indices")
        if given is not None and subscript.child_by_field_name("argument") == use:
            yield given


def _candidates(target: Target) -> Iterator[Number]:
    """Variables that may be heads: indices are one of them, or computed round the array."""
    assert target.declared is not None
    syntax, seen = target.syntax, []
    pending = [one for index in _indices(target) for one in walk(index)]
    while pending:
        one = pending.pop(0)
        number = number_at(syntax.text(one), one, syntax) if one.type == "identifier" else None
        if number is None or number.is_const or number.name in seen:
            if number is not None and number.name not in seen and number.value is not None:
                seen.append(number.name)
                pending += walk(number.value)
            continue
        seen.append(number.name)
        if number.value is not None:
            pending += walk(number.value)
        if is_only_named(number, target) and not _is_inner(number, target):
            yield number


def _is_inner(number: Number, target: Target) -> bool:
    """Whether a variable is the counter of a loop that is constant: unrolling is for that."""
    return number.scope.type == "for_statement" and is_constant(number.scope, target)


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
    for use in array.uses:
        line = use.name.start_point.row + 1
        if use.kind == "size":
            continue
        if use.element is None or use.kind in ("passed", "other"):
            raise DeclinedError(f"line {line} uses it in another way than by one element")
        if _keeps_place(use, array):
            raise DeclinedError(f"line {line} keeps the place of an element")
        inner = next(around(use.name, "lambda_expression", "gnu_asm_expression"), None)
        if inner is not None and inner.start_byte > array.declared.statement.start_byte:
            raise DeclinedError(f"line {line} uses it in a function of its own")
    for one in walk(array.declared.function):
        if one.type in ("goto_statement", "labeled_statement"):
            raise DeclinedError(f"line {one.start_point.row + 1} has a `goto` or its label")


class _Shifter:
    def __init__(self, array: LocalArray, head: Head, extents: Extents, extent: Extent) -> None:
        self._array, self._head, self._extents, self._extent = array, head, extents, extent
        self._target, self._syntax = array.target, array.syntax
        self._ages = Ages(array.target, head, extents, extent)
        self._declared = array.declared
        self._begins_at_first = self._check_lifetimes()

    def rewriting(self) -> Rewriting:
        """All edits."""
        edits: list[Edit] = []
        loops: list[Node] = []
        promises: list[str] = []
        first = min(self._outermost(one).start_byte for one in self._head.advances)
        is_filled = False
        indices = [one for use in self._array.uses for one in use.indices]
        if any(one.taken is not None and one.taken not in indices for one in self._head.advances):
            raise DeclinedError("its head steps in another array's index")
        for use in self._array.uses:
            if use.kind == "size":
                continue
            index = use.indices[0]
            line = use.name.start_point.row + 1
            if any(one.taken is None and one.holds(use.name) for one in self._head.advances):
                raise DeclinedError(f"line {line} uses it where its head steps")
            text = self._ages.text(index)
            if text is not None:
                edits.append(self._target.edit(index.start_byte, index.end_byte, text))
                loops += self._ages.counters(index)
                continue
            is_filled |= self._is_placed(use, first, promises)
        edits += self._initialised(is_filled)
        for advance in self._head.advances:
            edits += self._moving(advance)
        loops += [one for one in indexing_loops(self._target) if is_constant(one, self._target)]
        stepping = [one for advance in self._head.advances for one in self._around(advance)]
        for loop in dict.fromkeys(loops):
            edit = unroll_edit(self._target, loop)
            if loop not in stepping and edit is not None:
                edits.append(edit)
        helper = helper_edits(
            self._target,
            self._target.path,
            self._syntax,
            self._declared.function,
            _NAMES[self._head.by],
            _HELPERS[self._head.by],
        )
        head = self._head.name.decode(errors="replace")
        return Rewriting(
            "shift",
            "unsafe" if promises else "safe",
            joined((*helper, *dict.fromkeys(edits))),
            f"move the elements of `{self._target.name}` where `{head}` steps",
            " and ".join(dict.fromkeys(promises)) or None,
        )

    def _check_lifetimes(self) -> bool:
        """Whether the head is 0 where the array begins to be.

        Raises:
            DeclinedError: one of them begins anew while the other goes on.
        """
        number, declared = self._head.number, self._declared
        name, scope = self._head.name.decode(errors="replace"), declared.scope
        for advance in self._head.advances:
            if not _holds(scope, advance.parts[0]) or (
                advance.parts[0].start_byte < declared.statement.start_byte
            ):
                raise DeclinedError(f"`{name}` steps where the array is not")
        is_outside = not _holds(scope, number.name)
        begun = number.scope if number.scope.type == "for_statement" else number.name
        for loop in around(begun, *LOOPS):
            if not is_outside and _holds(scope, loop) and loop != scope:
                raise DeclinedError(f"`{name}` begins anew in a loop")
        if is_outside and self._head.is_wrapped and number.value is None:
            raise DeclinedError(f"nothing says where `{name}` begins")
        start = self._start()
        if self._head.is_wrapped and start is None:
            raise DeclinedError(f"nothing says where `{name}` begins")
        if not self._head.is_wrapped:
            self._check_wrapping()
        return start == 0 and not is_outside

    def _start(self) -> int | None:
        """Where the head begins, round the array; None where that is not fixed."""
        value = self._head.number.value
        text = b"" if value is None else self._syntax.text(value).strip(b"{} ")
        if text.isdigit() and (text == b"0" or int(text) < min(self._extents.sizes)):
            return int(text)
        return 0 if text == self._extent.text and not self._head.is_wrapped else None

    def _check_wrapping(self) -> None:
        """That a head that counts on never begins again but with the ring."""
        number = self._head.number
        is_narrow = number.bits < 32
        if number.is_wide or (number.is_signed and not is_narrow):
            return
        if all((1 << number.bits) % size == 0 for size in self._extents.sizes):
            return
        for advance in self._head.advances:
            condition = (
                None if advance.loop is None else advance.loop.child_by_field_name("condition")
            )
            text = b"" if condition is None else self._syntax.text(condition).replace(b" ", b"")
            ending = re.match(re.escape(self._head.name) + rb"<(?![<=])\w+$", text)
            if is_narrow or ending is None:
                name = self._head.name.decode(errors="replace")
                raise DeclinedError(f"`{name}` may come to the end of its type")

    def _is_placed(self, use: Use, first: int, promises: list[str]) -> bool:
        """Whether a use that the head is not in fills the array before it moves.

        Raises:
            DeclinedError: the use needs the place of an element.
        """
        line = use.name.start_point.row + 1
        loop = next(around(use.name, *LOOPS), None)
        whole: Counter | None = None
        if loop is not None and loop.type == "for_statement":
            name = self._syntax.text(use.indices[0])
            number = number_at(name, use.indices[0], self._syntax)
            if number is not None and number.scope == loop:
                whole = Counter(number, loop)
        is_all = False
        if whole is not None:
            try:
                is_all = is_whole(whole, self._extents, self._syntax)
            except DeclinedError:
                is_all = False
        if is_all and whole is not None and sets_all(use, whole, self._target):
            return (
                loop is not None
                and loop.parent == self._declared.scope
                and (loop.start_byte < first)
            )
        if use.name.start_byte < first and self._begins_at_first:
            return is_all and loop is not None and loop.parent == self._declared.scope
        if is_all and whole is not None:
            promise = adds_all(use, whole, self._array, self._target)
            if promise is not None:
                if promise:
                    promises.append(promise)
                return False
        raise DeclinedError(f"line {line} uses an element by its place, which moves")

    def _initialised(self, is_filled: bool) -> Iterator[Edit]:
        """Zeros for an array that has no initializer: what is moved must have a value."""
        declared = self._declared
        if declared.value is not None:
            values = self._array.values
            text = b"" if values is None else b",".join(values)
            is_zero = values is not None and re.fullmatch(rb"(?:0(?:\.0*)?f?)?", text) is not None
            if not is_zero and not self._begins_at_first:
                raise DeclinedError("its elements are not alike where it begins")
            return
        if not is_filled:
            assert declared.array is not None
            at = declared.array.end_byte
            yield self._target.edit(at, at, b" = {}")

    def _moving(self, advance: Advance) -> Iterator[Edit]:
        """The call behind a step of the head."""
        call = _NAMES[self._head.by] + b"(" + self._array.name + b")"
        parts = advance.parts
        start, end = parts[0].start_byte, parts[-1].end_byte
        if in_arguments(parts[0], self._target) or is_continued(
            self._target, self._syntax.line_start(start)
        ):
            raise DeclinedError("its head steps in a macro")
        if advance.loop is not None:
            yield replace(self._target.edit(end, end, b", " + call), counts="each")
            return
        before = b""
        if advance.taken is not None:
            before = b" " + self._syntax.text(advance.taken) + b";"
        parent = parts[0].parent
        after = self._syntax.lines_end() + self._syntax.indent(parts[0]) + call + b";"
        if parent is None or parent.type not in _BLOCKS:
            yield replace(self._target.edit(start, start, b"{ "), counts="each")
            after = b" " + call + b"; }"
        if advance.taken is not None:
            at = parts[0].end_byte
            if at == end:
                yield replace(self._target.edit(at, at, before + after), counts="each")
                return
            yield replace(self._target.edit(at, at, before), counts="each")
        yield replace(self._target.edit(end, end, after), counts="each")

    def _outermost(self, advance: Advance) -> Node:
        """The statement of the array's block that a step is in."""
        node = advance.parts[0]
        while node.parent is not None and node.parent != self._declared.scope:
            node = node.parent
        return node

    def _around(self, advance: Advance) -> Iterator[Node]:
        """The loops that a step is in, or in the head of."""
        yield from around(advance.parts[0], *LOOPS)


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def _keeps_place(use: Use, array: LocalArray) -> bool:
    kind, target = element_type(array.target), array.target
    place = element_at(use.name, kind, len(array.extents), target)
    return place is None or not takes_value(place, kind, target, may_assign=True)


REWRITE = Rewrite(
    "shift",
    frozenset({"dynamic-index", "rolled-loop"}),
    propose,
    __name__,
    nothing="its elements are not read as a ring or a window whose index moves by one",
    is_likely=always,
)
