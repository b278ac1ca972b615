"""Loops that compilers make of copying and filling: ``memcpy``, ``memset``, an initialiser.

They belong to no line of the source. Such a copy keeps no variable in memory: it is divided among
registers where nothing else needs the variable's address, and becomes a loop only afterwards.
"""

from __future__ import annotations

from lmemscope.analysis.ptx.guards import open_copy
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess
from lmemscope.formats.ptx_body import Loc


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
    if not leaves or loc is None or any(leaf.is_dynamic for leaf in leaves):
        return False
    if _is_sources(loc, objects):
        return False
    headers = {leaf.header for leaf in leaves}
    loops = [loop for loop in objects.dataflow.flow.loops if loop.header in headers]
    instructions = objects.body.instructions
    lines = [instructions[index].loc for loop in loops for index in loop.members]
    return bool(lines) and all(loc is not None and not _is_sources(loc, objects) for loc in lines)


def _is_sources(loc: Loc, objects: FunctionObjects) -> bool:
    """Whether a place is in the source's statements.

    What a function begins with is at its own line, in no column, and no statement is there: copies
    of parameters that follow it at once have no other place.
    """
    first = objects.body.instructions[0].loc
    return loc.line > 0 and not (loc == first and not loc.column)
