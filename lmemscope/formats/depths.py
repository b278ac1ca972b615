"""Depths of recursions as users state them: ``f=12``, in comments and in the configuration."""

from __future__ import annotations

import re

DEPTH = "depth"
"""The word of a comment that states some."""

_STATED = re.compile(r"(?P<name>[A-Za-z_~][^\s=]*)=(?P<depth>[1-9]\d{0,5})")


def parse_depth(text: str) -> tuple[str, int] | None:
    """A function's name, and how often it is on the stack at a time at most; None if it is none."""
    match = _STATED.fullmatch(text)
    return None if match is None else (match["name"], int(match["depth"]))
