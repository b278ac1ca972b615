"""The table a person reads: worst kernel first, then what is uncertain, then what failed."""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass

from lmemscope.exporters import layout
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import Row
from lmemscope.model import VERDICT_KINDS, Failure, Report, UnitReport, verdict_kind

_CODES = {"bold red": "1;31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
_ANSI = {kind.name: f"\x1b[{_CODES[kind.color]}m" for kind in VERDICT_KINDS}
_NAME_WIDTH = 44
_NARROW, _MEDIUM, _COMFORTABLE = 72, 90, 100
_LOG_LINES = 20
_APART = 3
_UNCUT = 100


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    right: bool
    needed: int
    """The narrowest terminal that still shows the column."""


_COLUMNS = (
    _Column("kernel", False, 0),
    _Column("arch", False, _NARROW),
    _Column("regs", True, _NARROW),
    _Column("frame", True, 0),
    _Column("spill st/ld", True, _MEDIUM),
    _Column("LDL/STL", True, 0),
    _Column("PTX .local", True, _COMFORTABLE),
    _Column("verdict", False, 0),
)


def render_table(report: Report, *, color: bool, width: int | None, verbose: bool) -> str:
    """Table, summary, disagreements, gaps and failures.

    Args:
        report: what to show.
        color: escape sequences allowed.
        width: columns of the terminal; None for a pipe: one aligned line per kernel, uncut.
        verbose: whole logs, and log lines that were not understood.
    """
    parts = []
    listed = layout.rows(report)
    if listed:
        parts.append(_plain(listed, color) if width is None else _drawn(listed, color, width))
    parts.append(_folded(_summary(report), width))
    sections = (
        _disagreements(listed),
        _routes(report),
        _gaps(report),
        _unknown(report, verbose),
        "".join(f"\nnote: {note}" for note in report.notes),
    )
    parts += [text for text in sections if text]
    for unit in report.units:
        if unit.failure is not None:
            parts.append(_failure(unit, unit.failure, color, verbose))
    return "\n".join(parts) + "\n"


def render(report: Report, how: Presentation) -> str:
    """As `render_table`."""
    return render_table(report, color=how.color, width=how.width, verbose=how.verbose)


def _cells(row: Row, name_width: int) -> list[str]:
    unit, kernel = row
    facts = kernel.facts
    sass, ptx = facts.sass, facts.ptx
    return [
        layout.shortened(layout.short_name(facts.demangled), name_width),
        unit.arch,
        layout.number(facts.registers),
        layout.number(facts.stack_frame),
        layout.pair(facts.spill_stores, facts.spill_loads),
        "?" if sass is None else layout.pair(sass.load_sites, sass.store_sites),
        "?" if ptx is None else layout.number(ptx.local_bytes or None).replace("?", "-"),
        _verdict(row),
    ]


def _verdict(row: Row) -> str:
    _unit, kernel = row
    uncertain = " (sources disagree, see below)" if kernel.facts.disagreements else ""
    return f"{kernel.verdict.text}{uncertain}"


def _plain(listed: list[Row], color: bool) -> str:
    """For pipes and files: no borders, no wrapping, columns aligned by spaces."""
    titles = [column.title for column in _COLUMNS[:-1]] + ["file", "verdict"]
    lines = [titles]
    for row in listed:
        cells = _cells(row, _UNCUT)
        lines.append([*cells[:-1], row[0].input, cells[-1]])
    right = [column.right for column in _COLUMNS[:-1]] + [False]
    widths = [max(len(line[i]) for line in lines) for i in range(len(right))]
    drawn = []
    for index, line in enumerate(lines):
        cells = [
            cell.rjust(size) if is_right else cell.ljust(size)
            for cell, size, is_right in zip(line[:-1], widths, right, strict=True)
        ]
        verdict = line[-1]
        if color and index:
            verdict = f"{_ANSI[listed[index - 1][1].verdict.kind]}{verdict}\x1b[0m"
        drawn.append("  ".join([*cells, verdict]))
    return "\n".join(drawn) + "\n"


def _drawn(listed: list[Row], color: bool, width: int) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    one_arch = len({unit.arch for unit, _ in listed}) == 1
    shown = [
        index
        for index, column in enumerate(_COLUMNS)
        if column.needed <= width and not (column.title == "arch" and one_arch)
    ]
    many_files = len({unit.input for unit, _ in listed}) > 1
    name_width = min(_NAME_WIDTH, max(16, width * 3 // 10))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
    for index in shown:
        column = _COLUMNS[index]
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=column.title != "verdict",
            overflow="fold",
        )
    for row in listed:
        style = verdict_kind(row[1].verdict.kind).color
        cells: list[Text] = []
        for index, cell in enumerate(_cells(row, name_width)):
            text = Text(cell, style=style if index == len(_COLUMNS) - 1 else "")
            if index == 0 and many_files:
                text.append(f"\n{layout.shortened(row[0].input, name_width)}", style="dim")
            cells.append(text)
        table.add_row(*(cells[index] for index in shown))
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        emoji=False,
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _folded(sentence: str, width: int | None) -> str:
    """Lines of a terminal's width, broken between words; as it is where nobody knows the width."""
    return sentence if width is None else "\n".join(textwrap.wrap(sentence, width))


def _summary(report: Report) -> str:
    sentence = layout.summary(report)
    routes = layout.distinct(
        unit.frontend for unit in report.units if unit.failure is None and unit.kernels
    )
    tools = layout.routes(report)
    by = f" Route: {', '.join(routes)}{f' ({tools})' if tools else ''}." if routes else ""
    compiled = any(unit.frontend != "binary" and unit.kernels for unit in report.units)
    archs = layout.distinct(unit.arch for unit in report.units if unit.kernels)
    arch = ""
    if report.default_arch and compiled:
        arch = f" Architecture {report.default_arch}."
    elif len(archs) == 1:
        arch = f" Architecture {archs[0]}."
    return f"{sentence}.{by}{arch}"


def _disagreements(listed: list[Row]) -> str:
    lines = [
        f"  {layout.short_name(kernel.facts.demangled)} ({unit.arch}): {found.quantity}: "
        + ", ".join(f"{source} {value}" for source, value in found.values)
        for unit, kernel in listed
        for found in kernel.facts.disagreements
    ]
    return "\n".join(["\nSources that disagree:", *lines]) if lines else ""


def _routes(report: Report) -> str:
    lines = [f"  {line}" for line in layout.route_differences(report)]
    return "\n".join(["\nNVRTC and nvcc differ:", *lines]) if lines else ""


def _gaps(report: Report) -> str:
    inputs: dict[tuple[str, str], list[str]] = {}
    for unit in report.units:
        for gap in unit.gaps:
            inputs.setdefault((gap.stage, gap.reason), []).append(unit.input)
    lines = [
        f"  {where}: [{stage}] {reason}"
        for (stage, reason), found in inputs.items()
        for where in _inputs(layout.distinct(found))
    ]
    return "\n".join(["\nNot known:", *lines]) if lines else ""


def _inputs(names: list[str]) -> list[str]:
    """A line for each input, or one for all where they are many."""
    return names if len(names) <= _APART else [f"{names[0]} and {len(names) - 1} more"]


def _unknown(report: Report, verbose: bool) -> str:
    found = [(unit, line) for unit in report.units for line in unit.unknown_log_lines]
    if not found:
        return ""
    if not verbose:
        return (
            f"\n{layout.count(len(found), 'line')} of the ptxas report not understood (-v shows)."
        )
    return "\n".join(
        ["\nLines of the ptxas report not understood:", *(f"  {u.input}: {t}" for u, t in found)]
    )


def _failure(unit: UnitReport, failure: Failure, color: bool, verbose: bool) -> str:
    name = f" for {unit.arch}" if unit.arch else ""
    lead = "\x1b[1;31merror:\x1b[0m" if color else "error:"
    lines = [f"\n{lead} [{failure.stage}] {failure.message}{name}"]
    if failure.log:
        log = failure.log.strip().splitlines()
        kept = log if verbose else log[:_LOG_LINES]
        lines += [f"  {line}" for line in kept]
        if len(log) > len(kept):
            lines.append(f"  … {len(log) - len(kept)} more lines (-v shows all)")
    if failure.command and verbose:
        lines.append(f"command: {failure.command}")
    if failure.hint:
        lines.append(f"hint: {failure.hint}")
    return "\n".join(lines)
