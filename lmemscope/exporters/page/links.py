"""Linked programs on the page."""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.exporters.escape_html import NOTHING, Html, element, joined
from lmemscope.exporters.link_text import COLUMNS, TITLE, LinkText, link_texts
from lmemscope.model import Report


def linked_programs(report: Report) -> Iterator[Html]:
    """A section, with a table for each program; nothing where none was linked."""
    found = link_texts(report)
    if found:
        yield element("h2", TITLE)
        yield from map(_program, found)


def _program(link: LinkText) -> Html:
    parts = [element("p", link.heading)]
    if link.failure:
        parts += [element("p", link.failure[0], class_="spill")]
        parts += [element("p", hint, class_="dim") for hint in link.failure[1:]]
        parts.append(
            element("details", element("summary", "log"), element("pre", link.log), class_="plain")
        )
    if link.kernels:
        head = element("thead", element("tr", *(element("th", title) for title in COLUMNS)))
        rows = [
            element(
                "tr",
                *(element("td", cell) for cell in kernel.cells[:-1]),
                element("td", kernel.cells[-1], _remarks(kernel.remarks)),
            )
            for kernel in link.kernels
        ]
        parts.append(element("table", head, element("tbody", *rows)))
    if link.rest:
        parts.append(element("p", link.rest, class_="dim"))
    parts.append(_remarks(link.remarks))
    return joined(parts)


def _remarks(said: tuple[str, ...]) -> Html:
    if not said:
        return NOTHING
    return element("ul", *(element("li", one, class_="dim") for one in said))
