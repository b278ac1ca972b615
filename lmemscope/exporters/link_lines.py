"""Linked programs for terminals and pipes."""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.exporters import layout
from lmemscope.exporters.escape import visible
from lmemscope.exporters.escape_terminal import Part, led, line, lines, styled
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.link_text import COLUMNS, TITLE, LinkText, link_texts
from lmemscope.exporters.text_table import padded
from lmemscope.model import Report, count

_SHOWN, _LOG_LINES = 20, 20


def linked_programs(report: Report, how: Presentation) -> list[Part]:
    """A paragraph per program under one heading; empty if none was linked."""
    found = link_texts(report)
    if not found:
        return []
    return [f"{TITLE}:", *(part for one in found for part in ("", *_program(one, how)))]


def _program(link: LinkText, how: Presentation) -> Iterator[Part]:
    yield from layout.wrapped(link.heading, how.width)
    if link.failure:
        yield from led(line(styled("error:", "1;31", on=how.color), " [link] "), link.failure[0])
        log = link.log.strip().splitlines()
        for one in log if how.verbose else log[:_LOG_LINES]:
            yield from lines(one, "  ")
        for hint in link.failure[1:]:
            yield from layout.wrapped(f"hint: {hint}", how.width)
    kernels = link.kernels if how.verbose or how.view.all else link.kernels[:_SHOWN]
    if kernels:
        rows = [COLUMNS, *(tuple(map(visible, kernel.cells)) for kernel in kernels)]
        for number, cells in enumerate(padded(rows, (1, 2))):
            yield line("  ", "  ".join(cells))
            if number:
                for remark in kernels[number - 1].remarks:
                    yield from layout.wrapped(remark, how.width, "      ")
    if len(link.kernels) > len(kernels):
        left = count(len(link.kernels) - len(kernels), "more kernel")
        yield f"  {left} with a stack: --all shows them."
    if link.rest:
        yield f"  {link.rest}"
    for remark in link.remarks:
        yield from layout.wrapped(remark, how.width, "  ")
