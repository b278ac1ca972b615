"""One patch of the best rewritings, proven as one: what helps alone may harm in company."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lmemscope.exporters.proven import factor
from lmemscope.fixing.attempts import Attempts, Result, Results
from lmemscope.fixing.edits import merged
from lmemscope.fixing.fit import Lost, loses_more, lost_blocks
from lmemscope.fixing.grids import Grids
from lmemscope.fixing.judge import harm
from lmemscope.fixing.patch import diff
from lmemscope.model import Chosen, Edit, Rewriting, Trial, Unit, UnitReport
from lmemscope.model.fix import NOTICED, WORTH
from lmemscope.sources.lines import from_disk

_SURELY = 2.0
"""How many times as fast a rewriting that is not the first of its object has to be modelled: of
five between 1.5 and 2 that were timed, two were slower than the original."""
Costs = Mapping[tuple[Unit, str], float]
"""What kernels are modelled to cost, by unit and mangled name."""


def choose(
    trials: Sequence[Trial],
    results: Results,
    attempts: Attempts,
    grids: Grids,
    *,
    unsafe: bool,
) -> Chosen:
    """The best rewriting of each target, as far as they go together.

    Those that gain most are taken first, and each other one if no kernel is slower for it. What
    gains nothing alone is taken with all of the others, where that is clearly faster.

    Args:
        trials: ranked.
        results: the units as they are.
        attempts: compile what they make together.
        grids: what kernels are modelled with.
        unsafe: whether unsafe ones count.
    """
    wanted, left_out = _best(trials, unsafe=unsafe)
    company = _Company(results, attempts, grids, [one.edits for one in wanted])
    alone = company.costs(one.edits for one in wanted)
    quiet = {one.edits: one for one in _only_in_company(trials, unsafe=unsafe)}
    every = [*({one.edits: one for one in wanted} | quiet).values()]
    if len(every) > max(1, len(wanted)):
        whole = merged(one.edits for one in every)
        together = _Company(results, attempts, grids, [one.edits for one in every])
        if whole is not None and together.is_faster(whole):
            return _chosen(every, whole, left_out)
    whole = merged(one.edits for one in wanted)
    if len(wanted) < 2 or (whole is not None and company.harm(whole, alone) is None):
        # One alone is proven already.
        return _chosen(wanted, whole or (), left_out)
    taken: list[Rewriting] = []
    edits: tuple[Edit, ...] = ()
    least: Costs = {}
    for one in wanted:
        with_it = merged((edits, one.edits))
        why = "it touches the same lines as another rewrite (apply the patch, and run fix again)"
        if with_it is not None:
            why = company.harm(with_it, least) or "" if taken else ""
        if with_it is None or why:
            left_out.append(f"{one.summary}: {why}")
        else:
            taken.append(one)
            edits = with_it
            # Small losses do not add up: each kernel is compared with the best there was.
            costs = company.costs((edits,))
            least = {key: min(cost, least.get(key, cost)) for key, cost in costs.items()}
    return _chosen(taken, edits, left_out)


def _chosen(taken: Sequence[Rewriting], edits: tuple[Edit, ...], left_out: Sequence[str]) -> Chosen:
    return Chosen(tuple(taken), edits, diff(edits, os.getcwd()), tuple(left_out))


def _best(trials: Iterable[Trial], *, unsafe: bool) -> tuple[list[Rewriting], list[str]]:
    """One rewriting for each place, and what is left out; what gains most first.

    Kernels that share a place have the same one: that which is nearest to the first in all of them.
    Where the first is unsafe and not asked for, another is taken if it is surely faster.
    """
    found: dict[tuple[object, ...], dict[tuple[Edit, ...], list[Trial]]] = {}
    for trial in trials:
        if trial.rank is None or (trial.rewriting.applicability == "unsafe" and not unsafe):
            continue
        found.setdefault(_place(trial), {}).setdefault(trial.rewriting.edits, []).append(trial)
    best: list[Trial] = []
    left_out: list[str] = []
    for each in found.values():
        # What is offered in fewer kernels than another does less.
        most = max(map(len, each.values()))
        whole = [own for own in each.values() if len(own) == most]
        one = min(whole, key=lambda own: sum(trial.rank or 0 for trial in own))[0]
        first = min(trial.rank or 0 for own in each.values() for trial in own)
        if first > 1 and one.speed_up is not None and one.speed_up < _SURELY:
            left_out.append(
                f"{one.rewriting.summary}: it is modelled × {factor(one.speed_up)}, and what is "
                "clearly faster is unsafe (--unsafe takes that)"
            )
        else:
            best.append(one)
    order = sorted(best, key=lambda one: one.speed_up or 1.0, reverse=True)
    rewritings = list({one.rewriting.edits: one.rewriting for one in order}.values())
    return rewritings, list(dict.fromkeys(left_out))


def _only_in_company(trials: Sequence[Trial], *, unsafe: bool) -> Iterator[Rewriting]:
    """The first rewriting of each place at which none makes a kernel faster by itself."""
    seen = {_place(one) for one in trials if one.rank is not None}
    for one in trials:
        is_taken = unsafe or one.rewriting.applicability == "safe"
        if is_taken and one.is_offered and not one.is_slower and _place(one) not in seen:
            seen.add(_place(one))
            yield one.rewriting


def _place(trial: Trial) -> tuple[object, ...]:
    return trial.input, trial.object, trial.cause, trial.place, trial.declared


class _Company:
    """What rewritings do together.

    Args:
        results, attempts, grids: as of `choose`.
        alone: the edits of each of them.
    """

    def __init__(
        self,
        results: Results,
        attempts: Attempts,
        grids: Grids,
        alone: Sequence[tuple[Edit, ...]],
    ) -> None:
        self._results, self._attempts, self._grids = results, attempts, grids
        self._alone = alone

    def costs(self, groups: Iterable[tuple[Edit, ...]]) -> Costs:
        """The least that each kernel is modelled to cost with any of some groups of edits."""
        found: dict[tuple[Unit, str], float] = {}
        for edits in groups:
            for unit, _ in self._reading(edits):
                report = self._attempts.outcome(unit, edits).report
                for name, cost in self._of(unit, report):
                    found[unit, name] = min(cost, found.get((unit, name), cost))
        return found

    def is_faster(self, edits: tuple[Edit, ...]) -> bool:
        """Whether edits together make a kernel faster than each alone does, and harm none."""
        alone = self.costs(self._alone)
        if self.harm(edits, alone) is not None:
            return False
        made = self.costs([edits])
        return any(cost * WORTH <= alone.get(key, 0.0) for key, cost in made.items())

    def harm(self, edits: tuple[Edit, ...], costs: Costs) -> str | None:
        """Why edits are not taken together, or None.

        Args:
            edits: all of them.
            costs: of kernels with fewer of the edits.
        """
        for unit, report in self._reading(edits):
            outcome = self._attempts.outcome(unit, edits)
            if outcome.report is None:
                return outcome.error or "it does not compile"
            why = harm(report, outcome.report)
            if why is not None:
                return why
            alone = [lost for one in self._alone for lost in self._lost(unit, report, one)]
            more = loses_more(self._lost(unit, report, edits), alone)
            if more is not None:
                return f"with another rewrite blocks have room for {more.most} threads only"
            for name, cost in self._of(unit, outcome.report):
                if cost > costs.get((unit, name), cost) * NOTICED:
                    return "with another rewrite the kernel is modelled to be slower than without"
        return None

    def _lost(self, unit: Unit, report: UnitReport, edits: tuple[Edit, ...]) -> list[Lost]:
        """Blocks of a unit's kernels that do not fit with some edits."""
        if unit not in (one for one, _ in self._reading(edits)):
            return []
        outcome = self._attempts.outcome(unit, edits)
        known = self._attempts.done[0].target.hits[0].case.sources
        sources = from_disk(None, unit.input, unit.options, known.mentioning)
        made = outcome.report
        return [] if made is None else [*lost_blocks(report, made, unit.arch, sources)]

    def _reading(self, edits: tuple[Edit, ...]) -> Sequence[Result]:
        return self._results.reading({edit.file for edit in edits})

    def _of(self, unit: Unit, report: UnitReport | None) -> Iterator[tuple[str, float]]:
        for kernel in report.kernels if report is not None else ():
            cost = self._grids.cost(unit, kernel)
            if cost is not None:
                yield kernel.facts.name, cost
