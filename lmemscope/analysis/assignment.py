"""Which of its candidates each stack object of a function is: all of them are decided together.

A variable of the function itself exists once, and is no larger than it is; one of a function that
is inlined may be several objects. The assignment is the one whose scores are best together, near
equals in the order of their declarations. An object that might be a variable that no object is just
as well has no name. What lines do not name is what is left over, where it is as much.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from lmemscope.analysis.candidates import Candidate
from lmemscope.model import Variable

_REPETITION = 0.5
"""What a variable that has an object already scores less: copies of inlined ones share alike."""
_LOSS = 1.0
"""What an object's next candidate may score less, where its first is all that another can be."""
_ORDER = 0.5
"""What two objects score less that do not lie in the order of their variables' declarations.

Compilers keep that order, but where several variables have one place in turn.
"""
_EQUAL = 0.01
"""Scores that differ by no more are equal."""


def assign(sizes: Sequence[int], known: Sequence[Sequence[Candidate]]) -> list[Candidate | None]:
    """One candidate for each object; None where nothing says which.

    Args:
        sizes: bytes of each object.
        known: the candidates of each.
    """
    return _Assignment(sizes, known).decided()


def of_variable(candidates: Sequence[Candidate], like: Candidate) -> Candidate | None:
    """The best of an object's candidates that are the same variable as another one's."""
    mine = [c for c in candidates if c.variable == like.variable]
    return max(mine, key=lambda c: c.score, default=None)


class _Assignment:
    def __init__(self, sizes: Sequence[int], known: Sequence[Sequence[Candidate]]) -> None:
        self._sizes, self._known = sizes, known
        self._allowed = [allowed(candidates) for candidates in known]
        variables = {c.variable for candidates in known for c in candidates}
        ordered = sorted(variables, key=lambda one: (one.order, one.function, one.name))
        self._order = {variable: rank for rank, variable in enumerate(ordered)}
        self._chosen: list[Candidate | None] = [None] * len(sizes)
        self._holders: dict[Variable, list[int]] = defaultdict(list)

    def decided(self) -> list[Candidate | None]:
        self._solve(range(len(self._sizes)))
        for number in [n for n in range(len(self._sizes)) if self._is_tied(n)]:
            self._take(number, None)
        while any(self._take_rest(n) for n, c in enumerate(self._chosen) if c is None):
            pass
        return self._chosen

    def _solve(self, numbers: Collection[int]) -> None:
        """The best for some objects together: one by one, then exchanged while that is better."""
        self._fill(numbers)
        while any(self._improve(number) for number in numbers):
            pass

    def _fill(self, numbers: Collection[int]) -> None:
        """Give each object without a variable a free one, the best fits first."""
        open_ = {n for n in numbers if self._allowed[n] and self._chosen[n] is None}
        while open_:
            best = min(
                (
                    (-self._score(candidate), number, self._order[candidate.variable], place)
                    for number in open_
                    for place, candidate in enumerate(self._allowed[number])
                    if self._is_free(candidate, number)
                ),
                default=None,
            )
            if best is None:
                return
            _, number, _, place = best
            self._take(number, self._allowed[number][place])
            open_.discard(number)

    def _improve(self, number: int) -> bool:
        """Give an object another variable, whose object has another one then, if that is better."""
        mine = self._chosen[number]
        for candidate in self._allowed[number]:
            if mine is not None and candidate.variable == mine.variable:
                continue
            held = [] if candidate.repeats else self._holders[candidate.variable]
            if self._is_free(candidate, number):
                if self._change({number: candidate}):
                    return True
            elif len(held) == 1:
                other = held[0]
                for instead in self._instead(other, candidate.variable, mine):
                    if self._change({number: candidate, other: instead}):
                        return True
        return False

    def _instead(self, number: int, lost: Variable, left: Candidate | None) -> Iterator[Candidate]:
        """What an object may be that loses its variable: what another leaves, or what is free."""
        for candidate in self._allowed[number]:
            is_left = left is not None and candidate.variable == left.variable
            if candidate.variable != lost and (is_left or self._is_free(candidate, number)):
                yield candidate

    def _change(self, new: Mapping[int, Candidate]) -> bool:
        """Change what some objects are, if all of them are better then."""
        old = {number: self._chosen[number] for number in new}
        before = self._worth(new)
        for number, candidate in new.items():
            self._take(number, candidate)
        if self._worth(new) > before + _EQUAL:
            return True
        for number, former in old.items():
            self._take(number, former)
        return False

    def _worth(self, numbers: Collection[int]) -> float:
        """What speaks for the names of some objects, beside those of all others."""
        total = 0.0
        for number in numbers:
            mine = self._chosen[number]
            if mine is not None:
                best = max(c.score for c in self._allowed[number])
                total += self._score(mine) - best + _LOSS
                total += _REPETITION * mine.repeats  # its own use is none beside it
        return total - _ORDER * self._inversions(numbers)

    def _inversions(self, numbers: Collection[int]) -> int:
        """Pairs of a function's variables that do not lie in the order of their declarations."""
        count = 0
        for number in numbers:
            mine = self._chosen[number]
            if mine is None or mine.repeats:
                continue
            for other, theirs in enumerate(self._chosen):
                if theirs is None or theirs.repeats or (other in numbers and other <= number):
                    continue
                ranks = self._order[mine.variable], self._order[theirs.variable]
                count += ranks[0] != ranks[1] and (number < other) != (ranks[0] < ranks[1])
        return count

    def _is_tied(self, number: int) -> bool:
        """Whether an object might be a variable just as well that no object is.

        That may be so by another's being that one: then nothing says which of them it is.
        """
        seen, work = {number}, [number]
        while work:
            one = work.pop()
            mine = self._chosen[one]
            if mine is None:
                continue
            for candidate in self._allowed[one]:
                if candidate.variable == mine.variable or candidate.score < mine.score - _EQUAL:
                    continue
                holders = self._holders[candidate.variable]
                if not holders:
                    return True
                work += [] if candidate.repeats else [n for n in holders if n not in seen]
                seen.update(holders)
        return False

    def _score(self, candidate: Candidate) -> float:
        uses = len(self._holders[candidate.variable])
        return candidate.score - _REPETITION * uses * candidate.repeats

    def _is_free(self, candidate: Candidate, number: int) -> bool:
        held = sum(self._sizes[n] for n in self._holders[candidate.variable])
        return (
            candidate.repeats or not held or held + self._sizes[number] <= candidate.variable.size
        )

    def _take(self, number: int, candidate: Candidate | None) -> None:
        former = self._chosen[number]
        if former is not None:
            self._holders[former.variable].remove(number)
        self._chosen[number] = candidate
        if candidate is not None:
            self._holders[candidate.variable].append(number)

    def _take_rest(self, number: int) -> bool:
        """The arrays of one size that are left, as behind pointers, for as many objects.

        No copy that a compiler makes of a value is an array, and each array of the function itself
        exists once: where all others are other objects, they are these. Some line has to name each
        of them, or all others have to be of another type.
        """
        numbers, left = {number}, self._last_arrays(number)
        variables = {c.variable for c in left}
        while True:
            more = {
                other
                for other, chosen in enumerate(self._chosen)
                if chosen is None and any(c.variable in variables for c in self._known[other])
            }
            if more <= numbers:
                break
            numbers |= more
            variables |= {c.variable for one in more for c in self._last_arrays(one)}
        if not variables or len(numbers) != len(variables):
            return False
        rest = {one: self._last_arrays(one) for one in numbers}
        mentioned = {c.variable for of in rest.values() for c in of if c.mention}
        is_last = len(numbers) == 1 and len(self._arrays(number)) > 1
        if not all(rest.values()) or not (is_last or variables <= mentioned):
            return False
        for one, candidates in rest.items():
            self._allowed[one] = candidates
        self._solve(numbers)
        return True

    def _arrays(self, number: int) -> list[Candidate]:
        """An object's candidates of its size, if all are arrays of the function itself."""
        fitting = [c for c in self._known[number] if c.is_exact]
        return fitting if all(c.part.is_array and not c.repeats for c in fitting) else []

    def _last_arrays(self, number: int) -> list[Candidate]:
        """Those that nothing is yet; none where what something is fits better."""
        fitting = self._arrays(number)
        left = [c for c in fitting if self._is_free(c, number)]
        most = max((c.fit for c in fitting), default=0.0)
        return left if all(c.fit == most for c in left) else []


def allowed(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that lines name; where they name none, the only one that fits, or that any names."""
    named = [c for c in candidates if c.is_named and (c.is_exact or c.stays_in_memory)]
    # What a library passes on is where its user's variable is.
    named = [c for c in named if not c.is_librarys_scalar] or named
    if any(c.fit for c in named):
        return [c for c in named if c.fit]
    exact = [c for c in named if c.is_exact]
    silent = [c for c in candidates if c.is_exact and c.fit == 1.0]
    is_array = any(c.part.is_array for c in exact)
    if exact and (is_array or not any(c.part.is_array and c.mention for c in silent)):
        # Code may go through an array by other elements than its own: ((char *)words)[i]. But what
        # is no array may only point to the one that it indexes.
        return exact
    return silent if len(silent) == 1 else []
