"""What libraries keep in a variable's place of the frame while the variable is not alive.

A compiler gives the place of a variable that is over, or not yet begun, to the buffer that
``vprintf`` reads its arguments from (CUDA C++ Programming Guide, "Formatted Output"), or to the
range reduction of ``sin``, ``cos`` and ``tan``. What is stored there says nothing of the variable,
and the reverse. A store is for printing if a call that prints is the first that may see it, however
the program goes on: no load of the object comes before that, nor before something else is stored
over it. A load is the reduction's if it has the line of its stores, the user's call, and reads one
of its words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject
from lmemscope.analysis.ptx.trig import Reductions

PRINTING = frozenset({"vprintf", "__assertfail", "__assert_fail"})
"""Functions that CUDA calls for ``printf`` and ``assert``."""

_MOST = 1024
"""Stores of an object that are asked who sees them."""
ARGUMENT = 8
"""Bytes of the largest argument of a print; the size of their buffer is a multiple of it."""
_WORDS = ("u32", "b32", "s32", "u64", "b64", "s64")
"""Types of what a reduction stores and loads."""


@dataclass(frozen=True, slots=True)
class Shared:
    """An object that is a variable and a library's buffers in turn.

    Attributes:
        variable, buffers: it, each with its own accesses and calls.
    """

    variable: StackObject
    buffers: tuple[StackObject, ...]


def apart(objects: FunctionObjects, found: StackObject, reductions: Reductions) -> Shared | None:
    """Those that share an object's place; None of what is one thing.

    Args:
        objects: of the function.
        found: one of them.
        reductions: of the function.
    """
    variable, buffers = found, []
    printed = _print(objects, variable)
    if printed is not None:
        variable, buffer = printed
        buffers.append(buffer)
    reduced = _reduction(objects, variable, reductions)
    if reduced is not None:
        variable, buffer = reduced
        buffers.append(buffer)
    return Shared(variable, tuple(buffers)) if buffers else None


def _reduction(
    objects: FunctionObjects, found: StackObject, reductions: Reductions
) -> tuple[StackObject, StackObject] | None:
    """A variable, and the products of a range reduction in its place."""
    if found.passed_to or found.stored_at:
        return None
    reduction = reductions.of_object(found)
    if reduction is None:
        return None
    instructions = objects.body.instructions
    lines = {loc for index in reduction.stores if (loc := instructions[index].loc) and loc.line > 0}
    own: list[PtxAccess] = []
    rest: list[PtxAccess] = []
    for one in found.accesses:
        instruction = instructions[one.index]
        is_there = instruction.loc in lines and instruction.modifiers[-1] in _WORDS
        if one.is_store and is_there and one.index not in reduction.stores:
            return None  # What loads this is not to be told from the reduction's loads.
        is_own = one.index in reduction.stores or (is_there and not one.is_store)
        (own if is_own else rest).append(one)
    if len({one.is_store for one in rest}) < 2:
        return None  # A variable is stored and loaded.
    return (
        StackObject(found.offset, found.size, rest),
        StackObject(found.offset, found.size, own),
    )


def _print(objects: FunctionObjects, found: StackObject) -> tuple[StackObject, StackObject] | None:
    """A variable, and the arguments of prints in its place."""
    printing = [(call, at) for call, at in found.passed_to if call.callee in PRINTING]
    if not printing or found.stored_at or not any(not one.is_store for one in found.accesses):
        return None
    if sum(one.is_store for one in found.accesses) > _MOST:
        return None
    stored = _Stored(objects, found, {call.index for call, _ in printing})
    printed = {one.index for one in found.accesses if one.is_store and stored.is_printed(one)}
    if not printed:
        return None
    own = [one for one in found.accesses if one.index not in printed]
    arguments = [one for one in found.accesses if one.index in printed]
    size = needed = found.size
    end = _end(arguments)
    if end is not None:
        needed = min(needed, -(-(end - found.offset) // ARGUMENT) * ARGUMENT)
    if needed == found.size:
        # They need all of the place, and say nothing of how large the variable is.
        size = (_end(own) or found.offset + size) - found.offset
    return (
        StackObject(
            found.offset, size, own, [one for one in found.passed_to if one not in printing]
        ),
        StackObject(found.offset, needed, arguments, printing),
    )


def _end(accesses: Sequence[PtxAccess]) -> int | None:
    """Where the last of some accesses ends in the depot; None where a place is not known."""
    places = [(one.offset, one.width) for one in accesses]
    known = [offset + width for offset, width in places if offset is not None]
    return max(known) if known and len(known) == len(places) else None


class _Stored:
    """Who sees what is stored in an object: calls that print, and all others.

    Args:
        objects: of the function.
        found: the object.
        printing: indices of the calls that print it.
    """

    def __init__(self, objects: FunctionObjects, found: StackObject, printing: set[int]) -> None:
        self._flow, self._printing = objects.dataflow.flow, printing
        self._instructions = objects.body.instructions
        self._accesses = {one.index: one for one in found.accesses}
        self._others = {call.index for call, _ in found.passed_to} - printing
        # All that is done with the object, by blocks: other instructions are not looked at.
        self._uses: dict[int, list[int]] = defaultdict(list)
        for index in sorted({*self._accesses, *self._others, *printing}):
            self._uses[self._flow.block_of(index)].append(index)

    def is_printed(self, store: PtxAccess) -> bool:
        """Whether calls that print are all that may see what an access stores."""
        if store.offset is None:
            return False
        seen: set[int] = set()
        is_printed = False
        start = self._flow.block_of(store.index)
        todo = [(start, [one for one in self._uses[start] if one > store.index])]
        while todo:
            number, indices = todo.pop()
            for index in indices:
                if index in self._others or self._is_read(index, store):
                    return False
                # Each print stores all its arguments again, and what lives on has another place.
                is_printed = is_printed or index in self._printing
                if index in self._printing or self._is_over(index, store):
                    break
            else:
                fresh = [one for one in self._flow.blocks[number].successors if one not in seen]
                seen.update(fresh)
                todo += [(one, self._uses.get(one, [])) for one in fresh]
        return is_printed

    def _is_read(self, index: int, store: PtxAccess) -> bool:
        access = self._accesses.get(index)
        return access is not None and not access.is_store and _overlap(access, store)

    def _is_over(self, index: int, store: PtxAccess) -> bool:
        """Whether all that was stored is written over."""
        access = self._accesses.get(index)
        if access is None or not access.is_store or access.offset is None:
            return False
        if self._instructions[index].predicate is not None:
            return False
        assert store.offset is not None
        end = store.offset + store.width
        return access.offset <= store.offset and end <= access.offset + access.width


def _overlap(one: PtxAccess, store: PtxAccess) -> bool:
    if one.offset is None or store.offset is None:
        return True
    return one.offset < store.offset + store.width and store.offset < one.offset + one.width
