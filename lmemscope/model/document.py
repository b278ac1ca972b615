"""How fields of the model are written: which may be absent in a document, and which never are.

A structure that leaves out fields (``omit_defaults``) writes every field that has not its default.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import field


class _NotGiven(tuple[Any, ...]):
    __slots__ = ()

    def __reduce__(self) -> str:
        return "NOT_GIVEN"  # of another process, too, it is the same


NOT_GIVEN: Final = _NotGiven()
"""The default of a list that a document may be without; an empty one that is given is written."""


def always(value: object) -> Any:
    """The default of a field that is written whatever it holds, and may be absent when read."""
    return field(default_factory=lambda: value)
