"""A measurement as text: each kernel with its counters, and a table of its variables."""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.exporters import measured
from lmemscope.exporters.escape import visible
from lmemscope.exporters.escape_terminal import Part, document, line, styled, wrapped
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import short_path
from lmemscope.exporters.text_table import padded
from lmemscope.model import MeasuredKernel, Measurement

_WIDTH = 100
_LINE = measured.COLUMNS.index("line")


def render(found: Measurement, how: Presentation) -> str:
    """The complete text."""
    columns = min(how.width or _WIDTH, 160)
    parts: list[Part] = []
    for kernel in found.kernels:
        if measured.uses_local_memory(kernel):
            parts += [*_kernel(kernel, columns, color=how.color), ""]
    for note in (measured.clean(found), *found.notes):
        if note is not None:
            parts += wrapped(f"{note[:1].upper()}{note[1:]}.", columns, later="  ")
    parts += wrapped(f"{measured.summary(found)}. {measured.measured_by(found)}.", columns)
    return document(parts)


def _kernel(kernel: MeasuredKernel, columns: int, *, color: bool) -> Iterator[Part]:
    yield from (styled(one, "1", on=color) for one in wrapped(measured.title(kernel), columns))
    for sentence in (measured.launched(kernel), measured.moved(kernel)):
        yield from wrapped(sentence, columns, "  ", "    ")
    rows = [[visible(cell) for cell in _row(kernel, n)] for n in range(len(kernel.shares))]
    if rows:
        right = [n for n, name in enumerate(measured.COLUMNS) if name.endswith(":")]
        heads = [name.removesuffix(":") for name in measured.COLUMNS]
        for number, cells in enumerate(padded([heads, *rows], right)):
            made = line("    ", "  ".join(cells).rstrip())
            yield styled(made, "2", on=color) if number == 0 else made
    for note in measured.notes(kernel):
        yield from wrapped(note, columns, "  ", "    ")


def _row(kernel: MeasuredKernel, number: int) -> list[str]:
    cells = [*measured.cells(kernel, kernel.shares[number])]
    cells[_LINE] = short_path(cells[_LINE])
    return cells
