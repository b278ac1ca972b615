"""A reader's selection and order of kernels to show; it never changes the results."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from lmemscope.model.cause_table import Cause
from lmemscope.model.option import Option

Order = Literal["worst", "name", "file", "bytes", "frame", "spills", "registers"]


def _shown(help_: str, flags: str, metavar: str | None = None, least: int = 0) -> Option:
    """A display option: neither the file nor `lmemscope.scan` accepts it."""
    return Option(
        help_, flags, metavar, least=least, unit="rows", group="view", file=False, api=False
    )


class View(Struct, frozen=True):
    """A reader's selection among the kernels of a report.

    ``top`` None shows as many rows as fit the format, ``group`` None merges if there are many, and
    ``sort`` None is ``worst``. Figures sort in descending order, by a row's worst kernel, unknown
    values last.
    """

    top: Annotated[int | None, _shown("Show the first N rows.", "--top", "N", 1)] = None
    cause: Annotated[
        tuple[Cause, ...],
        _shown("Only show kernels with this cause; repeatable.", "--cause", "CAUSE"),
    ] = ()
    local_only: Annotated[
        bool, _shown("Only show kernels that use local memory.", "--local-only")
    ] = False
    sort: Annotated[
        Order | None,
        _shown("Sort by this column; worst is modelled cost.  [default: worst]", "--sort"),
    ] = None
    group: Annotated[
        bool | None,
        _shown(
            "Merge instances of a template with the same causes into one row.  "
            "[default: above 40 kernels]",
            "--group/--no-group",
        ),
    ] = None
    all: Annotated[bool, _shown("Show every kernel.", "--all")] = False

    @property
    def filters(self) -> tuple[str, ...]:
        """The choices that exclude kernels, as flags."""
        return (
            *((f"--top {self.top}",) if self.top is not None else ()),
            *(f"--cause {cause}" for cause in self.cause),
            *(("--local-only",) if self.local_only else ()),
        )


WHOLE = View()
"""The complete report, as each format shows it by default."""
