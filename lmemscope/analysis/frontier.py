"""Which points of registers, spills and occupancy are worth a look, and which one to take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from lmemscope.model import TunePoint, count
from lmemscope.model.fix import CLEARLY, NOTICED

_SPILLED_CODE = 0.5
"""Words that spills move, per instruction of the whole kernel, from which they have exploded: no
cap below is a choice."""
_WORD, _INSTRUCTION = 4, 16
_PRECISE = 1.1
"""The ratio below which two digits would hide a difference that the knee depends on."""


def has_exploded(point: TunePoint) -> bool:
    """Whether spilling has become a large part of the kernel's code."""
    if point.spills is None or not point.code_bytes:
        return False
    instructions = point.code_bytes / _INSTRUCTION
    return point.spills / _WORD > _SPILLED_CODE * instructions


def marked(points: Sequence[TunePoint]) -> tuple[tuple[TunePoint, ...], str]:
    """Points with the Pareto points and the knee marked, and why that is the knee.

    The knee is the point with the least modelled cost; of those whose costs cannot be told apart
    when a kernel is timed, the one with the most registers. One that spills more than the natural
    registers has to be modelled 1.5 times as fast as what does not, for the model may be off by so
    much. Points that spill to shared memory are compared and never chosen, since the model does not
    count what that costs.

    Args:
        points: of one kernel, the natural one first, then by falling registers.
    """
    choices = [one for one in points if not one.smem_spilling]
    knee = _knee(choices)
    made = tuple(
        replace(one, is_pareto=_is_pareto(one, points), is_knee=one is knee) for one in points
    )
    return made, _reason(choices, knee)


def _knee(points: Sequence[TunePoint]) -> TunePoint | None:
    best = _cheapest(points)
    natural = points[0].spills or 0
    careful = _cheapest([one for one in points if (one.spills or 0) <= natural])
    if best is None or careful is None:
        return best
    is_clear = (careful.cost or 0.0) >= CLEARLY * (best.cost or 0.0)
    return best if is_clear else careful


def _cheapest(points: Sequence[TunePoint]) -> TunePoint | None:
    costs = [one.cost for one in points if one.cost is not None]
    near = min(costs, default=0.0) * NOTICED
    return next((one for one in points if one.cost is not None and one.cost <= near), None)


def _is_pareto(point: TunePoint, points: Sequence[TunePoint]) -> bool:
    own = _measures(point)
    if own is None:
        return False
    others = [(other, _measures(one)) for other, one in enumerate(points)]
    place = next(n for n, one in enumerate(points) if one is point)
    # Of equal ones the first stands for all.
    return not any(
        found is not None
        and found[0] <= own[0]
        and found[1] >= own[1]
        and (found != own or other < place)
        for other, found in others
        if other != place
    )


def _measures(point: TunePoint) -> tuple[int, float] | None:
    """Spill bytes, which should be few, and occupancy, which should be high."""
    if point.spills is None or point.occupancy is None:
        return None
    return point.spills, point.occupancy


def _reason(points: Sequence[TunePoint], knee: TunePoint | None) -> str:
    if knee is None:
        if all(one.occupancy == 0 for one in points):
            return "no block of this size fits a multiprocessor"
        return "the model has no cost for this kernel: choose among the Pareto points"
    if len(points) == 1:
        return "ptxas takes no lower cap, or spills too much already"
    parts = [*_won(points[0], knee), *_lost(points, knee), *_doubted(points, knee)]
    if knee is points[0] and not parts:
        return "fewer registers are not modelled to be faster"
    return "; ".join(parts) or "the least modelled cost"


def _won(natural: TunePoint, knee: TunePoint) -> Iterator[str]:
    """What the knee has that the natural registers have not."""
    if knee is natural or natural.occupancy is None or knee.occupancy is None:
        return
    if natural.occupancy == 0:
        yield "without a cap no block of this size fits a multiprocessor"
        return
    held = f"occupancy {_percent(natural.occupancy)}% → {_percent(knee.occupancy)}%"
    spills = (knee.spills or 0) - (natural.spills or 0)
    if knee.occupancy < natural.occupancy:
        yield f"{held}: fewer resident threads share the L1 cache"
    elif spills > 0:
        yield f"{held} for {spills} more bytes of spills"
    else:
        yield f"{held} without more spills"


def _lost(points: Sequence[TunePoint], knee: TunePoint) -> Iterator[str]:
    """Why the next cap that costs more does so."""
    below = points[next(n for n, one in enumerate(points) if one is knee) + 1 :]
    dearer = next((one for one in below if _is_dearer(one, knee)), None)
    if dearer is None or not knee.cost or not dearer.cost:
        return
    slower, place = f"{times(dearer.cost / knee.cost)} the cost", _place(dearer)
    if knee.fits and dearer.fits is False:
        yield f"at {place} the frames of the resident threads exceed the L1 cache: {slower}"
    elif (dearer.spills or 0) > (knee.spills or 0):
        yield f"at {place} spills of {dearer.spills} bytes make {slower}"


def _doubted(points: Sequence[TunePoint], knee: TunePoint) -> Iterator[str]:
    """What is modelled faster, and not enough so."""
    best = _cheapest(points)
    if best is not None and best.cost and knee.cost and knee.cost > NOTICED * best.cost:
        faster = f"{times(knee.cost / best.cost)} as fast"
        yield f"spilling at {_place(best)} is modelled {faster}, which is within the model's error"


def times(ratio: float) -> str:
    """A ratio of costs, so that one that is not 1 does not read as 1: ``1.04 times``."""
    digits = 3 if ratio < _PRECISE else 2
    return f"{ratio:.{digits}g} times"


def _place(point: TunePoint) -> str:
    """A point as a sentence names it: the blocks, where these are varied, else the registers."""
    if point.min_blocks is not None:
        return count(point.min_blocks, "block")
    return "no cap" if point.cap is None else str(point.cap)


def _is_dearer(point: TunePoint, knee: TunePoint) -> bool:
    return point.cost is not None and knee.cost is not None and point.cost > knee.cost * NOTICED


def _percent(share: float) -> int:
    return round(100 * share)
