"""Keep small numbers in shared memory, in fewer bytes than their type has

An array of whole numbers becomes a view of a column of shared memory whose elements are bytes, or
words of 16 bits: as many as the numbers that are ever put into it need. It takes a half or a fourth
of the room that shared-memory takes, so that more threads run at a time, and longer arrays fit.

What is put into it must be in sight: numbers, counters of loops, variables that keep the value they
begin with, what is behind a mask or a remainder, and elements of the array itself. An element is
read as a number of its type, as before. It is safe under what makes shared-memory safe. Where a
loop's bound is a variable it is unsafe: its user promises that the bound does not exceed 65535. The
name of a constant counts where it is defined once in all files in sight, in no branch of an `#if`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.accessors import accessor_edits, joined
from lmemscope.rewrites.arrays import (
    Elements,
    LocalArray,
    Use,
    element_type,
    is_captured,
    local_array,
)
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.carried import Carrier
from lmemscope.rewrites.classes import declared_as, helper_edits
from lmemscope.rewrites.packed import BITS
from lmemscope.rewrites.ranges import NOTHING, Range, Ranges
from lmemscope.rewrites.reaching import same_object
from lmemscope.rewrites.shared_memory import as_rows
from lmemscope.rewrites.shared_room import LANE, Room, room_for
from lmemscope.sources.syntax import Syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST = 65535
"""What a bound is promised not to exceed: the largest number of 16 bits."""
_KEPT = (
    (b"unsigned char", 1, 0, 255),
    (b"signed char", 1, -128, 127),
    (b"unsigned short", 2, 0, _MOST),
    (b"short", 2, -32768, 32767),
)
"""Types of elements, their bytes, and the numbers that they hold."""
_WORD = 4
_NAME = b"lmem_kept"
_CLASS = b"""\
// A thread's own column of words of a shared array, whose elements are kept in fewer bytes.
template <class Element, class Kept, int Threads>
struct lmem_kept {
    enum { each = 4 / sizeof(Kept) };
    Kept (*words)[Threads][each];
    __host__ __device__ __forceinline__ Kept &at(int i) const {
        return words[unsigned(i) / each][0][unsigned(i) % each];
    }
    __host__ __device__ __forceinline__ Element get(int i) const {
        return static_cast<Element>(at(i));
    }
    __host__ __device__ __forceinline__ Element set(int i, Element value) const {
        at(i) = static_cast<Kept>(value);
        return value;
    }
    __host__ __device__ __forceinline__ const Element operator[](int i) const { return get(i); }
};
"""


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration as a view of narrower elements, its uses, and functions that take it."""
    array = local_array(target)
    bits = BITS.get(array.element, 0)
    if bits < 16 or len(array.extents) != 1 or array.is_const or array.is_volatile:
        return
    count, sizes = array.numbers, {hit.finding.type_bytes for hit in target.hits}
    if count is None or sizes - {None, count[0] * bits // 8}:
        return
    if array.declared.value is not None or any(use.kind == "size" for use in array.uses):
        return
    if any(is_captured(use, array.declared.scope, array.syntax) for use in array.uses):
        raise DeclinedError("a lambda captures it")
    # Each function that gets it may put numbers into it: they are all seen before it is declared.
    numbers = _Numbers(target)
    numbers.look(array)
    kept = numbers.kept(bits)
    if kept is None:
        return
    type_, size, promises = kept
    room = room_for(array, target, bits // 8 // size)
    carrier = _carrier(target, array, room, type_)
    uses = _body(target, carrier)(array.elements, carrier.carry(target.path, target.syntax))
    helper = helper_edits(
        target, target.path, target.syntax, array.declared.function, _NAME, _CLASS
    )
    caveats = [*promises, *([room.caveat] if room.caveat else [])]
    declaration = _declaration(array, room.threads, type_, size)
    yield Rewriting(
        "narrow",
        "unsafe" if caveats else "safe",
        joined((*helper, *declaration, *uses, *carrier.edits, *room.edits)),
        f"`{target.name}` as {type_.decode()} in a column of shared memory for each of "
        f"{room.threads} threads",
        "; ".join(caveats) or None,
    )


class _Numbers:
    """What is put into an array, in whatever functions."""

    def __init__(self, target: Target) -> None:
        self._target, self._range = target, NOTHING

    def look(self, array: LocalArray) -> None:
        """Go through its function and those that it is given to.

        Raises:
            DeclinedError: something is put into it that is not known.
        """

        def spelling(element: bytes, is_const: bool, extents: Sequence[bytes]) -> bytes:
            return b""

        def before(path: str, syntax: Syntax, function: Node) -> tuple[Edit, ...]:
            return ()

        carrier = Carrier(self._target, array.extents, spelling, self._in_body, before)
        self._in_body(array.elements, carrier.carry(self._target.path, self._target.syntax))

    def _in_body(self, elements: Elements, pass_on: Callable[[Use], None]) -> tuple[Edit, ...]:
        home = replace(self._target, path=elements.path, syntax=elements.syntax)
        ranges = Ranges(home, elements.name, _MOST)
        for use in elements.uses:
            line = use.name.start_point.row + 1
            if use.kind == "passed":
                pass_on(use)
            elif use.kind == "assign":
                right = use.whole.child_by_field_name("right")
                found = ranges.of(right) if right is not None else None
                if found is None:
                    raise DeclinedError(f"line {line} puts a number into it that is not known")
                self._range = self._range.with_(found)
            elif use.kind != "read" or _is_pointed_to(use, elements.syntax):
                raise DeclinedError(f"line {line} changes an element, or keeps a part of it")
        return ()

    def kept(self, bits: int) -> tuple[bytes, int, tuple[str, ...]] | None:
        """The type that holds all of it, its bytes, and what is promised; None: none does."""
        found: Range = self._range
        if found.is_empty:
            return None
        for type_, size, low, high in _KEPT:
            if low <= found.low and found.high <= high and size * 8 < bits:
                return type_, size, found.promises
        return None


def _is_pointed_to(use: Use, syntax: Syntax) -> bool:
    """Whether the address of the element is taken, by which anything may be put into it."""
    above = same_object(use.whole).parent
    is_taken = above is not None and above.type == "pointer_expression"
    return is_taken and above is not None and syntax.text(above)[:1] == b"&"


def _carrier(target: Target, array: LocalArray, room: Room, kept: bytes) -> Carrier:
    def before(path: str, syntax: Syntax, function: Node) -> tuple[Edit, ...]:
        return helper_edits(target, path, syntax, function, _NAME, _CLASS)

    def spelling(element: bytes, is_const: bool, extents: Sequence[bytes]) -> bytes:
        if element != array.element:
            raise DeclinedError("a function takes its elements as another type")
        return b"const " + _view(element, kept, room.threads) + b" "

    def body(elements: Elements, pass_on: Callable[[Use], None]) -> tuple[Edit, ...]:
        return _body(target, carrier)(elements, pass_on)

    carrier = Carrier(target, array.extents, spelling, body, before)
    return carrier


def _body(
    target: Target, carrier: Carrier
) -> Callable[[Elements, Callable[[Use], None]], tuple[Edit, ...]]:
    def body(elements: Elements, pass_on: Callable[[Use], None]) -> tuple[Edit, ...]:
        return accessor_edits(
            elements, target.meanings, pass_on, element_type(target), is_plain=True
        )

    return body


def _view(element: bytes, kept: bytes, threads: int) -> bytes:
    return _NAME + b"<" + element + b", " + kept + b", %d>" % threads


def _declaration(array: LocalArray, threads: int, kept: bytes, size: int) -> tuple[Edit, ...]:
    syntax, store, each = array.syntax, array.name + b"_lmem", _WORD // size
    if store in syntax.words():
        raise DeclinedError(f"the name {store.decode()} is taken")
    (extent,) = array.extents
    rows = b"((" + extent + b") + %d) / %d" % (each - 1, each)
    if extent.isdigit():
        rows = b"%d" % -(-int(extent) // each)
    end = syntax.lines_end() + syntax.indent(array.declared.statement)
    space = b"__shared__ __align__(%d) " % _WORD + kept + b" " + store
    space += b"[" + rows + b"][%d][%d];" % (threads, each) + end
    view = space + b"const " + _view(array.element, kept, threads)
    column = store + b"[0][" + LANE + b"]"
    return declared_as(array, view, b" = {" + as_rows(store, column) + b"}")


REWRITE = Rewrite(
    "narrow",
    frozenset({"dynamic-index", "rolled-loop", "large-array", "address-taken"}),
    propose,
    __name__,
)
