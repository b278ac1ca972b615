"""The word that a piece of source text ends with, found from its end.

A search for ``\\w+\\s*$`` begins anew at each character: one long word elsewhere in a file would
take time with the square of its length.
"""

from __future__ import annotations


def last_word(text: str, end: int | None = None) -> str:
    """The identifier or number that stands last, white space behind it aside.

    Args:
        text: source text.
        end: where to look back from; the end of the text if None.

    Returns:
        The word; empty where something else stands there, or nothing.
    """
    last = len(text) if end is None else end
    while last and text[last - 1].isspace():
        last -= 1
    first = last
    while first and (text[first - 1].isalnum() or text[first - 1] == "_"):
        first -= 1
    return text[first:last]


def last_character(text: str, end: int) -> str:
    """The last character before a place that is no white space; empty where there is none."""
    while end and text[end - 1].isspace():
        end -= 1
    return text[end - 1] if end else ""
