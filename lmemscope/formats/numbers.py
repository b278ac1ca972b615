"""Parse numbers in foreign text."""

from __future__ import annotations

_MOST_DIGITS = 18
"""Numbers of this many digits fit in 64 bits."""


def decimal(text: str) -> int | None:
    """The value of decimal digits; None for any other text, and for more than 18 digits.

    ``int`` is unsuitable for foreign text: it accepts signs, spaces, underscores and the digits of
    every script, and raises ``ValueError`` for thousands of digits. ``str.isdigit`` accepts
    superscripts.
    """
    if len(text) > _MOST_DIGITS or not (text.isascii() and text.isdecimal()):
        return None
    return int(text)
