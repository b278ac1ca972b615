"""Parse recursion depths stated by users, ``f=12``, in comments and in the configuration."""

from __future__ import annotations

import re

DEPTH = "depth"
"""The comment keyword for recursion depths."""

_STATED = re.compile(r"(?P<name>[A-Za-z_~][^\s=<]*(?:<[^=]*>[^\s=<]*)?)=(?P<depth>[1-9]\d{0,5})")
_NEXT = re.compile(r"[\s,]*(?P<one>[^=]*=[^\s,]*|[^=]+$)")
"""One of several; blanks and commas in template arguments precede its ``=``."""


def parse_depth(text: str) -> tuple[str, int] | None:
    """A function's name and its maximum number of active calls; None if the text is invalid."""
    match = _STATED.fullmatch(text)
    return None if match is None else (match["name"], int(match["depth"]))


def split_depths(text: str) -> list[str]:
    """The entries in a comment, separated by blanks or commas; they may not be valid."""
    return [match["one"].strip() for match in _NEXT.finditer(text) if match["one"].strip(" ,")]
