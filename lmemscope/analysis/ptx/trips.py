"""How often loops run: the number where counting from a constant to a constant shows it.

Beyond that a weight: what a loop's count is not known from is the same before and after a rewrite,
so any weight serves, as long as a loop that is unrolled four times weighs a fourth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from lmemscope.analysis.ptx.affine import Affine
from lmemscope.analysis.ptx.conditions import (
    Comparison,
    Compound,
    Condition,
    Conditions,
    Leaf,
    Truth,
    deciding,
)
from lmemscope.analysis.ptx.control import Control
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.forms import Form, Given, Iteration, Term
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.known_numbers import KnownNumbers, parameter_name
from lmemscope.analysis.ptx.origins import Origin, Origins
from lmemscope.analysis.ptx.values import Join, Values
from lmemscope.formats.ptx_body import Instruction, number_of

UNKNOWN = 32.0
"""Times that a loop runs whose count is not known (docs/fix.md)."""
_MOST = 1 << 16
_STEPS = 64
"""The largest step, and mask, of an unrolled loop."""
_ENDLESS = 1 << 30
"""What no loop that could be unrolled counts to: a limit for the type rather than for the loop."""
_LARGEST = 4096
"""Masks above this round a run-time count to whole steps of an unrolled loop: no maximum."""


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
        code: the function.
        values, control, affine, conditions: its own.
        largest: numbers that parameters are at most, by their PTX names; they are taken to be it.
    """

    def __init__(
        self,
        code: Definitions,
        values: Values,
        control: Control,
        affine: Affine,
        conditions: Conditions,
        largest: Mapping[str, int] | None = None,
    ) -> None:
        self._code, self._values, self._control = code, values, control
        self._affine, self._conditions = affine, conditions
        self._origins = Origins(code, values, control, affine)
        self._numbers = KnownNumbers(code, affine, conditions)
        self._largest = dict(largest or {})
        self._loops = {loop.header: loop for loop in code.flow.loops}
        self._weights: dict[int, float] = {}
        self._constants: dict[int, int | None] = {}
        self._constant: dict[int, bool] = {}
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
            found = [count for test in self._tests(loop) for count in self._until(test, loop)]
            self._weights[loop.header] = max(min(found), 1.0) if found else UNKNOWN
        return self._weights[loop.header]

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
        """Whether some test in every iteration ends the loop after a constant number of them.

        Other exits may end it sooner: unrolled with a guard, its indices are constants still. What
        it counts may be made of what other loops count, which have to end so too.
        """
        if loop.header not in self._constant:
            self._find_constant(loop)
        return self._constant[loop.header]

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

    def _tests(self, loop: Loop) -> list[_Test]:
        """The comparisons that may end a loop, of what every iteration comes to."""
        if loop.header not in self._ended:
            self._ended[loop.header] = [
                _Test(compares, first, second, when, index in loop.latches)
                for index, register, when in self._control.endings(loop)
                for compares in deciding(self._conditions.read(index, register), when)
                if (first := self._affine.read(compares.index, compares.first)) is not None
                and (second := self._affine.read(compares.index, compares.second)) is not None
            ]
        return self._ended[loop.header]

    def _count(self, loop: Loop, known: Callable[[Term], float | None]) -> float | None:
        """Iterations from a number to a number, where some terms are known."""
        tests = self._tests(loop)
        found = [one for test in tests if (one := self._passed(test, loop, known)) is not None]
        return max(min(found), 1.0) if found else None

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
        number = self._numbers.of(form, known)
        if number is not None:
            return number
        limits = [self._minimum(term) for term, factor in form.terms.items() if factor == 1]
        known_limits = [limit for limit in limits if limit is not None]
        is_all = len(known_limits) == len(form.terms)
        return form.constant + sum(known_limits) if is_all else None

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
        steps = test.first.factor(own), test.second.factor(own)
        first, second = (
            self._number(form.without(own), known) for form in (test.first, test.second)
        )
        if first is None or second is None or steps[0] == steps[1]:
            return None
        # No comparison changes but where one side comes to the other, or to where it wraps.
        meeting = (second - first) / (steps[0] - steps[1])
        if first % 1 or second % 1:
            # The mean of what goes on as long as the sides are equal is one iteration more.
            return max(0.0, meeting + (test.compares.of(0, 0) is not test.when)) + test.is_last
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

    def _until(self, test: _Test, loop: Loop) -> Iterator[float]:
        """Iterations until a test ends the loop, as far as anything tells."""
        own = Iteration(loop.header)
        known = self._known_in(loop, self._largest, weighted=True)
        count = self._passed(test, loop, known)
        for counter, bound in test.sides() if count is None else ():
            if not counter.factor(own):
                continue
            if bound.factor(own):
                return
            if not bound.terms and not counter.without(own).terms:
                return
            limit = self._number(bound, known)
            # Of an unrolled loop's remainder half of the steps are left on average.
            mask = self._mask_of(bound) or self._mask_of(counter.without(own))
            step = min(abs(counter.factor(own)), _STEPS)
            if mask is not None:
                yield mask / 2
            elif (
                test.compares.relation not in ("eq", "ne")
                and limit
                and limit > 0 < counter.factor(own)
            ):
                # From anywhere up to a constant: half of it on average.
                yield min(UNKNOWN, max(limit / 2, 1.0)) / step
            elif (copies := self._copies(loop, step)) > 1:
                # What it leaves over runs in the remainder, and both together as often as before.
                yield (UNKNOWN - (copies - 1) / 2) / copies
            return
        if count is not None:
            yield count

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

    def _find_constant(self, loop: Loop) -> None:
        """Find out of a loop, and of those that it needs, whether they are constant."""
        ways: dict[int, list[frozenset[int]]] = {}
        work = [loop.header]
        while work:
            header = work.pop()
            if header not in ways:
                ways[header] = self._endings(self._loops[header])
                work += [one for needed in ways[header] for one in needed]
        found: set[int] = set()
        while more := {
            header
            for header in ways.keys() - found
            if any(needed <= found for needed in ways[header])
        }:
            found |= more
        self._constant |= {header: header in found for header in ways}

    def _endings(self, loop: Loop) -> list[frozenset[int]]:
        """Ways in which counting alone ends a loop: each needs some loops to be constant."""
        return [
            needed
            for index, register, when in self._control.endings(loop)
            for needed in self._ends(self._conditions.read(index, register), loop, when=when)
        ]

    def _ends(self, condition: Condition, loop: Loop, *, when: bool) -> list[frozenset[int]]:
        """Ways in which counting alone makes a condition ``when`` sooner or later."""
        if isinstance(condition, Comparison):
            return self._compares(condition, loop)
        if isinstance(condition, Compound) and condition.join != "odd":
            parts = [self._ends(one, loop, when=when) for one in condition.parts]
            if (condition.join == "any") == when:
                return [needed for ways in parts for needed in ways]
            return [frozenset().union(*ways) for ways in product(*parts)]
        if not isinstance(condition, Leaf) or condition.value is None:
            return []
        join, when = self._values.join(condition.value), when == condition.holds
        return self._ends_by_choice(join, loop, when=when) if join is not None else []

    def _ends_by_choice(self, join: Join, loop: Loop, *, when: bool) -> list[frozenset[int]]:
        """The same of a predicate that a counter makes constant: ``i < 9 && data[i] > d``."""
        incoming = self._values.incoming(join)
        ends = {
            before
            for before, value in incoming.items()
            if value is not None and self._conditions.of(value) == Truth(when)
        }
        if self._control.loop_at.get(join.block) is loop:
            # A counter to two can become a flag: set before the loop, and taken back in it.
            is_taken_back = ends >= incoming.keys() & self._control.blocks_of(loop)
            return [frozenset()] if is_taken_back else []
        if join.block in self._control.loop_at or not ends:
            return []
        for block in sorted(self._control.choosing(join.block, incoming, None)):
            index, registers = self._control.condition(block)
            for register in registers:
                chosen_by = self._conditions.read(index, register)
                if isinstance(chosen_by, Comparison):
                    return self._compares(chosen_by, loop)
        return []

    def _compares(self, one: Comparison, loop: Loop) -> list[frozenset[int]]:
        """The same of a counter of the loop that is compared with what has a constant maximum."""
        first, second = (self._affine.read(one.index, given) for given in (one.first, one.second))
        if first is None or second is None:
            return []
        if any(abs(form.number or 0) >= _ENDLESS for form in (first, second)):
            return []
        own = Iteration(loop.header)
        apart = first.plus(second, -1)
        if apart.terms.keys() == {own} and apart.constant / apart.factor(own) > 0:
            return []  # It goes away from its end.
        for counter, bound in ((first, second), (second, first)):
            made_of = self._origins.of(counter)
            limit = frozenset() if self._has_maximum(bound) else self._origins.of(bound)
            if own in made_of and own not in limit:
                others = (made_of | limit) - {own}
                headers = {term.header for term in others if isinstance(term, Iteration)}
                return [frozenset(headers)] if len(headers) == len(others) else []
        return []

    def _has_maximum(self, form: Form) -> bool:
        """Whether it is the minimum with a constant, the remainder of one, or masked with one."""
        one = self._instruction(next(iter(form.terms))) if len(form.terms) == 1 else None
        if one is None or not one.isa.bounds or one.predicate is not None:
            return False
        numbers = map(number_of, one.operands[1:])
        return any(number is not None and 0 <= number <= _LARGEST for number in numbers)
