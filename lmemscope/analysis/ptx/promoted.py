"""Local accesses of PTX that no machine instruction is left of: ptxas has promoted the object.

Where an index is constant, or becomes so when ptxas unrolls the loop, nothing is left to do. Where
it is not, ptxas compares it with each element's number, and moves the one that is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.flow import is_local_access
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess
from lmemscope.model import KernelFacts

_WORD = 4


class Selection(NamedTuple):
    """What is executed instead of a load or store.

    Attributes:
        comparisons: of the index, one for each element of the object.
        moves: of 32-bit registers, each under one of the comparisons.
    """

    comparisons: int = 0
    moves: int = 0


def promoted(
    flow: ModuleFlow, functions: Iterable[str], facts: KernelFacts
) -> Mapping[int, Selection]:
    """The promoted accesses by PTX line.

    Of an object that is in local memory still, what has no machine instruction was loaded or is
    overwritten beside it, and costs nothing.

    Args:
        flow: of the module.
        functions: of a kernel.
        facts: the kernel's, with the accesses of its machine code.
    """
    left = {access.ptx_line for access in facts.accesses}
    touched = {number for access in facts.accesses for number in access.touched}
    in_memory = {(facts.objects[one].function, facts.objects[one].offset) for one in touched}
    found: dict[int, Selection] = {}
    for name in functions:
        objects = flow.objects(name)
        if objects is None:
            continue
        for index, one in enumerate(objects.body.instructions):
            if is_local_access(one.opcode) and one.line not in left:
                access = objects.access_at.get(index)
                pointees = access.pointees if access is not None else ()
                is_left = any(
                    pointee.kind == "depot" and (name, pointee.offset) in in_memory
                    for pointee in pointees
                )
                chosen = _selection(objects, access) if access is not None else Selection()
                found[one.line] = Selection() if is_left else chosen
    return found


def _selection(objects: FunctionObjects, access: PtxAccess) -> Selection:
    if not any(leaf.is_dynamic for leaf in access.leaves):
        return Selection()
    size = sum(
        objects.objects[pointee.offset].size
        for pointee in access.pointees
        if pointee.kind == "depot" and pointee.offset in objects.objects
    )
    return Selection(size // access.width, size // _WORD)
