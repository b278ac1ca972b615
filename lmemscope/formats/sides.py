"""Determine on which side of an assignment a name is: whether a line may store to it."""

from __future__ import annotations

import re
from functools import lru_cache

_ASSIGNS = re.compile(r"(?<![=!<>+\-*/%&|^])=(?!=)")


# Each line is queried for the names of all variables, once per access.
@lru_cache(maxsize=1 << 13)
def contains(text: str, word: str) -> bool:
    """Whether a text contains a name as a word."""
    return word in text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def is_on_side(text: str, word: str, is_store: bool) -> bool:
    """Whether a line may store (or load) a name, judging by its only plain assignment.

    ``key[at] = helper[from]`` stores ``key``, and loads ``helper`` and what is in brackets.
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
