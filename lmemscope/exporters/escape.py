"""Make foreign text harmless before any format escapes it: invisible characters are spelled out.

Names, paths, source lines and messages come from inputs. A terminal control sequence, an override
of the reading direction or a lone surrogate must never reach a reader's screen, and no output line
may be a command to the CI server that reads it.
"""

from __future__ import annotations

import re
import unicodedata

_SPACES = "Zs"
# Letters and marks that print as nothing (Unicode: Default_Ignorable_Code_Point). Python already
# treats the others with that property as unprintable; U+FE0E and U+FE0F select the style of an
# emoji.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0"
    "\U000e0100-\U000e01ef]"
)
COMMAND_ANYWHERE = re.compile(r"##(?=(?:vso|teamcity)?\[)", re.IGNORECASE)
"""Commands that GitHub's, Azure's and TeamCity's runners recognise anywhere in a line."""

_WORDS = r"[\w-]*-[\w-]*|error|warning|notice|debug|group|endgroup|echo"
COMMAND_AT_START = re.compile(rf"^([^\S\n]*):(?=:(?:{_WORDS})(?:\s[^\n]*)?::)", re.I | re.M)
"""Commands that GitHub's runner recognises at the start of a line (``::error file=x::text``).

Matches words with a dash, which no C++ name has, and the known commands without one, so that
``::std::move(x)`` is not a command.
"""


def visible(text: str, *, lines: bool = False) -> str:
    r"""The text with unprintable characters as escapes: ``\x1b``, ``\u202e``.

    Args:
        text: foreign text.
        lines: keep line ends and tabs, which otherwise become spaces.
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
    """The parts of a sentence, each with whether it is in backticks (code)."""
    parts = prose.split("`")
    if len(parts) % 2 == 0:  # an unpaired backtick is plain text
        parts[-2:] = ["`".join(parts[-2:])]
    return [(index % 2 == 1, part) for index, part in enumerate(parts) if part]
