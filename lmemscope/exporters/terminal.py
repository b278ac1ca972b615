"""The main table on a terminal: kernels, then what is uncertain, then what failed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString

from lmemscope.analysis.addressing import pattern_of
from lmemscope.analysis.groups import Group, counted, group_severity, totals
from lmemscope.analysis.ranking import rows_of
from lmemscope.analysis.selection import Listed, listed, negligible
from lmemscope.exporters import layout
from lmemscope.exporters.cause_text import causes_of, doubt
from lmemscope.exporters.escape import visible
from lmemscope.exporters.escape_terminal import Part, document, line, styled
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.link_lines import linked_programs
from lmemscope.exporters.occupancy_text import low_occupancy
from lmemscope.exporters.remarks import remarks
from lmemscope.exporters.text_table import BETWEEN, Paragraph, broken, padded
from lmemscope.model import (
    InputId,
    Report,
    View,
    count,
    verdict_kind,
)

_CODES: dict[str, LiteralString] = {
    "bold red": "1;31",
    "green": "32",
    "yellow": "33",
    "magenta": "35",
    "cyan": "36",
}
_NAME_WIDTH = 44
_NARROW, _MEDIUM, _COMFORTABLE, _WIDE = 72, 90, 100, 120
_SCREEN, _LEAST = 40, 6
"""Maximum lines of a folded report on a terminal, and minimum number of rows."""

_CAUSES = 6
_ROWS = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True, slots=True)
class _Line:
    entry: Group
    said: str


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    right: bool
    needed: int
    """The narrowest terminal that still shows the column."""


_COLUMNS = (
    _Column("kernel", False, 0),
    _Column("arch", False, _NARROW),
    _Column("cost", True, 0),
    _Column("regs", True, _NARROW),
    _Column("frame", True, 0),
    _Column("spill st/ld", True, _MEDIUM),
    _Column("LDL/STL", True, 0),
    _Column("bytes", True, _WIDE),
    _Column("PTX .local", True, _COMFORTABLE),
    _Column("verdict", False, 0),
)
_ARCH, _COST, _REGISTERS, _FRAME, _SPILL, _SITES, _BYTES, _PTX = range(1, 9)
_DISPENSABLE = (_PTX, _BYTES, _REGISTERS, _SPILL, _ARCH, _SITES, _FRAME, _COST)
_VERDICT = 18
"""Minimum width of the verdict."""

_NAMED_ARCHS = 2
_WORST_WIDTH = 48
_SORTED = 2


def render(report: Report, how: Presentation) -> str:
    """Local memory by cause, the table, a summary, and remarks.

    Args:
        report: what to show.
        how: a width of None means a pipe: one aligned line per row, uncut, without a row limit.
    """
    found = listed(report, how.view)
    entries, folded = found.shown, found.is_folded
    above = _by_cause((*entries, *found.negligible), how.width) if folded else []
    linked = linked_programs(report, how)
    below = [*(("", *linked) if linked else ()), *remarks(report, how)]

    said_of = causes_of if folded and how.width is not None else _verdict

    def text(rows: int) -> str:
        lines = [_Line(entry, visible(said_of(entry))) for entry in entries[:rows]]
        table: list[Part] = []
        if lines:
            width = how.width
            table = _plain(lines, how) if width is None else _drawn(lines, how, width)
            table.append("")
        said = [*_order(entries[:rows], how.view), *_left(entries[rows:], found), _summary(report)]
        middle = [part for one in said for part in layout.wrapped(one, how.width)]
        following = _next(report, entries, how)
        return document([*above, *table, *middle, *following, *below])

    if not folded or how.width is None or how.view.top is not None:
        return text(len(entries))
    fitting = range(_LEAST + 1, min(len(entries), _SCREEN) + 1)
    most = bisect_left(fitting, True, key=lambda rows: text(rows).count("\n") > _SCREEN)
    return text(min(len(entries), _LEAST + most))


def _by_cause(entries: Sequence[Group], width: int | None) -> list[Part]:
    """How many kernels have each cause, and which it costs most; costliest cause first."""
    causes = totals(entries)
    if len(causes) < 2:
        return []
    rows = [("cause", "kernels", "groups", "cost")]
    rows += [
        (one.cause, str(one.kernels), str(one.groups), layout.cycles(one.cost))
        for one in causes[:_CAUSES]
    ]
    aligned = ["  ".join(cells) for cells in padded(rows, range(1, 4))]
    room = (width - len(aligned[0]) - 2) if width is not None else _WORST_WIDTH
    worst = [layout.shortened(visible(one.worst.name), room) for one in causes[:_CAUSES]]
    named = ["worst", *worst] if room >= len("worst") else [""] * len(aligned)
    drawn: list[Part] = [
        line(f"{cells}  {name}") for cells, name in zip(aligned, named, strict=True)
    ]
    if len(causes) > _CAUSES:
        drawn.append(f"and {count(len(causes) - _CAUSES, 'cause')} more")
    return [*drawn, ""]


def _order(entries: Sequence[Group], view: View) -> list[str]:
    """The sort order of the rows, if several costs are possible."""
    known = sum(entry.cost is not None and entry.uses_memory for entry in entries)
    if known < _SORTED or view.sort not in (None, "worst"):
        return []
    return ["Sorted by cost: modelled cycles that local memory takes per warp."]


def _left(unshown: Sequence[Group], found: Listed) -> list[str]:
    """What the table omits, and how to see it."""
    lines = []
    if unshown:
        kernels = counted(row for entry in unshown for row in entry.kernels)
        lines.append(
            f"{count(len(unshown), 'more row')} ({kernels}) with "
            f"local memory hidden (--top {len(found.shown)} shows them)"
        )
    if found.negligible:
        lines.append(f"{negligible(found.negligible)} hidden (--all shows them)")
    if found.clean or found.unlisted:
        clean = counted((row for entry in found.clean for row in entry.kernels), found.unlisted)
        lines.append(f"{clean} without local memory hidden (--all shows them)")
    return lines


def _next(report: Report, entries: Sequence[Group], how: Presentation) -> list[Part]:
    """The next command to run, for the worst row whatever the sort order."""
    using = [entry for entry in entries if entry.uses_memory]
    if not using:
        return []
    worst = min(using, key=group_severity)
    pattern = pattern_of(worst, rows_of(report))
    command = how.explaining(InputId.parse(worst.input).file, pattern)
    return [line("Next: ", command)] if command is not None else []


def _names(entries: Sequence[Group], width: int | None) -> list[str]:
    """A name for each entry; where cutting makes two names equal, they are not cut."""
    full = [visible(name) for name in layout.names_of(entries)]
    if width is None:
        return full
    shown = full
    # Lines per cell, increased until cutting the middle makes no two names equal.
    for rows in reversed(_ROWS):
        cut = [layout.shortened(name, rows * width) for name in full]
        apart = Counter(short for short, _ in set(zip(cut, full, strict=True)))
        shown = [
            short if apart[short] == 1 else longer for short, longer in zip(cut, shown, strict=True)
        ]
    return shown


def _cells(entry: Group) -> list[str]:
    """The columns between name and verdict, as ranges over a row's kernels."""
    facts = [kernel.facts for _, kernel in entry.kernels]
    local = layout.span([one.ptx.local_bytes if one.ptx is not None else None for one in facts])
    return [
        " ".join(entry.archs) if len(entry.archs) <= _NAMED_ARCHS else f"{len(entry.archs)} archs",
        layout.costs(facts),
        layout.span([one.registers for one in facts]),
        layout.span([one.stack_frame for one in facts]),
        layout.spills(facts),
        layout.sites(facts),
        "?" if entry.site_bytes is None else str(entry.site_bytes),
        "-" if local == "0" else local,
    ]


def _verdict(entry: Group) -> str:
    """The verdict with its lines; if kernels differ in it, causes and variables."""
    if len({kernel.verdict.text for _, kernel in entry.kernels}) > 1:
        return causes_of(entry)
    low = low_occupancy([kernel for _, kernel in entry.kernels]) if entry.uses_memory else ""
    return f"{entry.verdict.text}{low}{doubt(entry)}"


def _plain(shown: Sequence[_Line], how: Presentation) -> list[Part]:
    """For pipes and files: no borders, no wrapping, columns aligned by spaces."""
    entries = [line.entry for line in shown]
    several = _several(entries, how)
    rows = [
        [name, *map(visible, _cells(entry))]
        for entry, name in zip(entries, _names(entries, None), strict=True)
    ]
    costly = any(cells[_COST] not in "-?" for cells in rows)
    kept = [
        index
        for index in range(len(_COLUMNS) - 1)
        if (index != _BYTES or several) and (index != _COST or costly)
    ]
    columns = [_COLUMNS[index] for index in kept]
    lines = [[column.title for column in columns] + ["file", "verdict"]]
    for row, cells in zip(shown, rows, strict=True):
        lines.append([*(cells[n] for n in kept), visible(layout.shown_file(row.entry)), row.said])
    right = [n for n, column in enumerate(columns) if column.right]
    drawn: list[Part] = []
    for index, (*cells, said) in enumerate(padded(lines, right)):
        verdict = line(said)
        if index:
            color = verdict_kind(entries[index - 1].verdict.kind).color
            verdict = styled(verdict, _CODES[color], on=how.color)
        drawn.append(line("".join(f"{cell}  " for cell in cells), verdict))
    return drawn


def _several(entries: Sequence[Group], how: Presentation) -> bool:
    """Whether bytes at sites are worth a column."""
    return how.view.sort == "bytes" or any(len(entry.kernels) > 1 for entry in entries)


def _fitting(
    lines: Sequence[_Line], cells: Sequence[Sequence[str]], name: int, how: Presentation
) -> dict[int, int]:
    """The columns shown, and their widths: no figure is cut; the least informative columns go."""
    width = how.width or 0
    entries = [line.entry for line in lines]
    several = _several(entries, how)
    verdict = len(_COLUMNS) - 1
    shown = [
        index
        for index, column in enumerate(_COLUMNS)
        if (column.needed <= width or (index == _BYTES and how.view.sort == "bytes"))
        and (index != _COST or any(row[_COST - 1] not in "-?" for row in cells))
        and (index != _ARCH or len({entry.archs for entry in entries}) > 1)
        and (index != _SPILL or any(row[_SPILL - 1] != "-" for row in cells))
        and (index != _BYTES or several)
        and (index not in (_REGISTERS, _SPILL, _PTX) or not several or width >= _WIDE)
    ]
    sizes = {
        index: max(len(_COLUMNS[index].title), *(len(row[index - 1]) for row in cells))
        for index in shown
        if 0 < index < verdict
    }
    for index in _DISPENSABLE:
        if _room(width, name, sizes) >= _VERDICT:
            break
        sizes.pop(index, None)
    longest = max(len("verdict"), *(len(line.said) for line in lines))
    room = _room(width, name, sizes)
    if room < _VERDICT:
        both = max(width - BETWEEN, 2)
        name, room = min(name, both // 2), both - min(name, both // 2)
    return {0: name, **sizes, verdict: min(longest, room)}


def _room(width: int, name: int, sizes: Mapping[int, int]) -> int:
    """The width left for the verdict by names and figures."""
    return width - name - sum(sizes.values()) - BETWEEN * (len(sizes) + 1)


def _drawn(lines: Sequence[_Line], how: Presentation, width: int) -> list[Part]:
    entries = [line.entry for line in lines]
    cells = [[*map(visible, _cells(one.entry)), one.said] for one in lines]
    own_files = [visible(layout.shown_file(entry)) for entry in entries]
    many_files = len(set(own_files)) > 1
    name_width = min(_NAME_WIDTH, max(16, width * 3 // 10))
    names = _names(entries, name_width)
    files = [
        layout.shortened(layout.short_path(file, name_width), name_width) for file in own_files
    ]
    longest = max(map(len, ("kernel", *names, *(files if many_files else ()))))
    shown = _fitting(lines, cells, min(name_width, longest), how)
    rows = []
    for entry, name, file, row in zip(entries, names, files, cells, strict=True):
        own: list[Paragraph] = [(name, ""), (file, "2")] if many_files else [(name, "")]
        *figures, said = row
        verdict = (said, _CODES[verdict_kind(entry.verdict.kind).color])
        every = [own, *([(one, "")] for one in figures), [verdict]]
        rows.append([every[index] for index in shown])
    return [
        *broken(
            [_COLUMNS[index].title for index in shown],
            rows,
            list(shown.values()),
            [n for n, index in enumerate(shown) if _COLUMNS[index].right],
            color=how.color,
        )
    ]


def _summary(report: Report) -> str:
    sentence = layout.summary(report)
    routes = layout.distinct(
        unit.frontend
        for unit in report.units
        if unit.failure is None and (unit.kernels or unit.clean)
    )
    tools = layout.routes(report).replace("nvrtc", "NVRTC")
    by = f" Compiled with {tools}." if tools else ""
    if routes and (not tools or not {*routes} <= {"nvrtc", "nvcc"}):
        by += f" Route{'s' if len(routes) > 1 else ''}: {', '.join(routes)}."
    compiled = any(unit.frontend != "binary" and unit.kernels for unit in report.units)
    archs = layout.distinct(u.arch for u in report.units if u.kernels or u.clean)
    arch = ""
    if report.default_arch and compiled:
        arch = f" Architecture {report.default_arch}."
    elif len(archs) == 1:
        arch = f" Architecture {archs[0]}."
    through = f" Filtered: {', '.join(report.filters)}." if report.filters else ""
    return f"{sentence}.{through}{by}{arch}"
