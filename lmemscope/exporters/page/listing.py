"""The figures of a row in the page's tables, as shown and as the table sorts by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.analysis.groups import Row
from lmemscope.exporters import layout
from lmemscope.exporters.occupancy_text import percent

FIGURES = ("cost", "frame", "spill st/ld", "LDL/STL", "registers", "occupancy")


@dataclass(frozen=True, slots=True)
class Figure:
    """A cell.

    Attributes:
        name: of `FIGURES`.
        shown: the least and the most of the kernels, as text.
        value: the largest, by which the table sorts; what is not known sorts first.
    """

    name: str
    shown: str
    value: int

    @property
    def text(self) -> str:
        """What stands in the cell; a dash for nothing."""
        return "–" if self.shown in ("0", "-") else self.shown

    @property
    def is_dim(self) -> bool:
        """Whether there is nothing to see."""
        return self.text in ("–", "?", "?/?")


def figures(rows: Sequence[Row]) -> list[Figure]:
    """The cells of some kernels together, in the order of `FIGURES`."""
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
        # Functions that kernels call have none.
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
