"""Counters that each iteration of a loop doubles or halves, as of transforms and searches."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.values import Value
from lmemscope.formats.ptx_body import number_of


@dataclass(frozen=True, slots=True)
class Doubled:
    """What a loop shifts.

    Attributes:
        start: the value that it begins with, or None.
        bits: by which each iteration shifts it, either way.
    """

    start: Value | None
    bits: int

    def turns(self, start: float | None, limit: float | None, unknown: float) -> float:
        """Iterations from one number to another; the logarithm of what is guessed where either is
        not known."""
        if start is None or limit is None or min(start, limit) <= 0:
            return math.log2(unknown) / self.bits
        return math.ceil(abs(math.log2(limit / start)) / self.bits)


class Doublings:
    """The doubled counters of one function."""

    def __init__(self, analyses: Analyses) -> None:
        self._code, self._values, self._control = analyses.code, analyses.values, analyses.control

    def counter(self, value: Value | None, loop: Loop) -> Doubled | None:
        """The counter of a loop that a value is, shifted or not; None of any other value."""
        shifted = self._shifted(value)
        counted = shifted[0] if shifted is not None else value
        join = self._values.join(counted) if counted is not None else None
        if join is None or self._control.loop_at.get(join.block) is not loop:
            return None
        members = self._control.blocks_of(loop)
        starts, steps = set[Value | None](), set[int]()
        for before, brought in self._values.incoming(join).items():
            if before not in members:
                starts.add(brought)
                continue
            found = self._shifted(brought)
            steps.add(found[1] if found is not None and found[0] == counted else 0)
        if len(starts) != 1 or len(steps) != 1 or steps == {0}:
            return None
        return Doubled(starts.pop(), steps.pop())

    def _shifted(self, value: Value | None) -> tuple[Value | None, int] | None:
        """What a value is shifted from, and by how many bits; None of what is not shifted."""
        if value is None or value < 0:
            return None
        one = self._code.body.instructions[value]
        number = number_of(one.operands[-1])
        source = one.operands[1] if len(one.operands) > 2 else None
        is_shift = one.operation in ("shl", "shr") and one.predicate is None
        if not is_shift or number is None or number < 1 or not isinstance(source, str):
            return None
        return self._values.read(value, source), number
