"""JSON objects that have a key more than once: which value holds, readers decide differently."""

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
    """A hook for `json.loads` (``object_pairs_hook``) that gives such objects as `Repeating`."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else Repeating(pairs)


def refuse_repeated(data: bytes) -> None:
    """Pass over JSON, unless one of its objects has a key more than once.

    Raises:
        FormatError: which key; or what no structure asks for cannot be read.
    """

    def pairs(items: Sequence[tuple[str, Any]]) -> None:
        if len(dict(items)) != len(items):
            repeated = printable(Repeating(items).repeated)
            raise FormatError("json", f"it has {repeated} more than once in one object")

    # Numbers stay text: one of many digits is slow to convert, and its value is not asked for.
    try:
        json.loads(data, object_pairs_hook=pairs, parse_int=str, parse_float=str)
    except RecursionError as error:
        raise FormatError("json", "it is nested too deeply") from error
    except ValueError as error:
        raise FormatError("json", printable(str(error))) from error
