"""inputs → PTX → ptxas report → cubin → facts → verdicts: the story, top to bottom.

`run` is the parent's half: it plans units and gathers their reports in input order. `analyse_unit`
is a worker's half: everything from one input to its `UnitReport`, so that only that crosses the
pipe. One unit's trouble is that unit's `Failure`; the others go on.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, as_completed
from typing import TYPE_CHECKING

from lmemscope import __version__
from lmemscope.config.settings import Settings
from lmemscope.discover import plan
from lmemscope.discover.walk import Globs, discover
from lmemscope.errors import InternalError, LmemscopeError
from lmemscope.formats.kernel_names import matches
from lmemscope.model import (
    Failure,
    Gap,
    KernelReport,
    Report,
    Tool,
    Unit,
    UnitReport,
)

if TYPE_CHECKING:
    from lmemscope.model import Artifacts

Progress = Callable[[int, int, str], None]
"""Called as each unit ends: units done, units in all, the input's name."""


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
    """
    units, errors, notes, default_arch = _planned(paths, settings, executor)
    # A unit on another machine has its files under paths of their own: nothing to look up again.
    cache = settings.cache if settings.executor is None else None
    futures = [
        executor.submit(analyse_unit, unit, settings.kernels, settings.causes, cache)
        for unit in units
    ]
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
        notes=notes,
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


def analyse_unit(
    unit: Unit,
    kernel_globs: tuple[str, ...] = (),
    causes: bool = True,
    cache_directory: str | None = None,
) -> UnitReport:
    """Take one unit from its input to its report.

    Args:
        unit: what to analyse.
        kernel_globs: kernels to keep; none means all.
        causes: whether to look for causes and names.
        cache_directory: where compilers' outputs are kept, or None to compile always.

    Raises:
        LmemscopeError: it cannot be analysed; `run` turns that into the unit's `Failure`.
    """
    from lmemscope.lowering.cuda import lower
    from lmemscope.running.preload import import_analysis_meanwhile

    import_analysis_meanwhile()
    try:
        artifacts = lower(unit, cache_directory)
        from lmemscope.analysis.explanation import explain_facts, needs_names
        from lmemscope.analysis.facts import gather_facts
        from lmemscope.analysis.layers import parse
        from lmemscope.lowering.debug import debug_variables
        from lmemscope.rules import find
        from lmemscope.rules.verdict import judge
        from lmemscope.sources.lines import from_disk, quoted_lines

        layers, text = parse(artifacts, os.getcwd()), from_disk()
        facts = tuple(
            fact
            for fact in gather_facts(layers)
            if matches(kernel_globs, fact.name, fact.demangled)
        )
        gaps: tuple[Gap, ...] = ()
        if causes:
            variables = None
            if needs_names(layers, facts):
                variables, gaps = debug_variables(artifacts, cache_directory)
            facts = explain_facts(layers, facts, variables, text)
    except LmemscopeError:
        raise
    except Exception as error:
        raise _internal(unit, error) from error
    kernels = tuple(KernelReport(fact, judge(fact), find(fact, text)) for fact in facts)
    return UnitReport(
        input=unit.name,
        frontend=artifacts.frontend,
        arch=layers.cubin.arch or unit.arch,
        options=artifacts.options,
        failure=None,
        gaps=(*layers.gaps, *gaps),
        kernels=kernels,
        tools=artifacts.tools,
        unknown_log_lines=layers.log.unknown_lines if layers.log is not None else (),
        directives=artifacts.source.kernel_directives if artifacts.source is not None else (),
        source_lines=quoted_lines(kernels, text),
        cached=artifacts.cached,
    )


def lower_unit(unit: Unit, cache_directory: str | None = None) -> Artifacts:
    """A worker's half of `dump`: one input's artefacts.

    Raises:
        LmemscopeError: as `analyse_unit`.
    """
    from lmemscope.lowering.cuda import lower

    try:
        return lower(unit, cache_directory)
    except LmemscopeError:
        raise
    except Exception as error:
        raise _internal(unit, error) from error


def _planned(
    paths: Sequence[str], settings: Settings, executor: Executor
) -> tuple[tuple[Unit, ...], tuple[tuple[str, LmemscopeError], ...], tuple[str, ...], str | None]:
    """Units, what is no input, notes, and why an architecture was chosen unasked."""
    globs = Globs(settings.root, settings.include, settings.exclude)
    found = discover(paths, globs)
    asked = settings.archs or plan.build_archs(found.inputs)
    supported: tuple[str, ...] | None = None
    if plan.needs_supported_archs(asked):
        from lmemscope.tools import nvrtc

        supported = executor.submit(nvrtc.archs_of, settings.toolkit).result()
    why = None
    if settings.archs:
        archs = plan.normalise_archs(settings.archs, supported)
    else:
        arch, why = plan.choose_arch()
        archs = (arch,)
    units, notes = plan.make_units(found.inputs, archs, settings, supported)
    if not any(unit.arch in archs for unit in units):
        why = None
    return units, tuple(found.errors), (*found.notes, *notes), why


def _result(unit: Unit, future: Future[UnitReport]) -> UnitReport:
    try:
        return future.result()
    except LmemscopeError as error:
        # Parsers and workers do not know whose bytes they read.
        if unit.input not in error.message:
            error.message = f"{unit.input}: {error.message}"
        return UnitReport(unit.name, unit.frontend, unit.arch, (), _failure(error))


def _internal(unit: Unit, error: Exception) -> InternalError:
    """A mistake of ours must not take the other inputs down, nor pass as the user's."""
    return InternalError(
        "internal",
        f"lmemscope failed on {unit.input}: {type(error).__name__}: {error}",
        hint="this is a bug in lmemscope; please report it with the input and the lines above",
        log="".join(traceback.format_exception(error)),
    )


def _failure(error: LmemscopeError) -> Failure:
    return Failure(error.stage, error.message, error.hint, error.command, error.log)


def _distinct_tools(reports: Iterable[UnitReport]) -> tuple[Tool, ...]:
    tools = {tool for report in reports for tool in report.tools}
    return tuple(sorted(tools, key=lambda tool: (tool.name, tool.version or "", tool.path or "")))
