"""Loops that the compiler makes of a ``memcpy`` or ``memset`` whose length is not known.

They have no line, while what a user's loop loads and stores keeps its own: NVVM makes no ``memcpy``
of loops. A comparison in front skips the loop where there is nothing to copy; it has the call's.
"""

from __future__ import annotations

from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess
from lmemscope.formats.ptx_body import Instruction


def copy_around(objects: FunctionObjects, index: int) -> Loop | None:
    """The innermost loop around an instruction, where none of it has a line; else None.

    None, too, without line information.
    """
    instructions = objects.body.instructions
    loop = objects.dataflow.flow.innermost(frozenset({index}))
    if loop is None or any(
        (loc := instructions[member].loc) is None or loc.line > 0 for member in loop.members
    ):
        return None
    return loop


def open_copy(objects: FunctionObjects, access: PtxAccess) -> Loop | None:
    """The loop of a copy whose length is not known, where it counts an access's index; else None.

    A length of a narrow type has a largest value, and is no constant all the same.
    """
    loop = copy_around(objects, access.index)
    if loop is None or all(leaf.header != loop.header for leaf in access.leaves):
        return None
    dataflow = objects.dataflow
    tests = dataflow.exit_tests(loop)
    lengths = (leaf for at, register in tests for leaf in dataflow.leaves(register, at))
    return loop if any(leaf.kind != "loop-counter" for leaf in lengths) else None


def guard_of_copy(objects: FunctionObjects, index: int) -> Instruction | None:
    """The branch that skips the loop around an instruction, where none of the loop has a line.

    Args:
        objects: of the function.
        index: of the instruction.
    """
    flow, instructions = objects.dataflow.flow, objects.body.instructions
    loop = copy_around(objects, index)
    if loop is None:
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
    """Blocks that control leaves a loop for, and where it goes on from these in any case.

    What is loaded behind the loop only if it ran stands in a block of its own.
    """
    flow = objects.dataflow.flow
    inside = {flow.block_of(member) for member in loop.members}
    found = {to for number in inside for to in flow.blocks[number].successors} - inside
    work = list(found)
    while work:
        behind = flow.blocks[work.pop()].successors
        if len(behind) == 1 and not found.issuperset(behind):
            found.update(behind)
            work += behind
    return found - inside
