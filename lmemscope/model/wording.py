"""Format counts and lists for text output; all messages use these functions."""

from __future__ import annotations

from collections.abc import Sequence


def count(items: int, noun: str) -> str:
    """``1 kernel``, ``2 kernels``."""
    return f"{items} {plural(items, noun)}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """``a, b, c and 2 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def plural(items: int, noun: str) -> str:
    """The noun in singular or plural: ``kernel``, ``kernels``, ``entries``, ``launches``."""
    if items == 1:
        return noun
    if noun.endswith("ry"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("ch") else f"{noun}s"
