"""One patch of the best rewritings, proven as one: what is harmless alone may harm in company."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lmemscope.fixing.attempts import Attempts, Results
from lmemscope.fixing.edits import merged
from lmemscope.fixing.judge import harm
from lmemscope.fixing.patch import diff
from lmemscope.model import Chosen, Edit, Rewriting, Trial


def choose(
    trials: Iterable[Trial], results: Results, attempts: Attempts, *, unsafe: bool
) -> Chosen:
    """The best rewriting of each target, as far as they go together.

    Args:
        trials: ranked.
        results: the units as they are.
        attempts: compile what they make together.
        unsafe: whether unsafe ones count.
    """
    wanted = _best(trials, unsafe=unsafe)
    taken: list[Rewriting] = []
    left_out: list[str] = []
    edits: tuple[Edit, ...] = ()
    whole = merged(one.edits for one in wanted)
    if len(wanted) < 2 or (whole is not None and _harm(whole, results, attempts) is None):
        # One alone is proven already.
        taken, edits = wanted, whole or ()
    else:
        for one in wanted:
            with_it = merged((*(other.edits for other in taken), one.edits))
            why = "it touches the same lines as another rewrite"
            if with_it is not None:
                why = _harm(with_it, results, attempts) or ""
            if with_it is None or why:
                left_out.append(f"{one.summary}: {why}")
            else:
                taken.append(one)
                edits = with_it
    return Chosen(tuple(taken), edits, diff(edits, os.getcwd()), tuple(left_out))


def _best(trials: Iterable[Trial], *, unsafe: bool) -> list[Rewriting]:
    """One rewriting for each place: kernels that share it have the same."""
    found: dict[tuple[str, object, object], Rewriting] = {}
    for trial in trials:
        if trial.rank is None or (trial.rewriting.applicability == "unsafe" and not unsafe):
            continue
        found.setdefault((trial.input, trial.object, trial.place), trial.rewriting)
    return list({one.edits: one for one in found.values()}.values())


def _harm(edits: tuple[Edit, ...], results: Results, attempts: Attempts) -> str | None:
    """Why edits are not taken, or None."""
    for unit, report in results.reading({edit.file for edit in edits}):
        outcome = attempts.outcome(unit, edits)
        if outcome.report is None:
            return outcome.error or "it does not compile"
        why = harm(report, outcome.report)
        if why is not None:
            return why
    return None
