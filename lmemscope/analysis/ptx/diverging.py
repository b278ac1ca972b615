"""Branches that split a warp: their lanes go on one after the other, and meet again."""

from __future__ import annotations

from lmemscope.analysis.ptx.graph import Block
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.formats.ptx_body import Instruction

_PREDICATED = 7
"""Instructions up to which ptxas makes them conditional rather than to branch over them."""
_LEFT, _LEAST = 1 / 2, 1 / 8
"""Lanes that a condition leaves on each of its ways, and how few are taken to be left of many:
of conditions behind each other, most say the same."""


class Divergence:
    """Where the lanes of a warp part in a function, and how many are left.

    Args:
        dataflow: of the function.
    """

    def __init__(self, dataflow: Dataflow) -> None:
        self._dataflow = dataflow
        self._parting: dict[int, bool] = {}
        self._dividing: dict[int, bool] = {}
        self._active: dict[int, float] = {}

    def branches(self, block: Block) -> bool:
        """Whether lanes may part where a block ends, as far as machine code will branch there.

        The way back to a loop's header parts nobody for longer: who has left waits behind it.
        """
        blocks = self._dataflow.flow.blocks
        if len(block.successors) != 2 or not self._is_conditional(block):
            return False
        if any(blocks[number].start <= block.start for number in block.successors):
            return False
        if any(self._is_predicated(block, number) for number in block.successors):
            return False
        return self._parts(self._dataflow.flow.block_of(block.start))

    def active(self, index: int) -> float:
        """The part of a warp's lanes that is taken to execute an instruction together."""
        number = self._dataflow.flow.block_of(index)
        if number not in self._active:
            deciding = self._dataflow.control.deciding(number)
            self._active[number] = max(_LEAST, _LEFT ** sum(map(self._divides, deciding)))
        return self._active[number]

    def _divides(self, number: int) -> bool:
        """Whether lanes part where a block ends, and each of its ways has some to do."""
        if number not in self._dividing:
            self._dividing[number] = self._parts(number) and not self._is_guard(number)
        return self._dividing[number]

    def _parts(self, number: int) -> bool:
        """Whether lanes may part where a block ends."""
        if number not in self._parting:
            index, registers = self._dataflow.control.condition(number)
            self._parting[number] = any(
                self._dataflow.uniformity(one, index) != "uniform" for one in registers
            )
        return self._parting[number]

    def _is_guard(self, number: int) -> bool:
        """Whether a block ends a kernel for threads that have nothing to do, by their numbers.

        Whole warps go one way, but for one of the grid.
        """
        blocks = self._dataflow.flow.blocks
        index, registers = self._dataflow.control.condition(number)
        ends = any(
            not blocks[way].successors and blocks[way].end - blocks[way].start == 1
            for way in blocks[number].successors
        )
        levels = {self._dataflow.uniformity(one, index) for one in registers}
        return ends and levels <= {"uniform", "lane-varying"}

    def _is_conditional(self, block: Block) -> bool:
        last = self._dataflow.body.instructions[block.end - 1]
        return last.operation == "bra" and last.predicate is not None

    def _is_predicated(self, block: Block, number: int) -> bool:
        """Whether one way out of a block is so short that its instructions become conditional."""
        blocks = self._dataflow.flow.blocks
        way = blocks[number]
        other = next(one for one in block.successors if one != number)
        rows = self._dataflow.body.instructions[way.start : way.end]
        meets = way.successors == [other] or way.successors == blocks[other].successors
        is_own = len(way.predecessors) == 1 and len(way.successors) == 1
        return is_own and meets and len(rows) <= _PREDICATED and not any(map(_calls, rows))


def _calls(one: Instruction) -> bool:
    return one.isa.control == "call"
