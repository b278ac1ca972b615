r"""Find the last word of a piece of source text, searching from its end.

A search for ``\w+\s*$`` restarts at each character: one long word elsewhere in a file would take
quadratic time.
"""

from __future__ import annotations


def last_word(text: str, end: int | None = None) -> str:
    """The identifier or number at the end, ignoring trailing white space.

    Args:
        text: source text.
        end: where to search from; None for the end of the text.

    Returns:
        The word; empty if something else is there, or nothing.
    """
    last = len(text) if end is None else end
    while last and text[last - 1].isspace():
        last -= 1
    first = last
    while first and (text[first - 1].isalnum() or text[first - 1] == "_"):
        first -= 1
    return text[first:last]


def last_character(text: str, end: int) -> str:
    """The last character before a position that is not white space; empty if there is none."""
    while end and text[end - 1].isspace():
        end -= 1
    return text[end - 1] if end else ""
