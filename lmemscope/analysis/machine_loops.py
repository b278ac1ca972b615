"""Loops of machine code: how many are around an instruction as ptxas left them.

PTX does not tell: ptxas writes loops out, and moves instructions in front of them.

A cycle lies where branches lead back: going round it, whatever has been passed forwards is passed
backwards again. So code that no branch leads back over is in no loop, and what lies between two
such pieces, a *region*, has loops of its own, whose dominators need no look at the rest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, count

from lmemscope.analysis.ptx.dominance import (
    NaturalLoop,
    immediate_dominators,
    natural_loops,
    spans,
)
from lmemscope.formats.instructions import INSTRUCTION_BYTES
from lmemscope.formats.machine_branches import Branch


@dataclass(slots=True)
class _Region:
    """Blocks that branches lead back over.

    Attributes:
        first, last: numbers of its blocks.
        entered: those that blocks in front of it lead to.
    """

    first: int
    last: int
    entered: set[int]


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
        self._number = {pc: number for number, pc in enumerate(self._starts)}
        self._successors = self._find_successors()
        self._reached = self._find_reached()
        self._regions = self._find_regions()
        self._loops: dict[int, tuple[NaturalLoop, ...]] = {}

    def depth(self, pc: int) -> int | None:
        """How many loops an instruction is in; None where no path to it is seen."""
        around = self.around(pc)
        return len(around) if around is not None else None

    def around(self, pc: int) -> list[NaturalLoop] | None:
        """The loops that an instruction is in; None where no path to it is seen."""
        block = bisect_right(self._starts, pc) - 1
        if block < 0 or not self._reached[block]:
            return None
        at = bisect_right(self._regions, block, key=lambda region: region.first) - 1
        if at < 0 or block > self._regions[at].last:
            return []
        if at not in self._loops:
            self._loops[at] = self._find_loops(self._regions[at])
        return [loop for loop in self._loops[at] if block in loop.members]

    def extents(self, loop: NaturalLoop) -> list[tuple[int, int]]:
        """Where the code of a loop lies: the first byte of each block, and the one behind it."""
        ends = [*self._starts[1:], self._end]
        return [(self._starts[number], ends[number]) for number in sorted(loop.members)]

    def _find_starts(self, start: int, end: int) -> list[int]:
        """Where basic blocks begin."""
        starts = {start}
        for pc, kind, target, _, _ in self._branches:
            if kind != "barrier":
                starts.add(pc + INSTRUCTION_BYTES)
            if target is not None:
                starts.add(target)
        return sorted(pc for pc in starts if start <= pc < end)

    def _find_successors(self) -> list[list[int]]:
        number = self._number
        blocks = len(self._starts)
        last: dict[int, Branch] = {}
        meeting: dict[int | None, set[int]] = defaultdict(set)
        for one in self._branches:
            if one.kind != "barrier":
                # What decides where control goes on ends its block.
                last[number.get(one.pc + INSTRUCTION_BYTES, blocks) - 1] = one
            elif one.target in number:
                meeting[one.barrier].add(number[one.target])
        found = [[block + 1] for block in range(blocks)]
        if found:
            found[-1] = []
        for block, ending in last.items():
            following = {block + 1} if block + 1 < blocks else set()
            ways = {number[ending.target]} if ending.target in number else set()
            if ending.kind == "meet":
                # Most stand where the lanes meet; others wait elsewhere, and go there.
                meet = meeting[ending.barrier]
                ways = meet & following or meet
            found[block] = sorted(ways if ending.always else ways | following)
        self._follow_tables(found, last)
        return found

    def _follow_tables(self, found: list[list[int]], last: dict[int, Branch]) -> None:
        """Let jumps through tables lead to what nothing else leads to: their targets are data."""
        tables = [block for block, one in last.items() if one.kind == "table"]
        if not tables:
            return
        led_to = {other for ways in found for other in ways}
        others = [block for block in range(1, len(found)) if block not in led_to]
        for block in tables:
            found[block] = sorted({*found[block], *(o for o in others if o > block)})

    def _find_reached(self) -> list[bool]:
        """Whether the start of the function leads to each block."""
        reached = [False] * len(self._successors)
        work = [0] if reached else []
        while work:
            block = work.pop()
            if not reached[block]:
                reached[block] = True
                work += self._successors[block]
        return reached

    def _find_regions(self) -> list[_Region]:
        """Each region, in ascending order."""
        found: list[_Region] = []
        for first, last in sorted(
            (other, block) for block, ways in self._edges() for other in ways if other <= block
        ):
            if found and first <= found[-1].last:
                found[-1].last = max(found[-1].last, last)
            else:
                found.append(_Region(first, last, {first} if first == 0 else set()))
        firsts = [region.first for region in found]
        for block, ways in self._edges():
            for other in ways:
                at = bisect_right(firsts, other) - 1
                if at >= 0 and block < firsts[at] and other <= found[at].last:
                    found[at].entered.add(other)
        return found

    def _edges(self) -> Iterator[tuple[int, list[int]]]:
        """The blocks that are reached, with their successors."""
        return ((block, self._successors[block]) for block in compress(count(), self._reached))

    def _find_loops(self, region: _Region) -> tuple[NaturalLoop, ...]:
        """The natural loops of a region, as if one block in front led to wherever it is entered.

        What leaves a region does not come back to it, so a block of it dominates another if it
        does so on the ways from there.
        """
        first, inside = region.first, range(region.first, region.last + 1)
        root = len(inside)
        graph = [
            [other - first for other in self._successors[block] if other in inside]
            for block in inside
        ]
        graph.append([block - first for block in sorted(region.entered)])
        dominated = spans(immediate_dominators(graph, root), root)
        return tuple(
            NaturalLoop(
                loop.header + first,
                frozenset(block + first for block in loop.members),
                tuple(block + first for block in loop.latches),
            )
            for loop in natural_loops(graph, dominated)
        )
