"""Which side of an assignment a name stands on: whether a line may store what it names."""

from __future__ import annotations

import re
from functools import lru_cache

_ASSIGNS = re.compile(r"(?<![=!<>+\-*/%&|^])=(?!=)")


# Lines are asked for the names of all variables, once for each access.
@lru_cache(maxsize=1 << 13)
def contains(text: str, word: str) -> bool:
    """Whether a text holds a name as a word."""
    return word in text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def is_on_side(text: str, word: str, is_store: bool) -> bool:
    """Whether a name may be what a line stores, or loads: by the one plain assignment on it.

    ``key[at] = helper[from]`` stores ``key`` and loads ``helper``, and what is in brackets.
    """
    sides = _ASSIGNS.split(text)
    if len(sides) != 2 or ";" in sides[0] or not contains(text, word):
        return True
    if is_store:
        return contains(_outside_brackets(sides[0]), word)
    return contains(sides[1], word) or contains(_inside_brackets(sides[0]), word)


def _outside_brackets(text: str) -> str:
    depth, kept = 0, ""
    for char in text:
        depth -= char == "]"
        kept += char if depth <= 0 else " "
        depth += char == "["
    return kept


def _inside_brackets(text: str) -> str:
    return text[text.find("[") :] if "[" in text else ""
