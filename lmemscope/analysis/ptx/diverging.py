"""Branches that split a warp: their lanes go on one after the other, and meet again."""

from __future__ import annotations

from lmemscope.analysis.ptx.graph import Block
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.formats.ptx_body import Instruction

_PREDICATED = 7
"""Instructions up to which ptxas makes them conditional rather than to branch over them."""


def diverges(dataflow: Dataflow, block: Block) -> bool:
    """Whether lanes may part where a block ends, as far as machine code will branch there.

    The way back to a loop's header parts nobody for longer: who has left waits behind the loop.
    """
    last = dataflow.body.instructions[block.end - 1]
    if last.operation != "bra" or last.predicate is None or len(block.successors) != 2:
        return False
    blocks = dataflow.flow.blocks
    if any(blocks[number].start <= block.start for number in block.successors):
        return False
    if any(_is_predicated(dataflow, block, number) for number in block.successors):
        return False
    return dataflow.uniformity(last.predicate.lstrip("!"), block.end - 1) != "uniform"


def _is_predicated(dataflow: Dataflow, block: Block, number: int) -> bool:
    """Whether one way out of a block is so short that its instructions become conditional."""
    way = dataflow.flow.blocks[number]
    other = next(one for one in block.successors if one != number)
    rows = dataflow.body.instructions[way.start : way.end]
    meets = way.successors == [other] or way.successors == dataflow.flow.blocks[other].successors
    is_own = len(way.predecessors) == 1 and len(way.successors) == 1
    return is_own and meets and len(rows) <= _PREDICATED and not any(map(_calls, rows))


def _calls(one: Instruction) -> bool:
    return one.operation == "call"
