"""A measurement as Markdown: a section for each kernel that uses local memory."""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.exporters import measured
from lmemscope.exporters.escape_markdown import (
    Markdown,
    code,
    constant,
    document,
    figure,
    line,
    table,
    text,
)
from lmemscope.exporters.formats import Presentation
from lmemscope.model import MeasuredKernel, Measurement

_EMPTY = constant("")
_QUOTED = 3
"""Columns that contain code: cause, variable, line."""


def render(found: Measurement, how: Presentation) -> str:
    """The complete text."""
    del how
    lines = [
        constant("# Measured local memory"),
        _EMPTY,
        line(text(measured.summary(found)), ". ", text(measured.measured_by(found)), "."),
        _EMPTY,
    ]
    for kernel in found.kernels:
        if measured.uses_local_memory(kernel):
            lines += _kernel(kernel)
    notes = [one for one in (measured.clean(found), *found.notes) if one is not None]
    lines += [line(constant("- "), text(one)) for one in notes]
    return document(lines)


def _kernel(kernel: MeasuredKernel) -> Iterator[Markdown]:
    yield line(constant("## "), code(measured.title(kernel)))
    yield _EMPTY
    yield line(text(measured.launched(kernel)), "; ", text(measured.moved(kernel)), ".")
    yield _EMPTY
    if kernel.shares:
        rows = (
            [code(cell) if n < _QUOTED else figure(cell) for n, cell in enumerate(cells)]
            for cells in (measured.cells(kernel, share) for share in kernel.shares)
        )
        yield from table(measured.COLUMNS, rows)
        yield _EMPTY
    for note in measured.notes(kernel):
        yield text(note)
        yield _EMPTY
