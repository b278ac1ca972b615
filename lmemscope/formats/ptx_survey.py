"""Summarise a PTX function's local memory, before ptxas."""

from __future__ import annotations

from dataclasses import dataclass

from lmemscope.formats.ptx_body import Address, Body, LocalDeclaration
from lmemscope.formats.ptx_operands import displaced


@dataclass(frozen=True, slots=True)
class LocalSurvey:
    """A function's local memory in PTX, which ptxas may still promote to registers.

    Attributes:
        declarations: ``.local`` variables.
        object_offsets: distinct depot offsets whose address is computed from the stack pointer,
            ascending; they separate the stack objects.
        ld_local, st_local: number of instructions.
        takes_generic_address: whether a ``cvta.local`` makes a generic address from a local one.
    """

    declarations: tuple[LocalDeclaration, ...] = ()
    object_offsets: tuple[int, ...] = ()
    ld_local: int = 0
    st_local: int = 0
    takes_generic_address: bool = False

    @property
    def bytes(self) -> int:
        """Bytes declared per thread."""
        return sum(declaration.size for declaration in self.declarations)

    @property
    def objects(self) -> int:
        """Number of stack objects: by offsets if the depot is addressed, else by declarations."""
        return max(len(self.object_offsets), len(self.declarations))


def survey_of(body: Body) -> LocalSurvey:
    """Local memory in a parsed body, following copies of the depot's address."""
    bases = {declaration.name for declaration in body.locals}
    offsets = set[int]()
    loads = stores = 0
    generic = False
    for instruction in body.instructions:
        if "local" in instruction.modifiers:
            loads += instruction.isa.access == "load"
            stores += instruction.isa.access == "store"
            generic |= instruction.operation == "cvta" and "to" not in instruction.modifiers
        moved = displaced(instruction)
        if moved is not None and moved[0] in bases:
            if instruction.isa.kind == "copy":
                bases.add(str(instruction.operands[0]))
            else:
                offsets.add(moved[1])
        for operand in instruction.operands:
            if isinstance(operand, Address) and operand.base in bases and not offsets:
                offsets.add(0)
    return LocalSurvey(tuple(body.locals), tuple(sorted(offsets)), loads, stores, generic)
