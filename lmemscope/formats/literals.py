"""Hide strings and characters in C++ text, so that names and operators can be parsed."""

from __future__ import annotations

import re

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_APART = 0x4E00
"""First of the letters that stand for hidden characters; none can start a C++ name."""


def without_literals(text: str) -> str:
    """A text of the same length with strings and characters replaced by neutral text."""
    return _STRING.sub(_hidden, text)


def _hidden(found: re.Match[str]) -> str:
    """The replacement for a string or character: nothing that is a name.

    A character is restored for display (`_shown`); the content of a string is never an index.
    """
    text = found.group()
    if text[0] == '"' or not text.isascii():
        return "_" * len(text)
    return "".join(chr(_APART + ord(one)) for one in text)


def with_literals(text: str) -> str:
    """A text with its characters restored."""
    return "".join(
        chr(ord(one) - _APART) if _APART <= ord(one) < _APART + 128 else one for one in text
    )
