"""Keep small numbers in shared memory, in fewer bits than their type has

An integer array becomes a view of a shared-memory column with elements of 8 or 16 bits, if all
values stored in it fit. It takes a half or a quarter of the space of shared-memory, so more threads
are resident. If 1, 2 or 4 bits suffice, a second variant packs two to eight elements per byte; each
store then reads the byte first.

All stored values must be in sight: constants (defined once, in no branch of an `#if`), loop
counters, variables that hold only such values, results of a mask or remainder, and elements of the
array itself. Elements are read as their original type. Safe under the conditions of shared-memory.
Unsafe if a loop's bound is a variable: the promise is that it does not exceed 65535.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.accessors import accessor_edits, joined
from lmemscope.rewrites.arrays import (
    Elements,
    LocalArray,
    Use,
    is_captured,
    local_array,
)
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.carried import Carrier
from lmemscope.rewrites.classes import helper_edits
from lmemscope.rewrites.fields import BITS as FIELDS
from lmemscope.rewrites.fields import CLASSES, Fields, names
from lmemscope.rewrites.packed import BITS
from lmemscope.rewrites.ranges import NOTHING, Range, Ranges
from lmemscope.rewrites.reaching import same_object
from lmemscope.rewrites.rows import check_rows
from lmemscope.rewrites.shared_room import for_threads, room_for
from lmemscope.sources.syntax import Syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST = 65535
"""What a bound is promised not to exceed: the largest number of 16 bits."""
_KEPT = (
    (b"unsigned char", 8, 0, 255),
    (b"signed char", 8, -128, 127),
    (b"unsigned short", 16, 0, _MOST),
    (b"short", 16, -32768, 32767),
)
"""Types of elements, their bits, and the numbers that they hold."""
_DIMENSIONS = 2
_OF_BOOL = 8
_TRUTH = Range(0, 1)


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration as a view of narrower elements, its uses, and functions that take it."""
    array = local_array(target)
    bits = _OF_BOOL if array.element == b"bool" else BITS.get(array.element, 0)
    if not bits or len(array.extents) > _DIMENSIONS or array.is_const or array.is_volatile:
        return
    extents, sizes = array.numbers, {hit.finding.type_bytes for hit in target.hits}
    if extents is None or len(extents) != len(array.extents):
        return
    if sizes - {None, math.prod(extents) * bits // 8}:
        return
    if array.declared.value is not None or any(use.kind == "size" for use in array.uses):
        return
    if any(is_captured(use, array.declared.scope, array.syntax) for use in array.uses):
        raise DeclinedError("a lambda captures it")
    # Each function that gets it may put numbers into it: they are all seen before it is declared.
    numbers = _Numbers(target, is_bool=array.element == b"bool")
    numbers.look(array)
    for fields in numbers.fields(bits, extents):
        yield _rewriting(target, array, fields)


def _rewriting(target: Target, array: LocalArray, fields: Fields) -> Rewriting:
    whole = max(hit.finding.type_bytes or hit.finding.bytes for hit in target.hits)
    room = room_for(array, target, max(1, whole // fields.size))
    classes = {name: CLASSES[name] for name in names(len(array.extents))}

    def before(path: str, syntax: Syntax, function: Node) -> tuple[Edit, ...]:
        return tuple(
            edit
            for name, text in classes.items()
            for edit in helper_edits(target, path, syntax, function, name, text)
        )

    def spelling(element: bytes, is_const: bool, extents: Sequence[bytes]) -> bytes:
        if element != array.element:
            raise DeclinedError("a function takes its elements as another type")
        return b"const " + fields.view(element, extents, room.threads) + b" "

    def body(elements: Elements, pass_on: Callable[[Use], None]) -> tuple[Edit, ...]:
        check_rows(elements, array.numbers, target)  # A row's last byte may be filled up.
        return accessor_edits(elements, target, pass_on, is_plain=True)

    carrier = Carrier(target, array.extents, spelling, body, before)
    declaration = fields.declaration(array, room.threads)
    uses = body(array.elements, carrier.carry(target.path, target.syntax))
    helper = before(target.path, target.syntax, array.declared.function)
    caveats = [*fields.promises, *([room.caveat] if room.caveat else [])]
    return Rewriting(
        "narrow",
        "unsafe" if caveats else "safe",
        joined((*helper, *declaration, *uses, *carrier.edits, *room.edits)),
        f"keep `{target.name}` as {fields.what} in a column of shared memory "
        f"{for_threads(room.threads)}",
        "; ".join(caveats) or None,
        room=room.claimed,
    )


class _Numbers:
    """What is put into an array, in whatever functions."""

    def __init__(self, target: Target, *, is_bool: bool) -> None:
        self._target, self._range, self._is_bool = target, NOTHING, is_bool

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
                if self._is_bool:
                    found = _TRUTH  # Whatever it is made of.
                if found is None:
                    raise DeclinedError(
                        f"line {line} stores a value in it whose range is not known"
                    )
                self._range = self._range.with_(found)
            elif use.kind != "read" or _is_pointed_to(use, elements.syntax):
                raise DeclinedError(f"line {line} changes an element, or keeps a part of it")
        return ()

    def fields(self, bits: int, extents: tuple[int, ...]) -> Iterator[Fields]:
        """What holds all of it: the narrowest type, for arrays of one dimension, and fewer bits."""
        found: Range = self._range
        if found.is_empty:
            return
        for type_, width, low, high in _KEPT if len(extents) == 1 else ():
            if low <= found.low and found.high <= high and width < bits:
                yield Fields(width, extents, found.promises, type_, width)
                break
        if found.low < 0:
            return
        # A byte of its own is a narrower type, where the array has one dimension.
        for few in FIELDS if len(extents) > 1 else FIELDS[:-1]:
            if found.high < 1 << few and few < bits:
                yield Fields(few, extents, found.promises)
                break


def _is_pointed_to(use: Use, syntax: Syntax) -> bool:
    """Whether the address of the element is taken, by which anything may be put into it."""
    above = same_object(use.whole).parent
    is_taken = above is not None and above.type == "pointer_expression"
    return is_taken and above is not None and syntax.text(above)[:1] == b"&"


REWRITE = Rewrite(
    "narrow",
    frozenset({"dynamic-index", "rolled-loop", "large-array", "address-taken"}),
    propose,
    __name__,
    nothing="its elements are not read as integers that need fewer bits than they have",
)
