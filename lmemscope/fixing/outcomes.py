"""An attempt's outcomes as trials: one for each finding, with figures, verdict and reason."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from lmemscope.analysis.cost import cost_of
from lmemscope.fixing.attempts import Attempt, Outcome
from lmemscope.fixing.effect import Classes
from lmemscope.fixing.fit import fitted
from lmemscope.fixing.grids import Grids, grid_of
from lmemscope.fixing.judge import NOTHING, Judged, harm, judge, refusal
from lmemscope.fixing.kernel_figures import figures
from lmemscope.fixing.lost import missing_effects
from lmemscope.fixing.rounding import may_round
from lmemscope.model import Figures, KernelReport, Trial, Unit
from lmemscope.model.fix import NOTICED
from lmemscope.rewrites.base import Hit
from lmemscope.rules.indexing import listed


def trials_of(attempt: Attempt, hits: Sequence[Hit], grids: Grids) -> Iterator[Trial]:
    """What an attempt does to findings, those of its own target or of another."""
    attempt, unfit = fitted(attempt)
    classes = Classes.of(attempt.rewriting.edits, attempt.read)
    for (unit, report), outcome in zip(attempt.results, attempt.outcomes, strict=True):
        own = [hit for hit in hits if is_in(hit, report.kernels)]
        verdicts: Mapping[str, Judged] = {}
        rounding = may_round(report, outcome.report) if outcome.report is not None else None
        if outcome.report is not None:
            verdicts = judge(
                report,
                outcome.report,
                own,
                classes=classes,
                speed=functools.partial(grids.speed, unit),
                is_named=attempt.named,
            )
        elsewhere = _harm_elsewhere(attempt, unit, grids) if own else None
        for hit in _each_kernel(own):
            judged = verdicts.get(hit.facts.name)
            if judged is not None and elsewhere is not None and judged.verdict != "failed":
                judged = Judged("worse", judged.after, elsewhere)
            if judged is not None and unfit is not None and judged.verdict != "failed":
                judged = Judged("worse", judged.after, unfit)
            before = next(one for one in report.kernels if _is_of(hit, one))
            trial = _trial(attempt, unit, hit, before, judged, outcome)
            yield replace(trial, rounding=rounding)


def _harm_elsewhere(attempt: Attempt, own: Unit, grids: Grids) -> str | None:
    """What an attempt does wrong in another input that reads a file it changes; None: nothing."""
    for (unit, report), outcome in zip(attempt.results, attempt.outcomes, strict=True):
        if (unit.path, unit.variant) == (own.path, own.variant) or unit.arch != own.arch:
            continue
        if outcome.report is None:
            return f"{unit.name} is not compiled any more: {outcome.error}"
        speed = functools.partial(grids.speed, unit)
        harmed = harm(report, outcome.report, speed=speed)
        if harmed is not None:
            return f"in {unit.name}, {harmed}"
    return None


def _trial(
    attempt: Attempt,
    unit: Unit,
    hit: Hit,
    before: KernelReport,
    judged: Judged | None,
    outcome: Outcome,
) -> Trial:
    target, arch = attempt.target, unit.arch
    grid = grid_of(target)
    after = judged.after if judged is not None else None
    modelled = cost_of(before, arch, grid)
    made = cost_of(after, arch, grid) if after is not None else None
    was = figures(hit.facts, arch, grid)
    found = figures(after.facts, arch, grid) if after is not None else None
    if judged is not None and judged.verdict == "removed" and after is None:
        found = NOTHING
    missing = missing_effects(attempt.rewriting.rewrite, before, after)
    if judged is not None and judged.verdict in ("removed", "reduced") and missing:
        why = f"the kernel does less than before ({listed(missing)})"
        judged = Judged("worse", after, why)
    if found is not None:
        block = grid.threads if target.block is not None else None
        refused = refusal(was, found, block, is_modelled=made is not None)
        judged = Judged("worse", after, refused) if refused is not None else judged
    gained = modelled.total / made.total if modelled is not None and made is not None else None
    why_not = outcome.error if judged is None else judged.error
    if judged is not None and found is not None and judged.verdict == "no-effect" and not why_not:
        why_not = _unaffected(target.name or target.cause, was, found, gained)
        made = None  # What it does to the rest of the kernel is no merit of it.
    return Trial(
        input=unit.name,
        arch=arch,
        kernel=hit.facts.demangled,
        object=target.name,
        fingerprint=hit.finding.fingerprint,
        cause=target.cause,
        place=target.place,
        declared=target.declared_at,
        rewriting=attempt.rewriting,
        verdict=judged.verdict if judged is not None else "failed",
        rank=None,
        before=was,
        after=found,
        cost_before=modelled.total if modelled is not None else None,
        cost_after=made.total if made is not None else None,
        patch=attempt.patch,
        error=why_not,
        modelled=modelled,
        made=made,
        is_late=judged is None and outcome.is_late,
        is_slowing=judged is not None and judged.is_slowing,
    )


def _unaffected(what: str, was: Figures, found: Figures, gained: float | None) -> str:
    """What is said of a finding that a rewriting does nothing to, whatever else it does."""
    # Sites alone are fewer where loops are unrolled otherwise.
    compared = zip(_bytes(was), _bytes(found), strict=True)
    is_less = any(old is not None and new is not None and new < old for old, new in compared)
    said = f"`{what}` stays in local memory"
    if is_less:
        return f"{said}; what is less is of something else in the kernel"
    if gained is not None and gained > NOTICED:
        return f"{said}; other code of the kernel is modelled to be faster"
    return said


def _bytes(of: Figures) -> tuple[int | None, ...]:
    return of.stack_frame, of.spill_stores, of.spill_loads


def is_in(hit: Hit, kernels: Sequence[KernelReport]) -> bool:
    """Whether a finding is of one of some kernels."""
    return any(_is_of(hit, one) for one in kernels)


def _is_of(hit: Hit, kernel: KernelReport) -> bool:
    # Two units can have equal kernels; one that is told its parameters keeps its sources.
    return kernel.sources is hit.facts.sources


def _each_kernel(hits: Sequence[Hit]) -> Iterator[Hit]:
    """One finding for each kernel: copies of a variable have one rewriting."""
    yield from {hit.facts.name: hit for hit in reversed(hits)}.values()
