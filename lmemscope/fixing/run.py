"""units → targets → rewritings → trials → verdicts → one patch: the parent's half of a fix."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import chain, zip_longest

from msgspec.structs import replace

from lmemscope import __version__
from lmemscope.advising.targets import Files, declined_rewrites, targets_of, untried
from lmemscope.app.execute import run_whole
from lmemscope.app.session import Interrupted, Session
from lmemscope.errors import Stopped
from lmemscope.fixing.attempts import Attempt, Attempts, OutOfTimeError, Result, Results, has_equals
from lmemscope.fixing.beside import beside
from lmemscope.fixing.chosen import choose
from lmemscope.fixing.edits import pairs
from lmemscope.fixing.grids import Grids
from lmemscope.fixing.joint import joint
from lmemscope.fixing.judge import frees
from lmemscope.fixing.outcomes import is_in, trials_of
from lmemscope.fixing.program import Program, with_runs
from lmemscope.fixing.rank import ranked
from lmemscope.fixing.same import tried_unit
from lmemscope.lowering import store
from lmemscope.model import (
    Chosen,
    Declined,
    DeclinedRewrite,
    FailedInput,
    FixReport,
    Report,
    Rewriting,
    Trial,
    Untried,
    count,
)
from lmemscope.rewrites import numba, proposals, second_thoughts, suits
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.numba_arrays import NumbaTarget
from lmemscope.running.pool import Progress

_SOURCES = (".cu", ".cuh", ".py")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be fixed.

    Attributes:
        kernels: globs over kernels; none means all.
        objects: names of variables; none means all.
        block: threads of a block, or None where the source says it.
        unsafe: whether the patch takes rewritings that may change what the program does.
        program: to run with each rewriting that is offered, or None.
        seconds: of the clock after which no more is tried and no patch made of what was; None for
            all of it.
    """

    kernels: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    block: int | None = None
    unsafe: bool = False
    program: Program | None = None
    seconds: float | None = None


class CutError(Interrupted):
    """The user ended the run while rewrites were tried.

    Attributes:
        report: of all kernels.
        fixes: what came of the rewrites that were tried by then; nothing is chosen of them.
        number: of the signal.
    """

    def __init__(self, report: Report, fixes: FixReport, counted: str, number: int) -> None:
        super().__init__(report, counted, number)
        self.fixes = fixes


class LateError(CutError):
    """The time for trials is over."""


def fix(
    paths: Sequence[str],
    session: Session,
    asked: Asked,
) -> tuple[Report, FixReport]:
    """Analyse inputs, each once, and try what may remove their local memory.

    Args:
        paths: as the user typed them.
        session: how to compile, and where units and trials run.
        asked: which kernels and objects.

    Returns:
        The report of all kernels, and what was tried.

    Raises:
        UsageError: the request is wrong whatever the inputs hold.
        Interrupted: by the user, while units were analysed.
        CutError: by the user, while rewrites were tried.
        LateError: they took longer than they may.
        LmemscopeError: the program cannot be run, or fails as it is.
    """
    began = time.monotonic()
    report, analysed = run_whole(paths, session)
    seconds = time.monotonic() - began
    cache, progress = session.settings.cache, session.progress
    found = try_rewrites(report, analysed, session.workers, asked, cache, progress, seconds=seconds)
    if session.store is not None:
        store.trim(session.store)
    return report, found


def try_rewrites(
    report: Report,
    analysed: Sequence[Result],
    executor: Executor,
    asked: Asked,
    cache: str | None = None,
    progress: Progress | None = None,
    *,
    seconds: float = 0.0,
) -> FixReport:
    """Try what may remove the local memory of units.

    Args:
        report: of all inputs.
        analysed: the units that could be analysed.
        executor: where trials run.
        asked: as of `fix`.
        cache: directory where results are kept, or None.
        progress: told as each trial begins and ends.
        seconds: that analysing the units took.

    Raises:
        LmemscopeError: as of `fix`.
    """
    results = Results(analysed)
    files = Files()
    grids = Grids(files, asked.block)
    attempts = Attempts(executor, cache, progress, seconds, most=asked.seconds)
    trials: list[Trial] = []
    idle: list[_Idle] = []
    declined: list[DeclinedRewrite] = []
    every = [kernel for _, report in analysed for kernel in report.kernels]
    found = FixReport(
        version=__version__,
        trials=(),
        untried=(),
        chosen=Chosen((), (), "", ()),
        failures=tuple(
            FailedInput(one.input, one.failure) for one in report.units if one.failure is not None
        ),
        kernels=(len(every), sum(one.facts.uses_local_memory for one in every)),
        notes=report.notes,
        default_arch=report.default_arch,
        units=tuple(tried_unit(unit, own, results.files(unit)) for unit, own in results.every),
    )
    try:
        every_idle = [*_start(results, attempts, asked, files, grids)]
        declined += (one for each in every_idle for one in declined_rewrites(each.untried))
        idle += (one for one in every_idle if not one.is_tried)
        _try_all(results, attempts, trials, idle, grids)
        order = ranked(trials)
        if asked.program is not None:
            attempts.say("running the program")
            order = with_runs(order, asked.program)
        left = tuple(one.untried for one in idle)
        known = replace(found, trials=order, untried=left, declined=tuple(declined))
        if asked.seconds is not None:
            return known
        attempts.say("one patch of the best")
        return replace(known, chosen=choose(order, results, attempts, grids, unsafe=asked.unsafe))
    except (KeyboardInterrupt, Stopped, OutOfTimeError) as stop:
        number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
        done, total = len(attempts.done), attempts.total
        # What removes one object may remove another.
        trials += _by_others(attempts.done, trials, grids)
        left = tuple(one.untried for one in idle)
        counted = f"{done} of {count(total, 'rewrite')} tried"
        cut = f"interrupted: {done} of {total} rewrites tried, and no patch made of them"
        known = replace(
            found,
            trials=ranked(trials),
            untried=left,
            notes=(*found.notes, cut),
            declined=tuple(declined),
        )
        made = LateError if isinstance(stop, OutOfTimeError) else CutError
        raise made(report, known, counted, number) from stop


def _try_all(
    results: Results,
    attempts: Attempts,
    trials: list[Trial],
    idle: list[_Idle],
    grids: Grids,
) -> None:
    """What was started, and what follows from what came of it.

    Args:
        trials: are added as they end.
        idle: what nothing was tried on is taken away where something made for another removes it.
    """
    trials += _finish(attempts, grids)
    trials += _by_others(attempts.done, trials, grids)
    for still in [*idle]:
        freed = [] if still.target is None else [*_freed_by(attempts.done, still.target, grids)]
        if freed:
            trials += freed
            idle.remove(still)
    common = [*joint(attempts.done)]
    for alike, rewriting in common:
        attempts.start(alike.target, alike.results, rewriting, for_several=True)
    trials += _finish(attempts, grids)
    for one in _unsolved(attempts.done, trials):
        for rewriting in one.otherwise():
            attempts.start(one.target, results.changed(one.target, rewriting), rewriting)
    trials += _finish(attempts, grids)
    for one in _unsolved(attempts.done, trials):
        alone = [own for own in one.compiled if all(own != taken for _, taken in common)]
        for pair in pairs(alone):
            attempts.start(one.target, results.changed(one.target, pair), pair)
    trials += _finish(attempts, grids)
    trials += [one for one in _by_others(attempts.done, trials, grids) if one.is_worth]
    for best, added in beside(attempts.done, ranked(trials)):
        attempts.start(best.target, best.results, added)
    trials += _finish(attempts, grids)


@dataclass(frozen=True, slots=True)
class _Idle:
    """What rewrites have nothing to propose for a finding, and why.

    Attributes:
        target: None where it cannot be edited at all.
        untried: the reasons.
        is_tried: whether another rewrite proposes something.
    """

    target: Target | NumbaTarget | None
    untried: Untried
    is_tried: bool = False


def _start(
    results: Results, attempts: Attempts, asked: Asked, files: Files, grids: Grids
) -> Iterator[_Idle]:
    """Start the trials of all targets; gives what there is nothing to try on.

    Where time is short, the costliest kernels come first, and of each object what may remove it
    alone.
    """
    started: list[list[tuple[Target | NumbaTarget, Rewriting]]] = []
    inputs: dict[tuple[str, str], list[Result]] = {}
    for unit, report in results.every:
        inputs.setdefault((unit.path, unit.variant), []).append((unit, report))
    for own in inputs.values():
        unit = own[0][0]
        for target in targets_of(
            own, files, kernels=asked.kernels, names=asked.objects, block=asked.block
        ):
            if isinstance(target, Untried):
                yield _Idle(None, target)
                continue
            if not unit.path.endswith(_SOURCES):
                why = "only CUDA C++ in sources and Python strings is rewritten"
                yield _Idle(None, untried(target.hits, unit, Declined(why)))
                continue
            grids.note(target)
            rewritings, reasons = _proposals(target)
            started.append([(target, rewriting) for rewriting in rewritings])
            reasons = reasons or (() if rewritings else (Declined("no rewrite is known for it"),))
            yield _Idle(target, untried(target.hits, unit, *reasons), is_tried=bool(rewritings))
    if asked.seconds is not None:
        for each in started:
            each.sort(key=_stands_alone, reverse=True)
        started.sort(key=lambda own: -max((_cost(target) for target, _ in own), default=0.0))
        started = [[one for one in each if one is not None] for each in zip_longest(*started)]
    for target, rewriting in chain.from_iterable(started):
        attempts.start(target, results.changed(target, rewriting), rewriting)


def _stands_alone(made: tuple[Target | NumbaTarget, Rewriting]) -> bool:
    target, rewriting = made
    return isinstance(target, NumbaTarget) or suits(target, rewriting)


def _cost(target: Target | NumbaTarget) -> float:
    """Of the costliest of its kernels."""
    return max(hit.facts.cost or 0.0 for hit in target.hits)


def _proposals(
    target: Target | NumbaTarget,
) -> tuple[tuple[Rewriting, ...], tuple[Declined, ...]]:
    if isinstance(target, NumbaTarget):
        return numba.proposals(target)
    return proposals(target)


def _finish(attempts: Attempts, grids: Grids) -> Iterator[Trial]:
    for attempt in attempts.finish():
        for trial in trials_of(attempt, attempt.target.hits, grids):
            attempts.note(attempt.target, trial.verdict)
            yield trial


def _by_others(
    attempts: Sequence[Attempt], trials: Sequence[Trial], grids: Grids
) -> Iterator[Trial]:
    """What removes an object that was not tried for it: two arrays of one loop need one rewrite."""
    for one in _unsolved(attempts, [trial for trial in trials if trial.is_worth]):
        yield from _freed_by(attempts, one.target, grids)


def _freed_by(
    attempts: Sequence[Attempt], target: Target | NumbaTarget, grids: Grids
) -> Iterator[Trial]:
    """Trials of what was made for other targets, and removes this one, too."""
    own = {attempt.rewriting.edits for attempt in attempts if attempt.target is target}
    for attempt in attempts:
        edits = attempt.rewriting.edits
        if edits in own or not (attempt.named or not has_equals(target)):
            continue
        if not _frees(attempt, target):
            continue
        found = [*trials_of(replace(attempt, target=target), target.hits, grids)]
        if len(found) >= len(target.hits) and all(f.verdict == "removed" for f in found):
            own.add(edits)
            other = attempt.target
            if (other.name, other.declared_at) != (target.name, target.declared_at):
                found = [
                    replace(one, rewritten=other.name, rewritten_at=other.declared_at)
                    for one in found
                ]
            yield from found


def _frees(attempt: Attempt, target: Target | NumbaTarget) -> bool:
    """Whether what was made for another target takes a target's own bytes away, in all units."""
    for (_, report), outcome in zip(attempt.results, attempt.outcomes, strict=True):
        own = [hit for hit in target.hits if is_in(hit, report.kernels)]
        if own and (outcome.report is None or not frees(report, outcome.report, own)):
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Unsolved:
    """A target that no rewrite removes so far.

    Attributes:
        target: what.
        compiled: the rewritings that compile.
        failed: names of the rewrites that do not.
    """

    target: Target | NumbaTarget
    compiled: Sequence[Rewriting]
    failed: frozenset[str]

    def otherwise(self) -> tuple[Rewriting, ...]:
        """What is tried because something else did not compile."""
        if not isinstance(self.target, Target):
            return ()
        return second_thoughts(self.target, self.failed)


def _unsolved(attempts: Sequence[Attempt], trials: Sequence[Trial]) -> Iterator[_Unsolved]:
    removed = {
        (trial.fingerprint, trial.declared) for trial in trials if trial.verdict == "removed"
    }
    compiled = {trial.rewriting.edits for trial in trials if trial.after is not None}
    # What slows another kernel does so in company, too.
    slowing = {trial.rewriting.edits for trial in trials if trial.is_slowing}
    by_target: dict[int, list[Attempt]] = {}
    for one in attempts:
        by_target.setdefault(id(one.target), []).append(one)
    for group in by_target.values():
        target = group[0].target
        own = target.declared_at
        if not any((hit.finding.fingerprint, own) in removed for hit in target.hits):
            tried = [one.rewriting for one in group]
            yield _Unsolved(
                target,
                [one for one in tried if one.edits in compiled - slowing],
                frozenset(one.rewrite for one in tried if one.edits not in compiled),
            )
