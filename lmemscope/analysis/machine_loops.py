"""Loops of machine code: how many are around an instruction as ptxas left them.

PTX does not tell: ptxas writes loops out, and moves instructions in front of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from lmemscope.analysis.ptx.dominance import (
    NaturalLoop,
    immediate_dominators,
    natural_loops,
    spans,
)
from lmemscope.formats.machine_branches import Branch
from lmemscope.formats.sites import INSTRUCTION_BYTES


class MachineLoops:
    """Natural loops of one function's machine code.

    Args:
        branches: of its code section, in address order.
        start, end: byte offsets between which its code lies.
    """

    def __init__(self, branches: Sequence[Branch], start: int, end: int) -> None:
        self._end = end
        self._branches = [one for one in branches if start <= one.pc < end]
        self._starts = self._find_starts(start, end)
        self._successors = self._find_successors()
        self._loops = self._find_loops()

    def depth(self, pc: int) -> int | None:
        """How many loops an instruction is in; None where no path to it is seen."""
        around = self.around(pc)
        return len(around) if around is not None else None

    def around(self, pc: int) -> list[NaturalLoop] | None:
        """The loops that an instruction is in; None where no path to it is seen."""
        block = self._block(pc)
        if block is None or block not in self._reached:
            return None
        return [loop for loop in self._loops if block in loop.members]

    def extents(self, loop: NaturalLoop) -> list[tuple[int, int]]:
        """Where the code of a loop lies: the first byte of each block, and the one behind it."""
        ends = [*self._starts[1:], self._end]
        return [(self._starts[number], ends[number]) for number in sorted(loop.members)]

    def _find_starts(self, start: int, end: int) -> list[int]:
        """Where basic blocks begin."""
        starts = {start}
        for one in self._branches:
            if one.kind != "barrier":
                starts.add(one.pc + INSTRUCTION_BYTES)
            if one.target is not None:
                starts.add(one.target)
        return sorted(pc for pc in starts if start <= pc < end)

    def _block(self, pc: int | None) -> int | None:
        """Number of the block that holds an instruction; None outside of the function."""
        number = bisect_right(self._starts, pc) - 1 if pc is not None else -1
        return number if number >= 0 else None

    def _find_successors(self) -> list[list[int]]:
        count = len(self._starts)
        last = {self._block(one.pc): one for one in self._branches if one.kind != "barrier"}
        meeting: dict[int | None, set[int]] = defaultdict(set)
        for one in self._branches:
            block = self._block(one.target) if one.kind == "barrier" else None
            if block is not None:
                meeting[one.barrier].add(block)
        found: list[list[int]] = []
        for number in range(count):
            ending = last.get(number)
            following = {number + 1} if number + 1 < count else set()
            if ending is None:
                found.append(sorted(following))
                continue
            target = self._block(ending.target)
            ways = {target} if target is not None else set()
            if ending.kind == "meet":
                # Most stand where the lanes meet; others wait elsewhere, and go there.
                meet = meeting[ending.barrier]
                ways |= meet & following or meet
            found.append(sorted(ways | (set() if ending.always else following)))
        self._follow_tables(found, last)
        return found

    def _follow_tables(self, found: list[list[int]], last: dict[int | None, Branch]) -> None:
        """Let jumps through tables lead to what nothing else leads to: their targets are data."""
        tables = [number for number, one in last.items() if one.kind == "table"]
        led_to = {other for ways in found for other in ways}
        others = [number for number in range(1, len(found)) if number not in led_to]
        for number in tables:
            if number is not None:
                found[number] = sorted({*found[number], *(o for o in others if o > number)})

    def _find_loops(self) -> tuple[NaturalLoop, ...]:
        """The natural loops of the blocks that the start of the function reaches."""
        dominators = immediate_dominators(self._successors, 0) if self._successors else {}
        self._reached = frozenset(dominators)
        return natural_loops(self._successors, spans(dominators, 0) if dominators else {})
