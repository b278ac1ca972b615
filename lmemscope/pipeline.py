"""lower → parse → facts → names → causes → findings: the story of one unit, top to bottom."""

from __future__ import annotations

import os
from collections.abc import Collection
from importlib import import_module
from typing import Any

from msgspec import Struct

from lmemscope.analysis import headers
from lmemscope.analysis.explanation import explain_facts, needs_names
from lmemscope.analysis.facts import gather_facts, unknown_spills
from lmemscope.analysis.launches import unseen, with_launches
from lmemscope.analysis.layers import parse
from lmemscope.analysis.local_cost import with_costs
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.subscripts import subscripts_of
from lmemscope.analysis.work import works_of
from lmemscope.formats.cubin import Cubin
from lmemscope.formats.kernel_names import select
from lmemscope.formats.ptx import PtxModule
from lmemscope.lowering.analysed import Mentioning
from lmemscope.lowering.debug import debug_variables
from lmemscope.lowering.debugging import Debugging, has_variables
from lmemscope.lowering.disassembly import quoted
from lmemscope.model import (
    CUDA,
    Artifacts,
    Gap,
    KernelFacts,
    KernelReport,
    SourceText,
    UnitReport,
    Variable,
    Wanted,
    kind_of,
    traits_of,
)
from lmemscope.rules import find
from lmemscope.rules.launched import occupancies, shapes_in_sight
from lmemscope.rules.subscripted import variables_in_sight
from lmemscope.rules.verdict import judge
from lmemscope.sources.lines import from_disk, quoted_lines


class Prepared(Struct, frozen=True):
    """What is known of a unit as soon as its PTX is.

    Attributes:
        sources: the user's files.
        flow: analyses of the PTX, or None where there is none yet.
        variables: of the objects in local memory, where the source alone tells them all; None where
            a debug compilation has to.
    """

    sources: SourceText
    flow: ModuleFlow | None = None
    variables: tuple[Variable, ...] | None = None


def prepared(
    artifacts: Artifacts, wanted: Wanted, read: set[str], mentioning: Mentioning
) -> Prepared:
    """What is known of a unit before its machine code is.

    Args:
        artifacts: what the compilers made of it by now.
        wanted: what its report is to hold.
        read: takes the names of the source files that were looked into.
        mentioning: which other sources of the project hold a word.

    Raises:
        FormatError: the PTX cannot be read.
    """
    unit, ptx = artifacts.unit, artifacts.ptx
    main = unit.input if kind_of(unit.input) is CUDA else None
    sources = from_disk(read, main, unit.options, mentioning)
    if ptx is None or artifacts.source is None or artifacts.variables is not None:
        return Prepared(sources)
    if not (wanted.causes and wanted.names and has_variables(ptx)):
        return Prepared(sources)
    flow = ModuleFlow(PtxModule(ptx))
    subscripts = subscripts_of(flow)
    variables = variables_in_sight(subscripts, sources) if subscripts is not None else None
    return Prepared(sources, flow, variables)


def report_of(
    artifacts: Artifacts,
    wanted: Wanted,
    known: Prepared,
    debugging: Debugging,
    decoded: tuple[Cubin, Collection[str]] | None = None,
) -> tuple[UnitReport, str | None]:
    """The report, and the key of its artefacts where another run would say the same of them.

    Args:
        artifacts: what the compilers made of a unit (`lmemscope.lowering.lower`).
        wanted: what the report is to hold.
        known: as `prepared` makes it.
        debugging: the debug compilation, which may run already.
        decoded: the machine code, where it was looked into before, and the mangled names of the
            kernels that are wanted.
    """
    unit, sources = artifacts.unit, known.sources
    cubin = decoded[0] if decoded is not None else None
    layers = parse(artifacts, os.getcwd(), known.flow, cubin)
    names: Collection[str]
    others: tuple[str, ...] = ()
    if decoded is not None:
        names = decoded[1]
    else:
        names, others = select(sorted(layers.cubin.records), wanted.kernels)
    facts = gather_facts(layers, names)
    unknown = unknown_spills(layers, facts)
    if layers.flow is not None:
        layers.flow.shape(shapes_in_sight(facts, sources))
    # Without names, so that a trial's work, which has none, compares with the original's.
    plain = explain_facts(layers, facts, None, sources) if wanted.work else ()
    unnamed: tuple[Gap, ...] = ()
    if wanted.causes:
        variables = known.variables
        if variables is None and wanted.names and needs_names(layers, facts):
            variables, unnamed = debug_variables(artifacts, wanted.cache, debugging)
        is_plain = wanted.work and variables is None
        facts = plain if is_plain else explain_facts(layers, facts, variables, sources)
    facts = with_costs(layers, facts)
    counted = plain if wanted.work else [one for one in facts if _may_be_rewritten(one)]
    work = works_of(layers, counted, facts, wanted.counts, sources.lines)
    facts = with_launches(layers, facts)
    arch = layers.cubin.arch or unit.arch
    facts = occupancies(facts, arch, sources)
    quotes, unquoted = quoted(layers, facts, wanted.quotes)
    kernels = tuple(
        KernelReport.of(
            one, judge(one), find(one, sources), quotes.get(one.name), work.get(one.name)
        )
        for one in facts
    )
    report = UnitReport(
        input=unit.name,
        frontend=artifacts.frontend,
        arch=arch,
        options=artifacts.options,
        failure=None,
        gaps=(*layers.gaps, *unknown, *unnamed, *unquoted),
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


def _may_be_rewritten(facts: KernelFacts) -> bool:
    """Whether an index keeps something of a kernel in memory: what replaces it has a cost."""
    return any(traits_of(share.cause).indexed for share in facts.causes)


def __getattr__(name: str) -> Any:
    """`analyse_unit` under the name that programs know it by; it is `lmemscope.app.worker`'s."""
    if name == "analyse_unit":
        return import_module("lmemscope.app.worker").analyse_unit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
