"""The stack memory of a PTX function: its start, and where the objects in it begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from lmemscope.formats.ptx_body import Body, Instruction
from lmemscope.formats.ptx_operands import displaced, pointers


class Depot:
    """What a function's instructions say of its ``.local`` memory.

    NVVM gives it one ``__local_depot``, copies its address into ``%SPL`` and ``%SP`` (generic), and
    begins every object with an addition to one of these.

    Attributes:
        names: of the memory; empty where the function has none.
        bases: registers that hold its start, and nothing else at any time.
        copies: indices of the instructions that put its start there.

    Args:
        body: of the function.
        definitions: instruction indices that write each register.
    """

    def __init__(self, body: Body, definitions: Mapping[str, Sequence[int]]) -> None:
        self._body = body
        self.names = frozenset(declaration.name for declaration in body.locals)
        self.bases: set[str] = set()
        self.copies: set[int] = set()
        for index, instruction in enumerate(body.instructions if self.names else ()):
            moved = displaced(instruction) if instruction.isa.kind == "copy" else None
            if moved is None or not self._is_start(moved[0]):
                continue
            copy = str(instruction.operands[0])
            if definitions[copy] == [index] and instruction.predicate is None:
                self.bases.add(copy)
                self.copies.add(index)

    def start_of(self, instruction: Instruction) -> int | None:
        """Where the object begins whose address an instruction computes; None for any other."""
        moved = displaced(instruction) if instruction.isa.kind == "sum" else None
        if moved is None or moved[0] not in self.bases:
            return None
        return moved[1] if moved[1] >= 0 else None

    def _is_start(self, name: str) -> bool:
        return name in self.names or name in self.bases

    def object_at(self, offset: int) -> int:
        """Where the object begins that a byte of the memory belongs to."""
        return max((start for start in self.starts.values() if start <= offset), default=0)

    @cached_property
    def begun(self) -> frozenset[int]:
        """Where objects begin; what is added to the start at run time begins there."""
        starts = frozenset(self.starts.values())
        added = enumerate(self._body.instructions if self.bases and 0 not in starts else ())
        is_first = any(
            not self.bases.isdisjoint(pointers(one))
            for index, one in added
            if index not in self.starts and index not in self.copies
        )
        return starts | {0} if is_first else starts

    @cached_property
    def starts(self) -> dict[int, int]:
        """Where objects begin, by the instruction that computes it."""
        instructions = self._body.instructions if self.bases else ()
        found = ((i, self.start_of(one)) for i, one in enumerate(instructions))
        return {index: start for index, start in found if start is not None}
