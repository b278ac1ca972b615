"""Numbers in text that somebody else wrote."""

from __future__ import annotations

_MOST_DIGITS = 18
"""Fit into 64 bits, whatever they are."""


def decimal(text: str) -> int | None:
    """The number that decimal digits spell; None for any other text, and for over 18 digits.

    ``int`` is no judge of foreign text: it takes signs, spaces, underscores and the digits of every
    script, and raises ``ValueError`` for thousands of digits. ``str.isdigit`` is none either: it
    takes superscripts.
    """
    if len(text) > _MOST_DIGITS or not (text.isascii() and text.isdecimal()):
        return None
    return int(text)
