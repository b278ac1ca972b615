"""The branch around a loop that the compiler made of a copy: it has the line that the loop lacks.

A ``memcpy`` of a length that is not known becomes a loop without a line, and a comparison in front
of it that skips the loop where there is nothing to copy. That comparison is the call's.
"""

from __future__ import annotations

from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.objects import FunctionObjects
from lmemscope.formats.ptx_body import Instruction


def guard_of_copy(objects: FunctionObjects, index: int) -> Instruction | None:
    """The branch that skips the loop around an instruction, where none of the loop has a line.

    Args:
        objects: of the function.
        index: of the instruction.
    """
    flow, instructions = objects.dataflow.flow, objects.body.instructions
    loop = flow.innermost(frozenset({index}))
    if loop is None or any(
        (loc := instructions[member].loc) is None or loc.line > 0 for member in loop.members
    ):
        return None
    exits = _exits(objects, loop)
    number = flow.block_of(loop.header)
    while (above := flow.dominators.get(number, number)) != number:
        number = above
        block = flow.blocks[number]
        last = instructions[block.end - 1]
        if len(block.successors) < 2:
            continue
        is_around = bool(exits & set(block.successors))
        return last if is_around and last.loc is not None and last.loc.line > 0 else None
    return None


def _exits(objects: FunctionObjects, loop: Loop) -> set[int]:
    """Blocks that control leaves a loop for."""
    flow = objects.dataflow.flow
    inside = {flow.block_of(member) for member in loop.members}
    return {to for number in inside for to in flow.blocks[number].successors} - inside
