"""The library's range reduction of ``sin``, ``cos`` and ``tan``, told by what it computes.

What is stored in its array are products with pieces of 2/pi, and their carries. The result of a
sine is reached from them through loads and floating-point arithmetic only, which is not followed:
an array that holds sines is none of the library's.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmemscope.analysis.ptx.objects import FunctionObjects, StackObject
from lmemscope.model import Evidence

_SCRATCH = {4: 7 * 4, 8: 5 * 8}
"""Bytes of the array by the width of its products: those of floats and of doubles."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a range reduction keeps in an object.

    Attributes:
        stores: indices of the instructions that store its products there.
        evidence: the table that it multiplies with, or the first of the products.
        size: bytes of its array; the object may have padding behind it.
    """

    stores: frozenset[int]
    evidence: Evidence
    size: int


class Reductions:
    """The range reductions of one function.

    Args:
        objects: of the function.
    """

    def __init__(self, objects: FunctionObjects) -> None:
        self._body, self._products = objects.body, objects.dataflow.products

    def of_object(self, found: StackObject) -> Reduction | None:
        """The reduction whose products are stored in an object, or None."""
        stores = {
            access.index: access.width
            for access in found.accesses
            if access.is_store and self._products.are_stored([access.index])
        }
        if not stores:
            return None
        first = self._body.instructions[min(stores)]
        shown = Evidence("reduction-words", ptx_line=first.line, opcode=first.opcode)
        if self._products.tables:
            shown = Evidence("library-table", min(self._products.tables))
        size = _SCRATCH.get(min(stores.values()), found.size)
        return Reduction(frozenset(stores), shown, min(size, found.size))
