"""Analyse one unit in a worker process, or load its stored `UnitReport`.

Only the report is sent back. The analysis is imported only if no stored report is found: a cached
run does not need it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope import files
from lmemscope.app.readings import Readings
from lmemscope.discover.locate import shown_path
from lmemscope.discover.project import Projects
from lmemscope.errors import InternalError, LmemscopeError
from lmemscope.lowering.analysed import (
    keep_report,
    known_of_less,
    known_report,
    lowered,
    slot_of,
)
from lmemscope.lowering.debugging import Debugging
from lmemscope.lowering.store import Slot
from lmemscope.model import (
    ALL_IMAGES,
    Artifacts,
    BuiltObject,
    Share,
    Unit,
    UnitReport,
    Wanted,
)
from lmemscope.sources import includes

if TYPE_CHECKING:
    from lmemscope.lowering.built import BuiltCode
    from lmemscope.pipeline import Prepared

EVERYTHING = Wanted()
"""All kernels with their causes, compiled anew."""

_importing = threading.Lock()
"""A user's executor may run several threads here. If two of them import modules that import each
other, one can get a half-initialised module."""


def analyse_unit(unit: Unit, wanted: Wanted = EVERYTHING) -> UnitReport:
    """Analyse one unit.

    Raises:
        LmemscopeError: the unit cannot be analysed; `lmemscope.app.assemble` turns this into its
            `Failure`.
    """
    with ours(unit):
        if unit.excerpt is not None:
            from lmemscope.app.log_unit import report_of_log

            return report_of_log(unit, wanted)
        built = _of_object(unit, wanted)
        if isinstance(built, UnitReport):
            return _with_digests(built, unit, wanted)
        return replace(_compiled(unit, wanted), built=built)


def _compiled(unit: Unit, wanted: Wanted) -> UnitReport:
    """The report of a unit that has to be compiled, now or by an earlier run."""
    report = _analysed(unit, wanted, slot_of(unit, wanted), partial(lowered, unit, wanted))
    assert report is not None
    return report


def _analysed(
    unit: Unit,
    wanted: Wanted,
    slot: Slot | None,
    lower: Callable[[Debugging], Artifacts | None],
) -> UnitReport | None:
    """The stored report of a unit, or a new one; None if ``lower`` returns None.

    Args:
        unit, wanted: what is requested.
        slot: where its artefacts are stored.
        lower: makes them.
    """
    projects = Projects()
    # If advice is not shown, a report that contains it will do.
    enough = (wanted,) if wanted.proposals else (wanted, replace(wanted, proposals=True))
    found = (known_report(slot, unit, one, projects.mentioning) for one in enough)
    known = next(filter(None, found), None) or _completed(slot, unit, wanted, projects)
    if known is not None:
        return _with_digests(known, unit, wanted)
    read: set[str] = set()
    names = wanted.causes and wanted.names and not wanted.kernels

    ready: dict[bytes | None, Prepared] = {}

    def prepare(artifacts: Artifacts) -> Prepared:
        if artifacts.ptx not in ready:
            asked = projects.mentioning
            ready[artifacts.ptx] = _pipeline().prepared(artifacts, wanted, read, asked)
        return ready[artifacts.ptx]

    debugging = Debugging(
        _pipeline, lambda made: prepare(made).variables is not None, wants_names=names
    )
    with contextlib.closing(debugging):
        artifacts = lower(debugging)
        if artifacts is None:
            return None
        debugging.begin(artifacts)
        report, key = _pipeline().report_of(artifacts, wanted, prepare(artifacts), debugging)
    report = proposed(report, unit, wanted, read, projects)
    # An edited file gets another key; an unkeyed input may have led to more kernels.
    if slot is not None and slot.key == key:
        keep_report(slot, unit, wanted, report, read, projects.asked)
    return _with_digests(report, unit, wanted)


def _of_object(unit: Unit, wanted: Wanted) -> UnitReport | BuiltObject | None:
    """A unit's report from its build's object file; else the object, and why to compile instead."""
    if unit.built is None:
        return None
    shown = replace(unit.built, path=shown_path(unit.built.path))
    if shown.state != "current":
        return shown
    with _importing:
        from lmemscope.lowering.built import code_of_object
    report: UnitReport | None
    try:
        code = code_of_object(unit, unit.built.path, facts_only=not wanted.causes)
        if isinstance(code, str):
            return replace(shown, state="compiled", reason=code)
        report = _of_code(code, wanted) if wanted.causes else _of_object_alone(code, wanted)
    except LmemscopeError as error:
        # Compiling will report the problem with the source or the tools.
        return replace(shown, state="compiled", reason=error.message)
    if report is None:
        return replace(shown, state="compiled", reason="compiling it here gives different code")
    return replace(report, built=shown)


def _of_code(code: BuiltCode, wanted: Wanted) -> UnitReport | None:
    """A report with causes; None if the build's code differs from what is compiled here."""
    if code.is_without_local:
        report = _of_object_alone(code, wanted)
        if not any(one.findings or one.verdict.kind != "clean" for one in report.kernels):
            return report
    slot = code.slot(slot_of(code.unit, wanted))
    return _analysed(code.unit, wanted, slot, partial(code.explained, slot))


def _of_object_alone(code: BuiltCode, wanted: Wanted) -> UnitReport:
    artifacts, never = code.artifacts(), Debugging(_pipeline, wants_names=False)
    known = _pipeline().prepared(artifacts, wanted, set(), Projects().mentioning)
    report: UnitReport = _pipeline().report_of(artifacts, wanted, known, never)[0]
    return report


def analyse_binary(unit: Unit, wanted: Wanted, share: Share = ALL_IMAGES) -> Readings:
    """Read images of a unit whose file holds many.

    Args:
        unit: the binary.
        wanted: what its reports should contain.
        share: which images, if several workers read the file.

    Raises:
        LmemscopeError: the file cannot be read at all.
    """
    with _importing:
        from lmemscope.app.binaries import read_binary
    return read_binary(unit, wanted, share)


def _pipeline() -> ModuleType:
    """Import the analysis late: importing takes as long as compiling a small file."""
    with _importing:
        from lmemscope import pipeline

        return pipeline


def lower_unit(unit: Unit, cache_directory: str | None = None) -> Artifacts:
    """A unit's artefacts: the first step of an analysis, and all that `dump` needs.

    Raises:
        LmemscopeError: as `analyse_unit`.
    """
    from lmemscope.lowering.lower import lower

    with ours(unit):
        return lower(unit, cache_directory)


def _with_digests(report: UnitReport, unit: Unit, wanted: Wanted) -> UnitReport:
    """The report, with digests that later show whether its files have changed."""
    report = replace(report, source_digest=files.digest_of(unit.path))
    if report.frontend not in ("nvrtc", "nvcc") or wanted.moved is not None:
        return report
    try:
        paths = includes.closure(unit.path, unit.options).files
        found = {shown_path(path): includes.digest(path) for path in paths}
    except OSError:
        # A partial or empty list would be taken as complete.
        return report
    return replace(report, sources=found)


def _completed(
    slot: Slot | None, unit: Unit, wanted: Wanted, projects: Projects
) -> UnitReport | None:
    """A stored report of a run that requested less, completed; None if there is none.

    Quotations are read from the artefacts and rewrites are asked for advice; the analysis is not
    repeated.
    """
    for less in _less(wanted):
        known = known_of_less(slot, unit, less, projects.mentioning)
        if known is not None and slot is not None:
            break
    else:
        return None
    report, read, asked = known
    if less.quotes != wanted.quotes:
        quoting = _with_quotes(report, slot, unit, wanted)
        if quoting is None:
            return None
        report = quoting
    if not less.proposals:
        report = proposed(report, unit, wanted, read, projects)
    keep_report(slot, unit, wanted, report, read, {**asked, **projects.asked})
    return report


def _less(wanted: Wanted) -> Iterator[Wanted]:
    """Smaller requests whose stored report can be completed, closest first."""
    if wanted.quotes:
        yield replace(wanted, quotes=())
    if wanted.proposals:
        yield replace(wanted, proposals=False)
    if wanted.quotes and wanted.proposals:
        yield replace(wanted, quotes=(), proposals=False)


def _with_quotes(report: UnitReport, slot: Slot, unit: Unit, wanted: Wanted) -> UnitReport | None:
    """The report with quoted lines of its artefacts; None if the artefacts have changed."""
    from lmemscope.analysis.layers import parse
    from lmemscope.lowering.disassembly import quoted

    artifacts = lower_unit(unit, wanted.cache)
    layers = parse(artifacts, os.getcwd())
    quotes, gaps = quoted(layers, [kernel.facts for kernel in report.kernels], wanted.quotes)
    if gaps or slot.key != artifacts.key:
        return None
    kernels = tuple(replace(one, quotes=quotes.get(one.facts.name)) for one in report.kernels)
    return replace(report, kernels=kernels, cached=artifacts.cached)


def proposed(
    report: UnitReport, unit: Unit, wanted: Wanted, read: set[str], projects: Projects
) -> UnitReport:
    """The report, with advice from the rewrites if it is wanted and there are findings.

    Args:
        report: the unit's report.
        unit, wanted: what was requested.
        read: receives the names of the files that are read.
        projects: the projects around the files.
    """
    findings = (finding for one in report.kernels for finding in one.findings)
    # Without a source line, as in most binaries, there is nothing to rewrite.
    if not wanted.proposals or not any(one.location or one.related for one in findings):
        return report
    with _importing:
        from lmemscope.advising.proposed import with_proposals
        from lmemscope.advising.targets import Files
    return with_proposals([(unit, report)], Files(read, projects))[0]


def propose(
    results: tuple[tuple[Unit, UnitReport], ...],
    wanted: frozenset[tuple[str, str, str]],
) -> tuple[UnitReport, ...]:
    """Reports of units with advice from the rewrites; see `advising.proposed.with_proposals`.

    Raises:
        LmemscopeError: a bug in lmemscope.
    """
    with ours(results[0][0]):
        with _importing:
            from lmemscope.advising.proposed import with_proposals
            from lmemscope.advising.targets import Files
        return with_proposals(results, Files(), wanted)


@contextlib.contextmanager
def ours(unit: Unit) -> Iterator[None]:
    """Turn a bug in lmemscope into an error of this unit, so that the other units continue."""
    try:
        yield
    except LmemscopeError:
        raise
    except Exception as error:
        raise InternalError.of(error, f"on {unit.input}") from error
