"""Which of its candidates each stack object of a function is: all of them are decided together.

A variable of the function itself exists once, and is no larger than it is; one of a function that
is inlined may be several objects. An object that can only be one variable has that before the
others choose; the best score chooses first among the rest; what lines name in vain, or do not name,
is what is left over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from lmemscope.analysis.candidates import Candidate
from lmemscope.model import Variable

_REPETITION = 0.5
"""What a variable that has an object already scores less: copies of inlined ones share alike."""
_LOSS = 1.0
"""What an object's next candidate may score less, where its first is all that another can be."""


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
        self._taken: dict[Variable, int] = defaultdict(int)
        self._uses: dict[Variable, int] = defaultdict(int)

    def decided(self) -> list[Candidate | None]:
        for number, candidate in list(self._certain()):
            if self._is_free(candidate, number):
                self._take(number, candidate)
        open_ = {n for n, one in enumerate(self._allowed) if one and self._chosen[n] is None}
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
                break
            _, number, _, place = best
            self._take(number, self._allowed[number][place])
            open_.discard(number)
        _exchange(self._allowed, self._chosen)
        while any(self._take_left_over(n) for n, c in enumerate(self._chosen) if c is None):
            pass
        for number in [n for n, c in enumerate(self._chosen) if c is not None]:
            if self._has_equal(number):
                self._chosen[number] = None
        return self._chosen

    def _has_equal(self, number: int) -> bool:
        """Whether an object without a name could be another one's variable just as well.

        Then nothing says which of the two it is.
        """
        mine = self._chosen[number]
        assert mine is not None
        return not mine.repeats and any(
            self._chosen[other] is None
            and candidate.variable == mine.variable
            and candidate.part == mine.part
            and candidate.score >= mine.score
            for other, candidates in enumerate(self._allowed)
            if other != number
            for candidate in candidates
        )

    def _score(self, candidate: Candidate) -> float:
        return candidate.score - _REPETITION * self._uses[candidate.variable] * candidate.repeats

    def _is_free(self, candidate: Candidate, number: int) -> bool:
        taken = self._taken[candidate.variable]
        return (
            candidate.repeats or not taken or taken + self._sizes[number] <= candidate.variable.size
        )

    def _take(self, number: int, candidate: Candidate) -> None:
        self._chosen[number] = candidate
        self._taken[candidate.variable] += self._sizes[number]
        self._uses[candidate.variable] += 1

    def _certain(self) -> Iterator[tuple[int, Candidate]]:
        """Objects that can be one whole variable alone, which costs the others little."""
        single = [
            (number, whole[0])
            for number, candidates in enumerate(self._allowed)
            if len({c.variable for c in candidates}) == 1
            and (whole := [c for c in candidates if c.agrees and not c.part.path])
            and not whole[0].repeats
        ]
        for number, mine in sorted(single, key=lambda one: (-one[1].score, one[0])):
            if all(
                _can_do_without(mine, candidates)
                for other, candidates in enumerate(self._allowed)
                if other != number
            ):
                yield number, mine

    def _take_left_over(self, number: int) -> bool:
        """What an object is by elimination: all others that it could be are other objects."""
        return self._take_silent(number) or self._take_last_array(number)

    def _take_last_array(self, number: int) -> bool:
        """The one array of its size that is left, as behind pointers that are exchanged.

        No copy that a compiler makes of a value is an array, and each array of the function itself
        exists once: where all but one of them are other objects, it is that one. Where there is but
        one, some line has to name it.
        """
        fitting = [c for c in self._known[number] if c.is_exact and c.is_reached]
        if not fitting or not all(c.part.is_array and not c.repeats for c in fitting):
            return False
        left = [c for c in fitting if self._is_free(c, number)]
        if len(left) != 1 or left[0].fit < max(c.fit for c in fitting):
            return False
        if len(fitting) == 1 and not left[0].mention:
            return False
        if any(
            c.variable == left[0].variable
            for other, chosen in enumerate(self._chosen)
            if other != number and chosen is None
            for c in self._known[other]
        ):
            return False
        self._take(number, left[0])
        return True

    def _take_silent(self, number: int) -> bool:
        """What lines name, but too few of them."""
        silent = [c for c in self._known[number] if c.is_exact and c.fit == 1.0 and c.mention]
        left = [c for c in silent if self._is_free(c, number)]
        if len(left) != 1 or left[0].mention < max(c.mention for c in silent):
            return False
        if not left[0].is_aggregate or not left[0].is_reached:
            return False
        self._take(number, left[0])
        return True


def _can_do_without(mine: Candidate, candidates: Sequence[Candidate]) -> bool:
    """Whether an object scores little more as a variable than as another one."""
    wanted = [c.score for c in candidates if c.variable == mine.variable]
    others = [c.score for c in candidates if c.variable != mine.variable]
    if not wanted or max(wanted) < mine.score - _LOSS:
        return True
    return bool(others) and max(others) >= max(wanted) - _LOSS


def _exchange(allowed: Sequence[Sequence[Candidate]], chosen: list[Candidate | None]) -> None:
    """Exchange two objects' variables while that is better for both together."""
    changed = True
    while changed:
        changed = False
        for first in range(len(chosen)):
            for second in range(first):
                mine, theirs = chosen[first], chosen[second]
                if mine is None or theirs is None or mine.variable == theirs.variable:
                    continue
                new = of_variable(allowed[first], theirs), of_variable(allowed[second], mine)
                if new[0] is None or new[1] is None:
                    continue
                if new[0].score + new[1].score > mine.score + theirs.score + 0.001:
                    chosen[first], chosen[second] = new
                    changed = True


def allowed(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that lines name; where they name none, the only one that fits, or that any names."""
    named = [c for c in candidates if c.is_named and (c.is_exact or c.is_aggregate)]
    if any(c.is_exact and c.fit and c.is_reached for c in named):
        # Other variables share its place; the one that is indexed is why it is in memory.
        named = [c for c in named if c.is_reached]
    if any(c.is_exact and c.fit and not c.is_librarys_scalar for c in named):
        # What a library passes on is where its user's variable is.
        named = [c for c in named if not c.is_librarys_scalar]
    if any(c.fit for c in named):
        return [c for c in named if c.fit]
    exact = [c for c in named if c.is_exact]
    silent = [c for c in candidates if c.is_exact and c.fit == 1.0]
    is_array = any(c.part.is_array for c in exact)
    if exact and (is_array or not any(c.part.is_array and c.mention for c in silent)):
        # Code may go through an array by other elements than its own: ((char *)words)[i]. But what
        # is no array may only point to the one that it indexes.
        return exact
    # Where the compiler moved most accesses to other lines, the few that are left count.
    silent = [c for c in silent if c.mention] or silent
    return silent if len(silent) == 1 else []
