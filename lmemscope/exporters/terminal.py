"""The table a person reads: what matters first, then what is uncertain, then what failed."""

from __future__ import annotations

import io
import shlex
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmemscope.analysis.groups import Group, counted, distinct_kernels, totals
from lmemscope.exporters import layout
from lmemscope.exporters.escape import visible
from lmemscope.exporters.escape_terminal import Part, Shown, document, line, styled
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.link_lines import linked_programs
from lmemscope.exporters.remarks import remarks
from lmemscope.exporters.selection import listed
from lmemscope.model import (
    Cause,
    KernelFacts,
    Report,
    count,
    traits_of,
    verdict_kind,
)

_CODES = {"bold red": "1;31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
_NAME_WIDTH = 44
_NARROW, _MEDIUM, _COMFORTABLE, _WIDE = 72, 90, 100, 120
_SCREEN, _LEAST = 40, 6
"""Lines that a folded report may take on a terminal, and rows that it has all the same."""

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
    _Column("regs", True, _NARROW),
    _Column("frame", True, 0),
    _Column("spill st/ld", True, _MEDIUM),
    _Column("LDL/STL", True, 0),
    _Column("bytes", True, _NARROW),
    _Column("PTX .local", True, _COMFORTABLE),
    _Column("verdict", False, 0),
)
_ARCH, _REGISTERS, _FRAME, _SPILL, _SITES, _BYTES, _PTX = range(1, 8)
_DISPENSABLE = (_PTX, _REGISTERS, _SPILL, _ARCH, _BYTES, _SITES, _FRAME)
_VERDICT, _BETWEEN = 18, 3
"""The least width of the verdict, and what lies between two columns."""

_NAMED_ARCHS = 2


def render(report: Report, how: Presentation) -> str:
    """What uses local memory by cause, the table, a summary, and what is to be said of them.

    Args:
        report: what to show.
        how: a width of None is a pipe's: one aligned line per row, uncut, as many as there are.
    """
    entries, folded = listed(report, how.view)
    above = _by_cause(entries) if folded else []
    linked = linked_programs(report, how)
    below = [*(("", *linked) if linked else ()), *remarks(report, how)]

    worst = entries[0] if folded and entries else None
    said_of = _causes_of if folded and how.width is not None else _verdict

    def text(rows: int) -> str:
        lines = [_Line(entry, visible(said_of(entry))) for entry in entries[:rows]]
        table: list[Part] = []
        if lines:
            width = how.width
            table = _plain(lines, how) if width is None else _drawn(lines, how, width)
            table.append("")
        said = [*_left(entries[rows:], folded, len(entries), worst), _summary(report)]
        middle = [part for one in said for part in layout.wrapped(one, how.width)]
        return document([*above, *table, *middle, *below])

    if not folded or how.width is None or how.view.top is not None:
        return text(len(entries))
    fitting = range(_LEAST + 1, min(len(entries), _SCREEN) + 1)
    most = bisect_left(fitting, True, key=lambda rows: text(rows).count("\n") > _SCREEN)
    return text(min(len(entries), _LEAST + most))


def _by_cause(entries: Sequence[Group]) -> list[Part]:
    """How much each cause accounts for, most site bytes first; none where there is one cause."""
    causes = totals(entries)
    if len(causes) < 2:
        return []
    lines = [("cause", "kernels", "groups", "LDL/STL", "bytes")]
    lines += [
        (
            one.cause,
            str(one.kernels),
            str(one.groups),
            layout.pair(one.sites.load_sites, one.sites.store_sites),
            str(one.sites.bytes),
        )
        for one in causes[:_CAUSES]
    ]
    widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
    drawn: list[Part] = [
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
        for line in lines
    ]
    if len(causes) > _CAUSES:
        drawn.append(f"and {count(len(causes) - _CAUSES, 'cause')} more")
    return [*drawn, ""]


def _left(
    unshown: Sequence[Group], folded: Sequence[Group], total: int, worst: Group | None
) -> list[str]:
    """What the table does not show, and how to see it."""
    lines = []
    if unshown:
        kernels = counted(row for entry in unshown for row in entry.kernels)
        lines.append(
            f"{count(len(unshown), 'more row')} ({kernels}) with "
            f"local memory: --top {total} shows {'it' if len(unshown) == 1 else 'them'}."
        )
    if folded:
        lines.append(f"{_kernels_of(folded)} clean: --all shows them.")
    if worst is not None:
        target = shlex.quote(f"{worst.input.partition('[')[0]}::{worst.name}*")
        lines.append(f"Next: lmemscope explain {target}")
    return lines


def _kernels_of(entries: Sequence[Group]) -> int:
    return distinct_kernels(row for entry in entries for row in entry.kernels)


def _names(entries: Sequence[Group], width: int | None) -> list[str]:
    """A name for each entry; where cutting them makes two read alike, these are not cut."""
    full = [visible(name) for name in layout.names_of(entries)]
    if width is None:
        return full
    shown = full
    # Lines of a cell, until what is left out of the middle makes no two alike.
    for rows in reversed(_ROWS):
        cut = [layout.shortened(name, rows * width) for name in full]
        apart = Counter(short for short, _ in set(zip(cut, full, strict=True)))
        shown = [
            short if apart[short] == 1 else longer for short, longer in zip(cut, shown, strict=True)
        ]
    return shown


def _cells(entry: Group) -> list[str]:
    """All between the name and the verdict."""
    facts = [kernel.facts for _, kernel in entry.kernels]
    worst = facts[0]
    ptx = worst.ptx
    local = "?" if ptx is None else layout.number(ptx.local_bytes or None).replace("?", "-")
    spill = layout.pair(worst.all_spill_stores, worst.all_spill_loads)
    return [
        " ".join(entry.archs) if len(entry.archs) <= _NAMED_ARCHS else f"{len(entry.archs)} archs",
        layout.span([one.registers for one in facts]),
        layout.span([one.stack_frame for one in facts]),
        spill if _alike(facts) else f"{spill} at most",
        _sites(facts),
        layout.number(entry.site_bytes),
        local,
    ]


def _sites(facts: Sequence[KernelFacts]) -> str:
    """LDL and STL, the least and the most of all."""
    known = [one.sass for one in facts if one.sass is not None]
    if len(known) < len(facts):
        return "?"
    if not any(one.load_sites or one.store_sites for one in known):
        return "-"
    loads = layout.span([one.load_sites for one in known])
    stores = layout.span([one.store_sites for one in known])
    return f"{loads}/{stores}"


def _alike(facts: Sequence[KernelFacts]) -> bool:
    return len({(one.all_spill_stores, one.all_spill_loads) for one in facts}) == 1


def _verdict(entry: Group) -> str:
    """The worst kernel's verdict, with lines."""
    return f"{entry.verdict.text}{_doubt(entry)}"


def _causes_of(entry: Group) -> str:
    """Causes and variables alone, for a table of many: where they are is `explain`'s to say."""
    facts = entry.kernels[0][1].facts
    said: dict[Cause, list[str]] = {}
    for one in entry.causes:
        objects = [found for found in facts.objects if found.name == one.object is not None]
        doubt = "?" if objects and objects[0].confidence == "possible" else ""
        size = f"{objects[0].size} B" if objects else f"{one.frame} B" if one.frame.most else ""
        if traits_of(one.cause).verdict == "spill":
            size = f"{layout.pair(facts.all_spill_stores, facts.all_spill_loads)} B"
        what = " ".join(part for part in (f"{one.object or ''}{doubt}", size) if part)
        said.setdefault(one.cause, []).extend([what] if what else [])
    parts = [f"{cause}{': ' if found else ''}{', '.join(found)}" for cause, found in said.items()]
    return f"{'; '.join(parts) or entry.verdict.text}{_doubt(entry)}"


def _doubt(entry: Group) -> str:
    disagree = any(kernel.facts.disagreements for _, kernel in entry.kernels)
    return " (sources disagree, see below)" if disagree else ""


def _plain(shown: Sequence[_Line], how: Presentation) -> list[Part]:
    """For pipes and files: no borders, no wrapping, columns aligned by spaces."""
    entries = [line.entry for line in shown]
    several = _several(entries, how)
    columns = [one for n, one in enumerate(_COLUMNS[:-1]) if n != _BYTES or several]
    lines = [[column.title for column in columns] + ["file", "verdict"]]
    for row, name in zip(shown, _names(entries, None), strict=True):
        cells = [name, *map(visible, _cells(row.entry))]
        if not several:
            del cells[_BYTES]
        lines.append([*cells, visible(row.entry.input), row.said])
    right = [column.right for column in columns] + [False]
    widths = [max(len(cells[i]) for cells in lines) for i in range(len(right))]
    drawn: list[Part] = []
    for index, cells_of in enumerate(lines):
        cells = [
            cell.rjust(size) if is_right else cell.ljust(size)
            for cell, size, is_right in zip(cells_of[:-1], widths, right, strict=True)
        ]
        verdict = line(cells_of[-1])
        if index:
            color = verdict_kind(entries[index - 1].verdict.kind).color
            verdict = styled(verdict, _CODES[color], on=how.color)
        drawn.append(line("".join(f"{cell}  " for cell in cells), verdict))
    return drawn


def _several(entries: Sequence[Group], how: Presentation) -> bool:
    """Whether what all kernels of a row move together is worth a column."""
    return how.view.sort == "bytes" or any(len(entry.kernels) > 1 for entry in entries)


def _fitting(
    lines: Sequence[_Line], cells: Sequence[Sequence[str]], name: int, how: Presentation
) -> dict[int, int]:
    """The columns that are shown, and their widths: no figure is cut, the least telling ones go.

    All widths are given to Rich, which else makes a table wider than its console, and crops it.
    """
    width = how.width or 0
    entries = [line.entry for line in lines]
    several = _several(entries, how)
    verdict = len(_COLUMNS) - 1
    shown = [
        index
        for index, column in enumerate(_COLUMNS)
        if column.needed <= width
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
    return {0: name, **sizes, verdict: min(longest, max(_VERDICT, _room(width, name, sizes)))}


def _room(width: int, name: int, sizes: Mapping[int, int]) -> int:
    """What names and figures leave to the verdict."""
    return width - name - sum(sizes.values()) - _BETWEEN * (len(sizes) + 1)


def _drawn(lines: Sequence[_Line], how: Presentation, width: int) -> list[Part]:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    entries = [line.entry for line in lines]
    cells = [[*map(visible, _cells(one.entry)), one.said] for one in lines]
    many_files = len({entry.input for entry in entries}) > 1
    name_width = min(_NAME_WIDTH, max(16, width * 3 // 10))
    names = _names(entries, name_width)
    files = [layout.shortened(visible(entry.input), name_width) for entry in entries]
    longest = max(map(len, ("kernel", *names, *(files if many_files else ()))))
    shown = _fitting(lines, cells, min(name_width, longest), how)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
    for index, size in shown.items():
        column = _COLUMNS[index]
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=column.title not in ("kernel", "verdict"),
            overflow="fold",
            width=size,
        )
    for entry, name, file, row in zip(entries, names, files, cells, strict=True):
        style = verdict_kind(entry.verdict.kind).color
        texts = [Text(name), *map(Text, row)]
        texts[-1].stylize(style)
        if many_files:
            texts[0].append(f"\n{file}", style="dim")
        table.add_row(*(texts[index] for index in shown))
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=how.color,
        color_system="standard" if how.color else None,
        highlight=False,
        emoji=False,
    )
    console.print(table)
    # Each cell was made visible above, as the text that rich measures and breaks.
    return [Shown(one.rstrip()) for one in stream.getvalue().split("\n")[:-1]]


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
    through = f" Shown through {', '.join(report.filters)}." if report.filters else ""
    return f"{sentence}.{through}{by}{arch}"
