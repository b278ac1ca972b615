"""What only runs where a pointer is found to lead into local memory.

A library that takes any pointer may ask at run time where it leads (``isspacep.local``), and go
another way for a thread's own variables, which need no atomic instruction: ``cuda::atomic`` and
``cuda::atomic_ref`` do. That way's ``ld.local`` and ``st.local`` are compiled wherever the pointer
comes out of memory, or from a caller, whether or not a local variable is ever given to it.
"""

from __future__ import annotations

from functools import cached_property

from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.formats.ptx_body import Instruction
from lmemscope.formats.ptx_operands import registers_of

_TEST = ("isspacep", "local")


class LocalTests:
    """Tests of one function's pointers.

    Args:
        dataflow: of the function.
    """

    def __init__(self, dataflow: Dataflow) -> None:
        self._dataflow = dataflow
        self._instructions = dataflow.body.instructions

    def of(self, index: int) -> Instruction | None:
        """The test that has found a pointer to be local on every way to an instruction, if any."""
        if not self._asks:
            return None
        own = self._asked(self._instructions[index].predicate)
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
    def _ways(self) -> dict[int, Instruction]:
        """Blocks that are entered by no other way than the branch of a test that says local."""
        flow, found = self._dataflow.flow, {}
        for number, block in enumerate(flow.blocks):
            branch = self._instructions[block.end - 1]
            asked = self._asked(branch.predicate) if branch.operation == "bra" else None
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

    def _asked(self, predicate: str | None) -> tuple[Instruction, bool] | None:
        """The test that a predicate is the result of, and whether it holds if the test does."""
        holds = True
        seen: set[str] = set()
        while predicate is not None:
            if predicate.startswith("!"):
                holds = not holds
            (register,) = registers_of(predicate) or ("",)
            made = self._dataflow.definitions.get(register, [])
            if len(made) != 1 or register in seen:
                return None
            seen.add(register)
            one = self._instructions[made[0]]
            if _is_test(one):
                return one, holds
            if one.opcode not in ("not.pred", "mov.pred"):
                return None
            holds = holds == (one.operation == "mov")
            source = one.operands[1]
            predicate = source if isinstance(source, str) else None
        return None


def _is_test(instruction: Instruction) -> bool:
    return instruction.operation == _TEST[0] and instruction.modifiers[1:2] == _TEST[1:]
