"""Where an unrolled loop goes on behind its main part: trip counts rounded to whole steps.

A loop unrolled ``2^k`` times runs ``n & -2^k`` iterations, and its remainder begins there and runs
``n & (2^k - 1)``. Both parts of ``n`` together show it; the start is the loop's own counter.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.conditions import Comparison
from lmemscope.analysis.ptx.values import Value
from lmemscope.formats.ptx_body import number_of

_LARGEST = 6
"""Loops are unrolled 64 times at most."""
ROUNDING = frozenset({"and", "shl"})
"""What rounds a number down to whole steps: a mask; a shift back."""
_TOPS = tuple(1 << bits for bits in (31, 32, 63, 64))


class Unrolled:
    """Rounded trip counts of one function.

    Args:
        analyses: of the function.
    """

    def __init__(self, analyses: Analyses) -> None:
        self._code, self._values = analyses.code, analyses.values
        self._conditions = analyses.conditions

    def is_rounded(self, index: int) -> bool:
        """Whether an instruction rounds a trip count down to whole steps of an unrolled loop."""
        instruction = self._code.body.instructions[index]
        if instruction.operation not in ROUNDING or len(instruction.operands) != 3:
            return False
        number = number_of(instruction.operands[2])
        if number is None:
            return False
        if instruction.operation == "and":
            step = next((k for k in range(1, _LARGEST + 1) if _rounds(number, k)), None)
            source = self._source(index)
        else:
            step = number if 1 <= number <= _LARGEST else None
            source = self._shifted(self._source(index), number)
        return step is not None and source is not None and step in self._remainders[source]

    def remainder(self, test: Value) -> Value | None:
        """The ``n`` of which a test compares ``n & (2^k - 1)`` with a constant, else None."""
        compared = self._conditions.of(test)
        if not isinstance(compared, Comparison) or number_of(compared.second) is None:
            return None
        masked = self._values.read(compared.index, compared.first)
        return self.masked(masked) if masked is not None else None

    def masked(self, value: Value) -> Value | None:
        """The ``n`` of which a value is ``n & (2^k - 1)``, else None."""
        if value < 0:
            return None
        instruction = self._code.body.instructions[value]
        number = number_of(instruction.operands[-1]) or 0
        is_mask = number & (number + 1) == 0 and 0 < number.bit_length() <= _LARGEST
        return self._source(value) if instruction.operation == "and" and is_mask else None

    def _source(self, index: int) -> Value | None:
        operand = self._code.body.instructions[index].operands[1]
        return self._values.read(index, operand) if isinstance(operand, str) else None

    def _shifted(self, value: Value | None, by: int) -> Value | None:
        """What was shifted right before it is shifted left again, a mask between them aside."""
        for operation in ("and", "shr"):
            if value is None or value < 0:
                return None
            instruction = self._code.body.instructions[value]
            if instruction.operation == "shr":
                known = number_of(instruction.operands[2])
                return self._source(value) if known == by else None
            if instruction.operation != operation:
                return None
            value = self._source(value)
        return None

    @cached_property
    def _remainders(self) -> dict[Value, set[int]]:
        """Steps ``k`` of which ``value & (2^k - 1)`` is computed, by value."""
        found: dict[Value, set[int]] = defaultdict(set)
        for index, instruction in enumerate(self._code.body.instructions):
            if instruction.operation != "and" or len(instruction.operands) != 3:
                continue
            number = number_of(instruction.operands[2])
            if number is not None and number > 0 and number & (number + 1) == 0:
                source = self._source(index)
                if source is not None:
                    found[source].add(number.bit_length())
        return found


def _rounds(number: int, step: int) -> bool:
    return number == -(1 << step) or any(number == top - (1 << step) for top in _TOPS)
