"""Squarified treemaps: rectangles with areas proportional to sizes (Bruls et al., 2000)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, in pixels."""

    x: float
    y: float
    width: float
    height: float

    def inside(self, top: float, around: float) -> Box:
        """The area inside a margin and below a title."""
        return Box(
            self.x + around,
            self.y + top,
            max(self.width - 2 * around, 0),
            max(self.height - top - around, 0),
        )


def squarified(sizes: Sequence[float], box: Box) -> list[Box]:
    """A box for each size, in order, which together fill ``box``.

    Args:
        sizes: positive, largest first.
        box: the area to fill.
    """
    total = sum(sizes)
    if not sizes or total <= 0:
        return []
    scale = box.width * box.height / total
    areas = [size * scale for size in sizes]
    made: list[Box] = []
    while len(made) < len(areas):
        short = min(box.width, box.height)
        count = _row(areas[len(made) :], short)
        row = areas[len(made) : len(made) + count]
        placed, box = _placed(row, box)
        made += placed
    return made


def _row(areas: Sequence[float], short: float) -> int:
    """How many of the next areas to put in a row: as many as make them squarer."""
    count, best = 1, _worst(areas[:1], short)
    while count < len(areas) and (next_ := _worst(areas[: count + 1], short)) <= best:
        count, best = count + 1, next_
    return count


def _worst(row: Sequence[float], short: float) -> float:
    """The largest aspect ratio in a row laid along a side of this length."""
    total = sum(row)
    if not total or not short:
        return 1.0
    return max(
        max(short**2 * area / total**2, total**2 / (short**2 * area)) for area in row if area
    )


def _placed(row: Sequence[float], box: Box) -> tuple[list[Box], Box]:
    """The row's boxes along the shorter side, and the remaining area."""
    total = sum(row)
    made: list[Box] = []
    if box.width >= box.height:
        deep = total / box.height if box.height else 0.0
        at = box.y
        for area in row:
            height = area / deep if deep else 0.0
            made.append(Box(box.x, at, deep, height))
            at += height
        return made, Box(box.x + deep, box.y, max(box.width - deep, 0), box.height)
    deep = total / box.width if box.width else 0.0
    at = box.x
    for area in row:
        width = area / deep if deep else 0.0
        made.append(Box(at, box.y, width, deep))
        at += width
    return made, Box(box.x, box.y + deep, box.width, max(box.height - deep, 0))
