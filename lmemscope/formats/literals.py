"""Strings and characters in C++ text, while it is read as names, brackets and operators."""

from __future__ import annotations

import re

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_APART = 0x4E00
"""Where letters begin that are no C++ name's first: what characters are hidden as."""


def without_literals(text: str) -> str:
    """A text of the same length in which no string or character is taken for something else."""
    return _STRING.sub(_hidden, text)


def _hidden(found: re.Match[str]) -> str:
    """What stands for a string or a character while its statement is read: nothing that is a name.

    A character comes back where it is shown (`_shown`); what is in a string is nobody's index.
    """
    text = found.group()
    if text[0] == '"' or not text.isascii():
        return "_" * len(text)
    return "".join(chr(_APART + ord(one)) for one in text)


def with_literals(text: str) -> str:
    """A text with its characters as written."""
    return "".join(
        chr(ord(one) - _APART) if _APART <= ord(one) < _APART + 128 else one for one in text
    )
