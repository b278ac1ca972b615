"""The patch that `fix` offers, for ``git apply``: bytes of the files, unescaped."""

from __future__ import annotations

from lmemscope.exporters.formats import Presentation
from lmemscope.model import FixReport


def render(report: FixReport, how: Presentation) -> bytes:
    """The patch alone; empty if nothing is offered."""
    del how
    return report.chosen.patch.encode("utf-8", "surrogateescape")
