"""Which loops counting alone ends after a constant number of iterations."""

from __future__ import annotations

from itertools import product

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.conditions import (
    Comparison,
    Compound,
    Condition,
    Leaf,
    Truth,
)
from lmemscope.analysis.ptx.forms import Form, Iteration
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.values import Join
from lmemscope.formats.ptx_body import number_of

_ENDLESS = 1 << 30
"""What no loop that could be unrolled counts to: a limit for the type rather than for the loop."""
_LARGEST = 4096
"""Masks above this round a run-time count to whole steps of an unrolled loop: no maximum."""


class Endings:
    """Endings of one function's loops.

    Args:
        analyses: of the function.
    """

    def __init__(self, analyses: Analyses) -> None:
        self._code, self._values, self._control = analyses.code, analyses.values, analyses.control
        self._affine, self._origins = analyses.affine, analyses.origins
        self._conditions = analyses.conditions
        self._loops = {loop.header: loop for loop in self._code.flow.loops}
        self._constant: dict[int, bool] = {}

    def is_constant(self, loop: Loop) -> bool:
        """Whether some test in every iteration ends the loop after a constant number of them.

        Other exits may end it sooner: unrolled with a guard, its indices are constants still. What
        it counts may be made of what other loops count, which have to end so too.
        """
        if loop.header not in self._constant:
            self._find_constant(loop)
        return self._constant[loop.header]

    def _find_constant(self, loop: Loop) -> None:
        """Find out of a loop, and of those that it needs, whether they are constant."""
        ways: dict[int, list[frozenset[int]]] = {}
        work = [loop.header]
        while work:
            header = work.pop()
            if header not in ways:
                ways[header] = self._ways(self._loops[header])
                work += [one for needed in ways[header] for one in needed]
        found: set[int] = set()
        while more := {
            header
            for header in ways.keys() - found
            if any(needed <= found for needed in ways[header])
        }:
            found |= more
        self._constant |= {header: header in found for header in ways}

    def _ways(self, loop: Loop) -> list[frozenset[int]]:
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
        term = next(iter(form.terms), None)
        if len(form.terms) != 1 or not isinstance(term, int) or term < 0:
            return False
        one = self._code.body.instructions[term]
        if not one.isa.bounds or one.predicate is not None:
            return False
        numbers = map(number_of, one.operands[1:])
        return any(number is not None and 0 <= number <= _LARGEST for number in numbers)
