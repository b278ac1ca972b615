"""Loops of machine code: how many are around an instruction as ptxas left them.

PTX does not tell: ptxas writes loops out, and moves instructions in front of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np

from lmemscope.analysis.ptx.dominance import NaturalLoop, loops_reached
from lmemscope.formats.instructions import INSTRUCTION_BYTES
from lmemscope.formats.machine_branches import (
    BARRIER,
    BRANCH_FIELDS,
    MEET,
    TABLE,
    Branches,
)

_KEPT = 256
"""Functions whose loops are kept for others that branch alike."""


def machine_loops(branches: Branches, start: int, end: int) -> MachineLoops:
    """The loops of a function's machine code; arguments as of `MachineLoops`.

    Instances of one template, and the code of neighbouring architectures, often branch alike: of a
    large library's kernels, 4 of 10 do.
    """
    return _machine_loops(branches.tobytes(), start, end)


@lru_cache(maxsize=_KEPT)
def _machine_loops(branches: bytes, start: int, end: int) -> MachineLoops:
    return MachineLoops(np.frombuffer(branches, BRANCH_FIELDS), start, end)


class MachineLoops:
    """Natural loops of one function's machine code.

    Args:
        branches: of its code section.
        start, end: byte offsets between which its code lies.
    """

    def __init__(self, branches: Branches, start: int, end: int) -> None:
        self._end = end
        self._starts, successors = _blocks(branches, start, end) if start < end else ([], [])
        self._reached, self._loops = loops_reached(successors, 0) if successors else ([], ())

    def block(self, pc: int) -> int | None:
        """Number of the basic block that an instruction is in; None where no path to it is seen."""
        block = bisect_right(self._starts, pc) - 1
        return block if block >= 0 and self._reached[block] else None

    def depths(self, places: Sequence[int]) -> list[int | None]:
        """As `depth` of several instructions."""
        blocks = (np.searchsorted(self._starts, places, "right") - 1).tolist()
        reached, around = self._reached, self._around
        return [len(around.get(b, ())) if b >= 0 and reached[b] else None for b in blocks]

    @cached_property
    def _around(self) -> Mapping[int, Sequence[NaturalLoop]]:
        found: defaultdict[int, list[NaturalLoop]] = defaultdict(list)
        for loop in self._loops:
            for member in loop.members:
                found[member].append(loop)
        return found

    def around(self, block: int) -> Sequence[NaturalLoop]:
        """The loops that a block is in."""
        return self._around.get(block, ())

    def depth(self, pc: int) -> int | None:
        """How many loops an instruction is in; None where no path to it is seen."""
        block = self.block(pc)
        return len(self.around(block)) if block is not None else None

    def extents(self, loop: NaturalLoop) -> list[tuple[int, int]]:
        """Where the code of a loop lies: the first byte of each block, and the one behind it."""
        ends = [*self._starts[1:], self._end]
        blocks = (number for number in sorted(loop.members) if number < len(self._starts))
        return [(self._starts[number], ends[number]) for number in blocks]


def _blocks(branches: Branches, start: int, end: int) -> tuple[list[int], list[list[int]]]:
    """Where the basic blocks of a function begin, in bytes, and the numbers of those behind each.

    Arguments as of `MachineLoops`. Within, places are counted in instructions.
    """
    size = -(-(end - start) // INSTRUCTION_BYTES)
    first, last = np.searchsorted(branches["pc"], (start, end))
    own = branches[first:last]
    kind, barrier, target = own["kind"], own["barrier"], own["target"]
    behind = (own["pc"] - start) // INSTRUCTION_BYTES + 1
    leads = (start <= target) & (target < end)
    target = np.where(leads, (target - start) // INSTRUCTION_BYTES, size)
    meeting = np.zeros(size + 1, np.uint16)
    names = leads & (kind == BARRIER)
    np.bitwise_or.at(meeting, target[names], np.uint16(1) << barrier[names])
    # Most BSYNC stand where the lanes meet; others wait elsewhere, and go there.
    stays = (kind == MEET) & (meeting[behind] >> barrier & 1 != 0)
    ends = (kind != BARRIER) & ~stays
    waits = np.flatnonzero(ends & (kind == MEET)).tolist()
    begins = np.zeros(size + 1, np.bool_)
    begins[0] = begins[behind[ends]] = begins[target[ends]] = True
    if waits:
        begins |= meeting != 0
    starts = np.flatnonzero(begins[:size])

    following, led_to = np.arange(1, len(starts) + 1), np.full(len(starts), -1)
    following[-1] = -1
    number = np.full(size + 1, len(starts))
    number[starts] = np.arange(len(starts))
    block = number[behind] - 1  # of what ends one
    following[block[ends & own["always"]]] = -1
    jumps = ends & leads
    led_to[block[jumps]] = number[target[jumps]]
    found = [
        [one, other] if one >= 0 <= other else [max(one, other)] if one != other else []
        for one, other in zip(following.tolist(), led_to.tolist(), strict=True)
    ]
    for at in waits:
        places = np.flatnonzero(meeting >> barrier[at] & 1)
        found[block[at]] += number[places].tolist()
    _follow_tables(found, block[kind == TABLE].tolist())
    return (start + starts * INSTRUCTION_BYTES).tolist(), found


def _follow_tables(found: list[list[int]], tables: list[int]) -> None:
    """Let jumps through tables lead to what nothing else leads to: their targets are data.

    Any of them may lead to all such blocks behind it. Nodes of no block, behind the blocks' own, go
    from each of these to the next: a function has a thousand tables for a thousand targets.
    """
    led_to = set(chain.from_iterable(found)) if tables else ()
    others = [block for block in range(1, len(found)) if block not in led_to] if tables else []
    if not others:
        return
    first, last = len(found), len(found) + len(others)
    for block in tables:
        place = first + bisect_right(others, block)
        found[block] += [place] if place < last else []
    found += ([other, place] for place, other in enumerate(others, first + 1))
    found[-1].pop()
