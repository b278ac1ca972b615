"""An access with a computed index: its line, its index as written, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess
from lmemscope.analysis.ptx.uniformity import LANES, requests_per_access, sectors_per_request
from lmemscope.formats.ptx_operands import registers_of
from lmemscope.model import SourceKind, SourceLocation

_COUNTING: frozenset[SourceKind] = frozenset({"loop-counter", "parameter"})
_ALTERNATIVES = 3
"""Indices that are named at most where nothing tells which of them is meant."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """An access with a computed index.

    Attributes:
        objects: of the function that makes it.
        access: in that function.
        location: the line that shows it, or None.
        expressions: what its index may be of those written on that line, in their order.
        called_from: the line of the kernel's file that calls for it, where that is another file's.
    """

    objects: FunctionObjects
    access: PtxAccess
    location: SourceLocation | None
    expressions: tuple[str, ...]
    called_from: SourceLocation | None

    @property
    def expression(self) -> str | None:
        """The index as written on that line, or None where nothing tells which one it is."""
        return self.expressions[0] if len(self.expressions) == 1 else None

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The indices that it may be, where these are few."""
        return self.expressions if 1 < len(self.expressions) <= _ALTERNATIVES else ()

    @property
    def cost(self) -> float:
        """Sectors that a warp moves by it for each call of its function, loops counted."""
        sectors = sectors_per_request(self.access.uniformity) or LANES
        often = self.objects.dataflow.trips.weight(self.access.index)
        return often * sectors * requests_per_access(self.access.width)

    @property
    def is_moved(self) -> bool:
        """Whether it has no line of its own: compilers leave none where they merge accesses.

        Then ``location`` is a line that has such an index, and may not be the access's.
        """
        loc = self.objects.body.instructions[self.access.index].loc
        return loc is not None and loc.line <= 0

    @property
    def fills(self) -> bool:
        """Whether it only writes a constant to one element after the other."""
        at = self.access.index
        operands = self.objects.body.instructions[at].operands[1:]
        stored = (register for operand in operands for register in registers_of(operand))
        return (
            self.access.is_store
            and {leaf.kind for leaf in self.access.leaves} <= _COUNTING
            and not any(self.objects.dataflow.leaves(register, at) for register in stored)
        )
