"""Detect repeated keys in JSON objects, whose value parsers choose differently."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from lmemscope.errors import FormatError
from lmemscope.formats.codec import printable


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
    """An ``object_pairs_hook`` for `json.loads` that returns such objects as `Repeating`."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else Repeating(pairs)


def refuse_repeated(data: bytes) -> None:
    """Check JSON for objects with a repeated key.

    Raises:
        FormatError: names the key; or an unused part cannot be parsed.
    """

    def pairs(items: Sequence[tuple[str, Any]]) -> None:
        if len(dict(items)) != len(items):
            repeated = printable(Repeating(items).repeated)
            raise FormatError("json", f"it has {repeated} more than once in one object")

    # Numbers stay text: long ones are slow to convert, and their value is not needed.
    try:
        json.loads(data, object_pairs_hook=pairs, parse_int=str, parse_float=str)
    except RecursionError as error:
        raise FormatError("json", "it is nested too deeply") from error
    except ValueError as error:
        raise FormatError("json", printable(str(error))) from error
