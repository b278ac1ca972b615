"""Loops of machine code: how many are around an instruction as ptxas left them.

PTX does not tell: ptxas writes loops out, and moves instructions in front of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from lmemscope.analysis.ptx.dominance import NaturalLoop, loops_reached
from lmemscope.formats.instructions import INSTRUCTION_BYTES
from lmemscope.formats.machine_branches import Branch

_KEPT = 256
"""Functions whose loops are kept for others that branch alike."""


@lru_cache(maxsize=_KEPT)
def machine_loops(branches: tuple[Branch, ...], start: int, end: int) -> MachineLoops:
    """The loops of a function's machine code; arguments as of `MachineLoops`.

    Instances of one template, and the code of neighbouring architectures, often branch alike: of a
    large library's kernels, 4 of 10 do.
    """
    return MachineLoops(branches, start, end)


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
        successors = self._find_successors()
        self._reached, self._loops = loops_reached(successors, 0) if successors else ([], ())
        self._around: dict[int, list[NaturalLoop]] = {}

    def depth(self, pc: int) -> int | None:
        """How many loops an instruction is in; None where no path to it is seen."""
        around = self.around(pc)
        return len(around) if around is not None else None

    def around(self, pc: int) -> list[NaturalLoop] | None:
        """The loops that an instruction is in; None where no path to it is seen."""
        block = bisect_right(self._starts, pc) - 1
        if block < 0 or not self._reached[block]:
            return None
        if block not in self._around:
            self._around[block] = [loop for loop in self._loops if block in loop.members]
        return self._around[block]

    def extents(self, loop: NaturalLoop) -> list[tuple[int, int]]:
        """Where the code of a loop lies: the first byte of each block, and the one behind it."""
        ends = [*self._starts[1:], self._end]
        return [(self._starts[number], ends[number]) for number in sorted(loop.members)]

    def _find_starts(self, start: int, end: int) -> list[int]:
        """Where basic blocks begin."""
        starts = {one.pc + INSTRUCTION_BYTES for one in self._branches if one.kind != "barrier"}
        starts.update(one.target for one in self._branches if one.target is not None)
        starts.add(start)
        return [pc for pc in sorted(starts) if start <= pc < end]

    def _find_successors(self) -> list[list[int]]:
        number = {pc: number for number, pc in enumerate(self._starts)}
        blocks = len(self._starts)
        ending: dict[int, Branch] = {}
        meeting: defaultdict[int | None, set[int]] = defaultdict(set)
        for one in self._branches:
            if one.kind != "barrier":
                # What decides where control goes on ends its block.
                ending[number.get(one.pc + INSTRUCTION_BYTES, blocks) - 1] = one
            elif one.target in number:
                meeting[one.barrier].add(number[one.target])
        found = [[block] for block in range(1, blocks + 1)]
        if found:
            found[-1] = []
        for block, one in ending.items():
            following = found[block]
            ways: Collection[int] = ()
            if one.kind == "meet":
                # Most stand where the lanes meet; others wait elsewhere, and go there.
                ways = meeting[one.barrier]
                if block + 1 in ways and following:
                    continue
            elif one.target in number:
                ways = (number[one.target],)
            found[block] = [*ways] if one.always else [*following, *ways]
        self._follow_tables(found, ending)
        return found

    def _follow_tables(self, found: list[list[int]], ending: Mapping[int, Branch]) -> None:
        """Let jumps through tables lead to what nothing else leads to: their targets are data."""
        tables = [block for block, one in ending.items() if one.kind == "table"]
        if not tables:
            return
        led_to = {other for ways in found for other in ways}
        others = [block for block in range(1, len(found)) if block not in led_to]
        for block in tables:
            found[block] += (other for other in others if other > block)
