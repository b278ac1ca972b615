"""The cases of a switch over a number that the whole launch has: of these only one runs.

NVVM makes comparisons with constants of it, in a tree. Which numbers reach a block is told for each
constant and its neighbours, which every other number goes the way of one of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from lmemscope.analysis.ptx.control import Control
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.trips import Trips
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import number_of
from lmemscope.formats.ptx_isa import COMPARISONS

FEWEST = 3
"""Numbers that something is compared with where it is taken to be a switch."""
_UNSIGNED = 1 << 32


@dataclass(frozen=True, slots=True)
class _Choice:
    """A branch on a comparison of a number with a constant.

    Attributes:
        constant: what it is compared with.
        is_equality: whether it asks for that number alone.
        taken: block that it goes to.
        holds: whether a number goes there.
    """

    constant: int
    is_equality: bool
    taken: int
    holds: Callable[[int], bool]


class Cases:
    """What of a function runs in the case that does most.

    Args:
        code: the function.
        values: its values.
        control: its control dependence.
        trips: how often its loops run.
    """

    def __init__(self, code: Definitions, values: Values, control: Control, trips: Trips) -> None:
        self._code, self._values, self._control, self._trips = code, values, control, trips

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

    def _choices(self) -> dict[Value, dict[int, _Choice]]:
        """Branches on comparisons of a parameter with constants, by the parameter's value."""
        found: dict[Value, dict[int, _Choice]] = defaultdict(dict)
        instructions, flow = self._code.body.instructions, self._code.flow
        for number, block in enumerate(flow.blocks):
            if block.start == block.end or len(block.successors) != 2:
                continue
            index, registers = self._control.condition(number)
            branch = instructions[index]
            asked = self._values.read(index, registers[0]) if len(registers) == 1 else None
            if branch.operation != "bra" or branch.predicate is None or asked is None or asked < 0:
                continue
            test, label = instructions[asked], flow.body.labels.get(str(branch.operands[0]))
            operands = [one for one in test.operands[1:] if isinstance(one, str)]
            if test.operation != "setp" or len(operands) != 2 or label is None:
                continue
            constant, holds = number_of(operands[1]), COMPARISONS.get(test.modifiers[1])
            kind = test.modifiers[-1]
            value = self._values.read(asked, operands[0])
            if constant is None or holds is None or kind not in ("s32", "u32", "b32"):
                continue
            if value is None or value < 0 or not self._is_parameter(value):
                continue
            found[value][number] = _Choice(
                constant,
                test.modifiers[1] in ("eq", "ne"),
                flow.block_of(label),
                _asked(holds, constant, kind == "u32", branch.predicate.startswith("!")),
            )
        return found

    def _is_parameter(self, value: Value) -> bool:
        one = self._code.body.instructions[value]
        return one.operation == "ld" and "param" in one.modifiers and one.predicate is None

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
    return {one.constant for one in choices.values() if one.is_equality}


def _asked(
    holds: Callable[[float, float], bool], constant: int, is_unsigned: bool, is_negated: bool
) -> Callable[[int], bool]:
    def asks(number: int) -> bool:
        if is_unsigned:
            return holds(number % _UNSIGNED, constant % _UNSIGNED) is not is_negated
        return holds(number, constant) is not is_negated

    return asks
