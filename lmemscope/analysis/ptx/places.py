"""Where in an object an access may lie: its first byte, and the steps that an index takes from it.

``a.b[i]`` of 4-byte elements is ``a + 24 + 4 * i``: first byte 24, steps of 4. The numbers are
those of the type's layout, whatever the source calls it. A pointer that is chosen, as in
``p = flag ? s.a : s.b``, gives an access a place for each address that it may be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd, lcm
from typing import NamedTuple, TypeAlias

from lmemscope.analysis.ptx.components import strong_components
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject
from lmemscope.analysis.ptx.transfers import is_pointer_load
from lmemscope.analysis.ptx.values import Value


class _Address(NamedTuple):
    """An address that a pointer may be.

    Attributes:
        object: offset of the object that it is the address of.
        byte: of the depot, without an index.
        step: what divides all that an index adds; 0 without one.
    """

    object: int
    byte: int
    step: int = 0

    def plus(self, byte: int, step: int) -> _Address:
        """The same further on, with another index."""
        return _Address(self.object, self.byte + byte, gcd(self.step, step))


_Addresses: TypeAlias = frozenset[_Address | None]
"""None is an address that is not known."""
_UNKNOWN: _Addresses = frozenset({None})
_MOST = 16
"""Of more addresses than this nothing is said."""


@dataclass(frozen=True, slots=True)
class Place:
    """A linear form of an access's address.

    Attributes:
        start: the first byte of the object that it names without its index; None where not known.
        step: what divides every distance from there; 0 for a constant place, 1 where not known.
        width: bytes of the access.
    """

    start: int | None
    step: int
    width: int


class Places:
    """Places of the accesses of one function."""

    def __init__(self, objects: FunctionObjects) -> None:
        self._objects = objects
        self._points_to, self._affine = objects.dataflow.points_to, objects.dataflow.affine
        self._depot = objects.dataflow.depot
        self._known_values: dict[Value, _Addresses] = {}
        self._known: dict[tuple[int, int, int], tuple[Place, ...]] = {}

    def of(self, access: PtxAccess, found: StackObject) -> Place:
        """The place of one access in an object; without its start where it may have several."""
        first, *others = self.each(access, found)
        return Place(None, first.step, first.width) if others else first

    def each(self, access: PtxAccess, found: StackObject) -> tuple[Place, ...]:
        """The places of one access in an object: one for each address that its pointer may be."""
        key = (access.index, found.offset, found.size)
        if key not in self._known:
            self._known[key] = tuple(self._find(access, found))
        return self._known[key]

    def among(self, accesses: Iterable[PtxAccess], found: StackObject) -> tuple[Place, ...]:
        """The places of several accesses in an object, each once, constant ones first."""
        places = {place: None for access in accesses for place in self.each(access, found)}
        return tuple(sorted(places, key=lambda place: place.step > 0))

    def _find(self, access: PtxAccess, found: StackObject) -> list[Place]:
        width = access.width
        if access.offset is not None:
            return [Place(access.offset - found.offset, 0, width)]
        addresses = self._addresses(access.index)
        pieces = range(found.offset, found.offset + found.size)
        known = [one for one in addresses if one is not None and one.object in pieces]
        if None in addresses or not known:
            return [Place(None, width, width)]
        # An access begins at a multiple of its width.
        places = {(one.byte - found.offset, lcm(one.step, width)) for one in known}
        return [Place(start, step, width) for start, step in sorted(places)]

    def _addresses(self, index: int) -> _Addresses:
        """What an instruction's address may be."""
        address = self._objects.body.instructions[index].address
        base = address.base if address is not None else None
        value = self._objects.dataflow.values.read(index, base) if base is not None else None
        if address is None or value is None:
            return _UNKNOWN
        return _moved(self._of(value), address.offset)

    def _of(self, value: Value) -> _Addresses:
        """What a value may be.

        What a loop adds to a pointer moves it within what it begins in, as an index does.
        """
        leading, known = self._points_to.leading, self._known_values
        for group in strong_components([value], leading, known):
            before = [known[one] for member in group for one in leading(member) if one in known]
            found = frozenset[_Address | None]().union(*before)
            if len(group) == 1:
                found = self._computed(next(iter(group)), found)
            else:
                added = [self._distance(member) for member in group]
                found = _moved(found, 0, gcd(*(number for pair in added for number in pair)))
            found = found if len(found) <= _MOST else _UNKNOWN
            known.update(dict.fromkeys(group, found))
        return known[value]

    def _computed(self, value: Value, before: _Addresses) -> _Addresses:
        """What a value may be, by what it is made of."""
        depot = self._depot
        start = 0 if value in depot.copies else depot.starts.get(value)
        if start is not None:
            return frozenset({_Address(depot.object_at(start), start)})
        if value >= 0 and is_pointer_load(self._objects.body.instructions[value]):
            return _UNKNOWN
        return _moved(before, *self._distance(value))

    def _distance(self, value: Value) -> tuple[int, int]:
        """The constant that a value adds to what leads to it, and what divides its index."""
        sources = self._points_to.leading(value)
        if value < 0 or self._objects.body.instructions[value].isa.is_either:
            return 0, 0
        if len(sources) != 1:
            return 0, int(bool(sources))
        added = self._affine.of(value).plus(self._affine.of(sources[0]), -1)
        return (added.constant, 0) if added.number is not None else (0, added.divisor)


def _moved(addresses: _Addresses, byte: int, step: int = 0) -> _Addresses:
    """Addresses some bytes further on, with an index added."""
    return frozenset(one and one.plus(byte, step) for one in addresses)
