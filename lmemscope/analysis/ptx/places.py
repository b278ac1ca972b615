"""Where in the depot an access may lie: its first byte, and the steps that an index takes from it.

``a.b[i]`` of 4-byte elements is ``depot + 24 + 4 * i``: first byte 24, steps of 4. The numbers are
those of the type's layout, whatever the source calls it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm

from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess


@dataclass(frozen=True, slots=True)
class Place:
    """A linear form of an access's address.

    Attributes:
        start: the first byte of the depot that it names without its index; None where not known.
        step: what divides every distance from there; 0 for a constant place, 1 where not known.
        width: bytes of the access.
    """

    start: int | None
    step: int
    width: int


class Places:
    """Places of the accesses of one function."""

    def __init__(self, objects: FunctionObjects) -> None:
        self._affine = objects.dataflow.affine
        self._depots = frozenset(declaration.name for declaration in objects.body.locals)
        self._known: dict[int, Place] = {}

    def of(self, access: PtxAccess) -> Place:
        """The place of one access."""
        if access.index not in self._known:
            self._known[access.index] = self._place(access)
        return self._known[access.index]

    def among(self, accesses: Iterable[PtxAccess]) -> list[Place]:
        """The places of several accesses, each once."""
        constant: dict[tuple[int, int], None] = {}
        others: dict[Place, None] = {}
        for access in accesses:
            if access.offset is not None:
                constant[access.offset, access.width] = None
            else:
                others[self.of(access)] = None
        return [*(Place(offset, 0, width) for offset, width in constant), *others]

    def _place(self, access: PtxAccess) -> Place:
        form = self._affine.address(access.index)
        start = next(iter(self._depots & form.terms.keys()), None) if form is not None else None
        if form is None or start is None:
            return Place(None, access.width, access.width)
        # An access begins at a multiple of its width.
        step = lcm(form.without(start).divisor, access.width)
        return Place(form.base_offset, step, access.width)
