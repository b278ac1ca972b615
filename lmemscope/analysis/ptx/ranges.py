"""How often Numba's ranges turn: they count what is left, down while any of it is.

``for i in range(a, b)`` becomes ``left = max(b - a, 0)``, and each turn asks ``left > 0`` and takes
``selp(1, 0, left > 0)`` off. NVVM keeps what is left and the next index side by side, so that one
lags behind the other by a turn.
"""

from __future__ import annotations

from collections.abc import Callable

from lmemscope.analysis.ptx.control import Control
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import Instruction, number_of

_STEPS = 64
"""Instructions between a counter and what is compared."""
_DEEPER = 16
"""Steps that a place where paths meet counts for: each has several, and few lie behind another."""


class Ranges:
    """The ranges of one function.

    Args:
        code: the function.
        values: its values.
        control: its control dependence.
        count: how often a loop turns, for those around one.
    """

    def __init__(
        self, code: Definitions, values: Values, control: Control, count: Callable[[Loop], float]
    ) -> None:
        self._code, self._values, self._control, self._count = code, values, control, count

    def turns(self, loop: Loop) -> float | None:
        """How often a loop turns that ends when nothing is left; None of any other."""
        for index, register, _ in self._control.endings(loop):
            asked = self._instruction(self._values.read(index, register))
            if asked is None or asked[1].operation != "setp" or "gt" not in asked[1].modifiers:
                continue
            at, test = asked
            if len(test.operands) != 3 or number_of(test.operands[2]) != 0:
                continue
            turns = self._counted(self._read(at, test.operands[1]), loop)
            if turns is not None:
                return turns
        return None

    def _counted(self, value: Value | None, loop: Loop) -> float | None:
        """The turns of a loop that counts a value down to nothing."""
        begin = self._stepped(value)
        join = self._values.join(begin[0]) if begin is not None else None
        if begin is None or join is None or self._control.loop_at.get(join.block) is not loop:
            return None
        members = self._control.blocks_of(loop)
        starts: set[Value | None] = set()
        steps: set[int] = set()
        for before, brought in self._values.incoming(join).items():
            if before not in members:
                starts.add(brought)
                continue
            ended = self._stepped(brought)
            if ended is None or ended[0] != begin[0]:
                return None
            steps.add(ended[1])
        if len(starts) != 1 or len(steps) != 1:
            return None
        (start,), (step,) = starts, steps
        left = self._estimated(start, 0) if step < 0 else None
        return max((left + 1) / -step, 1.0) if left is not None else None

    def _stepped(self, value: Value | None) -> tuple[Value, int] | None:
        """What steps of one were taken from, while something was left, and how many."""
        total = 0
        for _ in range(_STEPS):
            found = self._instruction(value)
            if found is None:
                return (value, total) if value is not None else None
            at, one = found
            if one.isa.kind == "copy" and len(one.operands) == 2:
                value = self._read(at, one.operands[1])
                continue
            if one.operation != "add" or one.predicate is not None or value is None:
                return (value, total) if value is not None else None
            first, second = (self._read(at, operand) for operand in one.operands[1:])
            step = self._step(second)
            if step is None:
                first, step = second, self._step(first)
            if step is None:
                return value, total
            value, total = first, total + step
        return None

    def _step(self, value: Value | None) -> int | None:
        """The number that is chosen while something is left, else nothing."""
        found = self._instruction(value)
        if found is None or found[1].operation != "selp":
            return None
        numbers = [number_of(operand) for operand in found[1].operands[1:3]]
        return numbers[0] if numbers[1] == 0 and numbers[0] in (1, -1) else None

    def _estimated(self, value: Value | None, depth: int) -> float | None:
        """A number, or the mean of what a loop around counts; what is chosen before nothing."""
        if value is None or depth > _STEPS:
            return None
        found = self._instruction(value)
        if found is None:
            return self._joined(value, depth)
        at, one = found
        operands = one.operands[1:]
        if one.predicate is not None:
            return None
        if one.isa.kind == "copy":
            return self._operand(at, operands[0], depth)
        if one.operation == "selp" and number_of(operands[1]) == 0:
            return self._operand(at, operands[0], depth)
        if one.operation in ("add", "sub") and len(operands) == 2:
            first, second = (self._operand(at, operand, depth) for operand in operands)
            if first is None or second is None:
                return None
            return first + second if one.operation == "add" else first - second
        return None

    def _operand(self, at: int, operand: object, depth: int) -> float | None:
        number = number_of(operand)
        return number if number is not None else self._estimated(self._read(at, operand), depth + 1)

    def _joined(self, value: Value, depth: int) -> float | None:
        """The mean of what comes together, or of what a loop counts."""
        join = self._values.join(value)
        if join is None or join.block in self._control.loop_at:
            return self._mean(value)
        found = [
            self._estimated(one, depth + _DEEPER) for one in self._values.incoming(join).values()
        ]
        known = [one for one in found if one is not None]
        return sum(known) / len(known) if known and len(known) == len(found) else None

    def _mean(self, value: Value) -> float | None:
        """The mean of an index that a loop counts up by one, itself or behind another one."""
        join = self._values.join(value)
        loop = self._control.loop_at.get(join.block) if join is not None else None
        if join is None or loop is None:
            return None
        members = self._control.blocks_of(loop)
        starts = set()
        for before, brought in self._values.incoming(join).items():
            if before not in members:
                starts.add(brought)
                continue
            ended = self._stepped(brought)
            other = self._values.join(ended[0]) if ended is not None else None
            if other is None or other.block != join.block:
                return None
        start = self._estimated(starts.pop(), 0) if len(starts) == 1 else None
        return start + (self._count(loop) - 1) / 2 if start is not None else None

    def _read(self, at: int, operand: object) -> Value | None:
        if not isinstance(operand, str) or operand[:1] != "%":
            return None
        return self._values.read(at, operand)

    def _instruction(self, value: Value | None) -> tuple[int, Instruction] | None:
        """Where a value is computed, and by what; None of a join, or of nothing."""
        if value is None or value < 0:
            return None
        return value, self._code.body.instructions[value]
