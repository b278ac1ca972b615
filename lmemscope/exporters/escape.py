"""Foreign text made harmless before any format escapes it: what would not be seen is spelled out.

Names, paths, source lines and messages come from inputs. A terminal's control sequences, an
override of the reading direction or a lone surrogate must never reach a reader's screen.
"""

from __future__ import annotations

import unicodedata

_SPACES = "Zs"


def visible(text: str, *, lines: bool = False) -> str:
    """The text with what is not printable as an escape: ``\\x1b``, ``\\u202e``.

    Args:
        text: foreign text.
        lines: whether ends of lines and tabs stay; otherwise they become spaces.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _shown(char, lines) for char in text)


def _shown(char: str, lines: bool) -> str:
    if char in "\n\t":
        return char if lines else " "
    if char == "\r":
        return "" if lines else " "
    if unicodedata.category(char) == _SPACES:
        return char
    return (
        char.encode("ascii", "backslashreplace").decode()
        if char > "\x7f"
        else rf"\x{ord(char):02x}"
    )


def spans(prose: str) -> list[tuple[bool, str]]:
    """A sentence in parts, each with whether it stands in backticks, as code does."""
    parts = prose.split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner is no mark
        parts[-2:] = ["`".join(parts[-2:])]
    return [(index % 2 == 1, part) for index, part in enumerate(parts) if part]
