"""Stores to stack objects, told apart by the bytes that they can reach."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from lmemscope.analysis.ptx.affine import Affine
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.roots import Roots
from lmemscope.analysis.ptx.transfers import access_width


class Stored:
    """Which stores a load of a stack object may read from.

    Args:
        code: the function.
        affine, roots: its own.
        confined: bytes of the depot that loads and stores with a computed place stay in, by the
            index of the instruction: those of the array that the source indexes there. PTX alone
            does not tell where an array ends and the next member of its structure begins.
    """

    def __init__(
        self, code: Definitions, affine: Affine, roots: Roots, confined: Mapping[int, range]
    ) -> None:
        self._code, self._affine, self._roots = code, affine, roots
        self._confined = confined
        self._places: dict[int, range | None] = {}

    def to(self, offset: int, place: range | None = None) -> list[int]:
        """Stores to a stack object, in the order of the text.

        Args:
            offset: byte of the depot at which it begins.
            place: only those that may write to these bytes of the depot.
        """
        found = self._by_object.get(offset, [])
        if place is None:
            return found
        return [index for index in found if _overlap(self.place(index), place)]

    def place(self, index: int) -> range | None:
        """Bytes of the depot that a load or a store stays in; None where they are not known."""
        if index not in self._places:
            constant = self._constant(index)
            self._places[index] = self._confined.get(index) if constant is None else constant
        return self._places[index]

    def _constant(self, index: int) -> range | None:
        start = self._affine.depot_offset(index)
        if start is None:
            return None
        return range(start, start + access_width(self._code.body.instructions[index]))

    @cached_property
    def _by_object(self) -> dict[int, list[int]]:
        result: dict[int, list[int]] = {}
        for index, instruction in enumerate(self._code.body.instructions):
            if instruction.isa.access == "store" and "param" not in instruction.modifiers:
                for root in self._roots.of_address(index):
                    if root.offset >= 0:
                        result.setdefault(root.offset, []).append(index)
        return result


def _overlap(one: range | None, other: range) -> bool:
    return one is None or (one.start < other.stop and other.start < one.stop)
