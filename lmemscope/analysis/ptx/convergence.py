"""Whether all lanes of a warp come to its shuffles, so that each is there to hand its value out.

``shfl.sync`` with a mask of all lanes waits until all of them have come (PTX ISA 9, "shfl.sync").
A lane that has left the kernel never does, nor does one that goes another way, and one that waits
in a loop for what another lane does behind the shuffle keeps both.
"""

from __future__ import annotations

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.leaves import Leaf
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.formats.ptx_body import Instruction, number_of

_ALL = (-1, 0xFFFFFFFF)
_LEAVES = frozenset({"exit", "ret"})
_BARRIERS = frozenset({"bar", "barrier", "mbarrier"})
_STAYS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""The driver's functions: they end no thread of others', or all of them."""
_KNOWN = frozenset({"parameter", "thread-id", "block-id", "loop-counter", "symbol"})
"""What a value is made of that no other lane changes."""


def parted_shuffles(flow: ModuleFlow, kernel: str) -> int:
    """A kernel's own shuffles of all lanes that cannot be told to have all lanes come to them.

    Args:
        flow: of the module.
        kernel: its mangled name.
    """
    dataflow = flow.dataflow(kernel)
    if dataflow is None:
        return 0
    found = [
        index
        for index, one in enumerate(dataflow.body.instructions)
        if one.modifiers[:2] == ["shfl", "sync"] and _is_of_all(one)
    ]
    if not found:
        return 0
    parting = [*_leaving(dataflow), *_ending_calls(flow, dataflow), *_waiting(dataflow)]
    parting += _parted_barriers(dataflow)
    return sum(
        not _is_reached_by_all(dataflow, index)
        or any(dataflow.flow.leads([one], [index]) for one in parting)
        for index in found
    )


def _is_of_all(instruction: Instruction) -> bool:
    """Whether its mask names all lanes, or is not known."""
    mask = number_of(instruction.operands[-1])
    return mask is None or mask in _ALL


def _is_reached_by_all(dataflow: Dataflow, index: int) -> bool:
    """Whether no branch on which lanes part decides whether an instruction is executed."""
    control, flow = dataflow.control, dataflow.flow
    predicate = dataflow.body.instructions[index].predicate
    asked = [(index, predicate.lstrip("!"))] if predicate is not None else []
    for block in control.deciding(flow.block_of(index)):
        at, registers = control.condition(block)
        asked += [(at, register) for register in registers]
    return all(dataflow.uniformity(register, at) == "uniform" for at, register in asked)


def _leaving(dataflow: Dataflow) -> list[int]:
    """Instructions by which some lanes leave the function, and the others go on behind them."""
    return [
        index
        for index, one in enumerate(dataflow.body.instructions)
        if one.operation in _LEAVES
        and one.predicate is not None
        and dataflow.uniformity(one.predicate.lstrip("!"), index) != "uniform"
    ]


def _ending_calls(flow: ModuleFlow, dataflow: Dataflow) -> list[int]:
    """Calls of functions that may end a thread: that leave the kernel, or cannot be seen."""
    return [
        call.index
        for call in dataflow.flow.calls
        if call.callee is None or _may_end(flow, call.callee)
    ]


def _may_end(flow: ModuleFlow, callee: str) -> bool:
    for name in (callee, *flow.reached(callee)):
        function = flow.dataflow(name)
        if function is None:
            if name not in _STAYS:
                return True
            continue
        if any(one.operation == "exit" for one in function.body.instructions):
            return True
        if any(call.callee is None for call in function.flow.calls) or _waiting(function):
            return True
    return False


def _parted_barriers(dataflow: Dataflow) -> list[int]:
    """Barriers that some lanes come to, which may wait there for the others."""
    return [
        index
        for index, one in enumerate(dataflow.body.instructions)
        if one.operation in _BARRIERS and not _is_reached_by_all(dataflow, index)
    ]


def _waiting(dataflow: Dataflow) -> list[int]:
    """Where loops begin that may end by what another lane does: memory, or what is not known."""
    return [
        loop.header
        for loop in dataflow.flow.loops
        if any(
            not _is_own(leaf)
            for at, register in dataflow.exit_tests(loop)
            for leaf in dataflow.leaves(register, at)
        )
    ]


def _is_own(leaf: Leaf) -> bool:
    return leaf.kind in _KNOWN or (leaf.kind == "memory" and leaf.offset >= 0)
