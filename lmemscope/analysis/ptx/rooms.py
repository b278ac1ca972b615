"""The largest numbers that a kernel's parameters can be: no loop leaves the array that it walks.

A loop that runs up to a parameter and takes the next element of an array of 6 in each turn shows
that the parameter is at most 6, unless the program reads beyond its array.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lmemscope.analysis.ptx.forms import Iteration, Term
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess
from lmemscope.analysis.ptx.trips import Trips

_LARGEST = 64
"""A parameter that may be larger is not taken to fill its array: most that bound a loop do not."""


def touched(objects: FunctionObjects, place: int) -> int | None:
    """Bytes between the first and the last that accesses of an array reach, as loops count.

    Args:
        objects: of its function.
        place: its offset in the frame.

    Returns:
        None where a place, a step or a number of turns is not a constant.
    """
    walks = Walks(objects, {})
    lows, highs = list[int](), list[int]()
    for access in objects.accesses:
        if all((one.kind, one.offset) != ("depot", place) for one in access.pointees):
            continue
        found = walks.reach(access)
        if found is None:
            return None
        lows.append(found.start)
        highs.append(found.stop)
    return max(highs) - min(lows) if lows else None


def rows_of(size: int, extents: Sequence[int]) -> list[int]:
    """Bytes of an array's innermost row, of what holds such rows, and so on; the array is the last.

    Args:
        size: of the array.
        extents: its dimensions, outermost first. Other than those of a size that they divide say
            nothing.
    """
    whole = math.prod(extents)
    if not whole or size % whole:
        return [size]
    rows = [size // math.prod(extents[:inner]) for inner in range(len(extents))]
    return rows[::-1]


@dataclass(frozen=True)
class Walks:
    """Loops of a function that go through its arrays.

    Attributes:
        objects: of the function.
        extents: of its arrays of several dimensions, by their offsets: a loop that goes through a
            row ends with the row. Without them an array is one row.
    """

    objects: FunctionObjects
    extents: Mapping[int, Sequence[int]]

    @property
    def trips(self) -> Trips:
        """How often its loops run."""
        return self.objects.dataflow.trips

    @cached_property
    def turns(self) -> Mapping[Loop, int]:
        """How often each loop can run at most before an access is outside of its array."""
        found: dict[Loop, int] = {}
        for access in self.objects.accesses:
            place = self._place(access)
            if place is None:
                continue
            for loop in self._loops(access):
                moved = self._moved_by(access, loop)
                if moved:
                    turns = -(-self._room(place, moved, self._begin(access)) // abs(moved))
                    found[loop] = min(turns, found.get(loop, turns))
        return found

    def largest_parameters(self) -> dict[str, int]:
        """The largest number of each parameter that an array bounds, where that is few turns of a
        loop."""
        found: dict[str, int] = {}
        for loop, turns in self.turns.items():
            for name in self.trips.parameters(loop):
                largest = self.largest(name, loop, turns)
                if largest is not None:
                    found[name] = min(largest, found.get(name, largest))
        return found

    def largest(self, name: str, loop: Loop, turns: int) -> int | None:
        """The largest number with which a loop runs no more often; None where any number serves."""
        for number in range(1, _LARGEST):
            count = self.trips.count_with(loop, {name: number})
            if count is not None and count > turns:
                return number - 1
        return None

    def reach(self, access: PtxAccess) -> range | None:
        """The bytes from the start of its array that an access may touch; None: not known."""
        low = self._begin(access) if len(access.pointees) == 1 else None
        if low is None:
            return None
        high = low + access.width
        flow = self.objects.dataflow.flow
        for loop in self.objects.dataflow.control.loops_of.get(flow.block_of(access.index), ()):
            moved = self._moved_by(access, loop)
            turns = self.trips.constant_count(loop) if moved else 1
            if moved is None or turns is None:
                return None
            low += min(0, moved * (turns - 1))
            high += max(0, moved * (turns - 1))
        return range(low, high)

    def _place(self, access: PtxAccess) -> int | None:
        """The offset of the one array that an access is of."""
        if len(access.pointees) != 1:
            return None
        (pointee,) = access.pointees
        known = pointee.kind == "depot" and pointee.offset in self.objects.objects
        return pointee.offset if known else None

    def _room(self, place: int, moved: int, begin: int | None) -> int:
        """Bytes from where an access begins to the end of what it goes through.

        Args:
            place: of the array in the frame.
            moved: bytes by which the access moves in a turn.
            begin: where it begins, in bytes from the array; None where nothing tells.
        """
        size = self.objects.objects[place].size
        extents = self.extents.get(place, ())
        row = next((row for row in rows_of(size, extents) if row > abs(moved)), size)
        if begin is None or not 0 <= begin < size:
            return row
        return row - begin % row if moved > 0 else begin % row + 1

    def _begin(self, access: PtxAccess) -> int | None:
        """Where an access is in the first turns of the loops around it, from its array's start."""
        form = self.objects.dataflow.affine.address(access.index)
        (pointee,) = access.pointees
        if form is None or not all(map(self._is_start, form.terms)):
            return None
        return form.constant - pointee.offset

    def _is_start(self, term: Term) -> bool:
        """Whether a term is nothing in the first turns, with the frame at 0."""
        return isinstance(term, Iteration) or term in self._frame

    @cached_property
    def _frame(self) -> frozenset[str]:
        return frozenset(one.name for one in self.objects.body.locals)

    def _loops(self, access: PtxAccess) -> list[Loop]:
        """The loops around an access that come to it, or to a loop around it, in every turn."""
        flow = self.objects.dataflow.flow
        around = self.objects.dataflow.control.loops_of.get(flow.block_of(access.index), ())
        innermost = min(around, key=lambda loop: len(loop.members), default=None)
        return [
            loop
            for loop in around
            if loop is not innermost
            or all(flow.dominates(access.index, latch) for latch in loop.latches)
        ]

    def _moved_by(self, access: PtxAccess, loop: Loop) -> int | None:
        """By how many bytes each turn of a loop moves an access; None where that differs."""
        dataflow = self.objects.dataflow
        form = dataflow.affine.address(access.index)
        around = dataflow.control.loops_of.get(dataflow.flow.block_of(access.index), ())
        return dataflow.affine.change(form, loop, around) if form is not None else None
