"""Loop counters: which loops have a trip count whose maximum is known when compiling."""

from __future__ import annotations

from lmemscope.analysis.ptx.control import Control
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.leaves import special
from lmemscope.analysis.ptx.values import Join, Value, Values
from lmemscope.formats.ptx_body import Instruction, number_of

_ENDLESS = 1 << 30
"""What no loop that could be unrolled counts to: a limit for the type rather than for the loop."""
_LARGEST = 4096
"""Masks above this round a run-time count to whole steps of an unrolled loop: no maximum."""


class TripCounts:
    """Trip counts of one function's loops.

    Args:
        code: the function.
        values: its values.
        control: its control dependence.
    """

    def __init__(self, code: Definitions, values: Values, control: Control) -> None:
        self._code, self._values, self._control = code, values, control
        self._known: dict[int, bool] = {}

    def is_constant(self, loop: Loop) -> bool:
        """Whether some test in every iteration ends the loop after a constant number of them.

        Other exits may end it sooner: unrolled with a guard, its indices are constants still.
        """
        if loop.header not in self._known:
            self._known[loop.header] = False  # while its own counter is looked at
            self._known[loop.header] = self._decide(loop)
        return self._known[loop.header]

    def _decide(self, loop: Loop) -> bool:
        return any(
            self._ends(index, register, loop, when=when)
            for index, register, when in self._control.endings(loop)
        )

    def _ends(self, index: int, register: str, loop: Loop, *, when: bool) -> bool:
        """Whether counting alone makes a predicate ``when`` sooner or later."""
        value = self._values.read(index, register)
        if value is None:
            return False
        join = self._values.join(value)
        if join is not None:
            return self._ends_by_choice(join, loop, when=when)
        instruction = self._code.body.instructions[value]
        operands = [o for o in instruction.operands[1:] if isinstance(o, str)]
        operation = instruction.operation
        if instruction.predicate is not None:
            return False
        if operation == "mov" and operands and operands[0].startswith("%"):
            return self._ends(value, operands[0], loop, when=when)
        if operation == "not":
            return self._ends(value, operands[0], loop, when=not when)
        if operation in ("and", "or"):
            ends = [self._ends(value, operand, loop, when=when) for operand in operands]
            return any(ends) if (operation == "or") == when else all(ends)
        if operation != "setp" or len(operands) < 2:
            return False
        compared = self._compares(value, operands[0], operands[1], loop)
        if len(operands) == 2:
            return compared
        # ``setp.lt.and p, a, b, q``
        other = self._ends(value, operands[2].lstrip("!"), loop, when=when)
        joined = {"and", "or"} & set(instruction.modifiers)
        if not joined:
            return False
        return compared or other if ("or" in joined) == when else compared and other

    def _ends_by_choice(self, join: Join, loop: Loop, *, when: bool) -> bool:
        """Whether a predicate is a constant where a counter says so: ``i < 9 && data[i] > d``."""
        incoming = self._values.incoming(join)
        if self._control.loop_at.get(join.block) is loop:
            # A counter to two can become a flag: set before the loop, and taken back in it.
            inside = self._control.blocks_of(loop)
            brought = [value for before, value in incoming.items() if before in inside]
            return all(
                value is not None and self._is_constant_predicate(value, when=when)
                for value in brought
            )
        if join.block in self._control.loop_at or not any(
            value is not None and self._is_constant_predicate(value, when=when)
            for value in incoming.values()
        ):
            return False
        for block in self._control.choosing(join.block, incoming, None):
            index, registers = self._control.condition(block)
            for register in registers:
                test = self._values.read(index, register)
                if test is None or test < 0:
                    continue
                instruction = self._code.body.instructions[test]
                operands = [o for o in instruction.operands[1:] if isinstance(o, str)]
                if instruction.operation == "setp" and len(operands) == 2:
                    return self._compares(test, operands[0], operands[1], loop)
        return False

    def _is_constant_predicate(self, value: Value, *, when: bool) -> bool:
        if value < 0:
            return False
        instruction = self._code.body.instructions[value]
        said = {"0": False, "-1": True, "1": True}
        source = instruction.operands[-1]
        is_mov = instruction.operation == "mov" and instruction.predicate is None
        return is_mov and isinstance(source, str) and said.get(source) is when

    def _compares(self, index: int, first: str, second: str, loop: Loop) -> bool:
        """Whether a counter of the loop is compared with what has a constant maximum."""
        if any(abs(number_of(one) or 0) >= _ENDLESS for one in (first, second)):
            return False
        for counter, bound in ((first, second), (second, first)):
            if not counter.startswith("%"):
                continue
            known, counts = self._made_of_constants(index, counter, loop)
            if known and counts and self._is_bounded(index, bound, loop):
                return True
        return False

    def _is_bounded(self, index: int, operand: str, loop: Loop) -> bool:
        if not operand.startswith("%"):
            return True
        value = self._values.read(index, operand)
        if value is not None and value >= 0:
            instruction = self._code.body.instructions[value]
            if instruction.operation == "cvt":
                source = str(instruction.operands[1])
                return self._is_bounded(value, source, loop)
            if _has_constant_maximum(instruction):
                return True
        known, counts = self._made_of_constants(index, operand, loop)
        return known and not counts

    def _made_of_constants(self, index: int, register: str, loop: Loop) -> tuple[bool, bool]:
        """Whether a value is made of constants and counters alone, and whether it counts here."""
        counts = False
        seen: set[Value] = set()
        first = self._values.read(index, register)
        if first is None:
            return False, False
        work = [first]
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            join = self._values.join(value)
            if join is not None:
                counted = self._control.loop_at.get(join.block)
                if counted is None or not (counted is loop or self.is_constant(counted)):
                    return False, False
                counts = counts or counted is loop
                incoming = self._values.incoming(join)
                latches = {
                    before: brought
                    for before, brought in incoming.items()
                    if before in self._control.blocks_of(counted)
                }
                if len(set(latches.values())) > 1 or None in incoming.values():
                    return False, False
                work += [brought for brought in incoming.values() if brought is not None]
                continue
            instruction = self._code.body.instructions[value]
            if not instruction.isa.is_pure or instruction.predicate is not None:
                return False, False
            for operand in self._code.depends_on(value):
                before = self._values.read(value, operand)
                if before is None:
                    if special(operand) is not None:
                        return False, False
                    continue
                work.append(before)
        return True, counts


def _has_constant_maximum(instruction: Instruction) -> bool:
    numbers = [number_of(operand) for operand in instruction.operands[1:]]
    return instruction.isa.bounds and any(
        number is not None and 0 <= number <= _LARGEST for number in numbers
    )
