"""Merge the reports of all units and links into one, with gaps, notes, failures and tools."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future

from msgspec.structs import replace

from lmemscope import __version__
from lmemscope.app.plan import Plan
from lmemscope.app.readings import Readings, reports_of
from lmemscope.config.settings import Settings
from lmemscope.discover.build_account import STAGE
from lmemscope.discover.headers import uninstantiated, unseen
from lmemscope.discover.locate import shown_path
from lmemscope.discover.other_languages import left_out
from lmemscope.discover.prebuilt import as_bytes, is_cuda_source
from lmemscope.discover.walk import Globs
from lmemscope.errors import (
    InternalError,
    LmemscopeError,
    StageTimeoutError,
    UncompiledError,
    WorkerCrashError,
)
from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import matches, nearest_names
from lmemscope.model import (
    Failure,
    Gap,
    GapKind,
    KernelFacts,
    Link,
    Report,
    Tool,
    Unit,
    UnitReport,
    by_name,
    count,
    distinct_tools,
    listed,
)
from lmemscope.sources.arguments import ENVIRONMENT_ARGUMENTS, ENVIRONMENT_DIRECTORIES

_NAMED = 3
"""At most this many units compiled for the same reason are listed by name."""
_SAID = {
    "compiled": "compiled, although the build's objects are there",
    "stale": "compiled, because the build's objects are stale",
    "unknown": "compiled, because the build's objects may be stale",
}
"""Sentences about units, by the state of the object file that their build left."""


def assemble(
    planned: Plan,
    results: Sequence[tuple[Unit, tuple[UnitReport, ...]]],
    links: Sequence[Link],
    paths: Sequence[str],
    settings: Settings,
) -> Report:
    """The report of a run.

    Args:
        planned: what was to be analysed.
        results: the completed units in input order, each with its reports.
        links: the programs that were linked.
        paths: as the user typed them.
        settings: the settings of the run.
    """
    done, total = len(results), len(planned.units)
    reports = [report for _, made in results for report in made]
    logs = [
        (unit.path, report.failure.log)
        for unit, made in results
        for report in made
        if report.failure is not None and report.failure.log is not None
    ]
    if planned.found.compilers and any(report.failure is not None for report in reports):
        from lmemscope.discover.build_notes import with_own_toolkit

        reports = [with_own_toolkit(report, planned.found.compilers) for report in reports]
    used = (*(report.tools for report in reports), *(link.tools for link in links))
    toolchain = distinct_tools(tool for tools in used for tool in tools)
    # Which templates have no instance is known only once every unit has been checked.
    over_all: Iterable[str | Gap] = ()
    if done == total:
        over_all = _of_all_units(planned, reports, logs, toolchain, paths, settings)
    unanalysed = (*planned.left_out, *over_all, *_of_environment(reports))
    if done < total:
        # A reader of this report must not take it as complete: the gate counts it as missing
        # evidence.
        unanalysed += (
            Gap("run", f"interrupted: {done} of {count(total, 'input')} done", "evidence"),
        )
    failed = (
        UnitReport(
            input=path,
            frontend="auto",
            arch="",
            options=(),
            failure=failure_of(error),
            gaps=(),
            kernels=(),
        )
        for path, error in planned.errors
    )
    reports = [*reports, *failed]
    notes = (*_told(unanalysed), *_of_objects(reports))
    return Report(
        version=__version__,
        toolchain=by_name(toolchain),
        units=_units_with(reports, links),
        links=_links_with(links, reports, settings.kernels),
        default_arch=planned.default_arch,
        notes=(*notes, *_unmatched(settings.kernels, reports)),
        gaps=tuple(one for one in unanalysed if isinstance(one, Gap)),
        filters=(*settings.filters, *(() if settings.causes else ("--no-causes",))),
        paths=tuple(paths),
    )


def results_of(
    unit: Unit, futures: Sequence[Future[UnitReport | Readings]]
) -> tuple[UnitReport, ...]:
    """The reports of a unit; if a worker raised an error, one report with that failure."""
    try:
        made = [future.result() for future in futures]
        reports = tuple(one for one in made if isinstance(one, UnitReport))
        return reports or reports_of(unit, [one for one in made if isinstance(one, Readings)])
    except LmemscopeError as error:
        # Parsers and workers do not know which file their bytes come from.
        if unit.input not in error.message:
            error.message = f"{unit.input}: {error.message}"
        return (_failed(unit, error),)
    except Exception as error:  # noqa: BLE001 - a mistake of ours, and of this unit alone
        why = failure_of(InternalError.of(error))
        return (
            UnitReport(
                input=unit.name,
                frontend=unit.frontend,
                arch=unit.arch,
                options=(),
                failure=why,
                gaps=(),
                kernels=(),
            ),
        )


def _failed(unit: Unit, error: LmemscopeError) -> UnitReport:
    """The report of a failed unit: the reason, and any kernel launches visible in its source."""
    # Imported late: most scans have no failure.
    from lmemscope.sources.uncompiled import launches_of

    # A source that made a worker crash or time out is not read again here, where no limit applies.
    was_ended = isinstance(error, StageTimeoutError | WorkerCrashError)
    readable = unit.excerpt is None and not was_ended
    launches = launches_of(unit.path, unit.input) if readable else ()
    return UnitReport(
        input=unit.name,
        frontend=unit.frontend,
        arch=unit.arch,
        options=(),
        failure=failure_of(error),
        launches=launches,
        gaps=(),
        kernels=(),
    )


def _units_with(reports: Sequence[UnitReport], links: Sequence[Link]) -> tuple[UnitReport, ...]:
    """The units, with what linking their programs revealed about them."""
    if not links:
        return tuple(reports)
    from lmemscope.analysis.linked_units import with_linked_stacks

    return tuple(with_linked_stacks(reports, links))


def _links_with(
    links: Sequence[Link], reports: Sequence[UnitReport], globs: Sequence[str]
) -> tuple[Link, ...]:
    """The links, with data from their units, limited to the kernels that were asked for."""
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


def _device_bytes(planned: Plan, reports: Sequence[UnitReport]) -> Iterator[Gap]:
    """Gaps for analysed inputs, and headers they include, that embed device code as raw bytes."""
    analysed = {unit.path: unit for unit in planned.units}
    read = {one.file: one.sources for one in reports}
    files: dict[str, str] = {}
    for found in planned.found.inputs:
        unit = analysed.get(found.path)
        if unit is None:
            continue
        files.setdefault(found.path, found.file)
        headers = read.get(found.file)
        for name in _headers(unit) if headers is None else headers:
            files.setdefault(os.path.abspath(name), name)
    for path, file in files.items():
        if (form := as_bytes(path)) is not None:
            yield Gap("read", f"{file} holds {form}, which is not read", "evidence", file)


def _headers(unit: Unit) -> Sequence[str]:
    """The headers that a unit may include, read from its source if its report does not list them.

    Empty if the includes cannot be followed.
    """
    from lmemscope.sources.includes import closure  # Imported late: most commands do not need it.

    if not is_cuda_source(unit.path):
        return ()
    try:
        return [shown_path(path) for path in closure(unit.path, unit.options).files]
    except OSError:
        return ()


def _of_all_units(
    planned: Plan,
    reports: Sequence[UnitReport],
    failed: Sequence[tuple[str, str]],
    toolchain: Sequence[Tool],
    paths: Sequence[str],
    settings: Settings,
) -> Iterator[str | Gap]:
    """Gaps and notes that can be derived only from all units together."""
    # An include whose name comes from a macro cannot be seen, but a kernel in that header can.
    seen = {os.path.abspath(file) for file in _files_of_kernels(reports)}
    headers = [path for path in planned.found.headers if os.path.abspath(path) not in seen]
    yield from unseen(headers, planned.compiled)
    # A cache directory beside them may hold their compilers' output.
    seen |= {os.path.abspath(file) for report in reports for file in report.sources or ()}
    seen |= planned.elsewhere
    others = planned.found.others.items()
    yield from left_out({path: name for path, name in others if os.path.abspath(path) not in seen})
    yield from _device_bytes(planned, reports)
    # A source that was not analysed may still instantiate templates in the headers it includes.
    spoken_for = {found.path for found in planned.found.inputs} | planned.elsewhere
    gaps, notes = uninstantiated(reports, spoken_for, paths, Globs.of(settings))
    yield from gaps
    yield from notes
    bare = {found.path for found in planned.found.inputs if found.options is None}
    logs = [(path, log) for path, log in failed if path in bare]
    home = {"CUDA_HOME", "CUDA_PATH"}.intersection(os.environ)
    if not logs and not planned.found.compilers and not home:
        return
    # Imported late: most commands have neither a build nor a failure.
    from lmemscope.discover import build_notes
    from lmemscope.tools.toolchain import missing_header

    if settings.toolkit is None:
        yield from build_notes.other_toolkits(planned.found.compilers, toolchain)
    analysed = {unit.path for unit in planned.units}
    own = (found for found in planned.found.inputs if found.path in analysed)
    yield from build_notes.asked_of_toolkits(own, toolchain)
    missing = ((path, missing_header(log)) for path, log in logs)
    yield from build_notes.unconfigured((path, name) for path, name in missing if name is not None)


def _of_objects(reports: Sequence[UnitReport]) -> Iterator[str]:
    """Sentences about units read from their build's object files, and about the others."""
    built = [(report.input, report.built) for report in reports if report.built is not None]
    read = sum(found.state == "current" for _, found in built)
    if read:
        said = f"facts of {read} of {count(len(built), 'unit')} were read from the build's objects"
        yield ", ".join((said, *_not_in_objects(reports)))
    for state, said in _SAID.items():
        names: dict[str, dict[str, None]] = {}
        for name, found in built:
            if found.state == state:
                names.setdefault(found.reason or "", {})[name] = None
        for reason, alike in names.items():
            yield f"{said}: {reason}: {listed(list(alike), _NAMED)}"


def _not_in_objects(reports: Iterable[UnitReport]) -> Iterator[str]:
    """A sentence on how many of the object files lack the data needed beyond the plain figures."""
    read = [one for one in reports if one.built is not None and one.built.state == "current"]
    bare = sum(any(kernel.ptx is None for kernel in one.kernels) for one in read)
    if bare:
        yield f"{bare} without PTX, which shows what ptxas promoted"
    unlined = sum(any(map(_is_without_lines, one.kernels)) for one in read)
    if unlined:
        yield f"{unlined} without the lines of local memory, which --no-objects shows"


def _is_without_lines(kernel: KernelFacts) -> bool:
    return not kernel.lines and kernel.sass is not None and bool(kernel.sass.count)


def _of_environment(reports: Iterable[UnitReport]) -> Iterator[str | Gap]:
    """Sentences about environment variables that nvcc took options or header directories from."""
    if not any(report.frontend == "nvcc" for report in reports):
        return
    for name in (*ENVIRONMENT_ARGUMENTS, *ENVIRONMENT_DIRECTORIES):
        value = os.environ.get(name, "").strip()
        if value:
            said = f"nvcc was run with {name}={value} in the environment"
            yield from (said, Gap(STAGE, said, "note"))


def _told(left_out: Iterable[str | Gap]) -> Iterator[str]:
    """The notes for all readers, with one sentence for all files that share a reason.

    Gaps of kind "note" concern only the gate and are left out.
    """
    inputs: dict[str, list[str]] = {}
    for one in left_out:
        if isinstance(one, str):
            inputs.setdefault(one, [])
        elif one.kind != "note":
            alike = inputs.setdefault(one.reason, [])
            if one.input is not None and one.stage == "plan":
                alike.append(one.input)
    for reason, names in inputs.items():
        yield f"{reason}: {listed(names, _NAMED)}" if names else reason


def _files_of_kernels(reports: Iterable[UnitReport]) -> Iterator[str]:
    for report in reports:
        for kernel in report.kernels:
            if kernel.facts.location is not None:
                yield kernel.facts.location.file


def _unmatched(globs: Iterable[str], reports: Sequence[UnitReport]) -> Iterator[str]:
    """Sentences about `--kernel` globs that match nothing, with suggestions."""
    kernels = [kernel.facts for report in reports for kernel in report.kernels]
    for glob in dict.fromkeys(globs):
        if not any(matches((glob,), facts.name, facts.demangled) for facts in kernels):
            others = {name for report in reports for name in report.others}
            near = nearest_names(glob, [*others, *(short_name(one.demangled) for one in kernels)])
            known = f"; the nearest names are {', '.join(near)}" if near else ""
            yield f"no kernel matches {glob}{known}"


def failure_of(error: LmemscopeError) -> Failure:
    """The report's representation of an error."""
    kind: GapKind = "uninstantiated" if isinstance(error, UncompiledError) else "evidence"
    return Failure(error.stage, error.message, error.hint, error.command, error.log, kind)
