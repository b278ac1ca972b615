"""How often loops run: which are counted, by what, and which values come out of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.components import reached, strong_components
from lmemscope.analysis.ptx.conditions import Comparison
from lmemscope.analysis.ptx.forms import Form, Given, Iteration, Term
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.origins import Origin
from lmemscope.analysis.ptx.values import Join, Value
from lmemscope.formats.ptx_body import number_of
from lmemscope.formats.ptx_isa import Kind
from lmemscope.formats.ptx_operands import is_float, may_change

ROUNDING = frozenset({"and", "shl"})
"""What rounds a number down to whole steps: a mask; a shift back."""
_LARGEST = 6
"""Loops are unrolled 64 times, ``2^6``, at most."""
_TOPS = tuple(1 << bits for bits in (31, 32, 63, 64))
_THREAD, _ROW = "%tid.x", "%ntid.x"
_GRID = frozenset({_THREAD, _ROW, "%ctaid.x", "%nctaid.x"})
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
        self._conditions = analyses.conditions
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
        """Loops whose trip count an instruction rounds down to whole unrolled steps.

        A loop unrolled ``2^k`` times runs ``n & -2^k`` iterations, and ``n & (2^k - 1)`` are left
        over for its remainder: both are computed.
        """
        step = self._step(index)
        made_of = self._origin(index) if step is not None else frozenset()
        if step not in self._left_over.get(made_of, ()):
            return []
        return [loop for loop in self._code.flow.loops if made_of and made_of <= self.bound(loop)]

    def _step(self, index: int) -> int | None:
        """The ``k`` of what rounds to multiples of ``2^k``; None of any other instruction."""
        instruction = self._code.body.instructions[index]
        if instruction.operation not in ROUNDING or len(instruction.operands) != 3:
            return None
        number = number_of(instruction.operands[2])
        if number is None:
            return None
        if instruction.operation == "and":
            step = (number & -number).bit_length() - 1
            is_step = number == -(1 << step) or any(number == top - (1 << step) for top in _TOPS)
            return step if is_step and 1 <= step <= _LARGEST else None
        if not 1 <= number <= _LARGEST:
            return None
        # Shifted back, a mask between the two aside.
        value = self._values.read(index, str(instruction.operands[1]))
        for operation in ("and", "shr"):
            if value is None or value < 0:
                return None
            before = self._code.body.instructions[value]
            if before.operation == "shr":
                return number if number_of(before.operands[2]) == number else None
            if before.operation != operation:
                return None
            value = self._values.read(value, str(before.operands[1]))
        return None

    @cached_property
    def _left_over(self) -> dict[frozenset[Origin], set[int]]:
        """Steps ``k`` of which ``n & (2^k - 1)`` is computed, by what makes up ``n``."""
        found: dict[frozenset[Origin], set[int]] = defaultdict(set)
        for index, instruction in enumerate(self._code.body.instructions):
            mask = number_of(instruction.operands[-1]) if instruction.operation == "and" else None
            if mask is not None and mask > 0 and not mask & (mask + 1):
                found[self._origin(index)].add(mask.bit_length())
        return found

    def goes_ahead(self, block: int, join: Join) -> bool:
        """Whether a branch decides how many iterations run ahead of an unrolled loop.

        A loop unrolled ``2^k`` times may run ``n & (2^k - 1)`` iterations first, as a row of
        branches: behind them its counter is what it began with, and so many steps.
        """
        tests = self._values.reads(*self._control.condition(block))
        counted = [self.remaining(one) for one in tests]
        made_of = counted[0] if len(counted) == 1 else None
        if made_of is None or not self._are_steps(join):
            return False
        flow = self._code.flow
        start = flow.blocks[join.block].start
        return any(
            made_of <= self.bound(loop) and flow.dominates(start, loop.header)
            for loop in flow.loops
        )

    def remaining(self, test: Value) -> frozenset[Origin] | None:
        """What makes up the ``n`` whose ``n & (2^k - 1)`` a test compares; None for another."""
        compared = self._conditions.of(test)
        if not isinstance(compared, Comparison) or number_of(compared.second) is None:
            return None
        masked = self._values.read(compared.index, compared.first)
        return self.left_over(masked) if masked is not None else None

    def left_over(self, value: Value) -> frozenset[Origin] | None:
        """What makes up the ``n`` of which a value is ``n & (2^k - 1)``; None for another."""
        instruction = self._code.body.instructions[value] if value >= 0 else None
        if instruction is None or instruction.operation != "and":
            return None
        mask = number_of(instruction.operands[-1]) or 0
        is_mask = not mask & (mask + 1) and 0 < mask.bit_length() <= _LARGEST
        return self._origin(value) if is_mask else None

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

    def are_even(self, loop: Loop) -> bool:
        """Whether lanes run a loop as often as a grid-stride loop before it.

        From neighbouring places to one limit, in steps that go beyond all others of the block: such
        numbers differ by one at most. What unrolling leaves over of them begins at one place in all
        lanes that have any of it.
        """
        own = Iteration(loop.header)
        counted = self.bound(loop) - {own}
        terms = {term for form in self._compared(loop) for term in form.terms}
        return any(
            all(term == own or self._is_count(term, Iteration(one.header)) for term in terms)
            for one in self._code.flow.loops
            if {Iteration(one.header)} == counted and self._is_walk(one)
        )

    def _is_walk(self, loop: Loop) -> bool:
        """Whether each step of a loop is a row of the block or more, from the thread's place on.

        Nothing but the numbers of threads and a kernel's parameters decides how often it runs.
        """
        is_entry = self._code.function.kind == "entry"
        made_of = self.bound(loop) - {Iteration(loop.header)}
        steps = [
            self._origins.of(form.without(term))
            for form in self._compared(loop)
            for term in form.terms
            if isinstance(term, int)
            and self._control.loop_at.get(self._values.block_of(term)) is loop
            if self._values.join(term) is not None
        ]
        is_common = all((is_entry and isinstance(one, Given)) or one in _GRID for one in made_of)
        is_row = bool(steps) and all(_ROW in step and _THREAD not in step for step in steps)
        is_left_once = len(self._control.leaving(loop)) == 1
        return is_left_once and is_common and is_row and _THREAD in made_of

    def _is_count(self, term: Term, iteration: Iteration) -> bool:
        """Whether a term is how many iterations a loop ran, or that rounded down, or the rest."""
        if not isinstance(term, int):
            return False
        join = self._values.join(term)
        if join is None:
            is_masked = self._code.body.instructions[term].operation == "and"
            return is_masked and self._origin(term) == {iteration}
        forms = [self._affine.of(one) for one in self._values.met(join)]
        begun = {form.constant - bool(form.terms) for form in forms}
        return len(begun) == 1 and all(form.terms in ({}, {iteration: 1}) for form in forms)

    def _compared(self, loop: Loop) -> list[Form]:
        """What the ends of a loop compare."""
        tests = [self._conditions.read(index, one) for index, one, _ in self._control.endings(loop)]
        compared = [one for one in tests if isinstance(one, Comparison)]
        read = [self._affine.read(c.index, one) for c in compared for one in (c.first, c.second)]
        return [form for form in read if form is not None]

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
