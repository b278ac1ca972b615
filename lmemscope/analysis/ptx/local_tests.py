"""What only runs where a pointer is found to lead into local memory.

A library that takes any pointer may ask at run time where it leads (``isspacep.local``), and go
another way for a thread's own variables, which need no atomic instruction: ``cuda::atomic`` and
``cuda::atomic_ref`` do. That way's ``ld.local`` and ``st.local`` are compiled wherever the pointer
comes out of memory, or from a caller, whether or not a local variable is ever given to it.
"""

from __future__ import annotations

from functools import cached_property

from lmemscope.analysis.ptx.conditions import Leaf
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.formats.ptx_body import Instruction

_TEST = ("isspacep", "local")


class LocalTests:
    """Tests of one function's pointers.

    Args:
        dataflow: of the function.
    """

    def __init__(self, dataflow: Dataflow) -> None:
        self._dataflow = dataflow
        self._instructions = dataflow.body.instructions

    def of(self, index: int) -> int | None:
        """The test that has found a pointer to be local on every way to an instruction, if any."""
        if not self._asks:
            return None
        own = self._asked(index)
        if own is not None and own[1]:
            return own[0]
        flow = self._dataflow.flow
        block = flow.block_of(index)
        while True:
            if block in self._ways:
                return self._ways[block]
            above = flow.dominators.get(block, block)
            if above == block:
                return None
            block = above

    @cached_property
    def _asks(self) -> bool:
        return any(map(_is_test, self._instructions))

    @cached_property
    def _ways(self) -> dict[int, int]:
        """Blocks that are entered by no other way than the branch of a test that says local."""
        flow, found = self._dataflow.flow, {}
        for number, block in enumerate(flow.blocks):
            branch = self._instructions[block.end - 1]
            asked = self._asked(block.end - 1) if branch.operation == "bra" else None
            if asked is None:
                continue
            test, taken = asked
            target = flow.body.labels.get(str(branch.operands[0]))
            there = flow.block_of(target) if target is not None else None
            for way in block.successors:
                is_local = (way == there) == taken
                if is_local and flow.blocks[way].predecessors == [number]:
                    found[way] = test
        return found

    def _asked(self, index: int) -> tuple[int, bool] | None:
        """The test that an instruction's predicate is the result of, and whether it holds then."""
        asked = self._dataflow.conditions.read(index, self._instructions[index].predicate)
        if not isinstance(asked, Leaf) or asked.value is None or asked.value < 0:
            return None
        is_test = _is_test(self._instructions[asked.value])
        return (asked.value, asked.holds) if is_test else None


def _is_test(instruction: Instruction) -> bool:
    return instruction.operation == _TEST[0] and instruction.modifiers[1:2] == _TEST[1:]
