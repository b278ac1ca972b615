"""Recursion that nothing ends: functions of which every path calls one of them again."""

from __future__ import annotations

from collections.abc import Iterable

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.components import reached


def endless(flow: ModuleFlow, recursive: Iterable[str]) -> tuple[str, ...]:
    """Those of a kernel's recursive functions that cannot return once they are called, sorted.

    Args:
        flow: analyses of the PTX.
        recursive: mangled names of functions that reach themselves.
    """
    found = set(recursive)
    while returning := {name for name in found if _returns(flow, name, found)}:
        found -= returning
    return tuple(sorted(found))


def _returns(flow: ModuleFlow, name: str, avoided: set[str]) -> bool:
    """Whether a path ends without a call of certain functions, or where it goes is not known."""
    dataflow = flow.dataflow(name)
    if dataflow is None or not dataflow.flow.blocks:
        return True
    graph = dataflow.flow
    instructions = dataflow.body.instructions
    closed = {
        graph.block_of(call.index)
        for call in graph.calls
        if call.callee in avoided and instructions[call.index].predicate is None
    }
    run = reached([0], lambda one: graph.blocks[one].successors, lambda one: one not in closed)
    return any(not graph.blocks[number].successors for number in run)
