"""Values of a PTX function: what each register holds where it is read.

PTX is not in SSA form: a register that is written on several paths holds, where they meet, one of
several values. Such joins are found here for one register at a time, when they are asked for: in
the blocks of its definitions' iterated dominance frontier (Cytron and others: Efficiently
Computing Static Single Assignment Form).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.dominance import frontiers

Value = int
"""An instruction's index for what it computes; a negative number for a join."""


@dataclass(frozen=True, slots=True)
class Join:
    """A register where paths meet.

    Attributes:
        block: where they meet.
        register: whose values they are.
    """

    block: int
    register: str


class Values:
    """Values of one function.

    Args:
        code: its definitions.
    """

    def __init__(self, code: Definitions) -> None:
        self._code = code
        self._joins: list[Join] = []
        self._numbers: dict[Join, Value] = {}
        self._join_blocks: dict[str, frozenset[int]] = {}
        self._defining: dict[str, Mapping[int, int]] = {}
        self._entering: dict[tuple[int, str], Value | None] = {}
        self._operands: dict[Value, tuple[Value, ...]] = {}

    def read(self, index: int, register: str) -> Value | None:
        """What a register holds before an instruction; None where nothing writes it."""
        indices = self._code.definitions.get(register)
        if not indices:
            return None
        if len(indices) == 1:
            return indices[0]
        block = self._code.flow.block_of(index)
        position = bisect_left(indices, index)
        if position and indices[position - 1] >= self._code.flow.blocks[block].start:
            return indices[position - 1]
        return self._at_start(block, register)

    def define(self, name: str, indices: list[int]) -> None:
        """Take a name for a register that instructions write, given in the order of the text."""
        self._code.definitions[name] = indices

    def join(self, value: Value) -> Join | None:
        """The join that a value is, or None for what an instruction computes."""
        return self._joins[-value - 1] if value < 0 else None

    def incoming(self, join: Join) -> dict[int, Value | None]:
        """What each predecessor of a join brings."""
        blocks, reached = self._code.flow.blocks, self._code.flow.dominators
        return {
            before: self._at_end(before, join.register)
            for before in blocks[join.block].predecessors
            if before in reached
        }

    def met(self, join: Join) -> tuple[Value, ...]:
        """The values that paths bring together in a join, each once."""
        found = self.incoming(join).values()
        return tuple(dict.fromkeys(one for one in found if one is not None))

    def reads(self, index: int, registers: Iterable[str]) -> tuple[Value, ...]:
        """What some registers hold before an instruction, without what nothing writes."""
        read = (self.read(index, one) for one in registers)
        return tuple(one for one in read if one is not None)

    def operands(self, value: Value) -> tuple[Value, ...]:
        """Values that an instruction reads or that meet in a join, without what chose them."""
        known = self._operands.get(value)
        if known is None:
            join = self.join(value)
            known = (
                self.reads(value, self._code.depends_on(value)) if join is None else self.met(join)
            )
            self._operands[value] = known
        return known

    def block_of(self, value: Value) -> int:
        """The block in which a value comes to be."""
        return self._joins[-value - 1].block if value < 0 else self._code.flow.block_of(value)

    def _at_end(self, block: int, register: str) -> Value | None:
        last = self._last(register).get(block)
        return last if last is not None else self._at_start(block, register)

    def _at_start(self, block: int, register: str) -> Value | None:
        dominators, passed = self._code.flow.dominators, []
        joins, last = self._blocks_of_joins(register), self._last(register)
        found: Value | None = None
        while True:
            key = (block, register)
            if key in self._entering:
                found = self._entering[key]
                break
            passed.append(key)
            if block in joins:
                found = self._number(Join(block, register))
                break
            above = dominators.get(block, block)
            if above == block:
                break
            if above in last:
                found = last[above]
                break
            block = above
        self._entering.update(dict.fromkeys(passed, found))
        return found

    def _number(self, join: Join) -> Value:
        if join not in self._numbers:
            self._joins.append(join)
            self._numbers[join] = -len(self._joins)
        return self._numbers[join]

    def _last(self, register: str) -> Mapping[int, int]:
        """The last definition of a register in each block that has one."""
        if register not in self._defining:
            block_of = self._code.flow.block_of
            self._defining[register] = {
                block_of(index): index for index in self._code.definitions[register]
            }
        return self._defining[register]

    def _blocks_of_joins(self, register: str) -> frozenset[int]:
        if register not in self._join_blocks:
            found: set[int] = set()
            work = list(self._last(register))
            while work:
                for block in self._frontiers.get(work.pop(), ()):
                    if block not in found:
                        found.add(block)
                        work.append(block)
            self._join_blocks[register] = frozenset(found)
        return self._join_blocks[register]

    @cached_property
    def _frontiers(self) -> dict[int, set[int]]:
        flow = self._code.flow
        return frontiers([block.successors for block in flow.blocks], flow.dominators)
