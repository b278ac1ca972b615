"""Arguments of the calls in a text."""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.formats.statements import closed_at, parts_of


def argument_lists(text: str, count: int) -> Iterator[tuple[int, list[str]]]:
    """What stands in parentheses as so many arguments, outermost first, and where they open."""
    for start, character in enumerate(text):
        closed = closed_at(text, start) if character == "(" and count else None
        arguments = [] if closed is None else list(parts_of(text[start + 1 : closed - 1]))
        if closed is not None and len(arguments) == count:
            yield start, arguments
