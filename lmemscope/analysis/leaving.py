"""When local memory may stay as it is: what each rewrite of a finding would save, by the model."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.model import Cost, Trial
from lmemscope.model.fix import NOTICED, UNSURE

_LITTLE = 0.05
"""Part of the time that local memory may take before it matters."""


def leave_reason(trials: Sequence[Trial]) -> str | None:
    """Why a finding may be left as it is, in a sentence; None where a rewrite may make it faster.

    Args:
        trials: of one kernel and finding.
    """
    offered = [trial for trial in trials if trial.is_offered]
    gains = [trial.speed_up for trial in offered]
    cost = next((trial.modelled for trial in trials if trial.modelled is not None), None)
    if not offered or any(gain is None or gain > NOTICED for gain in gains):
        return None
    known = _reason_of(cost) if cost is not None else None  # A saved document has sums alone.
    if known is not None:
        return known
    if all(gain is not None and gain < 1 / UNSURE for gain in gains):
        return "by the model, each rewrite that was tried would cost more than it saves"
    return None


def _reason_of(cost: Cost) -> str | None:
    """Why a kernel's local memory costs little, by what its cost is made of."""
    share = cost.local / cost.total
    if share < _LITTLE:
        return f"by the model, local memory keeps the kernel busy for {share:.0%} of its time"
    if cost.fits and cost.is_uniform:
        return "the frames fit the L1 cache, and the lanes of a warp use one address"
    return None
