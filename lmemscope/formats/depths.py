"""Depths of recursions as users state them: ``f=12``, in comments and in the configuration."""

from __future__ import annotations

import re

DEPTH = "depth"
"""The word of a comment that states some."""

_STATED = re.compile(r"(?P<name>[A-Za-z_~][^\s=<]*(?:<[^=]*>[^\s=<]*)?)=(?P<depth>[1-9]\d{0,5})")
_NEXT = re.compile(r"[\s,]*(?P<one>[^=]*=[^\s,]*|[^=]+$)")
"""One of several; blanks and commas of template arguments stand before its ``=``."""


def parse_depth(text: str) -> tuple[str, int] | None:
    """A function's name, and how often it is on the stack at a time at most; None if it is none."""
    match = _STATED.fullmatch(text)
    return None if match is None else (match["name"], int(match["depth"]))


def split_depths(text: str) -> list[str]:
    """What a comment states, one by one, between blanks or commas; not all of it need be depths."""
    return [match["one"].strip() for match in _NEXT.finditer(text) if match["one"].strip(" ,")]
