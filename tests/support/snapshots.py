"""Where words are kept that tests compare: one file in tests/snapshots for each test module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from syrupy.extensions.amber import AmberSnapshotExtension

_TESTS = Path(__file__).parents[1]


class Words(AmberSnapshotExtension):
    """Amber files in the place of the test module below tests/snapshots."""

    @classmethod
    def dirname(cls, *, test_location: Any) -> str:
        place = Path(test_location.filepath).parent.relative_to(_TESTS)
        return str(_TESTS / "snapshots" / place)
