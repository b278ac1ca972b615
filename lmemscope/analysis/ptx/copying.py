"""Loops that compilers make of copying and filling: ``memcpy``, ``memset``, an initialiser.

They belong to no line of the source. Such a copy keeps no variable in memory: it is divided among
registers where nothing else needs the variable's address, and becomes a loop only afterwards.
"""

from __future__ import annotations

from lmemscope.analysis.ptx.guards import open_copy
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess


def is_copying(objects: FunctionObjects, access: PtxAccess) -> bool:
    """Whether nothing but the counter of such a loop, of constant length, indexes an access.

    Args:
        objects: of the function that makes the access.
        access: an access.

    Returns:
        False without line information, where nothing tells whose loop it is.
    """
    leaves = access.leaves
    if open_copy(objects, access) is not None:
        return False
    loc = objects.body.instructions[access.index].loc
    if not leaves or loc is None or loc.line > 0 or any(leaf.is_dynamic for leaf in leaves):
        return False
    headers = {leaf.header for leaf in leaves}
    loops = [loop for loop in objects.dataflow.flow.loops if loop.header in headers]
    instructions = objects.body.instructions
    lines = [instructions[index].loc for loop in loops for index in loop.members]
    return bool(lines) and all(loc is not None and loc.line <= 0 for loc in lines)
