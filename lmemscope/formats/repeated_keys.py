"""JSON objects that have a key more than once: which value holds, readers decide differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any


class Repeating(dict[str, Any]):
    """An object with a repeated key.

    Attributes:
        repeated: the first such key.
        pairs: all keys and values, as written.
    """

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counted = Counter(name for name, _ in pairs)
        self.repeated = next(name for name, count in counted.items() if count > 1)
        self.pairs = pairs


def telling_repeated(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A hook for `json.loads` (``object_pairs_hook``) that gives such objects as `Repeating`."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else Repeating(pairs)
