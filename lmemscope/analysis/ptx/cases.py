"""The cases of a switch over a number that the whole launch has: of these only one runs.

NVVM makes comparisons with constants of it, in a tree. Which numbers reach a block is told for each
constant and its neighbours, which every other number goes the way of one of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.conditions import Comparison
from lmemscope.analysis.ptx.forms import Given
from lmemscope.analysis.ptx.trips import Trips

FEWEST = 3
"""Numbers that something is compared with where it is taken to be a switch."""
_INTEGERS = ("s32", "u32", "b32")


@dataclass(frozen=True, slots=True)
class _Choice:
    """A branch on a comparison of a number with a constant.

    Attributes:
        constant: what it is compared with.
        test: how.
        taken: block that it goes to.
    """

    constant: int
    test: Comparison
    taken: int

    def holds(self, number: int) -> bool:
        """Whether a number goes there."""
        return self.test.of(number, self.constant)


class Cases:
    """What of a function runs in the case that does most.

    Args:
        analyses: of the function.
        trips: how often its loops run.
    """

    def __init__(self, analyses: Analyses, trips: Trips) -> None:
        self._code, self._affine = analyses.code, analyses.affine
        self._conditions, self._trips = analyses.conditions, trips

    def runs(self, block: int) -> bool:
        """Whether a block runs in that case; True of every block where nothing is a switch."""
        return self._running is None or block in self._running

    @cached_property
    def _running(self) -> frozenset[int] | None:
        choices = self._choices()
        found = [one for one in choices.values() if len(_constants(one)) >= FEWEST]
        if not found:
            return None
        switch = max(found, key=len)
        reached = self._reached(switch)
        does: dict[int, float] = defaultdict(float)
        for number, block in enumerate(self._code.flow.blocks):
            for case in reached[number]:
                does[case] += (block.end - block.start) * self._trips.weight(block.start)
        most = max(does, key=lambda case: does[case])
        return frozenset(number for number, cases in reached.items() if most in cases)

    def _choices(self) -> dict[Given, dict[int, _Choice]]:
        """Branches on comparisons of a parameter with constants, by the parameter."""
        found: dict[Given, dict[int, _Choice]] = defaultdict(dict)
        instructions, flow = self._code.body.instructions, self._code.flow
        for number, block in enumerate(flow.blocks):
            index = block.end - 1
            branch = instructions[index] if len(block.successors) == 2 else None
            if branch is None or branch.operation != "bra" or branch.predicate is None:
                continue
            test, label = (
                self._conditions.read(index, branch.predicate),
                flow.body.labels.get(str(branch.operands[0])),
            )
            if not isinstance(test, Comparison) or label is None or test.kind not in _INTEGERS:
                continue
            asked = self._affine.read(test.index, test.first)
            limit = self._affine.read(test.index, test.second)
            constant = limit.number if limit is not None else None
            if asked is None or constant is None or asked.constant or len(asked.terms) != 1:
                continue
            ((place, factor),) = asked.terms.items()
            if isinstance(place, Given) and factor == 1:
                found[place][number] = _Choice(constant, test, flow.block_of(label))
        return found

    def _reached(self, switch: Mapping[int, _Choice]) -> dict[int, set[int]]:
        """The numbers with which each block runs."""
        blocks = self._code.flow.blocks
        numbers = {one.constant + near for one in switch.values() for near in (-1, 0, 1)}
        reached: dict[int, set[int]] = {number: set() for number in range(len(blocks))}
        reached[0] = numbers
        pending = [0]
        while pending:
            number = pending.pop()
            choice = switch.get(number)
            for after in blocks[number].successors:
                brought = set(reached[number])
                if choice is not None:
                    is_taken = after == choice.taken
                    brought = {one for one in brought if choice.holds(one) is is_taken}
                if not brought <= reached[after]:
                    reached[after] |= brought
                    pending.append(after)
        return reached


def _constants(choices: Mapping[int, _Choice]) -> set[int]:
    asked = (one for one in choices.values() if one.test.relation in ("eq", "ne"))
    return {one.constant for one in asked}
