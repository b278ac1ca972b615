"""The order of what is offered."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from lmemscope.model import Trial
from lmemscope.model.fix import NOTICED

_CLEARLY = 1.5
"""How many times as fast as a safe rewriting an unsafe one has to be modelled, to come before it:
the model is off by about so much, or by more, of half of the fixes that were timed."""
_VERDICTS = ("removed", "reduced", "no-effect", "worse", "failed")


def ranked(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Trials by input, architecture, kernel and finding, the best of each first, and numbered.

    By modelled cost, an unsafe one's counted 1.5 times; of what costs the same, what removes more
    is first, then what is safe, then what takes less shared memory, then what leaves a
    multiprocessor less to do and to wait for beside memory, then what was proposed first. One by
    which the kernel becomes slower has no number: leaving it as it is is better (`leave_reason`).
    """
    harmful = {
        trial.rewriting.edits
        for trial in trials
        if trial.verdict in ("worse", "failed") or not trial.is_worth
    }
    groups: dict[tuple[str, ...], list[Trial]] = defaultdict(list)
    for trial in trials:
        own = str(trial.declared)  # Another variable of the name may have the finding's line.
        groups[trial.input, trial.arch, trial.kernel, trial.fingerprint, own].append(trial)
    made: list[Trial] = []
    for _, group in sorted(groups.items()):
        number = 0
        for trial in sorted(group, key=_order):
            # What harms one kernel or makes it slower, on one architecture, is offered for none.
            counts = trial.is_offered and trial.rewriting.edits not in harmful
            number += counts
            made.append(replace(trial, rank=number if counts else None))
    return tuple(made)


def _order(trial: Trial) -> tuple[bool, int, float, int, bool, int, float]:
    made = trial.made
    cost = trial.cost_after if trial.cost_after is not None else math.inf
    if trial.rewriting.applicability == "unsafe":
        cost *= _CLEARLY
    steps = round(math.log(cost) / math.log(NOTICED)) if 0 < cost < math.inf else cost
    return (
        not (trial.is_offered and trial.is_worth),
        0 if trial.is_offered else _VERDICTS.index(trial.verdict),
        steps,
        _VERDICTS.index(trial.verdict),
        trial.rewriting.applicability == "unsafe",
        # A fix of another object may need the room, or all blocks of a grid run at a time.
        (trial.after.shared or 0) if trial.after is not None else 0,
        # What memory hides in the model it may not hide on another GPU, or beside other kernels.
        made.issue + made.waiting if made is not None else math.inf,
    )
