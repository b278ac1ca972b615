"""Tuning results as one self-contained HTML page, each with a chart and a table."""

from __future__ import annotations

from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.html import page
from lmemscope.exporters.page.frontier import HEIGHT, WIDTH, drawing
from lmemscope.exporters.tune_text import LEGEND, head_of, notes_of, rows_of, said_of
from lmemscope.model import TuneReport


def render(report: TuneReport, how: Presentation) -> str:
    """The complete page, which loads nothing and has no script."""
    del how
    return page(
        "frontier.html",
        width=WIDTH,
        height=HEIGHT,
        legend=LEGEND,
        notes=list(notes_of(report)),
        kernels=[
            {
                "heads": list(head_of(one)),
                "drawing": drawing(one),
                "rows": "\n".join(rows_of(one)),
                "said": said_of(one),
            }
            for one in report.kernels
        ],
    )
