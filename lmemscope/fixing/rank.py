"""The order of what is offered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from lmemscope.model import Trial

_VERDICTS = ("removed", "reduced", "no-effect", "worse", "failed")


def ranked(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Trials by input, architecture, kernel and finding, the best of each first, and numbered.

    By modelled cost; what is safe comes before what is as good and is not.
    """
    groups: dict[tuple[str, str, str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.input, trial.arch, trial.kernel, trial.fingerprint].append(trial)
    made: list[Trial] = []
    for _, group in sorted(groups.items()):
        number = 0
        for trial in sorted(group, key=_order):
            number += trial.is_offered
            made.append(replace(trial, rank=number if trial.is_offered else None))
    return tuple(made)


def _order(trial: Trial) -> tuple[int, float, int, int, str]:
    after = trial.after
    cost = trial.cost_after if trial.cost_after is not None else float("inf")
    return (
        _VERDICTS.index(trial.verdict),
        cost,
        trial.rewriting.applicability == "unsafe",
        after.registers or 0 if after is not None else 0,
        trial.rewriting.rewrite,
    )
