"""Markers for model fields: which may be absent from a document, and which are always written.

A structure with ``omit_defaults`` leaves out every field that has its default value.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import field


class _NotGiven(tuple[Any, ...]):
    __slots__ = ()

    def __reduce__(self) -> str:
        return "NOT_GIVEN"  # the same object in every process


NOT_GIVEN: Final = _NotGiven()
"""Default of a list that a document may omit; a list that is given is written even if empty."""


def always(value: object) -> Any:
    """Default of a field that is always written, and may be absent when read."""
    return field(default_factory=lambda: value)
