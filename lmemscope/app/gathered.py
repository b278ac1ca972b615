"""Obtain a command's report: read saved reports, analyse the other inputs, and combine the two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope import __version__
from lmemscope.app.session import Session
from lmemscope.discover.locate import is_saved, own_place
from lmemscope.errors import InputError, UsageError
from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import matches
from lmemscope.model import Failure, InputId, Report, UnitReport, by_name, distinct_tools

if TYPE_CHECKING:
    from lmemscope.app.execute import Analysed
    from lmemscope.app.plan import Narrow
    from lmemscope.config.settings import Settings

_Identity = tuple[str, str, str]


def gathered(
    paths: Sequence[str],
    session: Session,
    narrow: Narrow | None = None,
    *,
    verify: bool = False,
) -> Report:
    """The report of the inputs; nothing in a saved report is compiled again.

    Args:
        paths: as the user typed them.
        session: how to compile and what to keep.
        narrow: selects inputs; saved reports are always used whole.
        verify: check that saved reports have not been edited; doubts are noted in the report.

    Raises:
        UsageError, Interrupted: as `run`.
        InputError: the only input is a saved report that is missing or damaged; with other inputs,
            it is reported as one that could not be analysed.
    """
    return gathered_analysed(paths, session, narrow, verify=verify)[0]


def gathered_analysed(
    paths: Sequence[str], session: Session, narrow: Narrow | None = None, *, verify: bool = False
) -> tuple[Report, Analysed]:
    """As `gathered`, and return the units analysed now too.

    Raises:
        UsageError, Interrupted, InputError: as `gathered`.
    """
    saved = [path for path in paths if is_saved(path)]
    others = [path for path in paths if not is_saved(path)]
    if others or not saved:
        from lmemscope.app.execute import run_analysed
    if not saved:
        return run_analysed(paths, session, narrow)
    read = _read if len(paths) == 1 else _either
    reports = {path: read(path, session.settings, verify) for path in saved}
    if not others:
        return _combined(list(_once(reports, None))), ()
    # Inputs analysed now cover everything that their paths name.
    report, analysed = run_analysed(others, session, narrow)
    live = replace(report, paths=())
    return _combined([*_once(reports, live), live]), analysed


def filtered(name: str, filters: Sequence[str], others: Sequence[str], other: str) -> UsageError:
    """The error for a document written through a filter that its counterpart lacks."""
    here = f"{other} has {' '.join(others)}" if others else f"{other} has no filter"
    return UsageError(
        "filter",
        f"{name} was written with {' '.join(filters)}, which leaves findings out; {here}",
        hint="write it again without the filter, or give both sides the same one",
    )


def _either(path: str, settings: Settings, verify: bool) -> Report:
    """A saved report, or an empty one that says why it cannot be read."""
    try:
        return _read(path, settings, verify)
    except InputError as error:
        why = Failure(error.stage, error.message, error.hint, error.command, error.log, "evidence")
        return Report(
            version=__version__,
            toolchain={},
            units=(
                UnitReport(
                    input=path,
                    frontend="auto",
                    arch="",
                    options=(),
                    failure=why,
                    gaps=(),
                    kernels=(),
                ),
            ),
        )


def _doubts(path: str, report: Report) -> Iterator[str]:
    """Reasons to doubt that a saved report is unmodified."""
    from lmemscope.exporters.json import doubts_of
    from lmemscope.gate.consistency import contradictions

    try:
        yield from (f"{path}: {text}" for text in doubts_of(path))
    except OSError as error:
        yield f"{path}: it cannot be read again: {error.strerror}"
    yield from (f"{path}: {name}: {reason}" for name, reason in contradictions(report))


def _read(path: str, settings: Settings, verify: bool) -> Report:
    """A saved report, limited to the files, architectures and kernels that were requested.

    Raises:
        InputError: the file is missing, damaged, or not a report.
        UsageError: its schema belongs to another version of lmemscope, or it lacks the
            architecture.
    """
    from lmemscope.analysis.selection import units_of
    from lmemscope.app.saved_paths import from_here
    from lmemscope.discover.walk import Globs
    from lmemscope.exporters.json import load_report

    report = from_here(load_report(path), path)
    doubts = tuple(_doubts(path, report)) if verify else ()
    report = replace(report, doubts=doubts)
    whole = report
    report = units_of(report, Globs.of(settings).admit)
    if whole.units and not report.units:
        raise UsageError(
            "input",
            f"{path} holds no file that --include and --exclude leave",
            hint=f"it holds {whole.units[0].input}, and globs are relative to {settings.root}",
        )
    report = replace(report, filters=tuple(sorted({*report.filters, *settings.filters})))
    if settings.archs:
        units = tuple(unit for unit in report.units if unit.arch in settings.archs)
        if not units:
            held = ", ".join(dict.fromkeys(unit.arch for unit in report.units if unit.arch))
            raise UsageError(
                "input",
                f"{path} holds no report for {', '.join(settings.archs)}",
                hint=f"it was made for {held or 'nothing'}",
            )
        report = replace(report, units=units)
    if settings.kernels:
        units = tuple(limited(unit, settings.kernels) for unit in report.units)
        report = replace(report, units=units)
    return report


def limited(unit: UnitReport, globs: Sequence[str]) -> UnitReport:
    """A unit limited to the kernels that match the globs; it keeps the names of the others."""
    kept, others = [], []
    for one in unit.kernels:
        if matches(globs, one.facts.name, one.facts.demangled):
            kept.append(one)
        else:
            others.append(short_name(one.facts.demangled))
    return replace(unit, kernels=tuple(kept), others=tuple(others))


def _once(saved: Mapping[str, Report], live: Report | None) -> Iterator[Report]:
    """Saved reports with duplicate units removed, and without units that were analysed now.

    New results take precedence. Of duplicate saved units the first is kept; if two differ, the
    contradiction is reported.

    Args:
        saved: the reports, by file.
        live: the report of what was analysed now, if any.
    """
    now: dict[_Identity, list[UnitReport]] = defaultdict(list)
    for unit in live.units if live is not None else ():
        now[_identity(unit)].append(unit)
    files = {key[0] for key in now}
    linked = {(one.name, one.arch) for one in live.links} if live is not None else set()
    first: dict[tuple[_Identity, str], tuple[str, UnitReport]] = {}
    for path, report in saved.items():
        kept: list[UnitReport] = []
        stale: dict[str, None] = {}
        doubts: dict[str, None] = {}
        for unit in report.units:
            key = _identity(unit)
            named = f"{unit.input} ({unit.arch})" if unit.arch else unit.input
            if key in now:
                same = [one for one in now[key] if one.frontend == unit.frontend]
                if not all(_agree(one, unit) for one in same):
                    stale[named] = None
                continue
            other, earlier = first.setdefault((key, unit.frontend), (path, unit))
            if other == path:
                kept.append(unit)
            elif not _agree(earlier, unit):
                doubts[f"{other} and {path} contradict each other about {named}"] = None
        notes = [
            f"{path} is out of date for {name}: the result of this run is used" for name in stale
        ]
        gaps = (gap for gap in report.gaps if gap.input is None or _place(gap.input) not in files)
        links = [one for one in report.links if (one.name, one.arch) not in linked]
        linked |= {(one.name, one.arch) for one in links}
        yield replace(
            report,
            units=tuple(kept),
            links=tuple(links),
            gaps=tuple(gaps),
            notes=(*report.notes, *notes),
            doubts=(*report.doubts, *doubts),
        )


def _place(name: str) -> str:
    """The file of an input, with links in its directory resolved; its includes stay the same."""
    return own_place(InputId.parse(name).file)


def _identity(unit: UnitReport) -> _Identity:
    """A unit's file, options and architecture, as a key."""
    return _place(unit.input), InputId.parse(unit.input).variant, unit.arch


def _agree(one: UnitReport, other: UnitReport) -> bool:
    """Whether two units have the same source and the same result."""
    return one.source_digest == other.source_digest and _seen(one) == _seen(other)


def _seen(unit: UnitReport) -> list[object]:
    return [
        unit.failure is None,
        *(
            (
                kernel.facts.name,
                kernel.facts.ptxas,
                [(f.fingerprint, f.bytes) for f in kernel.findings],
            )
            for kernel in unit.kernels
        ),
    ]


def _combined(reports: Sequence[Report]) -> Report:
    """Merge several reports in order; a single one is returned unchanged."""
    if len(reports) == 1:
        return reports[0]
    whys = {report.default_arch for report in reports}
    said = [report.paths for report in reports if report.paths is not None]
    return Report(
        version=reports[-1].version,
        toolchain=by_name(distinct_tools(tool for report in reports for tool in report.tools)),
        units=tuple(unit for report in reports for unit in report.units),
        default_arch=whys.pop() if len(whys) == 1 else None,
        notes=tuple(dict.fromkeys(note for report in reports for note in report.notes)),
        gaps=tuple(dict.fromkeys(gap for report in reports for gap in report.gaps)),
        left_out=tuple(dict.fromkeys(fact for report in reports for fact in report.left_out)),
        filters=tuple(sorted({one for report in reports for one in report.filters})),
        links=tuple(link for report in reports for link in report.links),
        paths=tuple(chain.from_iterable(said)) if len(said) == len(reports) else None,
        doubts=tuple(doubt for report in reports for doubt in report.doubts),
    )
