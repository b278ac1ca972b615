"""The ``lmemscope.measure/1`` document, which the gate can read."""

from __future__ import annotations

from lmemscope.exporters import escape_json
from lmemscope.exporters.formats import Presentation
from lmemscope.formats import documents
from lmemscope.model import Measurement


def render(found: Measurement, how: Presentation) -> str:
    """The complete document."""
    del how
    return escape_json.document(found)


def _as_read(found: Measurement) -> Measurement:
    return found


SAVED = documents.Saved(
    structure=Measurement,
    meaning=_as_read,
    stage="measure",
    noun="saved measurement",
    missing="write it with: lmemscope measure -o {path} -- COMMAND",
    again="write it again with: lmemscope measure -o measured.json -- COMMAND",
)
