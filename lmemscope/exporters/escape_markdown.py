"""Make Markdown for GitHub: text is escaped unless its type says that it is markup.

`text` is for sentences, `code` for code spans, `row` for tables; each takes foreign text. A part of
type `Markdown` is already markup: see tests/unit/exporters/test_escaping.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import LiteralString

from lmemscope.exporters.escape import COMMAND_ANYWHERE, spans, visible
from lmemscope.exporters.escape_html import html

# An underscore within a word is not markup.
_MARKS = re.compile(r"([\\`*\[\]<>#~&!]|(?<!\w)_|_(?!\w))")
_NO_SPAN = re.compile(r"[`\\]")
# Mentions, addresses and issue numbers, which GitHub links after rendering Markdown.
_LINKED = re.compile(r"@(?=\w)|:(?=//)|\bwww(?=\.)|(?<!&)#(?=\d)|\bGH-(?=\d)", re.IGNORECASE)
_LEADING = re.compile(r"^(\s*)([-+=]|:(?=:)|\d+(?=[.)]))")
_FIGURE = re.compile(r"[0-9A-Za-zµ.%]+(?: [0-9A-Za-zµ.%]+)?")
_AT_START = re.compile(r"\s*::")


@dataclass(frozen=True, slots=True)
class Markdown:
    """Markup that is safe within a line."""

    markup: str


Part = Markdown | str


def text(foreign: str) -> Markdown:
    """A sentence without active markup or links, on one line."""
    escaped = _MARKS.sub(r"\\\1", visible(foreign))
    escaped = _LEADING.sub(lambda m: f"{m[1]}&#{ord(m[2][0])};{m[2][1:]}", escaped)
    return Markdown(_unlinked(escaped))


def code(foreign: str) -> Markdown:
    """A code span; ``<code>`` if a span cannot hold the text in a table."""
    shown = visible(foreign)
    if not shown.strip():
        return Markdown("")
    if _NO_SPAN.search(shown) or COMMAND_ANYWHERE.search(shown):
        spelled = "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in shown)
        return Markdown(f"<code>{spelled}</code>")
    return Markdown(f"`{shown}`")


def figure(shown: str) -> Markdown:
    """A number with its unit, for a table cell, where it cannot start a list."""
    return Markdown(shown) if _FIGURE.fullmatch(shown) else text(shown)


def constant(markup: LiteralString) -> Markdown:
    """Markup written as a literal in this package."""
    return Markdown(markup)


def line(*parts: Part) -> Markdown:
    """Parts in one line; strings are foreign text."""
    return Markdown("".join(_of(part).markup for part in parts))


def prose(sentence: str) -> Markdown:
    """A sentence whose backticks mark code."""
    return line(*(code(part) if is_code else text(part) for is_code, part in spans(sentence)))


def row(cells: Iterable[Part]) -> Markdown:
    """A table row; a cell's content cannot end the cell."""
    made = [_of(cell).markup.replace("|", "\\|") for cell in cells]
    return Markdown(f"| {' | '.join(made)} |")


def table(heads: Iterable[LiteralString], rows: Iterable[Iterable[Part]]) -> list[Markdown]:
    """A complete table.

    Args:
        heads: column headers; a trailing colon aligns the column right.
        rows: of cells, as for `row`.
    """
    names = [*heads]
    rule = "|".join("--:" if name.endswith(":") else "---" for name in names)
    # The header of a column without a name is one space.
    head = "|".join(f" {name.removesuffix(':')} " if name else " " for name in names)
    return [Markdown(f"|{head}|"), Markdown(f"|{rule}|"), *map(row, rows)]


def summary(*parts: str, bold: str = "") -> Markdown:
    """The visible line of a folded section; it is HTML, in which Markdown has no effect."""
    head = f"<b>{html(bold).markup}</b>" if bold else ""
    tail = "".join(html(part).markup for part in parts)
    return Markdown(_unlinked(f"<summary>{head}{tail}</summary>"))


def block(
    lines: Iterable[str], language: LiteralString = "text", *, indent: LiteralString = ""
) -> list[Markdown]:
    """A fenced block, whose fence is longer than any run of backticks in the text.

    A command to a CI server cannot be escaped in a fenced block: such a block becomes HTML.
    """
    shown = [part for one in lines for part in visible(one, lines=True).split("\n")]
    if any(_AT_START.match(one) or COMMAND_ANYWHERE.search(one) for one in shown):
        escaped = [html(one).markup for one in shown]
        return [Markdown(f"{indent}{one}") for one in ("<pre>", *escaped, "</pre>")]
    longest = max((len(found) for one in shown for found in re.findall("`+", one)), default=0)
    fence = "`" * max(3, longest + 1)
    made = [f"{fence}{language}", *shown, fence]
    return [Markdown(f"{indent}{one}" if one else "") for one in made]


def document(lines: Iterable[Markdown]) -> str:
    """The complete text."""
    return "\n".join(one.markup for one in lines) + "\n"


def _of(part: Part) -> Markdown:
    return part if isinstance(part, Markdown) else text(part)


def _unlinked(markup: str) -> str:
    """GitHub would notify the person of that name, or link somewhere."""
    unlinked = _LINKED.sub(lambda match: f"{match[0]}<!-- -->", markup)
    # A backslash before a dollar sign does not stop GitHub from parsing mathematics.
    return unlinked.replace("$", "<span>$</span>")
