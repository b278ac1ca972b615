"""discover → lower → parse → facts → names → causes → findings: the story, top to bottom.

`run` is the parent's half: it plans units and gathers their reports in input order. `analyse_unit`
is a worker's half: everything from one input to its `UnitReport`, so that only that crosses the
pipe. One unit's trouble is that unit's `Failure`; the others go on.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lmemscope import __version__
from lmemscope.config.settings import Settings
from lmemscope.discover import plan
from lmemscope.discover.walk import Builds, Globs, discover
from lmemscope.errors import InternalError, LmemscopeError, ToolMissingError, UncompiledError
from lmemscope.formats.kernel_names import matches
from lmemscope.model import (
    Artifacts,
    Failure,
    Gap,
    GapKind,
    KernelFacts,
    KernelReport,
    Quotes,
    Report,
    Tool,
    Unit,
    UnitReport,
    Wanted,
)

if TYPE_CHECKING:
    from lmemscope.analysis.layers import Layers

_ANALYSIS = (
    "lmemscope.lowering.lower",
    "lmemscope.lowering.compile_cuda",
    "lmemscope.lowering.cuda",
    "lmemscope.lowering.debug",
    "lmemscope.lowering.disassembly",
    "lmemscope.analysis.layers",
    "lmemscope.analysis.facts",
    "lmemscope.analysis.explanation",
    "lmemscope.analysis.quotes",
    "lmemscope.rules",
    "lmemscope.rules.verdict",
    "lmemscope.sources.lines",
)

Progress = Callable[[int, int, str], None]
"""Called as each unit ends: units done, units in all, the input's name."""

EVERYTHING = Wanted()
"""All kernels with their causes, compiled anew."""


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
    units, errors, left_out, default_arch = _planned(paths, settings, executor)
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


def load() -> None:
    """Import what `analyse_unit` needs but a compiler, which the cache may spare it.

    For a worker, before its first unit arrives; the parent needs none of it.
    """
    for name in _ANALYSIS:
        importlib.import_module(name)


def load_compiler() -> None:
    """Load NVRTC and what calls it, for a worker whose first unit is expected to need it.

    The analysis is imported while NVRTC compiles, which it does without the interpreter's lock.
    """
    from lmemscope.tools import nvrtc

    # What is missing is the first unit's business to say.
    with contextlib.suppress(ToolMissingError):
        nvrtc.version()
    importlib.import_module(_ANALYSIS[0])
    importlib.import_module(_ANALYSIS[1])


def analyse_unit(unit: Unit, wanted: Wanted = EVERYTHING) -> UnitReport:
    """Take one unit from its input to its report.

    Args:
        unit: what to analyse.
        wanted: what the report is to hold.

    Raises:
        LmemscopeError: it cannot be analysed; `run` turns that into the unit's `Failure`.
    """
    with _ours(unit):
        if unit.excerpt is not None:
            return _of_log(unit, wanted)
        if _ANALYSIS[-1] not in sys.modules:
            threading.Thread(target=load, daemon=True).start()
        artifacts = lower_unit(unit, wanted.cache)
        # Here and not above: the parent imports this module too, and needs none of it.
        from lmemscope.analysis.explanation import explain_facts, needs_names
        from lmemscope.analysis.facts import gather_facts
        from lmemscope.analysis.layers import parse
        from lmemscope.lowering.debug import debug_variables
        from lmemscope.rules import find
        from lmemscope.rules.verdict import judge
        from lmemscope.sources.lines import from_disk, quoted_lines

        layers, sources = parse(artifacts, os.getcwd()), from_disk()
        facts = tuple(
            fact
            for fact in gather_facts(layers)
            if matches(wanted.kernels, fact.name, fact.demangled)
        )
        gaps = layers.gaps
        if wanted.causes:
            variables = None
            if needs_names(layers, facts):
                variables, unnamed = debug_variables(artifacts, wanted.cache)
                gaps = (*gaps, *unnamed)
            facts = explain_facts(layers, facts, variables, sources)
        quotes, unquoted = _quoted(layers, facts, wanted)
        kernels = tuple(
            KernelReport(fact, judge(fact), find(fact, sources), quotes.get(fact.name))
            for fact in facts
        )
        return UnitReport(
            input=unit.name,
            frontend=artifacts.frontend,
            arch=layers.cubin.arch or unit.arch,
            options=artifacts.options,
            failure=None,
            gaps=(*gaps, *unquoted),
            kernels=kernels,
            tools=artifacts.tools,
            unknown_log_lines=layers.log.unknown_lines if layers.log is not None else (),
            directives=artifacts.source.kernel_directives if artifacts.source is not None else (),
            source_lines=quoted_lines(kernels, sources),
            cached=artifacts.cached,
        )


def _of_log(unit: Unit, wanted: Wanted) -> UnitReport:
    """A build log enters late: what compilers reported is all there is, and is judged as that."""
    from lmemscope.analysis.reported import facts_of_report
    from lmemscope.formats.ptxas_log import parse_ptxas_log
    from lmemscope.lowering.log import checked
    from lmemscope.rules.reported import find_reported
    from lmemscope.rules.verdict import judge

    excerpt = checked(unit)
    log = parse_ptxas_log(excerpt.text)
    facts = [f for f in facts_of_report(log) if matches(wanted.kernels, f.name, f.demangled)]
    sources = dict(excerpt.sources)
    found = {
        fact.name: find_reported(fact, sources.get(fact.name), unit.arch)
        for fact in facts
        if wanted.causes
    }
    return UnitReport(
        input=unit.name,
        frontend="log",
        arch=unit.arch,
        options=(),
        failure=None,
        gaps=excerpt.gaps,
        kernels=tuple(KernelReport(f, judge(f), found.get(f.name, ())) for f in facts),
        unknown_log_lines=log.unknown_lines,
    )


def _quoted(
    layers: Layers, facts: Sequence[KernelFacts], wanted: Wanted
) -> tuple[Mapping[str, Quotes], tuple[Gap, ...]]:
    """Lines behind the findings, cut out of this unit's own artefacts."""
    from lmemscope.analysis.quotes import needs_disassembly, quotes_of
    from lmemscope.formats.sass import NOT_DISASSEMBLED
    from lmemscope.lowering.disassembly import disassemble

    asked = needs_disassembly(layers, facts, wanted.quotes)
    code, gaps = (NOT_DISASSEMBLED, ()) if asked is None else disassemble(layers.artifacts, asked)
    return quotes_of(layers, facts, wanted.quotes, code), gaps


def lower_unit(unit: Unit, cache_directory: str | None = None) -> Artifacts:
    """A unit's artefacts: the first step of an analysis, and all that `dump` wants.

    Raises:
        LmemscopeError: as `analyse_unit`.
    """
    from lmemscope.lowering.lower import lower

    with _ours(unit):
        return lower(unit, cache_directory)


def _planned(
    paths: Sequence[str], settings: Settings, executor: Executor
) -> tuple[
    tuple[Unit, ...], tuple[tuple[str, LmemscopeError], ...], tuple[str | Gap, ...], str | None
]:
    """Units, what is no input, notes and gaps, and why an architecture was chosen unasked."""
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


@contextmanager
def _ours(unit: Unit) -> Iterator[None]:
    """A mistake of ours must not take the other inputs down, nor pass as the user's."""
    try:
        yield
    except LmemscopeError:
        raise
    except Exception as error:
        raise InternalError(
            "internal",
            f"lmemscope failed on {unit.input}: {type(error).__name__}: {error}",
            hint="this is a bug in lmemscope; please report it with the input and the lines above",
            log="".join(traceback.format_exception(error)),
        ) from error


def _failure(error: LmemscopeError) -> Failure:
    kind: GapKind = "uninstantiated" if isinstance(error, UncompiledError) else "evidence"
    return Failure(error.stage, error.message, error.hint, error.command, error.log, kind)


def _distinct_tools(reports: Iterable[UnitReport]) -> tuple[Tool, ...]:
    tools = {tool for report in reports for tool in report.tools}
    return tuple(sorted(tools, key=lambda tool: (tool.name, tool.version or "", tool.path or "")))
