"""lower → parse → facts → names → causes → findings: the story of one unit, top to bottom.

This is a worker's half of a scan: everything from one input to its `UnitReport`, so that only that
crosses the pipe. The other half, `lmemscope.collect`, plans the units and gathers their reports.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from lmemscope import files
from lmemscope.errors import InternalError, LmemscopeError, ToolMissingError
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.kernel_names import matches
from lmemscope.model import (
    Artifacts,
    Gap,
    KernelFacts,
    KernelReport,
    Quotes,
    Unit,
    UnitReport,
    Wanted,
)

if TYPE_CHECKING:
    from lmemscope.analysis.layers import Layers
    from lmemscope.discover.project import Projects
    from lmemscope.lowering.ahead import Ahead
    from lmemscope.lowering.analysed import Mentioning
    from lmemscope.lowering.store import Slot

_STORE = "lmemscope.lowering.analysed"
_PROJECT = "lmemscope.discover.project"
_ANALYSIS = (
    "lmemscope.lowering.lower",
    "lmemscope.lowering.compile_cuda",
    "lmemscope.lowering.cuda",
    "lmemscope.lowering.debug",
    "lmemscope.lowering.disassembly",
    "lmemscope.analysis.layers",
    "lmemscope.analysis.launches",
    "lmemscope.analysis.local_cost",
    "lmemscope.analysis.facts",
    "lmemscope.analysis.explanation",
    "lmemscope.analysis.headers",
    "lmemscope.analysis.ptx.preparation",
    "lmemscope.analysis.quotes",
    "lmemscope.analysis.work",
    "lmemscope.discover.project",
    "lmemscope.rules",
    "lmemscope.rules.verdict",
    "lmemscope.sources.lines",
)

_AT_ONCE = 2
"""How many of these are needed before a compiler can begin."""

_READING_NAMES = ("elftools.dwarf.dwarfinfo",)
"""What reads debug information: to import it takes as long as to compile a small file for it."""

_importing = threading.Lock()
"""Of two threads that import at once, one may get a module half made."""

_KEYED = frozenset({"nvrtc", "nvcc", "ptx"})
"""The routes whose results follow from a unit's key."""

EVERYTHING = Wanted()
"""All kernels with their causes, compiled anew."""


def load() -> None:
    """Import what finds the reports of earlier runs, all that a cached run needs.

    For a worker, before its first unit arrives; the parent needs none of it.
    """
    for name in (_STORE, _PROJECT):
        importlib.import_module(name)


def load_compiler() -> None:
    """Load NVRTC and what calls it, for a worker whose first unit is expected to need it.

    The analysis is imported while NVRTC compiles, in a process of its own.
    """
    from lmemscope.tools import nvrtc

    # What is missing is the first unit's business to say.
    with contextlib.suppress(ToolMissingError):
        nvrtc.version()
    for name in (_STORE, *_ANALYSIS[:_AT_ONCE]):
        importlib.import_module(name)


def load_nvcc() -> None:
    """Find nvcc and import what calls it, for a worker whose first unit is sure to need it.

    NVRTC is not loaded: that takes as long as importing all else.
    """
    for name in (_STORE, *_ANALYSIS[:_AT_ONCE]):
        importlib.import_module(name)
    from lmemscope.tools.toolchain import INSTALLED

    with contextlib.suppress(LmemscopeError):
        toolchain = INSTALLED.of_nvcc()
        toolchain.header_dirs()
        toolchain.tool("nvcc")
        toolchain.tool("ptxas")


def _load_analysis(names: bool) -> None:
    *others, last = _ANALYSIS
    with _importing:
        for name in (_STORE, *others, *(_READING_NAMES if names else ()), last):
            importlib.import_module(name)


def analyse_unit(unit: Unit, wanted: Wanted = EVERYTHING) -> UnitReport:
    """Take one unit from its input to its report.

    Args:
        unit: what to analyse.
        wanted: what the report is to hold.

    Raises:
        LmemscopeError: it cannot be analysed; `lmemscope.collect` makes that the unit's `Failure`.
    """
    files.allow(wanted.max_file_size or files.DEFAULT_LIMIT)
    with _ours(unit):
        if unit.excerpt is not None:
            return _of_log(unit, wanted)
        if threading.current_thread() is not threading.main_thread():
            # A user's own executor may have several threads here at once.
            _load_analysis(names=True)
        # Here and not above: the parent imports this module too, and needs none of it.
        from lmemscope.discover.project import Projects
        from lmemscope.lowering.analysed import keep_report, known_report, slot_of

        slot, projects = slot_of(unit, wanted), Projects()
        known = known_report(slot, unit, wanted, projects.mentioning)
        known = known or _with_quotes(slot, unit, wanted, projects.mentioning)
        if known is not None:
            return _with_digests(known, unit, wanted)
        from lmemscope.lowering import ahead, twin

        def load_analysis() -> None:
            _load_analysis(wanted.causes and wanted.names)

        def is_wanted(kernel: str) -> bool:
            return not wanted.kernels or matches(wanted.kernels, kernel, demangle(kernel))

        read: set[str] = set()
        with (
            twin.beside(wanted.causes and wanted.names),
            ahead.beside(wanted.causes, is_wanted, load_analysis) as made,
        ):
            report, key = _analysed(unit, wanted, read, made, projects)
        # A file that was edited since has another key, and an unkeyed input may follow from more.
        if slot is not None and slot.key == key:
            keep_report(slot, unit, wanted, report, read, projects.asked)
        return _with_digests(report, unit, wanted)


def _with_digests(report: UnitReport, unit: Unit, wanted: Wanted) -> UnitReport:
    """A report with what tells later whether its files are still what it was made of."""
    report = replace(report, source_digest=files.digest_of(unit.path))
    if report.frontend not in ("nvrtc", "nvcc") or wanted.moved is not None:
        return report
    from lmemscope.sources import includes

    try:
        paths = includes.closure(unit.path, unit.options).files
        found = {_spelled(path): includes.digest(path) for path in paths}
    except OSError:
        # Some of them, or none, would pass for all of them.
        return report
    return replace(report, sources=found)


def _spelled(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _analysed(
    unit: Unit, wanted: Wanted, read: set[str], ahead: Ahead, projects: Projects
) -> tuple[UnitReport, str | None]:
    """The report, and the key of its artefacts where another run would say the same of them.

    Args:
        read: takes the names of the source files that were looked into.
        ahead: what is made of the unit's PTX while compilers run.
        projects: which other sources of the project hold a word.
    """
    from lmemscope.lowering.analysed import slot_of

    artifacts = lower_unit(unit, wanted.cache)
    if wanted.moved is not None and artifacts.frontend in _KEYED:
        slot = slot_of(unit, wanted)
        artifacts = replace(artifacts, key=None if slot is None else slot.key)
    # Nor does a run that finds its reports need any of this.
    from lmemscope.analysis import headers
    from lmemscope.analysis.explanation import explain_facts, needs_names
    from lmemscope.analysis.facts import gather_facts
    from lmemscope.analysis.launches import unseen, with_launches
    from lmemscope.analysis.layers import parse
    from lmemscope.analysis.local_cost import with_costs
    from lmemscope.analysis.work import works_of
    from lmemscope.lowering.debug import debug_variables
    from lmemscope.rules import find
    from lmemscope.rules.launched import shapes_in_sight
    from lmemscope.rules.verdict import judge
    from lmemscope.sources.lines import from_disk, quoted_lines

    main = unit.input if unit.input.endswith(".cu") else None
    layers = parse(artifacts, os.getcwd(), ahead.flow(artifacts.ptx))
    sources = from_disk(read, main, unit.options, projects.mentioning)
    facts, others = _wanted(gather_facts(layers), wanted)
    unnamed: tuple[Gap, ...] = ()
    if layers.flow is not None:
        layers.flow.shape(shapes_in_sight(facts, sources))
    # Without names, so that a trial's work, which has none, compares with the original's.
    plain = explain_facts(layers, facts, None, sources) if wanted.work else ()
    if wanted.causes:
        variables = None
        if wanted.names and needs_names(layers, facts):
            ahead.prepare(layers.flow)
            variables, unnamed = debug_variables(artifacts, wanted.cache)
        facts = explain_facts(layers, facts, variables, sources)
    facts = with_costs(layers, facts)
    work = works_of(layers, plain, facts, wanted.largest)
    facts = with_launches(layers, facts)
    quotes, unquoted = _quoted(layers, facts, wanted)
    kernels = tuple(
        KernelReport(
            fact,
            judge(fact),
            find(fact, sources),
            quotes.get(fact.name),
            work=work.get(fact.name),
        )
        for fact in facts
    )
    report = UnitReport(
        input=unit.name,
        frontend=artifacts.frontend,
        arch=layers.cubin.arch or unit.arch,
        options=artifacts.options,
        failure=None,
        gaps=(*layers.gaps, *unnamed, *unquoted),
        kernels=kernels,
        tools=artifacts.tools,
        unknown_log_lines=layers.log.unknown_lines if layers.log is not None else (),
        directives=headers.directives(layers),
        source_lines=quoted_lines(kernels, sources),
        headers=headers.templates(layers),
        cached=artifacts.cached,
        others=others,
        launches=unseen(layers, facts),
    )
    # A tool that failed may work the next time.
    return report, None if unnamed or unquoted else artifacts.key


def _with_quotes(
    slot: Slot | None, unit: Unit, wanted: Wanted, mentioning: Mentioning
) -> UnitReport | None:
    """The report of a run that wanted the same but its quotes, with them; None where there is none.

    The artefacts are read again, and nothing is concluded again.
    """
    from lmemscope.lowering.analysed import keep_report, known_without_quotes

    known = known_without_quotes(slot, unit, wanted, mentioning)
    if slot is None or known is None:
        return None
    from lmemscope.analysis.layers import parse

    report, read, asked = known
    artifacts = lower_unit(unit, wanted.cache)
    layers = parse(artifacts, os.getcwd())
    quotes, gaps = _quoted(layers, [kernel.facts for kernel in report.kernels], wanted)
    if gaps or slot.key != artifacts.key:
        return None
    kernels = tuple(replace(one, quotes=quotes.get(one.facts.name)) for one in report.kernels)
    report = replace(report, kernels=kernels, cached=artifacts.cached)
    keep_report(slot, unit, wanted, report, read, asked)
    return report


def _of_log(unit: Unit, wanted: Wanted) -> UnitReport:
    """A build log enters late: what compilers reported is all there is, and is judged as that."""
    from lmemscope.analysis.reported import facts_of_report
    from lmemscope.formats.ptxas_log import parse_ptxas_log
    from lmemscope.lowering.log import checked
    from lmemscope.rules.reported import find_reported
    from lmemscope.rules.verdict import judge

    excerpt = checked(unit)
    log = parse_ptxas_log(excerpt.text)
    facts, others = _wanted(facts_of_report(log), wanted)
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
        others=others,
    )


def _wanted(
    facts: Iterable[KernelFacts], wanted: Wanted
) -> tuple[tuple[KernelFacts, ...], tuple[str, ...]]:
    """The kernels that were asked for, and the names of the others."""
    kept: list[KernelFacts] = []
    others: list[str] = []
    for fact in facts:
        if matches(wanted.kernels, fact.name, fact.demangled):
            kept.append(fact)
        else:
            others.append(short_name(fact.demangled))
    return tuple(kept), tuple(others)


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


@contextmanager
def _ours(unit: Unit) -> Iterator[None]:
    """A mistake of ours must not take the other inputs down, nor pass as the user's."""
    try:
        yield
    except LmemscopeError:
        raise
    except Exception as error:
        raise InternalError.of(error, f"on {unit.input}") from error
