"""discover → plan → units, handed to an executor → one report.

This is the parent's half of a scan; what happens to one unit is `lmemscope.pipeline`. The parent
imports none of the analysis, and a worker none of this. One unit's trouble is that unit's
`Failure`; the others go on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lmemscope import __version__, files
from lmemscope.config.settings import Settings
from lmemscope.discover import plan
from lmemscope.discover.headers import uninstantiated, unseen
from lmemscope.discover.links import LinkPlan, plan_links, split_binaries
from lmemscope.discover.walk import Builds, Discovery, Found, Globs, discover
from lmemscope.errors import (
    InternalError,
    LmemscopeError,
    StageTimeoutError,
    Stopped,
    UncompiledError,
    UsageError,
    WorkerCrashError,
)
from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import matches, nearest_names
from lmemscope.model import (
    Failure,
    Gap,
    GapKind,
    Link,
    LinkRequest,
    Report,
    Tool,
    Unit,
    UnitReport,
    Wanted,
    count,
    distinct_tools,
    kind_of,
)
from lmemscope.pipeline import analyse_unit
from lmemscope.tools.toolkit import Toolkit

if TYPE_CHECKING:
    from lmemscope.discover.changed import Narrowed
    from lmemscope.running.pool import Progress
    from lmemscope.sources.python import Survey

Narrow = Callable[[Discovery], "Narrowed"]
"""Which of the inputs that were found are analysed."""


class Interrupted(Exception):  # noqa: N818 - the user's wish is no error
    """A run that the user ended.

    Attributes:
        report: of the units that were done.
        done, total: units.
        number: of the signal.
    """

    def __init__(self, report: Report, done: int, total: int, number: int) -> None:
        super().__init__(f"{done} of {total} done")
        self.report, self.done, self.total, self.number = report, done, total, number


Analysed = tuple[tuple[Unit, UnitReport], ...]
"""The units that could be analysed, each with its report as its worker drew it up."""


def run(
    paths: Sequence[str],
    settings: Settings,
    executor: Executor,
    *,
    progress: Progress | None = None,
    narrow: Narrow | None = None,
) -> Report:
    """Analyse inputs; the report holds one entry per unit, and per path that is no input.

    Args:
        paths: files and directories, as the user typed them.
        settings: how to compile and what to keep.
        executor: where units run; `lmemscope.running.pool.WorkerPool` or any other.
        progress: told as each unit ends.
        narrow: chooses among the inputs; without it all are analysed.

    Raises:
        UsageError: the request is wrong whatever the inputs hold.
        Interrupted: by the user, while units ran; it holds what was done by then.
    """
    wanted = Wanted(settings.kernels, settings.causes, settings.quotes)
    return _run(paths, settings, executor, wanted, progress, narrow)[0]


def run_whole(
    paths: Sequence[str], settings: Settings, executor: Executor, progress: Progress | None = None
) -> tuple[Report, Analysed]:
    """As `run`, with what trials of rewrites compare: all kernels, their causes and their work.

    Raises:
        UsageError, Interrupted: as `run`.
    """
    return _run(paths, settings, executor, Wanted(quotes=settings.quotes, work=True), progress)


def _run(
    paths: Sequence[str],
    settings: Settings,
    executor: Executor,
    wanted: Wanted,
    progress: Progress | None = None,
    narrow: Narrow | None = None,
) -> tuple[Report, Analysed]:
    binaries, others = split_binaries(paths) if settings.linked else ([], list(paths))
    planned = _planned(others, settings, executor, narrow)
    linking = _links_of(planned, binaries, others, settings, narrowed=narrow is not None)
    planned = replace(planned, units=linking.units, left_out=(*planned.left_out, *linking.notes))
    units, errors = planned.units, planned.errors
    # A unit on another machine has its files under paths of their own: nothing to look up again.
    cache = settings.cache if settings.executor is None else None
    moved = settings.moved if settings.executor is None else None
    wanted = replace(wanted, cache=cache, moved=moved, max_file_size=settings.max_file_size)
    futures = [executor.submit(analyse_unit, unit, wanted) for unit in units]

    links: list[Link] = []

    def gathered(done: Collection[Future[UnitReport]]) -> Report:
        reports = [_result(u, f) for u, f in zip(units, futures, strict=True) if f in done]
        if planned.found.compilers and any(report.failure is not None for report in reports):
            from lmemscope.discover.build_notes import with_own_toolkit

            reports = [with_own_toolkit(report, planned.found.compilers) for report in reports]
        used = (*(report.tools for report in reports), *(link.tools for link in links))
        toolchain = distinct_tools(tool for tools in used for tool in tools)
        # What no unit instantiates is known when all have been asked.
        whole = len(done) == len(futures)
        over_all = _of_all_units(planned, reports, toolchain, paths, settings) if whole else ()
        left_out = (*planned.left_out, *over_all)
        if not whole:
            # Who reads it later must not take it for all: a gate finds evidence missing.
            left_out += (Gap("run", f"interrupted: {len(done)} of {total} done", "evidence"),)
        reports += [UnitReport(path, "auto", "", (), _failure(error)) for path, error in errors]
        told = filter(_is_worth_a_line, left_out)
        notes = (one if isinstance(one, str) else one.reason for one in told)
        return Report(
            version=__version__,
            toolchain=toolchain,
            units=_units_with(reports, links),
            links=_links_with(links, reports, settings.kernels),
            default_arch=planned.default_arch,
            notes=(*notes, *_unmatched(settings.kernels, reports)),
            gaps=tuple(one for one in left_out if isinstance(one, Gap)),
            filters=(*settings.filters, *(() if settings.causes else ("--no-causes",))),
            paths=tuple(paths),
        )

    total = count(len(units), "input")
    by_future = dict(zip(futures, units, strict=True))
    try:
        if progress is not None and units:
            progress(0, len(units), units[0].name)
        failed = 0
        for done, future in enumerate(as_completed(futures), start=1):
            failed += future.exception() is not None
            if progress is not None:
                progress(done, len(units), by_future[future].name, failed)
        links += _linked(linking.requests, settings, executor)
        report = gathered(by_future)
    except (KeyboardInterrupt, Stopped) as stop:
        ended = {future for future in futures if future.done() and not future.cancelled()}
        number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
        raise Interrupted(gathered(ended), len(ended), len(units), number) from stop
    pairs = zip(units, futures, strict=True)
    return report, tuple((one, made.result()) for one, made in pairs if made.exception() is None)


def plan_units(
    paths: Sequence[str], settings: Settings, executor: Executor
) -> tuple[tuple[Unit, ...], tuple[tuple[str, LmemscopeError], ...]]:
    """The units that paths stand for, and the paths that are no input.

    Raises:
        UsageError: as `run`.
    """
    planned = _planned(paths, settings, executor)
    return planned.units, planned.errors


def _links_of(
    planned: _Planned,
    binaries: Sequence[str],
    paths: Sequence[str],
    settings: Settings,
    *,
    narrowed: bool,
) -> LinkPlan:
    """What is linked, unchanged inputs too; most runs link nothing."""
    if not (settings.linked or settings.link):
        return LinkPlan(planned.units)

    def make_units(found: Sequence[Found]) -> Sequence[Unit]:
        return plan.make_units(found, planned.archs, settings, planned.supported)[0]

    every = make_units(planned.found.inputs) if narrowed else planned.units
    return plan_links(planned.units, every, binaries, paths, settings, make_units)


def _units_with(reports: Sequence[UnitReport], links: Sequence[Link]) -> tuple[UnitReport, ...]:
    """Units with what their programs say of them."""
    if not links:
        return tuple(reports)
    from lmemscope.analysis.linked_units import with_linked_stacks

    return tuple(with_linked_stacks(reports, links))


def _links_with(
    links: Sequence[Link], reports: Sequence[UnitReport], globs: Sequence[str]
) -> tuple[Link, ...]:
    """Links with what their units say of them, and with the kernels that were asked for."""
    if not links:
        return ()
    from lmemscope.analysis.linked_units import with_run_time_stacks

    return tuple(
        replace(
            link,
            kernels=tuple(
                one
                for one in link.kernels
                if matches(globs, one.function.name, one.function.demangled)
            ),
        )
        for link in with_run_time_stacks(links, reports)
    )


def _linked(
    requests: Sequence[LinkRequest], settings: Settings, executor: Executor
) -> Iterator[Link]:
    """The links, in worker processes of this machine; the units they link are in its cache."""
    if not requests:
        return
    from lmemscope.linking import failed, link_program

    with _readers(settings, executor) as workers:
        futures = [workers.submit(link_program, request) for request in requests]
        for request, future in zip(requests, futures, strict=True):
            try:
                yield future.result()
            except LmemscopeError as error:
                yield failed(request, error)


@dataclass(frozen=True, slots=True)
class _Planned:
    """What paths stand for.

    Attributes:
        found: the inputs.
        units: of these.
        errors: what is no input.
        left_out: notes and gaps.
        default_arch: why an architecture was chosen unasked, or None.
        elsewhere: absolute paths that inputs read which are not looked at.
        compiled: the units of all inputs, of those too that are not looked at.
        archs: asked for, or the default.
        supported: what the compiler supports, where it was asked.
    """

    found: Discovery
    units: tuple[Unit, ...]
    errors: tuple[tuple[str, LmemscopeError], ...]
    left_out: tuple[str | Gap, ...]
    default_arch: str | None
    elsewhere: frozenset[str]
    compiled: tuple[Unit, ...]
    archs: tuple[str, ...]
    supported: tuple[str, ...] | None


def _planned(
    paths: Sequence[str], settings: Settings, executor: Executor, narrow: Narrow | None = None
) -> _Planned:
    if settings.toolkit is not None and not Toolkit(settings.toolkit).holds_any():
        raise UsageError(
            "usage",
            f"{settings.toolkit} holds no part of the CUDA toolkit",
            hint="name a CUDA installation, or a directory that CUDA wheels are installed in",
        )
    files.allow(settings.max_file_size)
    found = discover(paths, _globs(settings), _builds(settings))
    narrowed = narrow(found) if narrow is not None else None
    inputs: Sequence[Found] = found.inputs if narrowed is None else narrowed.inputs
    elsewhere = narrowed.elsewhere if narrowed is not None else frozenset()
    asked = settings.archs or plan.build_archs(inputs)
    supported: tuple[str, ...] | None = None
    if plan.needs_supported_archs(asked):
        from lmemscope.tools import nvrtc
        from lmemscope.tools.toolchain import Toolchain

        supported = executor.submit(nvrtc.supported_archs, Toolchain(settings.toolkit)).result()
    why = None
    if settings.archs:
        archs = plan.normalise_archs(settings.archs, supported)
    elif settings.default_archs:
        archs = plan.normalise_archs(settings.default_archs, None)
    else:
        arch, why = plan.choose_arch()
        archs = (arch,)
    surveys = _surveys(found.inputs, settings, executor)
    units, notes = plan.make_units(inputs, archs, settings, supported, found.inputs, surveys)
    # A build may ask for what is the default too; then the default decided nothing.
    undecided = {one.path for one in inputs if not one.archs}
    if not any(
        unit.arch in archs and unit.excerpt is None and unit.path in undecided for unit in units
    ):
        why = None
    # A header that only files include which are not looked at is compiled all the same.
    compiled = units
    if narrow is not None and found.headers:
        compiled, _ = plan.make_units(found.inputs, archs, settings, supported, surveys=surveys)
    left_out = (*settings.left_out, *found.notes, *found.gaps, *notes)
    errors = tuple(found.errors)
    return _Planned(
        found, units, errors, left_out, why, elsewhere, compiled, tuple(archs), supported
    )


def _builds(settings: Settings) -> Builds:
    return Builds(use=settings.build_database, trust=settings.trust_build)


def _surveys(inputs: Sequence[Found], settings: Settings, executor: Executor) -> dict[str, Survey]:
    """What Python files hold; workers look, for one file may take as long as it likes."""
    paths = {
        one.path: one.file
        for one in inputs
        if (kind := kind_of(one.path)) is not None and kind.reads == "imports"
    }
    if not paths:
        return {}
    from lmemscope.sources.python import Survey, survey

    found: dict[str, Survey] = {}
    with _readers(settings, executor) as readers:
        futures = {path: readers.submit(survey, path, name) for path, name in paths.items()}
        for path, future in futures.items():
            try:
                found[path] = future.result()
            except Exception:  # noqa: BLE001 - the unit's own worker meets it again, and says so
                # Out of time, the worker died of it, or a mistake of ours, of this file alone.
                found[path] = Survey(None)
    return found


def _imports(path: str) -> bool:
    kind = kind_of(path)
    return kind is not None and kind.reads == "imports"


@contextmanager
def _readers(settings: Settings, executor: Executor) -> Iterator[Executor]:
    """Where files are read: other machines have none of them before it is known what is in them."""
    if settings.executor is None:
        yield executor
        return
    from lmemscope.running.pool import WorkerPool

    pool = WorkerPool(settings.jobs, timeout=settings.timeout)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _globs(settings: Settings) -> Globs:
    return Globs(settings.root, settings.include, settings.exclude)


def _of_all_units(
    planned: _Planned,
    reports: Sequence[UnitReport],
    toolchain: Sequence[Tool],
    paths: Sequence[str],
    settings: Settings,
) -> Iterator[str | Gap]:
    """What only all units together tell: gaps and notes."""
    # A name that a macro makes is not seen in an include; a kernel of the header is.
    seen = {os.path.abspath(file) for file in _files_of_kernels(reports)}
    headers = [path for path in planned.found.headers if os.path.abspath(path) not in seen]
    yield from unseen(headers, planned.compiled)
    # What is not looked at may instantiate what it reads.
    spoken_for = {found.path for found in planned.found.inputs} | planned.elsewhere
    gaps, notes = uninstantiated(reports, spoken_for, paths, _globs(settings))
    yield from gaps
    yield from notes
    bare = {found.path for found in planned.found.inputs if found.options is None}
    logs = [
        (unit.path, report.failure.log)
        for unit, report in zip(planned.units, reports, strict=True)
        if report.failure is not None and report.failure.log is not None and unit.path in bare
    ]
    if not logs and not planned.found.compilers:
        return
    # Most commands meet no build and no failure, and need none of this.
    from lmemscope.discover import build_notes
    from lmemscope.tools.toolchain import missing_header

    if settings.toolkit is None:
        yield from build_notes.other_toolkits(planned.found.compilers, toolchain)
    missing = ((path, missing_header(log)) for path, log in logs)
    yield from build_notes.unconfigured((path, name) for path, name in missing if name is not None)


def _is_worth_a_line(left_out: str | Gap) -> bool:
    """Whether everybody is told; what holds nothing of a project's only the gate accounts for."""
    return isinstance(left_out, str) or left_out.kind != "note"


def _files_of_kernels(reports: Iterable[UnitReport]) -> Iterator[str]:
    for report in reports:
        for kernel in report.kernels:
            if kernel.facts.location is not None:
                yield kernel.facts.location.file


def _result(unit: Unit, future: Future[UnitReport]) -> UnitReport:
    try:
        return future.result()
    except LmemscopeError as error:
        # Parsers and workers do not know whose bytes they read.
        if unit.input not in error.message:
            error.message = f"{unit.input}: {error.message}"
        return _failed(unit, error)
    except Exception as error:  # noqa: BLE001 - a mistake of ours, and of this unit alone
        return UnitReport(
            unit.name, unit.frontend, unit.arch, (), _failure(InternalError.of(error))
        )


def _failed(unit: Unit, error: LmemscopeError) -> UnitReport:
    """What is left of a unit: why there is no more, and the launches that its source shows."""
    # Most scans meet no failure, and need none of this.
    from lmemscope.sources.uncompiled import launches_of

    # What a worker ran out of time or died of is not read again here, where nothing limits it.
    was_ended = isinstance(error, StageTimeoutError | WorkerCrashError)
    readable = unit.excerpt is None and not was_ended
    launches = launches_of(unit.path, unit.input) if readable else ()
    return UnitReport(unit.name, unit.frontend, unit.arch, (), _failure(error), launches=launches)


def _unmatched(globs: Iterable[str], reports: Sequence[UnitReport]) -> Iterator[str]:
    """Sentences on globs that no kernel matches, with what they may have been meant for."""
    kernels = [kernel.facts for report in reports for kernel in report.kernels]
    for glob in dict.fromkeys(globs):
        if not any(matches((glob,), facts.name, facts.demangled) for facts in kernels):
            others = {name for report in reports for name in report.others}
            near = nearest_names(glob, [*others, *(short_name(one.demangled) for one in kernels)])
            known = f"; the nearest names are {', '.join(near)}" if near else ""
            yield f"no kernel matches {glob}{known}"


def _failure(error: LmemscopeError) -> Failure:
    kind: GapKind = "uninstantiated" if isinstance(error, UncompiledError) else "evidence"
    return Failure(error.stage, error.message, error.hint, error.command, error.log, kind)
