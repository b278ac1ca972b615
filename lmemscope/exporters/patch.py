"""The patch that `fix` offers, as ``git apply`` takes it: bytes of the files, nothing escaped."""

from __future__ import annotations

from lmemscope.exporters.formats import Presentation
from lmemscope.model import FixReport


def render(report: FixReport, how: Presentation) -> bytes:
    """The patch alone; empty where nothing is offered."""
    del how
    return report.chosen.patch.encode("utf-8", "surrogateescape")
