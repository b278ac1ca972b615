"""targets → rewritings → trials → verdicts: the parent's half of `lmemscope fix`."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace

from lmemscope import collect
from lmemscope.config.settings import Settings
from lmemscope.errors import InternalError, LmemscopeError
from lmemscope.fixing.cost import cost_of
from lmemscope.fixing.judge import DEFAULT_BLOCK, Judged, figures, judge
from lmemscope.fixing.patch import diff
from lmemscope.fixing.rank import ranked
from lmemscope.fixing.targets import Files, targets_of, untried
from lmemscope.fixing.trials import report_with
from lmemscope.model import (
    Edit,
    KernelReport,
    Rewriting,
    Trial,
    Unit,
    UnitReport,
    Untried,
    Wanted,
)
from lmemscope.pipeline import analyse_unit
from lmemscope.rewrites import proposals
from lmemscope.rewrites.base import Hit, Target

_PAIRS = 6
"""Combinations that are tried for one target, where no rewrite removes it alone."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be fixed.

    Attributes:
        kernels: globs over kernels; none means all.
        objects: names of variables; none means all.
        block: threads of a block, or None where the source says it.
    """

    kernels: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    block: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was tried and what came of it.

    Attributes:
        trials: sorted by input, kernel and object, the best first.
        untried: findings for which no rewrite is known.
        failures: inputs that could not be analysed, with the reason.
        reports: of the units as they are.
    """

    trials: tuple[Trial, ...]
    untried: tuple[Untried, ...] = ()
    failures: tuple[tuple[str, LmemscopeError], ...] = ()
    reports: tuple[UnitReport, ...] = ()


@dataclass(slots=True)
class _Input:
    """One file with its units, one for each architecture."""

    results: list[tuple[Unit, UnitReport]] = field(default_factory=list)


def fix(
    paths: Sequence[str],
    settings: Settings,
    executor: Executor,
    asked: Asked,
    progress: Callable[[int, int, str], None] | None = None,
) -> Outcome:
    """Try what may remove the local memory of inputs.

    Args:
        paths: as the user typed them.
        settings: how to compile.
        executor: where units and trials run.
        asked: which kernels and objects.
        progress: told as each trial ends.

    Raises:
        UsageError: the request is wrong whatever the inputs hold.
    """
    units, errors = collect.plan_units(paths, settings, executor)
    failures = list(errors)
    wanted = Wanted(cache=settings.cache, max_file_size=settings.max_file_size, work=True)
    started = [(unit, executor.submit(analyse_unit, unit, wanted)) for unit in units]
    inputs: dict[tuple[str, str], _Input] = defaultdict(_Input)
    for unit, future in started:
        try:
            report = future.result()
        except LmemscopeError as error:
            failures.append((unit.input, error))
            continue
        inputs[unit.path, unit.variant].results.append((unit, report))
    run = _Run(executor, settings.cache, progress)
    left: list[Untried] = []
    files = Files()
    for one in inputs.values():
        for target in targets_of(
            one.results, files, kernels=asked.kernels, names=asked.objects, block=asked.block
        ):
            if isinstance(target, Untried):
                left.append(target)
            elif not run.start(target, one.results):
                left.append(untried(target.hits, one.results[0][0], "no rewrite applies to it"))
    trials = run.finish()
    reports = tuple(report for one in inputs.values() for _, report in one.results)
    return Outcome(ranked(trials), tuple(left), tuple(failures), reports)


@dataclass(slots=True)
class _Started:
    target: Target
    results: Sequence[tuple[Unit, UnitReport]]
    rewriting: Rewriting
    futures: list[Future[UnitReport]]


class _Run:
    def __init__(
        self,
        executor: Executor,
        cache: str | None,
        progress: Callable[[int, int, str], None] | None,
    ) -> None:
        self._executor, self._cache, self._progress = executor, cache, progress
        self._started: list[_Started] = []
        self._known: dict[tuple[Unit, tuple[Edit, ...]], Future[UnitReport]] = {}
        self._done = 0

    def start(self, target: Target, results: Sequence[tuple[Unit, UnitReport]]) -> bool:
        """Start the trials of a target; False where there is nothing to try."""
        before = len(self._started)
        for rewriting in proposals(target):
            self._submit(target, results, rewriting)
        return len(self._started) > before

    def finish(self) -> list[Trial]:
        """Wait for all trials, and for those of pairs where no rewrite did it alone."""
        trials: list[Trial] = []
        first = self._started
        for one in first:
            trials += self._finished(one)
        self._started = []
        for target, results, rewritings in _unsolved(first, trials):
            for pair in _pairs(rewritings):
                self._submit(target, results, pair)
        for one in self._started:
            trials += self._finished(one)
        return trials

    def _submit(
        self, target: Target, results: Sequence[tuple[Unit, UnitReport]], rewriting: Rewriting
    ) -> None:
        futures = []
        for unit, _ in results:
            key = (unit, rewriting.edits)
            if key not in self._known:
                self._known[key] = self._executor.submit(
                    report_with, unit, rewriting.edits, self._cache
                )
            futures.append(self._known[key])
        self._started.append(_Started(target, results, rewriting, futures))

    def _finished(self, one: _Started) -> list[Trial]:
        trials: list[Trial] = []
        for (unit, report), future in zip(one.results, one.futures, strict=True):
            hits = [hit for hit in one.target.hits if _is_in(hit, report)]
            after: UnitReport | None = None
            error: str | None = None
            try:
                after = future.result()
            except LmemscopeError as refusal:
                error = _first_error(refusal)
            except ValueError as overlap:
                error = str(overlap)
            except Exception as mistake:  # noqa: BLE001 - a mistake of ours, in this trial alone
                error = InternalError.of(mistake).message
            verdicts: Mapping[str, Judged] = {} if after is None else judge(report, after, hits)
            original = {kernel.facts.name: kernel for kernel in report.kernels}
            trials += [
                self._trial(
                    one, unit, hit, original[hit.facts.name], verdicts.get(hit.facts.name), error
                )
                for hit in _each_kernel(hits)
            ]
        self._done += 1
        if self._progress is not None:
            total = self._done + sum(not every.futures[-1].done() for every in self._started)
            self._progress(self._done, max(total, self._done), one.target.name or "")
        return trials

    def _trial(
        self,
        one: _Started,
        unit: Unit,
        hit: Hit,
        before: KernelReport,
        judged: Judged | None,
        error: str | None,
    ) -> Trial:
        target = one.target
        threads = target.block.threads if target.block is not None else DEFAULT_BLOCK
        after = judged.after if judged is not None else None
        modelled = cost_of(before, unit.arch, threads)
        made = cost_of(after, unit.arch, threads) if after is not None else None
        return Trial(
            input=unit.name,
            arch=unit.arch,
            kernel=hit.facts.demangled,
            object=target.name,
            fingerprint=hit.finding.fingerprint,
            cause=target.cause,
            place=target.place,
            rewriting=one.rewriting,
            verdict=judged.verdict if judged is not None else "failed",
            rank=None,
            before=figures(hit.facts, unit.arch, threads),
            after=figures(after.facts, unit.arch, threads) if after is not None else None,
            cost_before=modelled.total if modelled is not None else None,
            cost_after=made.total if made is not None else None,
            patch=_patch(one.rewriting),
            error=error if judged is None else judged.error,
            modelled=modelled,
        )


def _patch(rewriting: Rewriting) -> str | None:
    try:
        return diff(rewriting.edits, os.getcwd())
    except (OSError, ValueError):
        return None


def _is_in(hit: Hit, report: UnitReport) -> bool:
    return any(one.facts is hit.facts for one in report.kernels)


def _each_kernel(hits: Sequence[Hit]) -> Iterator[Hit]:
    """One finding for each kernel: copies of a variable have one rewriting."""
    seen: set[str] = set()
    for hit in hits:
        if hit.facts.name not in seen:
            seen.add(hit.facts.name)
            yield hit


def _unsolved(
    started: Sequence[_Started], trials: Sequence[Trial]
) -> Iterator[tuple[Target, Sequence[tuple[Unit, UnitReport]], list[Rewriting]]]:
    """Targets that no rewrite removes alone, with those that compile and harm nothing."""
    removed = {trial.fingerprint for trial in trials if trial.verdict == "removed"}
    usable = {
        trial.rewriting.edits
        for trial in trials
        if trial.verdict in ("reduced", "no-effect", "worse")
    }
    by_target: dict[int, list[_Started]] = defaultdict(list)
    for one in started:
        by_target[id(one.target)].append(one)
    for group in by_target.values():
        target = group[0].target
        if any(hit.finding.fingerprint in removed for hit in target.hits):
            continue
        rewritings = [one.rewriting for one in group if one.rewriting.edits in usable]
        if len(rewritings) > 1:
            yield target, group[0].results, rewritings


def _pairs(rewritings: Sequence[Rewriting]) -> Iterator[Rewriting]:
    made = 0
    for position, first in enumerate(rewritings):
        for second in rewritings[position + 1 :]:
            edits = _together(first.edits, second.edits)
            if edits is None or first.rewrite == second.rewrite or made == _PAIRS:
                continue
            made += 1
            unsafe = [one for one in (first, second) if one.applicability == "unsafe"]
            yield replace(
                first,
                rewrite=f"{first.rewrite}+{second.rewrite}",
                applicability="unsafe" if unsafe else "safe",
                edits=edits,
                summary=f"{first.summary}; {second.summary}",
                caveat="; ".join(one.caveat for one in unsafe if one.caveat) or None,
            )


def _together(first: Sequence[Edit], second: Sequence[Edit]) -> tuple[Edit, ...] | None:
    """The edits of two rewritings; None where they touch the same text."""
    both = sorted((*first, *second))
    for one, other in zip(both, both[1:], strict=False):
        if one.file == other.file and other.start < one.end:
            return None
    return tuple(both)


def _first_error(error: LmemscopeError) -> str:
    lines = (error.log or "").splitlines()
    found = next((line for line in lines if "error" in line), None)
    return (found or error.message).strip()
