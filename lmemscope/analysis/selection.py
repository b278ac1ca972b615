"""The kernels of a report that a reader asked to see, in the order asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.analysis.groups import (
    Group,
    Row,
    distinct_kernels,
    group_severity,
    grouped,
    only_clean,
)
from lmemscope.analysis.ranking import rows_of
from lmemscope.model import (
    Cause,
    KernelFacts,
    Order,
    Report,
    UnitReport,
    View,
    count,
    verdict_kind,
)

MANY = 40
"""Kernels; beyond that a table shows groups, and of these the ones that use local memory."""


def is_small(report: Report) -> bool:
    """Whether a report has so few kernels that a table folds none."""
    return sum(len(unit.kernels) + len(unit.clean) for unit in report.units) <= MANY


def settled(report: Report, view: View) -> View:
    """The view with what depends on how many kernels the whole report has."""
    if any(unit.clean for unit in report.units) and view.group is None:
        return replace(view, group=not view.all)
    return replace(view, group=_is_grouped(rows_of(report), view))


def selected(report: Report, view: View) -> Report:
    """The report without the kernels that the view leaves out; units stay, so that their gaps do.

    Grouping, order and folding are how a format shows it: see `listed`.
    """
    if not view.filters:
        return report
    rows = [row for row in rows_of(report) if _wanted(row, view)]
    if view.top is not None:
        rows = [row for entry in _entries(rows, view)[: view.top] for row in entry.kernels]
    kept = {id(kernel) for _, kernel in rows}
    units = tuple(
        replace(unit, kernels=tuple(one for one in unit.kernels if id(one) in kept), clean=())
        for unit in report.units
    )
    return replace(report, units=units, filters=tuple(sorted({*report.filters, *view.filters})))


@dataclass(frozen=True, slots=True)
class Listed:
    """What a table shows, and what it folds away.

    Attributes:
        shown: rows in order; one of a single kernel stands for itself.
        negligible: rows whose local memory is for messages and launches alone.
        clean: rows without local memory.
        unlisted: units with the `CleanKernel` that no row is of.
        is_folded: whether there are so many kernels that the table folds any.
    """

    shown: tuple[Group, ...]
    negligible: tuple[Group, ...] = ()
    clean: tuple[Group, ...] = ()
    is_folded: bool = False
    unlisted: tuple[UnitReport, ...] = ()


def listed(report: Report, view: View) -> Listed:
    """The rows of a table: beyond `MANY` kernels those that cost something, unless all are wanted.

    Rows with a cause that was asked for are shown, whatever it costs.
    """
    rows = rows_of(report)
    entries = _entries(rows, view)
    unlisted = only_clean(report)
    if (len(rows) <= MANY and not unlisted) or view.all:
        return Listed(tuple(entries), unlisted=unlisted)

    def is_shown(entry: Group) -> bool:
        return bool(view.cause) or not entry.is_negligible

    using = [one for one in entries if one.uses_memory]
    return Listed(
        tuple(one for one in using if is_shown(one)),
        tuple(one for one in using if not is_shown(one)),
        tuple(one for one in entries if not one.uses_memory),
        is_folded=True,
        unlisted=unlisted,
    )


def _is_grouped(rows: Sequence[Row], view: View) -> bool:
    return len(rows) > MANY and not view.all if view.group is None else view.group


def _entries(rows: Sequence[Row], view: View) -> list[Group]:
    group = _is_grouped(rows, view)
    entries = grouped(rows) if group else (one for row in rows for one in grouped([row]))
    return sorted(entries, key=_keys[view.sort or "worst"])


def _wanted(row: Row, view: View) -> bool:
    _, kernel = row
    if view.local_only and not verdict_kind(kernel.verdict.kind).uses_memory:
        return False
    causes = {share.cause for share in kernel.facts.causes}
    causes |= {finding.cause for finding in kernel.findings}
    return not view.cause or not causes.isdisjoint(view.cause)


def _most(figure: Callable[[KernelFacts], int | None]) -> Callable[[Group], tuple[object, ...]]:
    """Largest first by the kernel that has most of it; where nobody knows, last."""

    def key(entry: Group) -> tuple[object, ...]:
        known = [value for value in map(figure, _facts(entry)) if value is not None]
        return (-max(known, default=-1), *group_severity(entry))

    return key


def _facts(entry: Group) -> Iterable[KernelFacts]:
    return (kernel.facts for _, kernel in entry.kernels)


_keys: dict[Order, Callable[[Group], tuple[object, ...]]] = {
    "worst": group_severity,
    "name": lambda entry: (entry.name, *group_severity(entry)),
    "file": lambda entry: (entry.input, *group_severity(entry)),
    "bytes": _most(lambda facts: facts.sass.bytes if facts.sass is not None else None),
    "frame": _most(lambda facts: facts.stack_frame),
    "spills": _most(lambda facts: facts.spill_bytes),
    "registers": _most(lambda facts: facts.registers),
}


def units_of(report: Report, admit: Callable[[str], bool]) -> Report:
    """The units of a saved report whose inputs are admitted, by absolute path.

    Args:
        report: as it was saved.
        admit: such as `lmemscope.discover.walk.Globs.admit`.
    """
    return replace(report, units=tuple(unit for unit in report.units if admit(unit.file)))


def parted(found: Sequence[Group]) -> tuple[list[Group], list[Group], list[Group]]:
    """Groups that use local memory, those of many whose use is negligible, and those without."""
    using = [group for group in found if group.uses_memory]
    rest = [group for group in found if not group.uses_memory]
    costly = [group for group in using if not group.is_negligible]
    if not costly or sum(len(group.kernels) for group in found) <= MANY:
        return using, [], rest
    return costly, [group for group in using if group.is_negligible], rest


_NEGLIGIBLE: dict[Cause, str] = {
    "printf-args": "printf/assert argument buffers",
    "device-launch": "device-launch parameters",
}


def negligible(groups: Sequence[Group]) -> str:
    """What kernels of negligible groups have: ``30 kernels with only printf/assert …``."""
    kernels = distinct_kernels(row for group in groups for row in group.kernels)
    causes = {one.cause for group in groups for one in group.causes}
    what = [words for cause, words in _NEGLIGIBLE.items() if cause in causes]
    return f"{count(kernels, 'kernel')} with only {' and '.join(what)}"
