"""Markdown as GitHub reads it, made only here: text is escaped unless its type says otherwise.

`text` is for sentences, `code` for code spans, `row` for tables; each takes foreign text. A part
that is `Markdown` is markup already: see tests/unit/exporters/test_escaping.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import LiteralString

from lmemscope.exporters.escape import COMMAND_ANYWHERE, spans, visible
from lmemscope.exporters.escape_html import html

# An underscore within a word marks nothing.
_MARKS = re.compile(r"([\\`*\[\]<>#~&!]|(?<!\w)_|_(?!\w))")
_NO_SPAN = re.compile(r"[`\\]")
# Mentions, addresses, numbers of issues: GitHub links them in what Markdown has made.
_LINKED = re.compile(r"@(?=\w)|:(?=//)|\bwww(?=\.)|(?<!&)#(?=\d)|\bGH-(?=\d)", re.IGNORECASE)
_LEADING = re.compile(r"^(\s*)([-+=]|:(?=:)|\d+(?=[.)]))")
_FIGURE = re.compile(r"[0-9A-Za-zµ.%]+(?: [0-9A-Za-zµ.%]+)?")
_AT_START = re.compile(r"\s*::")


@dataclass(frozen=True, slots=True)
class Markdown:
    """Markup, safe within a line."""

    markup: str


Part = Markdown | str


def text(foreign: str) -> Markdown:
    """A sentence, without any mark or link of its own; it stays on one line."""
    escaped = _MARKS.sub(r"\\\1", visible(foreign))
    escaped = _LEADING.sub(lambda m: f"{m[1]}&#{ord(m[2][0])};{m[2][1:]}", escaped)
    return Markdown(_unlinked(escaped))


def code(foreign: str) -> Markdown:
    """A code span; ``<code>`` where a span cannot hold the text in a table."""
    shown = visible(foreign)
    if not shown.strip():
        return Markdown("")
    if _NO_SPAN.search(shown) or COMMAND_ANYWHERE.search(shown):
        spelled = "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in shown)
        return Markdown(f"<code>{spelled}</code>")
    return Markdown(f"`{shown}`")


def figure(shown: str) -> Markdown:
    """A number with its unit, in a cell of a table, where it can be no mark of a list."""
    return Markdown(shown) if _FIGURE.fullmatch(shown) else text(shown)


def constant(markup: LiteralString) -> Markdown:
    """Markup that is written in a module of ours."""
    return Markdown(markup)


def line(*parts: Part) -> Markdown:
    """Parts in one line; strings are foreign text."""
    return Markdown("".join(_of(part).markup for part in parts))


def prose(sentence: str) -> Markdown:
    """A sentence whose backticks mark code."""
    return line(*(code(part) if is_code else text(part) for is_code, part in spans(sentence)))


def row(cells: Iterable[Part]) -> Markdown:
    """A row of a table; no cell ends another."""
    made = [_of(cell).markup.replace("|", "\\|") for cell in cells]
    return Markdown(f"| {' | '.join(made)} |")


def table(heads: Iterable[LiteralString], rows: Iterable[Iterable[Part]]) -> list[Markdown]:
    """A whole table.

    Args:
        heads: of the columns; of one that is aligned right, with a colon behind it.
        rows: of cells, as of `row`.
    """
    names = [*heads]
    rule = "|".join("--:" if name.endswith(":") else "---" for name in names)
    # The head of a column without a name is one space.
    head = "|".join(f" {name.removesuffix(':')} " if name else " " for name in names)
    return [Markdown(f"|{head}|"), Markdown(f"|{rule}|"), *map(row, rows)]


def summary(*parts: str, bold: str = "") -> Markdown:
    """The line that stays of folded details; it is HTML, in which Markdown means nothing."""
    head = f"<b>{html(bold).markup}</b>" if bold else ""
    tail = "".join(html(part).markup for part in parts)
    return Markdown(_unlinked(f"<summary>{head}{tail}</summary>"))


def block(
    lines: Iterable[str], language: LiteralString = "text", *, indent: LiteralString = ""
) -> list[Markdown]:
    """A fenced block, fenced by more backticks than the text has anywhere in a row.

    What a CI server would take for a command, were the document printed, cannot be escaped in
    one: such a block is HTML.
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
    """The whole text."""
    return "\n".join(one.markup for one in lines) + "\n"


def _of(part: Part) -> Markdown:
    return part if isinstance(part, Markdown) else text(part)


def _unlinked(markup: str) -> str:
    """GitHub would tell the person of that name, or lead the reader elsewhere."""
    unlinked = _LINKED.sub(lambda match: f"{match[0]}<!-- -->", markup)
    # A backslash before a dollar does not keep GitHub from reading mathematics.
    return unlinked.replace("$", "<span>$</span>")
