"""Make text for terminals, pipes and logs: whatever is not `Shown` is foreign text.

`line` is one line whatever its parts contain, `lines` keeps the line ends of a log or listing, only
`styled` makes escape sequences, and `document` is the only way out. There is no other way to put
text on a screen: see tests/unit/exporters/test_escaping.py.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import LiteralString

from lmemscope.exporters.escape import COMMAND_ANYWHERE, COMMAND_AT_START, visible


@dataclass(frozen=True, slots=True)
class Shown:
    """Text without active control sequences, except the styles already applied."""

    text: str


Part = Shown | str


def line(*parts: Part) -> Shown:
    """Parts in one line; strings are foreign text."""
    return Shown("".join(_of(part) for part in parts))


def lines(foreign: str, indent: LiteralString = "") -> list[Shown]:
    """Text of several lines."""
    return [Shown(f"{indent}{one}") for one in visible(foreign, lines=True).split("\n")]


def led(lead: Part, foreign: str) -> list[Shown]:
    """Text of several lines, with a prefix before the first."""
    first, *others = lines(foreign)
    return [line(lead, first), *others]


def styled(part: Part, codes: LiteralString, *, on: bool) -> Shown:
    """A line, or a part of one, in a style.

    Args:
        part: the text.
        codes: of the escape sequence, such as ``1;31``.
        on: whether escape sequences are enabled.
    """
    text = _of(part)
    return Shown(f"\x1b[{codes}m{text}\x1b[0m" if on else text)


def wrapped(
    foreign: str, width: int, lead: str = "", later: str = "", *, break_words: bool = False
) -> list[Shown]:
    """A sentence wrapped to a width, broken between words.

    Args:
        foreign: the sentence.
        width: columns.
        lead: before the first line; ``later``: before the others.
        break_words: also break words wider than a line.
    """
    made = textwrap.wrap(
        visible(foreign),
        width,
        initial_indent=visible(lead),
        subsequent_indent=visible(later),
        break_long_words=break_words,
        break_on_hyphens=False,
    )
    return [Shown(one) for one in made]


def document(parts: Iterable[Part]) -> str:
    """Lines as output, with a final newline; none of them is a command to a CI server."""
    text = "".join(f"{_of(part)}\n" for part in parts)
    text = COMMAND_AT_START.sub(r"\1\\x3a", text)
    return COMMAND_ANYWHERE.sub(r"\\x23#", text)


def _of(part: Part) -> str:
    return part.text if isinstance(part, Shown) else visible(part)
