"""discover → plan → units, handed to an executor → one report.

This is the parent's half of a scan; what happens to one unit is `lmemscope.pipeline`. The parent
imports none of the analysis, and a worker none of this. One unit's trouble is that unit's
`Failure`; the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed

from lmemscope import __version__
from lmemscope.config.settings import Settings
from lmemscope.discover import plan
from lmemscope.discover.walk import Builds, Globs, discover
from lmemscope.errors import LmemscopeError, UncompiledError, UsageError
from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import matches, nearest_names
from lmemscope.model import Failure, Gap, GapKind, Report, Tool, Unit, UnitReport, Wanted
from lmemscope.pipeline import analyse_unit
from lmemscope.tools.toolkit import Toolkit

Progress = Callable[[int, int, str], None]
"""Called as each unit ends: units done, units in all, the input's name."""


class Interrupted(Exception):  # noqa: N818 - the user's wish is no error
    """A run that the user ended.

    Attributes:
        report: of the units that were done.
        done, total: units.
    """

    def __init__(self, report: Report, done: int, total: int) -> None:
        super().__init__(f"{done} of {total} done")
        self.report, self.done, self.total = report, done, total


def run(
    paths: Sequence[str],
    settings: Settings,
    executor: Executor,
    *,
    progress: Progress | None = None,
) -> Report:
    """Analyse inputs; the report holds one entry per unit, and per path that is no input.

    Args:
        paths: files and directories, as the user typed them.
        settings: how to compile and what to keep.
        executor: where units run; `lmemscope.running.pool.WorkerPool` or any other.
        progress: told as each unit ends.

    Raises:
        UsageError: the request is wrong whatever the inputs hold.
        Interrupted: by the user, while units ran; it holds what was done by then.
    """
    units, errors, left_out, default_arch = _planned(paths, settings, executor)
    # A unit on another machine has its files under paths of their own: nothing to look up again.
    cache = settings.cache if settings.executor is None else None
    wanted = Wanted(settings.kernels, settings.causes, settings.quotes, cache)
    futures = [executor.submit(analyse_unit, unit, wanted) for unit in units]

    def gathered(done: Collection[Future[UnitReport]]) -> Report:
        reports = [_result(u, f) for u, f in zip(units, futures, strict=True) if f in done]
        reports += [UnitReport(path, "auto", "", (), _failure(error)) for path, error in errors]
        notes = (one if isinstance(one, str) else one.reason for one in left_out)
        return Report(
            version=__version__,
            toolchain=_distinct_tools(reports),
            units=tuple(reports),
            default_arch=default_arch,
            notes=(*notes, *_unmatched(settings.kernels, reports)),
            gaps=tuple(one for one in left_out if isinstance(one, Gap)),
            filters=_filters(settings),
        )

    by_future = dict(zip(futures, units, strict=True))
    try:
        for done, future in enumerate(as_completed(futures), start=1):
            if progress is not None:
                progress(done, len(units), by_future[future].name)
    except KeyboardInterrupt as stop:
        ended = {future for future in futures if future.done() and not future.cancelled()}
        raise Interrupted(gathered(ended), len(ended), len(units)) from stop
    return gathered(futures)


def plan_units(
    paths: Sequence[str], settings: Settings, executor: Executor
) -> tuple[tuple[Unit, ...], tuple[tuple[str, LmemscopeError], ...]]:
    """The units that paths stand for, and the paths that are no input.

    Raises:
        UsageError: as `run`.
    """
    units, errors, _, _ = _planned(paths, settings, executor)
    return units, errors


def _planned(
    paths: Sequence[str], settings: Settings, executor: Executor
) -> tuple[
    tuple[Unit, ...], tuple[tuple[str, LmemscopeError], ...], tuple[str | Gap, ...], str | None
]:
    """Units, what is no input, notes and gaps, and why an architecture was chosen unasked."""
    if settings.toolkit is not None and not Toolkit(settings.toolkit).holds_any():
        raise UsageError(
            "usage",
            f"{settings.toolkit} holds no part of the CUDA toolkit",
            hint="name a CUDA installation, or a directory that CUDA wheels are installed in",
        )
    globs = Globs(settings.root, settings.include, settings.exclude)
    found = discover(paths, globs, Builds(use=settings.build_database))
    asked = settings.archs or plan.build_archs(found.inputs)
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
    units, notes = plan.make_units(found.inputs, archs, settings, supported)
    # A build may ask for what is the default too; then the default decided nothing.
    undecided = {one.path for one in found.inputs if not one.archs}
    if not any(
        unit.arch in archs and unit.excerpt is None and unit.path in undecided for unit in units
    ):
        why = None
    return units, tuple(found.errors), (*found.notes, *found.gaps, *notes), why


def _result(unit: Unit, future: Future[UnitReport]) -> UnitReport:
    try:
        return future.result()
    except LmemscopeError as error:
        # Parsers and workers do not know whose bytes they read.
        if unit.input not in error.message:
            error.message = f"{unit.input}: {error.message}"
        return UnitReport(unit.name, unit.frontend, unit.arch, (), _failure(error))


def _filters(settings: Settings) -> tuple[str, ...]:
    """The options that keep what could be found out of the report."""
    kernels = {f"--kernel {glob}" for glob in settings.kernels}
    return tuple(sorted(kernels if settings.causes else {*kernels, "--no-causes"}))


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


def _distinct_tools(reports: Iterable[UnitReport]) -> tuple[Tool, ...]:
    tools = {tool for report in reports for tool in report.tools}
    return tuple(sorted(tools, key=lambda tool: (tool.name, tool.version or "", tool.path or "")))
