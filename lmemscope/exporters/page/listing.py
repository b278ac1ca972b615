"""The figures of a row in the HTML tables, with display text and sort value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.analysis.groups import Row
from lmemscope.exporters import layout
from lmemscope.exporters.occupancy_text import percent

FIGURES = ("cost", "frame", "spill st/ld", "LDL/STL", "registers", "occupancy")


@dataclass(frozen=True, slots=True)
class Figure:
    """A table cell.

    Attributes:
        name: from `FIGURES`.
        shown: the range over the kernels, as text.
        value: the largest, for sorting; unknown values sort first.
    """

    name: str
    shown: str
    value: int

    @property
    def text(self) -> str:
        """The cell's text; a dash for nothing."""
        return "–" if self.shown in ("0", "-") else self.shown

    @property
    def is_dim(self) -> bool:
        """Whether the cell is empty."""
        return self.text in ("–", "?", "?/?")


def figures(rows: Sequence[Row]) -> list[Figure]:
    """The cells for a set of kernels, in the order of `FIGURES`."""
    facts = [kernel.facts for _, kernel in rows]
    frames = [one.stack_frame for one in facts]
    registers = [one.registers for one in facts]
    warps = [percent(one.occupancy.share) if one.occupancy is not None else None for one in facts]
    resident = layout.span(warps) if None in warps else f"{layout.span(warps)}%"
    shown = (
        layout.costs(facts),
        layout.span(frames),
        layout.spills(facts),
        layout.sites(facts),
        layout.span(registers),
        # Device functions have none.
        "-" if all(one.kind != "entry" for one in facts) else resident,
    )
    values = (
        [None if one.cost is None else round(one.cost) for one in facts],
        frames,
        [one.spill_bytes for one in facts],
        [None if one.sass is None else one.sass.count for one in facts],
        registers,
        warps,
    )
    return [
        Figure(name, text, max((one for one in each if one is not None), default=-1))
        for name, text, each in zip(FIGURES, shown, values, strict=True)
    ]
