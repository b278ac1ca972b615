"""A measurement as one HTML page that loads nothing and has no script."""

from __future__ import annotations

from lmemscope.exporters import measured
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.html import page
from lmemscope.model import Measurement


def render(found: Measurement, how: Presentation) -> str:
    """The complete page."""
    del how
    return page(
        "measured.html",
        found=found,
        measured=measured,
        columns=measured.COLUMNS,
        kernels=[one for one in found.kernels if measured.uses_local_memory(one)],
        notes=[one for one in (measured.clean(found), *found.notes) if one is not None],
    )
