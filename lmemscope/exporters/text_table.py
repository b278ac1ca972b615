"""Text tables: columns aligned by spaces, and cells wrapped to a terminal's width.

Cells must be visible text (`lmemscope.exporters.escape.visible`), because their widths are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import LiteralString
from unicodedata import combining, east_asian_width

from lmemscope.exporters.escape_terminal import Shown, line, styled

Paragraph = tuple[str, LiteralString]
"""Text in a cell, and its style codes; none means the terminal's default style."""

_LONGEST = 100
BETWEEN = 3
"""Width of the gap between two cells in a wrapped table."""


def padded(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[list[str]]:
    """The cells padded to their column's width, except in a left-aligned last column.

    A cell longer than `_LONGEST` moves those behind it in its row: one name of a thousand
    characters among many short ones would fill every line with blanks.

    Args:
        rows: the first may be the header; all of one length.
        right: indices of the columns that are aligned right.
    """
    widths = [min(max(map(_width, column)), _LONGEST) for column in zip(*rows, strict=True)]
    if widths and len(widths) - 1 not in right:
        widths[-1] = 0
    return [[_pad(cell, widths[n], n in right) for n, cell in enumerate(row)] for row in rows]


def broken(
    heads: Sequence[str],
    rows: Sequence[Sequence[Sequence[Paragraph]]],
    widths: Sequence[int],
    right: Collection[int],
    *,
    color: bool,
) -> list[Shown]:
    """A header, a rule, and rows whose cells are wrapped to their columns' widths.

    Args:
        heads: column headers.
        rows: a cell is one or several paragraphs.
        widths: of the columns.
        right: indices of the columns that are aligned right.
        color: whether styles are enabled.
    """
    head = (" " * BETWEEN).join(
        _pad(name, width, n in right)
        for n, (name, width) in enumerate(zip(heads, widths, strict=True))
    )
    rule = "─" * (sum(widths) + BETWEEN * (len(widths) - 1))
    made = [styled(head.rstrip(), "1", on=color), line(rule)]
    for row in rows:
        cells = [
            [(piece, codes) for text, codes in cell for piece in _broken(text, width)]
            for cell, width in zip(row, widths, strict=True)
        ]
        made += (_line(pieces, widths, right, color) for pieces in zip_longest(*cells))
    return made


def _line(
    pieces: Sequence[Paragraph | None], widths: Sequence[int], right: Collection[int], color: bool
) -> Shown:
    parts: list[Shown | str] = []
    gap = 0
    for n, (piece, width) in enumerate(zip(pieces, widths, strict=True)):
        text, codes = piece or ("", "")
        space = width - _width(text)
        before, after = (space, 0) if n in right else (0, space)
        if text:
            parts += [" " * (gap + before), styled(text, codes, on=color and bool(codes))]
            gap = 0
        gap += after + BETWEEN if text else width + BETWEEN
    return line(*parts)


def _broken(text: str, width: int) -> Iterator[str]:
    """Lines of a width, broken between words, and within words longer than a line."""
    made = ""
    for word in _words(text):
        if made and _width(made) + _width(word.rstrip()) > width:
            yield made.rstrip()
            made = ""
        made += word
        while _width(made.rstrip()) > width:
            cut = next(n for n in range(min(len(made), width), 0, -1) if _width(made[:n]) <= width)
            yield made[:cut]
            made = made[cut:]
    yield made.rstrip()


def _words(text: str) -> Iterator[str]:
    """Words, each with the spaces after it."""
    word = ""
    for part in text.split(" "):
        if word and part:
            yield word
            word = ""
        word += f"{part} "
    yield word


def _pad(text: str, width: int, is_right: bool) -> str:
    space = " " * (width - _width(text))
    return f"{space}{text}" if is_right else f"{text}{space}"


def _width(text: str) -> int:
    """Display width of a text: ideographs take two columns, combining characters none."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(c) in "WF" else not combining(c) for c in text)
