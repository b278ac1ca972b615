"""The order of what is offered."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from lmemscope.model import Trial
from lmemscope.model.fix import NOTICED

_VERDICTS = ("removed", "reduced", "no-effect", "worse", "failed")
_LITTLE = 0.05
"""Part of the time that local memory may take before it matters."""


def ranked(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Trials by input, architecture, kernel and finding, the best of each first, and numbered.

    By modelled cost; what is safe comes before what is as good and is not. One by which the kernel
    becomes slower has no number: leaving it as it is is better (`leave_reason`).
    """
    groups: dict[tuple[str, str, str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.input, trial.arch, trial.kernel, trial.fingerprint].append(trial)
    made: list[Trial] = []
    for _, group in sorted(groups.items()):
        number = 0
        for trial in sorted(group, key=_order):
            counts = trial.is_offered and trial.is_worth
            number += counts
            made.append(replace(trial, rank=number if counts else None))
    return tuple(made)


def leave_reason(trials: Sequence[Trial]) -> str | None:
    """Why a finding may be left as it is, in a sentence; None where some rewrite makes it faster.

    Args:
        trials: of one kernel and finding.
    """
    offered = [trial for trial in trials if trial.is_offered]
    gains = [trial.speed_up for trial in offered]
    cost = next((trial.modelled for trial in trials if trial.modelled is not None), None)
    if cost is None or not offered or any(gain is None or gain > NOTICED for gain in gains):
        return None
    if not cost.is_looped:
        return "all of it is executed once per thread"
    share = cost.local / cost.total
    if share < _LITTLE:
        return f"local memory keeps the kernel busy for {share:.0%} of its time"
    if cost.fits and cost.is_uniform:
        return "the frames fit the L1 cache, and the lanes of a warp use one address"
    if all(gain is not None and gain < 1 / NOTICED for gain in gains):
        return "each rewrite would cost more than it saves"
    return "each rewrite would cost what it saves"


def _order(trial: Trial) -> tuple[int, int, float, bool, float, int, str]:
    after = trial.after
    cost = trial.cost_after if trial.cost_after is not None else math.inf
    steps = round(math.log(cost) / math.log(NOTICED)) if 0 < cost < math.inf else cost
    return (
        not (trial.is_offered and trial.is_worth),
        0 if trial.is_offered else _VERDICTS.index(trial.verdict),
        steps,
        trial.rewriting.applicability == "unsafe",
        cost,
        after.registers or 0 if after is not None else 0,
        trial.rewriting.rewrite,
    )
