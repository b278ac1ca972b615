"""Control flow of a PTX function: blocks, dominators, natural loops, calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from lmemscope.analysis.ptx.components import reached
from lmemscope.analysis.ptx.dominance import immediate_dominators, loops_reached, spans
from lmemscope.analysis.ptx.transfers import moves_pointers, stored_values
from lmemscope.formats.ptx_body import Body, Instruction, Vector


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop, as instruction indices.

    Attributes:
        header: index of the first instruction.
        members: indices of its instructions.
        latches: indices of the branches back to the header.
    """

    header: int
    members: frozenset[int]
    latches: tuple[int, ...]


class Passed(NamedTuple):
    """A part of a call's argument.

    Attributes:
        store: index of the instruction that stores it.
        place: bytes from the start of the argument.
        value: register or constant.
        may_be_address: whether it is as wide as an address.
    """

    store: int
    place: int
    value: str
    may_be_address: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """A call: which instruction, whom, with what.

    Attributes:
        index: of the instruction.
        callee: name, or None for an indirect call.
        passed: what makes up each argument, in the order of the stores.
        results: names of the return parameters.
        prototype: label of what an indirect call says of its callee; None of a direct one.
    """

    index: int
    callee: str | None
    passed: tuple[tuple[Passed, ...], ...]
    results: tuple[str, ...]
    prototype: str | None = None

    @property
    def arguments(self) -> list[list[str]]:
        """Registers that make up each argument."""
        return [[one.value for one in parts if one.value[:1] == "%"] for parts in self.passed]

    @property
    def places(self) -> list[dict[int, str]]:
        """Registers and constants of each argument, by their place in bytes."""
        return [{one.place: one.value for one in parts} for parts in self.passed]


@dataclass(slots=True)
class Block:
    """A basic block: instruction indices ``start`` to ``end`` (exclusive)."""

    start: int
    end: int
    successors: list[int] = field(default_factory=list)
    predecessors: list[int] = field(default_factory=list)


class ControlFlow:
    """Control flow of one function body."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.blocks = self._find_blocks()
        self._block_of = {
            index: number
            for number, block in enumerate(self.blocks)
            for index in range(block.start, block.end)
        }

    def block_of(self, index: int) -> int:
        """Number of the block that holds an instruction."""
        return self._block_of[index]

    def dominates(self, first: int, second: int) -> bool:
        """Whether every path to instruction ``second`` passes instruction ``first``."""
        a, b = self.block_of(first), self.block_of(second)
        return first <= second if a == b else self._block_dominates(a, b)

    def leads(self, firsts: Iterable[int], seconds: Iterable[int]) -> bool:
        """Whether, after some instruction of the first, one of the second may be executed."""
        earliest: dict[int, int] = {}
        for index in firsts:
            block = self.block_of(index)
            earliest[block] = min(index, earliest.get(block, index))
        targets = list(seconds)
        if any(earliest.get(self.block_of(index), index) < index for index in targets):
            return True
        behind = [successor for block in earliest for successor in self.blocks[block].successors]
        run = frozenset(reached(behind, lambda one: self.blocks[one].successors))
        return any(self.block_of(index) in run for index in targets)

    def depth(self, index: int) -> int:
        """How many loops an instruction is in."""
        return sum(index in loop.members for loop in self.loops)

    def innermost(self, indices: frozenset[int]) -> Loop | None:
        """The smallest loop that holds all of these instructions."""
        holding = [loop for loop in self.loops if indices <= loop.members]
        return min(holding, key=lambda loop: len(loop.members), default=None)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """Natural loops; those with one header are one loop."""
        if not self.blocks:
            return ()
        _, found = loops_reached([block.successors for block in self.blocks], 0)
        return tuple(
            Loop(
                self.blocks[loop.header].start,
                frozenset(
                    index
                    for number in loop.members
                    for index in range(self.blocks[number].start, self.blocks[number].end)
                ),
                tuple(self.blocks[number].end - 1 for number in loop.latches),
            )
            for loop in found
        )

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Calls in order, their arguments gathered from the ``st.param`` before them."""
        result: list[Call] = []
        stored: dict[str, list[Passed]] = defaultdict(list)
        for index, instruction in enumerate(self.body.instructions):
            if instruction.modifiers[:2] == ("st", "param"):
                target = instruction.address
                if target is not None and target.base is not None:
                    is_wide = moves_pointers(instruction)
                    for value, place in stored_values(instruction):
                        passed = Passed(index, target.offset + place, value, is_wide)
                        stored[target.base].append(passed)
            elif instruction.isa.control == "call":
                result.append(_read_call(index, instruction, stored))
                stored = defaultdict(list)
        return tuple(result)

    def result_of(self, index: int) -> Call | None:
        """The call whose result an ``ld.param`` reads; None of all other instructions."""
        instruction = self.body.instructions[index]
        address = instruction.address
        if instruction.modifiers[:2] != ("ld", "param") or address is None:
            return None
        call = next((one for one in reversed(self.calls) if one.index < index), None)
        return call if call is not None and address.base in call.results else None

    def _block_dominates(self, a: int, b: int) -> bool:
        first, second = self._spans.get(a), self._spans.get(b)
        if first is None or second is None:
            return False
        return first[0] <= second[0] and second[1] <= first[1]

    @cached_property
    def _spans(self) -> dict[int, tuple[int, int]]:
        return spans(self.dominators, 0) if self.blocks else {}

    def _find_blocks(self) -> list[Block]:
        instructions, labels = self.body.instructions, self.body.labels
        if not instructions:
            return []
        starts = {0, *(index for index in labels.values() if index < len(instructions))}
        for index, instruction in enumerate(instructions):
            if instruction.isa.control not in (None, "call"):
                starts.add(index + 1)
        ordered = sorted(start for start in starts if start < len(instructions))
        ends = [*ordered[1:], len(instructions)]
        blocks = [Block(start, end) for start, end in zip(ordered, ends, strict=True)]
        number_at = {block.start: number for number, block in enumerate(blocks)}
        for number, block in enumerate(blocks):
            if block.end == block.start:
                continue
            last = instructions[block.end - 1]
            control = last.isa.control
            targets: list[str] = []
            if control == "branch":
                # Of an indexed branch the second operand names a list of labels.
                labelled = str(last.operands[-1])
                targets = list(self.body.jump_tables.get(labelled, (labelled,)))
            following = [number_at[labels[t]] for t in targets if labels.get(t) in number_at]
            falls = control in (None, "call") or last.predicate is not None
            if falls and number + 1 < len(blocks):
                following.append(number + 1)
            block.successors = list(dict.fromkeys(following))
            for successor in block.successors:
                blocks[successor].predecessors.append(number)
        return blocks

    @cached_property
    def dominators(self) -> dict[int, int]:
        """Immediate dominator of each block that can be reached; the first block is its own."""
        if not self.blocks:
            return {}
        return immediate_dominators([block.successors for block in self.blocks], 0)


def _read_call(index: int, instruction: Instruction, stored: dict[str, list[Passed]]) -> Call:
    vectors = [o for o in instruction.operands if isinstance(o, Vector)]
    names = [o for o in instruction.operands if isinstance(o, str)]
    first_is_result = bool(instruction.operands) and isinstance(instruction.operands[0], Vector)
    results = vectors[0].items if first_is_result and vectors else ()
    arguments = vectors[1:2] if first_is_result else vectors[:1]
    callee = names[0] if names and not names[0].startswith("%") else None
    return Call(
        index,
        callee,
        tuple(tuple(stored.get(name, ())) for vector in arguments for name in vector.items),
        tuple(results),
        names[-1] if callee is None and len(names) > 1 else None,
    )
