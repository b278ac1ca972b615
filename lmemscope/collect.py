"""discover → plan → units, handed to an executor → one report.

This is the parent's half of a scan; what happens to one unit is `lmemscope.pipeline`. The parent
imports none of the analysis, and a worker none of this. One unit's trouble is that unit's
`Failure`; the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, as_completed
from typing import TYPE_CHECKING

from lmemscope import __version__
from lmemscope.config.settings import Settings
from lmemscope.discover import plan
from lmemscope.discover.walk import Builds, Discovery, Found, Globs, discover
from lmemscope.errors import LmemscopeError, UncompiledError
from lmemscope.model import Failure, Gap, GapKind, Report, Tool, Unit, UnitReport, Wanted
from lmemscope.pipeline import analyse_unit

if TYPE_CHECKING:
    from lmemscope.discover.changed import Narrowed

Progress = Callable[[int, int, str], None]
"""Called as each unit ends: units done, units in all, the input's name."""

Narrow = Callable[[Discovery], "Narrowed"]
"""Which of the inputs that were found are analysed."""


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
    """
    units, errors, left_out, default_arch = _planned(paths, settings, executor, narrow)
    # A unit on another machine has its files under paths of their own: nothing to look up again.
    cache = settings.cache if settings.executor is None else None
    wanted = Wanted(settings.kernels, settings.causes, settings.quotes, cache)
    futures = [executor.submit(analyse_unit, unit, wanted) for unit in units]
    if progress is not None:
        by_future = dict(zip(futures, units, strict=True))
        for done, future in enumerate(as_completed(futures), start=1):
            progress(done, len(units), by_future[future].name)
    reports = [_result(unit, future) for unit, future in zip(units, futures, strict=True)]
    reports += [UnitReport(path, "auto", "", (), _failure(error)) for path, error in errors]
    return Report(
        version=__version__,
        toolchain=_distinct_tools(reports),
        units=tuple(reports),
        default_arch=default_arch,
        notes=tuple(one if isinstance(one, str) else one.reason for one in left_out),
        gaps=tuple(one for one in left_out if isinstance(one, Gap)),
    )


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
    paths: Sequence[str], settings: Settings, executor: Executor, narrow: Narrow | None = None
) -> tuple[
    tuple[Unit, ...], tuple[tuple[str, LmemscopeError], ...], tuple[str | Gap, ...], str | None
]:
    """Units, what is no input, notes and gaps, and why an architecture was chosen unasked."""
    globs = Globs(settings.root, settings.include, settings.exclude)
    found = discover(paths, globs, Builds(use=settings.build_database))
    inputs: Sequence[Found] = found.inputs if narrow is None else narrow(found).inputs
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
    units, notes = plan.make_units(inputs, archs, settings, supported, found.inputs)
    # A build may ask for what is the default too; then the default decided nothing.
    undecided = {one.path for one in inputs if not one.archs}
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


def _failure(error: LmemscopeError) -> Failure:
    kind: GapKind = "uninstantiated" if isinstance(error, UncompiledError) else "evidence"
    return Failure(error.stage, error.message, error.hint, error.command, error.log, kind)


def _distinct_tools(reports: Iterable[UnitReport]) -> tuple[Tool, ...]:
    tools = {tool for report in reports for tool in report.tools}
    return tuple(sorted(tools, key=lambda tool: (tool.name, tool.version or "", tool.path or "")))
