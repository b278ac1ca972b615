"""Arguments of the calls in a text."""

from __future__ import annotations

from functools import lru_cache

from lmemscope.formats.statements import closed_at, parts_of


# Each variable's accesses lead through the same few lines of calls.
@lru_cache(maxsize=1 << 10)
def argument_lists(text: str, count: int) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """What stands in parentheses as so many arguments, outermost first, and where they open."""
    found = []
    for start, character in enumerate(text):
        closed = closed_at(text, start) if character == "(" and count else None
        arguments = () if closed is None else tuple(parts_of(text[start + 1 : closed - 1]))
        if closed is not None and len(arguments) == count:
            found.append((start, arguments))
    return tuple(found)
