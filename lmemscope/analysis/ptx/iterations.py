"""How often loops run: which are counted, by what, and which values come out of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.components import reached, strong_components
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.origins import Origin
from lmemscope.analysis.ptx.unrolled import Unrolled
from lmemscope.analysis.ptx.values import Join, Value
from lmemscope.formats.ptx_isa import Kind
from lmemscope.formats.ptx_operands import is_float, may_change

_COUNTING: tuple[Kind, ...] = ("comparison", "copy", "extreme", "logic", "sum")
"""What a counter and its test are made of."""


class Iterations:
    """Iterations of one function's loops.

    Args:
        analyses: of the function.
    """

    def __init__(self, analyses: Analyses) -> None:
        self._code, self._values, self._control = analyses.code, analyses.values, analyses.control
        self._affine, self._origins = analyses.affine, analyses.origins
        self._unrolled = Unrolled(analyses)
        self._counting: dict[tuple[int, int], bool] = {}
        self._tests: dict[int, frozenset[Origin]] = {}
        self._behind: dict[Value, frozenset[Origin]] = {}

    def loops_left(self, block: int, value: Value) -> list[Loop]:
        """Loops that a value comes out of, seen from a block, and in which it changes."""
        loops = self._control.loops_of.get(self._values.block_of(value), ())
        if not loops:
            return []
        return [
            loop
            for loop in loops
            if block not in self._control.blocks_of(loop) and self._changes(value, loop)
        ]

    def ran(self, join: Join) -> frozenset[Origin]:
        """What decides how often counted loops run that a joined value comes out of."""
        found: frozenset[Origin] = frozenset()
        for value in self._values.met(join):
            found |= self._bounds_behind(join.block, value)
        return found

    def _bounds_behind(self, block: int, value: Value) -> frozenset[Origin]:
        """The same of one value, seen from a block."""
        if value not in self._behind:
            for group in strong_components([value], self._values.operands, self._behind):
                bounds: frozenset[Origin] = frozenset()
                for member in group:
                    at = self._values.block_of(member)
                    for source in self._values.operands(member):
                        if source not in group:
                            bounds |= self._behind[source]
                        for loop in self.loops_left(at, source):
                            bounds |= self.bound(loop)
                    if member >= 0 and self.rounded(member):
                        bounds |= self._made_of(member, self._code.depends_on(member))
                self._behind |= dict.fromkeys(group, bounds)
        left = self.loops_left(block, value)
        return self._behind[value].union(*(self.bound(loop) for loop in left))

    def rounded(self, index: int) -> list[Loop]:
        """Loops whose trip count an instruction rounds down to whole unrolled steps."""
        if not self._unrolled.is_rounded(index):
            return []
        made_of = self._made_of(index, self._code.depends_on(index))
        return [loop for loop in self._code.flow.loops if made_of and made_of <= self.bound(loop)]

    def goes_ahead(self, block: int, join: Join) -> bool:
        """Whether a branch decides how many iterations run ahead of an unrolled loop.

        A loop unrolled ``2^k`` times may run ``n & (2^k - 1)`` iterations first, as a row of
        branches: behind them its counter is what it began with, and so many steps.
        """
        index, registers = self._control.condition(block)
        tests = [self._values.read(index, register) for register in registers]
        counted = [self._unrolled.remainder(one) if one is not None else None for one in tests]
        if len(counted) != 1 or counted[0] is None or not self._are_steps(join):
            return False
        made_of, flow = self._origin(counted[0]), self._code.flow
        start = flow.blocks[join.block].start
        return any(
            made_of <= self.bound(loop) and flow.dominates(start, loop.header)
            for loop in flow.loops
        )

    def remaining(self, test: Value) -> frozenset[Origin] | None:
        """What makes up the ``n`` whose ``n & (2^k - 1)`` a test compares; None for another."""
        counted = self._unrolled.remainder(test)
        return self._origin(counted) if counted is not None else None

    def left_over(self, value: Value) -> frozenset[Origin] | None:
        """What makes up the ``n`` of which a value is ``n & (2^k - 1)``; None for another."""
        counted = self._unrolled.masked(value)
        return self._origin(counted) if counted is not None else None

    def _are_steps(self, join: Join) -> bool:
        """Whether the values of a join differ by constants."""
        brought = self._values.incoming(join).values()
        forms = [self._affine.of(value) if value is not None else None for value in brought]
        first = forms[0]
        return first is not None and all(
            form is not None and form.terms == first.terms for form in forms
        )

    def bound(self, loop: Loop) -> frozenset[Origin]:
        """What the tests of a loop's counters are made of."""
        found: frozenset[Origin] = frozenset()
        for block in self._control.exits(loop):
            if self.counts(block, loop):
                found |= self.tested(block)
        return found

    def counts(self, block: int, loop: Loop) -> bool:
        """Whether a branch only counts: it tests sums, and nothing that an iteration reads."""
        key = (block, loop.header)
        if key not in self._counting:
            self._counting[key] = self._find_counting(block, loop)
        return self._counting[key]

    def _find_counting(self, block: int, loop: Loop) -> bool:
        index, registers = self._control.condition(block)
        read = self._values.reads(index, registers)
        return all(map(self._may_count, self._inside(read, loop)))

    def _may_count(self, value: Value) -> bool:
        if value < 0:
            return True
        instruction = self._code.body.instructions[value]
        return instruction.isa.kind in _COUNTING and not is_float(instruction)

    def tested(self, block: int) -> frozenset[Origin]:
        """What a block's branch tests."""
        if block not in self._tests:
            index, registers = self._control.condition(block)
            self._tests[block] = self._made_of(index, registers)
        return self._tests[block]

    def _made_of(self, index: int, registers: Iterable[str]) -> frozenset[Origin]:
        """Where values come from, without what chose them, and where that meets."""
        found: set[Origin] = set()
        for register in registers:
            form = self._affine.read(index, register)
            if form is not None:
                found |= self._origins.of(form)
        return frozenset(filter(self._is_source, found))

    def _origin(self, value: Value) -> frozenset[Origin]:
        return frozenset(filter(self._is_source, self._origins.of(self._affine.of(value))))

    def _is_source(self, origin: Origin) -> bool:
        join = self._values.join(origin) if isinstance(origin, int) else None
        return join is None or join.block in self._control.loop_at

    def _changes(self, value: Value, loop: Loop) -> bool:
        """Whether a value may differ from one iteration to the next."""
        return any(self._may_change(one, loop) for one in self._inside([value], loop))

    def _may_change(self, value: Value, loop: Loop) -> bool:
        join = self._values.join(value)
        if join is not None:
            return self._control.loop_at.get(join.block) is loop
        instruction = self._code.body.instructions[value]
        return may_change(instruction) and "param" not in instruction.modifiers

    def _inside(self, starts: Iterable[Value], loop: Loop) -> Iterator[Value]:
        """Values in a loop that some are made of, themselves included."""
        members, block_of = self._control.blocks_of(loop), self._values.block_of
        return reached(starts, self._values.operands, lambda one: block_of(one) in members)
