"""Loops that the compiler makes of a ``memcpy`` or ``memset`` whose length is not known.

They have no line, while what a user's loop loads and stores keeps its own: NVVM makes no ``memcpy``
of loops.
"""

from __future__ import annotations

from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess


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
