"""Whether all lanes of a warp come to its shuffles, so that each is there to hand its value out.

``shfl.sync`` with a mask of all lanes waits until all of them have come (PTX ISA 9, "shfl.sync").
A lane that has left the kernel never does, nor does one that goes another way, and one that waits
in a loop for what another lane does behind the shuffle keeps both.
"""

from __future__ import annotations

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.formats.ptx_body import Instruction, number_of

_ALL = (-1, 0xFFFFFFFF)
_STAYS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""The driver's functions: they end no thread of others', or all of them."""
_ALIKE = frozenset({"parameter", "block-id", "loop-counter"})
_OWN = _ALIKE | {"thread-id", "symbol"}
"""What a value is made of that is the same in all lanes; and what no other lane changes.

Of memory, votes and the like PTX tells that lanes agree, but not which of them: a vote may be one
of a group's, and a block of 48 by 2 threads has two rows in one warp.
"""


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
        if one.modifiers[:2] == ("shfl", "sync") and _is_of_all(one)
    ]
    if not found:
        return 0
    parting = [*_leaving(dataflow), *_calls(flow, dataflow), *_waiting(dataflow)]
    parting += _barriers(dataflow)
    # A reduction written out has hundreds of them.
    behind = dataflow.flow.leads(parting, found)
    return sum(
        (behind and dataflow.flow.leads(parting, [index]))
        or not _is_reached_by_all(dataflow, index)
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
    return all(_is_alike(dataflow, register, at) for at, register in asked)


def _is_alike(dataflow: Dataflow, register: str, at: int) -> bool:
    """Whether all lanes of a block find the same in a register, whatever shape the block has."""
    if register not in dataflow.definitions:
        return False  # Of a shuffle, say, which has two results.
    kinds = {leaf.kind for leaf in dataflow.leaves(register, at)}
    return kinds <= _ALIKE and dataflow.uniformity(register, at) == "uniform"


def _leaving(dataflow: Dataflow) -> list[int]:
    """Instructions by which some lanes leave the function, and the others go on behind them."""
    return [
        index
        for index, one in enumerate(dataflow.body.instructions)
        if one.isa.control in ("exit", "return")
        and one.predicate is not None
        and not _is_alike(dataflow, one.predicate.lstrip("!"), index)
    ]


def _calls(flow: ModuleFlow, dataflow: Dataflow) -> list[int]:
    """Calls of what may end a thread, or have it wait: of all but plain functions in sight."""
    return [
        call.index
        for call in dataflow.flow.calls
        if call.callee not in _STAYS and not _is_plain(flow, call.callee)
    ]


def _is_plain(flow: ModuleFlow, callee: str | None) -> bool:
    function = flow.dataflow(callee) if callee is not None else None
    if function is None or function.flow.calls or _waiting(function):
        return False
    return not any(
        one.isa.control == "exit" or one.isa.waits is not None for one in function.body.instructions
    )


def _barriers(dataflow: Dataflow) -> list[int]:
    """Where lanes wait for others, which may not be all, or not all come there.

    Shuffles are counted themselves, those of all lanes; one of some is waited for as a vote is.
    """
    found = []
    for index, one in enumerate(dataflow.body.instructions):
        waits = one.isa.waits
        if waits is None or (one.operation == "shfl" and _is_of_all(one)):
            continue
        is_of_some = waits == "mask" and number_of(one.operands[-1]) not in _ALL
        if is_of_some or not _is_reached_by_all(dataflow, index):
            found.append(index)
    return found


def _waiting(dataflow: Dataflow) -> list[int]:
    """Where loops begin that may end by what another lane does: memory, or what is not known."""
    return [
        loop.header
        for loop in dataflow.flow.loops
        if any(
            leaf.kind not in _OWN
            for at, register in dataflow.exit_tests(loop)
            for leaf in dataflow.leaves(register, at)
        )
    ]
