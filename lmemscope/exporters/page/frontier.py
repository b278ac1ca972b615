"""Layout of a tuning chart: registers on the x axis, cost and occupancy on the y axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmemscope.exporters.occupancy_text import percent
from lmemscope.model import TunedKernel, TunePoint

WIDTH, HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 48, 12, 28
_LETTER = 6
"""Width of a digit."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A point in the chart.

    Attributes:
        x, y: position in the chart's units.
        kind: ``knee``, ``pareto``, ``plain`` or ``occupancy``.
        title: tooltip text.
    """

    x: float
    y: float
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Label:
    """A label on an axis."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A complete chart.

    Attributes:
        label: text alternative for screen readers.
        cost, occupancy: points of the two lines, in SVG syntax.
        marks, labels: drawn on top of them.
    """

    label: str
    cost: str
    occupancy: str
    marks: Sequence[Mark]
    labels: Sequence[Label]


def drawing(kernel: TunedKernel) -> Drawing | None:
    """The chart of a kernel; None for fewer than two points."""
    points = [p for p in kernel.points if p.registers is not None and not p.smem_spilling]
    known = [one for one in points if one.cost]
    if len(points) < 2:
        return None
    registers = [one.registers or 0 for one in points]
    across = _Scale(min(registers), max(registers), _LEFT, WIDTH - _RIGHT)
    costs = [math.log(one.cost) for one in known if one.cost]
    # The y axis spans at least twice the least cost, so that small differences look small.
    top = max([min(costs, default=0.0) + math.log(2), *costs])
    upwards = _Scale(min(costs, default=0.0), top, HEIGHT - _BOTTOM, _TOP)
    share = _Scale(0, 1, HEIGHT - _BOTTOM, _TOP)
    least = min((one.cost for one in known if one.cost), default=1.0)
    marks = [
        Mark(
            across(one.registers or 0),
            upwards(math.log(one.cost)),
            "knee" if one.is_knee else "pareto" if one.is_pareto else "plain",
            f"{one.registers} registers: cost × {one.cost / least:.2f}, {_told(one)}",
        )
        for one in known
        if one.cost
    ]
    held = [(across(p.registers or 0), share(p.occupancy or 0.0)) for p in points]
    told = [Mark(x, y, "occupancy", _told(p)) for (x, y), p in zip(held, points, strict=True)]
    labels: list[Label] = []
    for value in sorted({*registers}, reverse=True):
        x = across(value) - _LETTER * len(str(value)) / 2
        if not labels or labels[-1].x - x > 4 * _LETTER:
            labels.append(Label(x, HEIGHT - 8, str(value)))
    labels += [
        Label(0, upwards(value) + 4, f"× {math.exp(value) / least:.2g}")
        for value in (math.log(least), top)
        if known
    ]
    labels += [Label(WIDTH - _RIGHT + 12, share(v) + 4, f"{percent(v)}%") for v in (0.0, 0.5, 1.0)]
    return Drawing(
        f"Modelled cost and occupancy of {kernel.demangled} by registers",
        _line((mark.x, mark.y) for mark in marks),
        _line(held),
        [*marks, *told],
        labels,
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.begin + share * (self.end - self.begin)


def _told(one: TunePoint) -> str:
    held = "?" if one.occupancy is None else str(percent(one.occupancy))
    spills = "?" if one.spills is None else str(one.spills)
    return f"occupancy {held}%, {spills} bytes of spills"


def _line(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
