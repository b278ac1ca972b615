"""The order of what is offered."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from lmemscope.exporters.proven import factor
from lmemscope.formats.demangle import short_name
from lmemscope.model import Edit, Figures, Trial
from lmemscope.model.fix import CLEARLY, NOTICED

_AT_ALL = 1.005
"""How many times as fast an addition has to be modelled: where costs are equal it changes nothing,
or the form of a loop that NVVM has unrolled by itself. On an H100 two of 27 such were a quarter
slower, and none a tenth faster."""
_VERDICTS = ("removed", "reduced", "no-effect", "worse", "failed")


def ranked(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Trials by input, architecture, kernel and finding, the best of each first, and numbered.

    By modelled cost, an unsafe one's counted 1.5 times; of what costs the same, what removes more
    is first, then what is safe, then what takes less shared memory, then what edits fewer lines,
    then what leaves a multiprocessor less to do and to wait for beside memory, then what adds less
    text, then what was proposed first. Of one rewrite's proposals that come to the same and remove
    nothing, the simplest stands for all. What is added to a rewriting comes behind it unless the
    kernel is faster with it. One by which the kernel does not become faster has no number.
    """
    harmful = harms(trials)
    groups: dict[tuple[str, ...], list[Trial]] = defaultdict(list)
    for trial in trials:
        own = str(trial.declared)  # Another variable of the name may have the finding's line.
        groups[trial.input, trial.arch, trial.kernel, trial.fingerprint, own].append(trial)
    made: list[Trial] = []
    for _, group in sorted(groups.items()):
        number = 0
        seen: list[tuple[object, ...]] = []
        alone = {trial.rewriting.edits: trial for trial in group}
        for trial in sorted(group, key=lambda one: _with_base(one, alone)):
            came_to = (trial.rewriting.rewrite, trial.after, trial.cost_after, trial.error)
            if trial.verdict == "no-effect" and came_to in seen:
                continue
            seen.append(came_to)
            # What harms one kernel or makes it slower, on one architecture, is offered for none.
            harm = harmful.get(trial.rewriting.edits)
            counts = trial.is_offered and trial.is_worth and harm is None
            number += counts
            why = None if counts else trial.error or _why_not(trial, harm)
            made.append(replace(trial, rank=number if counts else None, error=why))
    return tuple(made)


def harms(trials: Iterable[Trial]) -> dict[tuple[Edit, ...], Trial]:
    """The trials of a kernel that edits harm, or make slower by the model: of each edits the worst.

    What harms comes before what is slower, and what is slowest first.
    """
    found: dict[tuple[Edit, ...], Trial] = {}
    for trial in trials:
        if trial.verdict in ("worse", "failed") or trial.is_slower:
            known = found.get(trial.rewriting.edits)
            if known is None or _harm(trial) < _harm(known):
                found[trial.rewriting.edits] = trial
    return found


def _harm(trial: Trial) -> tuple[bool, float]:
    return trial.is_offered or trial.verdict == "no-effect", trial.speed_up or 1.0


def _why_not(trial: Trial, harm: Trial | None) -> str | None:
    """Why what is offered by its verdict has no rank.

    Args:
        trial: what is offered.
        harm: the trial of the same edits that speaks against them, if any.
    """
    if not trial.is_offered:
        return None
    if not trial.is_worth and trial.speed_up is not None:
        how = "slower" if trial.is_slower else "about as fast"
        return f"modelled to be {how} (× {factor(trial.speed_up)})"
    return said_of(harm) if harm is not None else None


def said_of(harm: Trial) -> str:
    """What a trial has against its edits: the kernel, and the figure or the reason."""
    where = f"{short_name(harm.kernel)} ({harm.input}, {harm.arch})"
    if harm.is_offered or harm.error is None:
        by = f" (× {factor(harm.speed_up)})" if harm.speed_up is not None else ""
        return f"{where} is modelled to be slower with it{by}"
    return f"in {where}: {harm.error}"


_Place = tuple[bool, int, float, int, bool, int, int, float, int]


def _with_base(trial: Trial, alone: Mapping[tuple[Edit, ...], Trial]) -> tuple[_Place, int]:
    """The place of a trial: an addition is before its base if it is faster, else behind."""
    base = alone.get(trial.rewriting.base) if trial.rewriting.base is not None else None
    if base is None or not trial.is_offered:
        return _order(trial), 0
    if _is_faster(trial, base):
        return min(_order(trial), _order(base)), -1
    return max(_order(trial), _order(base)), 1


def _is_faster(trial: Trial, base: Trial) -> bool:
    """Whether an addition is modelled faster than what it is added to.

    Clearly so where it costs warps, or copies accesses of local memory that are left, or nothing
    tells: the model is less sure of the rest.
    """
    if trial.cost_after is None or base.cost_after is None:
        return False
    made, alone = trial.after, base.after
    if made is None or alone is None:
        return False
    is_dear = not (
        _is_at_most(alone.occupancy, made.occupancy) and _is_at_most(_sites(made), _sites(alone))
    )
    return trial.cost_after * (NOTICED if is_dear else _AT_ALL) < base.cost_after


def _is_at_most(one: float | None, other: float | None) -> bool:
    """Whether a figure is known to be no larger than another."""
    return one is not None and other is not None and one <= other


def _edited_lines(trial: Trial) -> int:
    """Lines that a patch takes away or adds; the simplest of what is as good is first."""
    lines = (trial.patch or "").splitlines()
    return sum(one[:1] in ("+", "-") and one[:3] not in ("+++", "---") for one in lines)


def _sites(of: Figures) -> int | None:
    return of.ldl + of.stl if of.ldl is not None and of.stl is not None else None


def _order(trial: Trial) -> _Place:
    made = trial.made
    cost = trial.cost_after if trial.cost_after is not None else math.inf
    if trial.rewriting.applicability == "unsafe":
        cost *= CLEARLY
    steps = round(math.log(cost) / math.log(NOTICED)) if 0 < cost < math.inf else cost
    return (
        not (trial.is_offered and trial.is_worth),
        0 if trial.is_offered else _VERDICTS.index(trial.verdict),
        steps,
        _VERDICTS.index(trial.verdict),
        trial.rewriting.applicability == "unsafe",
        # A fix of another object may need the room, or all blocks of a grid run at a time.
        (trial.after.shared or 0) if trial.after is not None else 0,
        _edited_lines(trial),
        # What memory hides in the model it may not hide on another GPU, or beside other kernels.
        made.issue + made.waiting if made is not None else math.inf,
        sum(len(edit.text) for edit in trial.rewriting.edits),
    )
