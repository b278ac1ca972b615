"""Foreign text made harmless before any format escapes it: what would not be seen is spelled out.

Names, paths, source lines and messages come from inputs. A terminal's control sequences, an
override of the reading direction or a lone surrogate must never reach a reader's screen, and no
line of ours may be a command to the CI server that reads along.
"""

from __future__ import annotations

import re
import unicodedata

_SPACES = "Zs"
# Letters and marks that print as nothing (Unicode: Default_Ignorable_Code_Point). The others of
# that property are not printable for Python either; U+FE0E and U+FE0F choose how an emoji looks.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0"
    "\U000e0100-\U000e01ef]"
)
COMMAND_ANYWHERE = re.compile(r"##(?=(?:vso|teamcity)?\[)", re.IGNORECASE)
"""What GitHub's, Azure's and TeamCity's runners take for a command wherever it is in a line."""

_WORDS = r"[\w-]*-[\w-]*|error|warning|notice|debug|group|endgroup|echo"
COMMAND_AT_START = re.compile(rf"^([^\S\n]*):(?=:(?:{_WORDS})(?:\s[^\n]*)?::)", re.I | re.M)
"""What GitHub's runner takes for a command at the start of a line (``::error file=x::text``).

Names of commands that are no C++ names, and those that are; ``::std::move(x)`` is none.
"""


def visible(text: str, *, lines: bool = False) -> str:
    """The text with what is not printable as an escape: ``\\x1b``, ``\\u202e``.

    Args:
        text: foreign text.
        lines: whether ends of lines and tabs stay; otherwise they become spaces.
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _shown(char, lines) for char in text)
    return text if text.isascii() else _UNSEEN.sub(lambda match: _spelled(match[0]), text)


def _shown(char: str, lines: bool) -> str:
    if char in "\n\t":
        return char if lines else " "
    if char == "\r":
        return "" if lines else " "
    return char if unicodedata.category(char) == _SPACES else _spelled(char)


def _spelled(char: str) -> str:
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
