"""The largest numbers that a kernel's parameters can be: no loop leaves the array that it walks.

A loop that runs up to a parameter and takes the next element of an array of 6 in each turn shows
that the parameter is at most 6, unless the program reads beyond its array.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess
from lmemscope.analysis.ptx.trips import Trips
from lmemscope.analysis.ptx.values import Value
from lmemscope.formats.ptx_body import Operand, number_of
from lmemscope.formats.ptx_isa import shifted_by
from lmemscope.formats.ptx_operands import folded

_LARGEST = 64
"""A parameter that may be larger is not taken to fill its array: most that bound a loop do not."""
_DEEP = 48
"""Instructions from where a frame begins to an address in it."""


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
    _firsts: dict[Value, int | None] = field(default_factory=dict)
    _turns: dict[Loop, int] = field(default_factory=dict)

    @property
    def trips(self) -> Trips:
        """How often its loops run."""
        return self.objects.dataflow.trips

    def turns(self) -> Mapping[Loop, int]:
        """How often each loop can run at most before an access is outside of its array."""
        found = self._turns
        if found:
            return found
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
        for loop, turns in self.turns().items():
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
        address = self.objects.body.instructions[access.index].address
        (pointee,) = access.pointees
        if access.offset is not None:
            return access.offset - pointee.offset
        if address is None or address.base is None:
            return None
        first = self._first_of(access.index, address.base, 0)
        return None if first is None else first + address.offset - pointee.offset

    def _first(self, value: Value | None, depth: int) -> int | None:
        """What a value is in the first turns, where the frame begins at 0; None: not known."""
        if value is None or depth > _DEEP:
            return None
        if value not in self._firsts:
            self._firsts[value] = None  # while it is asked for
            self._firsts[value] = self._find_first(value, depth)
        return self._firsts[value]

    def _find_first(self, value: Value, depth: int) -> int | None:
        values = self.objects.dataflow.values
        join = values.join(value)
        if join is not None:
            loop = self.objects.dataflow.control.loop_at.get(join.block)
            members = self.objects.dataflow.control.blocks_of(loop) if loop is not None else ()
            starts = {
                self._first(brought, depth + 1)
                for before, brought in values.incoming(join).items()
                if before not in members
            }
            return starts.pop() if len(starts) == 1 else None
        if value < 0:
            return None
        one = self.objects.body.instructions[value]
        if one.predicate is not None:
            return None
        if one.isa.fold is None:
            return None
        numbers = [self._first_of(value, operand, depth) for operand in one.operands[1:]]
        return folded(one, numbers)

    def _first_of(self, index: int, operand: Operand, depth: int) -> int | None:
        """The same of what an instruction reads."""
        if operand in self.objects.bases:
            return 0
        written = number_of(operand)
        return self._first(self._value(index, operand), depth + 1) if written is None else written

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
        address = self.objects.body.instructions[access.index].address
        if address is None or address.base is None:
            return None
        return self._moved(self._value(access.index, address.base), loop, set())

    def _value(self, index: int, operand: Operand) -> Value | None:
        if not isinstance(operand, str) or operand[:1] != "%":
            return None
        return self.objects.dataflow.values.read(index, operand)

    def _moved(self, value: Value | None, loop: Loop, asked: set[Value]) -> int | None:
        """By how much each turn of a loop changes a value."""
        dataflow = self.objects.dataflow
        if value is None or dataflow.values.block_of(value) not in dataflow.control.blocks_of(loop):
            return 0
        if value in asked:
            return None
        asked = asked | {value}
        join = dataflow.values.join(value)
        if join is not None:
            step = self.trips.step(value, loop)
            if step is not None:
                return step
            inner = dataflow.control.loop_at.get(join.block)
            if inner is None or inner is loop:
                return None
            # What an inner loop begins with moves where it goes.
            members = dataflow.control.blocks_of(inner)
            starts = {
                self._moved(brought, loop, asked)
                for before, brought in dataflow.values.incoming(join).items()
                if before not in members
            }
            return starts.pop() if len(starts) == 1 else None
        return self._computed(value, loop, asked)

    def _computed(self, index: int, loop: Loop, asked: set[Value]) -> int | None:
        """The same of what an instruction computes."""
        one = self.objects.body.instructions[index]
        if one.predicate is not None:
            return None
        operands = one.operands[1:]
        if one.isa.kind == "copy" and len(operands) == 1:
            return self._of(index, operands[0], loop, asked)
        if one.operation in ("add", "sub") and len(operands) == 2:
            moved = [self._of(index, operand, loop, asked) for operand in operands]
            if moved[0] is None or moved[1] is None:
                return None
            return moved[0] + moved[1] if one.operation == "add" else moved[0] - moved[1]
        factor = number_of(operands[1]) if len(operands) > 1 else None
        if one.operation in ("mul", "mad", "shl") and factor is not None:
            moved_by = self._of(index, operands[0], loop, asked)
            added = self._of(index, operands[2], loop, asked) if one.operation == "mad" else 0
            if moved_by is None or added is None:
                return None
            return (
                moved_by * (1 << shifted_by(factor) if one.operation == "shl" else factor) + added
            )
        return 0 if one.operation == "ld" and "param" in one.modifiers else None

    def _of(self, index: int, operand: Operand, loop: Loop, asked: set[Value]) -> int | None:
        return self._moved(self._value(index, operand), loop, asked)
