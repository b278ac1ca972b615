"""What of a report is shown, and in which order; nothing of it changes what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lmemscope.model.cause_table import Cause

Order = Literal["worst", "name", "file", "bytes", "frame", "spills", "registers"]


@dataclass(frozen=True, slots=True)
class View:
    """A reader's choice among the kernels of a report.

    Attributes:
        top: how many rows at most, or None for as many as fit the format.
        cause: only kernels with one of these causes; empty means any.
        local_only: only kernels that use local memory.
        sort: what comes first: figures in descending order, those of a row's worst kernel, unknown
            ones last. ``worst`` is modelled cost; None is ``worst``.
        group: whether instances of one template with the same causes are one row; None groups
            where there are many.
        all: every kernel, however many there are.
    """

    top: int | None = None
    cause: tuple[Cause, ...] = ()
    local_only: bool = False
    sort: Order | None = None
    group: bool | None = None
    all: bool = False

    @property
    def filters(self) -> tuple[str, ...]:
        """The choices that leave kernels out, as flags."""
        return (
            *((f"--top {self.top}",) if self.top is not None else ()),
            *(f"--cause {cause}" for cause in self.cause),
            *(("--local-only",) if self.local_only else ()),
        )


WHOLE = View()
"""All of a report, as a format shows it by itself."""
