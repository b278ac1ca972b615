"""Blocks that run a function: in which bits of ``threadIdx`` the lanes of one warp differ."""

from __future__ import annotations

import math
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

from lmemscope.analysis.ptx.uniformity import LANES

_MOST = 1024
"""Threads of a block, at most."""
_AXES = "xyz"

Extents = tuple[int, ...]
"""Threads of a block in x, and in y and z where it has these."""


class ThreadBits(NamedTuple):
    """Bits of one coordinate of ``threadIdx``.

    Attributes:
        lanes: those in which lanes of one warp differ.
        ones: those that are 1 in any thread.
    """

    lanes: int = 0
    ones: int = 0


class Blocks(NamedTuple):
    """Shapes of the blocks that run a function.

    Attributes:
        shapes: those that are known.
        are_all: whether it runs in no others.
    """

    shapes: frozenset[Extents] = frozenset()
    are_all: bool = False

    def knows(self, register: str) -> bool:
        """Whether `thread` has all bits of a coordinate."""
        return self.are_all or register == "%tid.x"

    def thread(self, register: str) -> ThreadBits:
        """Bits of ``%tid.x``, ``%tid.y`` or ``%tid.z`` in the blocks of known shape.

        In one of unknown shape, a warp is taken to be 32 neighbours in x.
        """
        axis = _AXES.index(register[-1])
        found = ThreadBits() if self.are_all or axis else ThreadBits(LANES - 1, _MOST - 1)
        for shape in self.shapes:
            lanes, ones = _bits(shape, axis)
            found = ThreadBits(found.lanes | lanes, found.ones | ones)
        return found

    def extent(self, register: str) -> int | None:
        """Bits that are 1 in any ``%ntid.x``, ``%ntid.y`` or ``%ntid.z``; None if not known."""
        if not self.are_all:
            return None
        axis = _AXES.index(register[-1])
        return reduce(or_, ((*shape, 1, 1)[axis] for shape in self.shapes), 0)


UNKNOWN = Blocks()


@lru_cache(maxsize=1 << 8)
def _bits(shape: Extents, axis: int) -> ThreadBits:
    """Warps are filled in the order of ``x + nx * (y + ny * z)`` (CUDA C++ Programming Guide)."""
    extents = (*shape, 1, 1)
    step, extent = math.prod(extents[:axis]), extents[axis]
    lanes = ones = first = 0
    for number in range(min(_MOST, math.prod(shape))):
        place = number // step % extent
        first = first if number % LANES else place
        lanes |= place ^ first
        ones |= place
    return ThreadBits(lanes, ones)
