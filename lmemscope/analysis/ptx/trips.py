"""How often loops run: the number where counting from a constant to a constant shows it.

Beyond that a weight: what a loop's count is not known from is the same before and after a rewrite,
so any weight serves, as long as a loop that is unrolled four times weighs a fourth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.conditions import Comparison, deciding
from lmemscope.analysis.ptx.doublings import Doublings
from lmemscope.analysis.ptx.endings import Endings
from lmemscope.analysis.ptx.forms import Form, Given, Iteration, Term
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.known_numbers import KnownNumbers, parameter_name
from lmemscope.analysis.ptx.origins import Origin
from lmemscope.formats.ptx_body import Instruction, number_of

UNKNOWN = 32.0
"""Times that a loop runs whose count is not known (docs/fix.md)."""
_NESTED = 8.0
"""The same of a loop within another: what is searched or shifted in each iteration is short.
Chosen on measured speed-ups (`benchmarks/model.py`)."""
_MOST = 1 << 16
_FAR = 1 << 30
"""What a value is taken to be that is not known: far from where registers wrap."""
_RARELY = 1 / 16
"""Iterations that a loop is taken to run at least, on average."""
_STEPS = 64
"""The largest step, and mask, of an unrolled loop."""


@dataclass(frozen=True, slots=True)
class _Test:
    """A comparison that ends a loop.

    Attributes:
        compares: the comparison.
        first, second: what it compares.
        when: the outcome that ends the loop.
        is_last: whether it stands at the loop's end, so that an iteration has run before it.
    """

    compares: Comparison
    first: Form
    second: Form
    when: bool
    is_last: bool

    def sides(self) -> tuple[tuple[Form, Form], tuple[Form, Form]]:
        """What it compares, either way."""
        return (self.first, self.second), (self.second, self.first)


class Trips:
    """Counts of one function's loops.

    Args:
        analyses: of the function.
        largest: numbers that parameters are at most, by their PTX names; they are taken to be it.
        limits: iterations after which a loop leaves an array that it walks, by its header; a loop
            whose count is not known exactly runs no further.
        factors: by header, how many times as often such a loop runs as would be taken otherwise.
    """

    def __init__(
        self,
        analyses: Analyses,
        largest: Mapping[str, int] | None = None,
        *,
        limits: Mapping[int, float] | None = None,
        factors: Mapping[int, float] | None = None,
    ) -> None:
        self._analyses, self._code, self._control = analyses, analyses.code, analyses.control
        self._affine, self._origins = analyses.affine, analyses.origins
        self._endings = Endings(analyses)
        self._largest = dict(largest or {})
        self._limits, self._factors = limits or {}, factors or {}
        self._loops = {loop.header: loop for loop in self._code.flow.loops}
        self._weights: dict[int, float] = {}
        self._constants: dict[int, int | None] = {}
        self._ended: dict[int, list[_Test]] = {}

    def weight(self, index: int, headers: Collection[int] | None = None) -> float:
        """How often an instruction is executed for each call of its function.

        Args:
            index: of the instruction.
            headers: count only loops that begin at these; None counts all.
        """
        often = 1.0
        for loop in self._control.loops_of.get(self._code.flow.block_of(index), ()):
            if headers is None or loop.header in headers:
                often *= self.count(loop)
        return often

    def count(self, loop: Loop) -> float:
        """How often a loop's body runs each time it is reached."""
        if loop.header not in self._weights:
            self._weights[loop.header] = self._estimated(loop)
        return self._weights[loop.header]

    def is_told(self, loop: Loop) -> bool:
        """Whether a factor applies to a loop: neither counting nor what was left over gives it."""
        return self.exact_count(loop) is None and not self._is_remainder(loop)

    def exits(self, loop: Loop) -> int:
        """Ways out of a loop that the line has which its way back is of: a copy of its body each,
        where a loop that counts by no constant was unrolled."""
        instructions = self._code.body.instructions
        ends = [self._code.flow.blocks[one].end - 1 for one in self._control.leaving(loop)]
        own = instructions[min(loop.latches)].loc
        found = sum(own is not None and instructions[end].loc == own for end in ends)
        return max(1, found // self.unrolled(loop)) if found else 0

    def written_out(self, loop: Loop) -> int | None:
        """Instructions that a loop is when each iteration stands for itself, at most.

        Loops in it whose number of iterations is a constant then, such as that of its own counter,
        stand for themselves as well; others count once, as they are. None where it does not count
        from a number to a number.
        """
        turns = self.exact_count(loop)
        if turns is None:
            return None
        inner = [one for one in self._code.flow.loops if one.header in loop.members - {loop.header}]
        inner = [one for one in inner if one.members < loop.members]
        often = {one.header: self.exact_count(one) or 1.0 for one in inner}
        size = 0.0
        for index in loop.members:
            size += math.prod(often[one.header] for one in inner if index in one.members)
        return math.ceil(turns * size)

    def exact_count(self, loop: Loop) -> float | None:
        """How often a loop runs that counts from a number to a number; the mean where these are
        made of a counter around it."""
        return self._count(loop, self._known_in(loop, self._largest))

    def count_with(self, loop: Loop, numbers: Mapping[str, int]) -> float | None:
        """How often a loop runs where parameters have some numbers; None where that says nothing.

        Args:
            loop: which.
            numbers: by the PTX names of parameters.
        """
        return self._count(loop, self._known_in(loop, numbers))

    def constant_count(self, loop: Loop) -> int | None:
        """How often a loop runs at most, whatever the counters of loops around it."""
        if loop.header not in self._constants:
            found = self._count(loop, lambda term: None)
            self._constants[loop.header] = math.ceil(found) if found is not None else None
        return self._constants[loop.header]

    def is_constant(self, loop: Loop) -> bool:
        """Whether counting alone ends a loop after a constant number of iterations at most."""
        return self._endings.is_constant(loop)

    def parameters(self, loop: Loop) -> set[str]:
        """Parameters that a loop begins or ends with, perhaps with constants added and the like."""
        found: set[str] = set()
        for test in self._tests(loop):
            for form in (test.first, test.second):
                made_of = self._origins.of(form.without(Iteration(loop.header)))
                places = {one for one in made_of if isinstance(one, Given)}
                if len(made_of) == len(places) == 1:
                    found |= set(map(parameter_name, places))
        return found

    def _estimated(self, loop: Loop) -> float:
        """The count of a loop, within its array and as often as it was told where that is none."""
        limit, factor = self._limits.get(loop.header), self._factors.get(loop.header)
        if limit is None and factor is None:
            return self._find(loop)
        exact = self.exact_count(loop)
        if exact is not None:
            return exact
        found = self._find(loop)
        if limit is not None:
            # From anywhere to anywhere of it within another loop: half of it on average, of which
            # the remainder of an unrolled one takes its part.
            mean = (limit - 1) / 2 + 1 / self.unrolled(loop)
            found = min(found, mean if self._is_nested(loop) else limit)
        if factor is None or self._is_remainder(loop):
            return _at_least(found)
        return _at_least(found * factor)

    def _find(self, loop: Loop) -> float:
        """The count of a loop as its tests show it, or what is taken for it."""
        tests = self._tests(loop)
        found = [count for test in tests for count in self._until(test, loop)]
        if not found:
            found = self._doubled(loop)
        return _at_least(min(found)) if found else self._unknown(loop)

    def _unknown(self, loop: Loop) -> float:
        """How often a loop is taken to run where nothing tells."""
        is_called = self._code.function.kind == "function"
        return _NESTED if is_called or self._is_nested(loop) else UNKNOWN

    def _is_nested(self, loop: Loop) -> bool:
        """Whether a loop is within another."""
        around = self._control.loops_of.get(self._code.flow.block_of(loop.header), ())
        return any(one.header != loop.header for one in around)

    def _doubled(self, loop: Loop) -> list[float]:
        """Iterations of a loop whose counter is multiplied or divided by a power of two."""
        doublings = Doublings(self._analyses)
        known = self._known_in(loop, self._largest, weighted=True)
        for test in self._tests(loop):
            compares = test.compares
            operands = (compares.first, compares.second)
            for operand, (_, bound) in zip(operands, test.sides(), strict=True):
                counter = doublings.counter(
                    self._analyses.values.read(compares.index, operand), loop
                )
                if counter is None:
                    continue
                begin = counter.start
                start = self._number(self._affine.of(begin), known) if begin is not None else None
                return [counter.turns(start, self._number(bound, known), UNKNOWN)]
        return []

    def unrolled(self, loop: Loop) -> int:
        """How many iterations of the source one of a loop is."""
        own = Iteration(loop.header)
        for test in self._tests(loop):
            for counter, _ in test.sides():
                if counter.factor(own):
                    return self._copies(loop, min(abs(counter.factor(own)), _STEPS))
        return 1

    def _tests(self, loop: Loop) -> list[_Test]:
        """The comparisons that may end a loop, of what every iteration comes to."""
        if loop.header not in self._ended:
            self._ended[loop.header] = [
                _Test(compares, first, second, when, index in loop.latches)
                for index, register, when in self._control.endings(loop)
                for compares in deciding(self._analyses.conditions.read(index, register), when)
                if (first := self._affine.read(compares.index, compares.first)) is not None
                and (second := self._affine.read(compares.index, compares.second)) is not None
            ]
        return self._ended[loop.header]

    def _count(self, loop: Loop, known: Callable[[Term], float | None]) -> float | None:
        """Iterations from a number to a number, where some terms are known."""
        tests = self._tests(loop)
        found = [one for test in tests if (one := self._passed(test, loop, known)) is not None]
        return _at_least(min(found)) if found else None

    def _known_in(
        self, loop: Loop, numbers: Mapping[str, int], *, weighted: bool = False
    ) -> Callable[[Term], float | None]:
        """Numbers of parameters, and the means of what loops around one count.

        Args:
            loop: the one.
            numbers: of parameters, by their PTX names.
            weighted: whether a loop whose count is not known has its weight.
        """

        def known(term: Term) -> float | None:
            if isinstance(term, Given):
                return numbers.get(parameter_name(term))
            around = self._loops.get(term.header) if isinstance(term, Iteration) else None
            if around is None or not loop.members < around.members:
                return None
            count = self.count(around) if weighted else self.count_with(around, numbers)
            return None if count is None else (count - 1) / 2

        return known

    def _number(self, form: Form, known: Callable[[Term], float | None]) -> float | None:
        """What a form is; a minimum with a constant is taken to reach it: NVVM unrolls so far."""
        number = KnownNumbers(self._analyses, known).of(form)
        if number is not None:
            return number
        total: float = form.constant
        for term, factor in form.terms.items():
            limit = self._minimum(term)
            if limit is None or not isinstance(term, int):
                return None
            # Of two even numbers the minimum is twice a term.
            total += limit * factor / self._affine.of(term).factor(term)
        return total

    def _minimum(self, term: Term) -> int | None:
        one = self._instruction(term)
        is_minimum = one is not None and one.operation == "min" and one.predicate is None
        return number_of(one.operands[-1]) if one is not None and is_minimum else None

    def _instruction(self, term: Term) -> Instruction | None:
        """What computes a term; None of a join, and of what is computed nowhere."""
        if not isinstance(term, int) or term < 0:
            return None
        return self._code.body.instructions[term]

    def _passed(
        self, test: _Test, loop: Loop, known: Callable[[Term], float | None]
    ) -> float | None:
        """Iterations until a test ends a loop; None where it would not, or nothing tells."""
        own = Iteration(loop.header)
        first, second = (
            self._number(form.without(own), known) for form in (test.first, test.second)
        )
        return None if first is None or second is None else _turns(test, own, first, second)

    def _until(self, test: _Test, loop: Loop) -> Iterator[float]:
        """Iterations until a test ends the loop, as far as anything tells."""
        own = Iteration(loop.header)
        known = self._known_in(loop, self._largest, weighted=True)
        count = self._passed(test, loop, known)
        if count is None:
            count = _apart(test, own)
        for counter, bound in test.sides() if count is None else ():
            if not counter.factor(own):
                continue
            limit = self._number(bound.without(own), known)
            if bound.factor(own) and limit is None:
                continue
            speed = counter.factor(own) - bound.factor(own)
            if not speed or (not bound.without(own).terms and not counter.without(own).terms):
                return
            # Of an unrolled loop's remainder half of the steps are left on average.
            mask = self._mask(counter, bound, own)
            step = min(abs(speed), _STEPS)
            if mask is not None:
                yield mask / 2
            elif test.compares.relation not in ("eq", "ne") and limit and limit > 0 < speed:
                # From anywhere up to a constant: half of it on average.
                yield min(UNKNOWN, max(limit / 2, 1.0)) / step
            elif (copies := self._copies(loop, step)) > 1:
                # What it leaves over runs in the remainder, and both together as often as before.
                turns = self._unknown(loop)
                yield max(1.0, turns - (copies - 1) / 2) / copies
            return
        if count is not None:
            yield count

    def _is_remainder(self, loop: Loop) -> bool:
        """Whether a loop runs what an unrolled one leaves over, however often that runs."""
        own = Iteration(loop.header)
        sides = (side for test in self._tests(loop) for side in test.sides())
        return any(
            counter.factor(own) and self._mask(counter, bound, own) for counter, bound in sides
        )

    def _mask(self, counter: Form, bound: Form, own: Iteration) -> int | None:
        """The small mask that a counter begins with or runs to."""
        return self._mask_of(bound) or self._mask_of(counter.without(own))

    def _mask_of(self, form: Form) -> int | None:
        """The small mask that a form, perhaps negated, was made with."""
        if len(form.terms) != 1:
            return None
        one = self._instruction(next(iter(form.terms)))
        mask = number_of(one.operands[-1]) if one is not None and one.operation == "and" else None
        return mask if mask is not None and 0 < mask < _STEPS else None

    def _copies(self, loop: Loop, step: int) -> int:
        """How often a loop's body stands in it: a step of the source's own makes no copy.

        Unrolling by four leaves ``n & 3`` over, which is computed in front of the loop of what that
        ends or begins at; or each copy has a test of its own.
        """
        around = self._control.loops_of[self._code.flow.block_of(loop.header)]
        outside = {one.header for one in around} - {loop.header}
        own, tests = Iteration(loop.header), self._tests(loop)
        made_of = {
            term
            for test in tests
            for form in (test.first, test.second)
            for term in self._origins.of(form.without(own))
        }
        masks = (
            mask for mask, headers, made in self._masks if headers <= outside and made & made_of
        )
        found = [mask + 1 for mask in masks if step % (mask + 1) == 0]
        counted = sum(
            step in (abs(test.first.factor(own)), abs(test.second.factor(own))) for test in tests
        )
        return max([1, *found, counted if counted and step % counted == 0 else 1])

    @cached_property
    def _masks(self) -> tuple[tuple[int, frozenset[int], frozenset[Origin]], ...]:
        """Masks of remainders, with the headers of the loops that they are computed in, and what
        they are computed of.

        The number of a thread or block is in all that differs between threads, and tells nothing.
        """
        found: dict[tuple[int, frozenset[int], frozenset[Origin]], None] = {}
        for index, instruction in enumerate(self._code.body.instructions):
            mask = number_of(instruction.operands[-1]) if instruction.operation == "and" else None
            if mask is not None and 0 < mask < _STEPS and mask & (mask + 1) == 0:
                loops = self._control.loops_of.get(self._code.flow.block_of(index), ())
                masked = self._affine.read(index, instruction.operands[1])
                made = self._origins.of(masked) if masked is not None else ()
                told = frozenset(one for one in made if not isinstance(one, str))
                found[mask, frozenset(one.header for one in loops), told] = None
        return tuple(found)


def _at_least(turns: float) -> float:
    """A loop's iterations, once at least where it runs a whole number of times each time that it
    is reached; the mean may be fewer, where it is passed by."""
    return max(turns, _RARELY if turns % 1 else 1.0)


def _turns(test: _Test, own: Iteration, first: float, second: float) -> float | None:
    """Iterations until a test ends a loop whose sides begin with two numbers; None if it does not.

    Args:
        test: which.
        own: the loop's iteration.
        first, second: what the test compares in the first iteration.
    """
    steps = test.first.factor(own), test.second.factor(own)
    if steps[0] == steps[1]:
        return None
    # No comparison changes but where one side comes to the other, or to where it wraps.
    meeting = (second - first) / (steps[0] - steps[1])
    if first % 1 or second % 1:
        # The mean of what goes on as long as the sides are equal is one iteration more.
        return max(0.0, meeting + (test.compares.of(0, 0) is not test.when) + test.is_last)
    near = [meeting]
    if test.compares.is_unsigned:
        near += [-at / step for at, step in zip((first, second), steps, strict=True) if step]
    turns = {0, *(int(at) + more for at in near for more in (0, 1, 2) if 0 <= at < _MOST)}
    for passed in sorted(turns):
        ends = first + steps[0] * passed, second + steps[1] * passed
        if test.compares.of(*ends) is test.when:
            fits = test.first.fits(ends[0]) and test.second.fits(ends[1])
            return float(passed + test.is_last) if fits else None
    return None


def _apart(test: _Test, own: Iteration) -> float | None:
    """Iterations from a value that is not known to the same with a number added; None if not so."""
    if not test.first.without(own).terms:
        return None
    apart = test.first.plus(test.second, -1).without(own).number
    return None if apart is None else _turns(test, own, float(_FAR + apart), float(_FAR))
