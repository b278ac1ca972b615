"""Tuning results as a table with two bars per point; also as Markdown and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import LiteralString

from lmemscope.analysis.frontier import times
from lmemscope.exporters import escape_json, escape_terminal
from lmemscope.exporters.escape_markdown import Markdown, constant, text
from lmemscope.exporters.escape_markdown import block as fenced
from lmemscope.exporters.escape_markdown import document as markdown_document
from lmemscope.exporters.escape_markdown import line as marked_line
from lmemscope.exporters.escape_terminal import Part, line, styled, wrapped
from lmemscope.exporters.figures_text import cut_name
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import number, pair, short_name, short_path
from lmemscope.exporters.occupancy_text import block_said, percent
from lmemscope.exporters.text_table import padded
from lmemscope.model import TunedKernel, TunePoint, TuneReport, count, listed
from lmemscope.model.fix import NOTICED

_WIDTH = 100
_OCCUPANCY_BAR, _COST_BAR = 10, 12
_KNEE, _PARETO = "◆", "•"
_NAME, _FEW = 60, 5
"""Maximum columns of a kernel's name, and number of kernels always shown in full."""
_HEAD = ("", "cap", "regs", "spill st/ld", "frame", "shared", "block", "occupancy", "", "cost", "")
_RIGHT = (1, 2, 3, 4, 5, 6, 7, 9)
_SHARED, _BLOCK = _HEAD.index("shared"), _HEAD.index("block")
LEGEND = f"{_KNEE} knee   {_PARETO} Pareto: no other point has fewer spills and more occupancy"


def render(report: TuneReport, how: Presentation) -> str:
    """For a terminal or a pipe."""
    columns = min(how.width or _WIDTH, 120)
    parts: list[Part] = []
    full = _in_full(report.kernels)
    for kernel in full:
        head, *below = head_of(kernel)
        parts += (styled(one, "1", on=how.color) for one in wrapped(head, columns))
        parts += (part for one in below for part in wrapped(one, columns))
        parts.append("")
        for row, point in zip(rows_of(kernel), (None, *_points(kernel)), strict=True):
            parts.append(styled(line(row), _style(point), on=how.color))
        parts += ["", *wrapped(said_of(kernel), columns), ""]
    if report.kernels:
        parts.append(styled(LEGEND, "2", on=how.color))
    brief = [one for one in report.kernels if one not in full]
    if brief:
        said = f"{count(len(brief), 'kernel')} without a better cap (::KERNEL shows one in full):"
        parts += ["", *wrapped(said, columns)]
        parts += [line("  ", part) for one in brief for part in wrapped(_brief(one), columns - 2)]
    for note in notes_of(report):
        parts += wrapped(note, columns, later="  ")
    return escape_terminal.document(parts)


def _in_full(kernels: Sequence[TunedKernel]) -> Sequence[TunedKernel]:
    """Of many kernels, those with a register limit or a better cap, and the first."""
    if len(kernels) <= _FEW:
        return kernels
    return [
        one
        for number, one in enumerate(kernels)
        if number == 0 or one.own is not None or one.knee != one.natural
    ]


def _brief(kernel: TunedKernel) -> str:
    natural = kernel.points[0]
    held = "" if natural.occupancy is None else f", occupancy {percent(natural.occupancy)}%"
    name = cut_name(short_name(kernel.demangled), _NAME)
    return f"{name}  {kernel.arch}: {count(kernel.natural, 'register')}{held}"


def markdown(report: TuneReport, how: Presentation) -> str:
    """For a pull request: the same table in a block."""
    del how
    made: list[Markdown] = [constant("# Registers, spills and occupancy")]
    for kernel in report.kernels:
        head, *below = head_of(kernel)
        made += [constant(""), marked_line(constant("## "), head), constant("")]
        made += [part for one in below for part in (text(one), constant(""))]
        made += fenced(rows_of(kernel))
        made += [constant(""), text(said_of(kernel))]
    if report.kernels:
        made += [constant(""), text(LEGEND)]
    for note in notes_of(report):
        made += [constant(""), text(note)]
    return markdown_document(made)


def json(report: TuneReport, how: Presentation) -> str:
    """The document ``lmemscope.tune/1``."""
    del how
    return escape_json.document(report)


def head_of(kernel: TunedKernel) -> Iterator[str]:
    """The kernel, and the block size."""
    place = kernel.location
    where = f"{short_path(place.file)}:{place.line}" if place is not None else kernel.input
    registers = count(kernel.natural, "register")
    name = cut_name(short_name(kernel.demangled), _NAME)
    yield f"{name}  {where}  {kernel.arch}: {registers} without a cap"
    block = kernel.points[0].block
    if kernel.block_from == "best":
        yield "Occupancy is that of the best block size at each cap."
    elif block is not None:
        yield f"Occupancy and cost are for {block_said(block, kernel.block_from)}."
    if kernel.dynamic_shared:
        yield "Its dynamic shared memory is not counted: no launch in sight gives its size."
    if kernel.overrides:
        undone = listed(kernel.overrides, len(kernel.overrides))
        verb = "is" if len(kernel.overrides) == 1 else "are"
        yield f"The kernel's own {undone} {verb} undone."


def rows_of(kernel: TunedKernel) -> list[str]:
    """The table's lines, header first."""
    points = _points(kernel)
    costs = [one.cost for one in points if one.cost]
    least = min(costs, default=1.0)
    # A bar is full at twice the least cost or more, so that small differences look small.
    most = max(2 * least, *costs)
    cells = [_HEAD, *(_row(kernel, one, least, most) for one in points)]
    shown = _columns(kernel, cells[1:])
    right = [place for place, n in enumerate(shown) if n in _RIGHT]
    return [
        "  ".join(row).rstrip() for row in padded([[r[n] for n in shown] for r in cells], right)
    ]


def _columns(kernel: TunedKernel, rows: Sequence[Sequence[str]]) -> list[int]:
    """The columns that are informative."""
    idle = set() if kernel.block_from == "best" else {_BLOCK}
    if all(row[_SHARED] == "-" for row in rows):
        idle.add(_SHARED)
    return [n for n in range(len(_HEAD)) if n not in idle]


def said_of(kernel: TunedKernel) -> str:
    """The knee as a sentence."""
    best = kernel.best
    if best is None:
        return f"No knee: {kernel.reason}."
    if best.min_blocks is not None:
        blocks = count(best.min_blocks, "block")
        where = f"at least {blocks} per multiprocessor ({best.cap} registers)"
    else:
        where = f"{best.cap} registers" if best.cap is not None else "no cap"
    return f"Knee: {where}: {kernel.reason}.{_now(kernel.own, best)}"


def _now(own: TunePoint | None, best: TunePoint) -> str:
    """What the program's own limit costs, if the difference is noticeable."""
    if own is None or not own.cost or not best.cost or own.cost <= best.cost * NOTICED:
        return ""
    return f" As compiled now it costs {times(own.cost / best.cost)} as much."


def notes_of(report: TuneReport) -> Iterator[str]:
    """Further remarks."""
    if not report.kernels and not report.failures:
        yield "No kernel was compiled."
    for note in report.notes:
        yield f"note: {note}"
    if report.default_arch and report.kernels:
        yield f"Architecture {report.default_arch}."


def name_of(kernel: TunedKernel, point: TunePoint) -> str:
    """A point's cap as shown in the table."""
    if point is kernel.own:
        return "own"
    if point.min_blocks is not None:
        cap = f"{count(point.min_blocks, 'block')} ({point.cap})"
    else:
        cap = "-" if point.cap is None else str(point.cap)
    return f"{cap} smem" if point.smem_spilling else cap


def _points(kernel: TunedKernel) -> Sequence[TunePoint]:
    return (*([kernel.own] if kernel.own is not None else []), *kernel.points)


def _row(kernel: TunedKernel, one: TunePoint, least: float, most: float) -> tuple[str, ...]:
    share = one.occupancy
    held = "?" if share is None else f"{percent(share)}%" if share else "does not fit"
    return (
        _KNEE if one.is_knee else _PARETO if one.is_pareto else " ",
        name_of(kernel, one),
        number(one.registers),
        pair(one.spill_stores, one.spill_loads),
        number(one.stack_frame),
        "-" if not one.shared else str(one.shared),
        number(one.block),
        held,
        _bar(share or 0.0, _OCCUPANCY_BAR),
        "?" if one.cost is None else f"× {one.cost / least:.2f}",
        _bar(_logarithmic(one.cost, least, most), _COST_BAR) if one.cost else "",
    )


def _logarithmic(value: float, least: float, most: float) -> float:
    """The position of a cost on a logarithmic scale; the least cost has a short bar."""
    short = 1 / _COST_BAR
    return short + (1 - short) * math.log(value / least) / math.log(most / least)


def _bar(share: float, width: int) -> str:
    filled = round(share * width)
    return "█" * filled + "░" * (width - filled)


def _style(point: TunePoint | None) -> LiteralString:
    if point is None:
        return "2"
    if point.is_knee:
        return "1;32"
    return "0" if point.is_pareto else "2"
