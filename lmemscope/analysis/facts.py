"""The three layers of a unit side by side: one `KernelFacts` per kernel, contradictions shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from lmemscope.analysis.headers import written_at
from lmemscope.analysis.languages import language_of
from lmemscope.analysis.layers import Layers
from lmemscope.analysis.origin import OriginKind
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.reported import depth_left_out
from lmemscope.formats.cubin import CubinFunction
from lmemscope.formats.demangle import demangle
from lmemscope.formats.ptx import PtxFunction
from lmemscope.formats.ptxas_log import PtxasFunction
from lmemscope.formats.sites import Site
from lmemscope.model import (
    CubinFacts,
    Disagreement,
    FunctionFacts,
    Gap,
    KernelFacts,
    LaunchBounds,
    LineUse,
    PtxasFacts,
    PtxFacts,
    SassSites,
    SiteClass,
    SiteKind,
    SiteSplit,
    SourceLocation,
    Sources,
    listed,
    reader_line,
)

_ENTRIES: dict[OriginKind, SiteKind] = {
    "spill": "spill",
    "save": "spill",
    "argument": "local-object",
    "object": "local-object",
    "unknown": "unknown",
}
"""ptxas counts what it saves across calls as spills too, but no arguments on the stack."""


def gather_facts(layers: Layers, names: Iterable[str] | None = None) -> tuple[KernelFacts, ...]:
    """Facts of kernels of a unit, sorted by mangled name.

    Args:
        layers: the unit's.
        names: of the kernels, mangled; None for all.
    """
    gatherer = _Gatherer(layers)
    wanted = layers.cubin.records if names is None else names
    return tuple(gatherer.kernel(layers.cubin.function(name)) for name in sorted(wanted))


def unknown_spills(layers: Layers, facts: Iterable[KernelFacts]) -> tuple[Gap, ...]:
    """A gap for kernels whose spill figures neither a report nor a cubin's marks tell."""
    if layers.artifacts.ptxas_log is not None:
        return ()
    names = [one.demangled for one in facts if None in (one.all_spill_stores, one.all_spill_loads)]
    if not names:
        return ()
    reason = (
        f"spill figures of {listed(names)} are not known: the cubin has no report of ptxas, and "
        "without line information its LDL and STL do not tell spills from variables"
    )
    return (Gap("ptxas", reason, "evidence"),)


class _Gatherer:
    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._lines = layers.lines

    def kernel(self, function: CubinFunction) -> KernelFacts:
        ptx_function = self._ptx(function.name)
        reported = self._reported(function.name)
        every = function.all_sites
        kinds = {site.pc: self._kind(function, site) for site in every}
        own = _split(function.sites, kinds)
        callees = tuple(self._callee(function, callee, kinds) for callee in function.callees)
        sites = own
        for callee in callees:
            sites = sites + callee.sites if callee.sites is not None else sites
        stack_known = function.stack_known and not self._depth_unknown(function.name)
        cubin = CubinFacts(
            function.registers,
            function.stack_frame,
            function.min_stack if stack_known else None,
            self._cap(function),
            function.shared_spills,
            max(body.end for body in (function, *function.callees)) - function.start,
            function.shared,
        )
        ptxas = self._with_shared(function.name, reported.facts if reported is not None else None)
        shown = self._layers.ptx if ptx_function is not None else None
        flow = self._layers.flow
        reached = flow.reached(function.name) if flow is not None else ()
        is_linked = self._layers.artifacts.unit.options.is_relocatable
        demangled = demangle(function.name)
        location = self._lines.definition(function) or written_at(
            self._layers, function.name, demangled
        )
        return KernelFacts(
            name=function.name,
            demangled=demangled,
            kind=function.kind,
            location=location,
            stack_known=stack_known,
            launch_bounds=_launch_bounds(ptx_function, function),
            sources=Sources(ptxas, cubin),
            ptx=_ptx_facts(flow, ptx_function) if ptx_function is not None else None,
            sass=SassSites.of(every),
            sites=sites,
            own_sites=own,
            lines=self._uses(function, location.file if location is not None else None, kinds),
            callees=callees,
            frame=(),
            causes=(),
            findings=(),
            objects=(),
            calls=None,
            disagreements=(
                *self._layers.differences.get(function.name, ()),
                *_kernel_disagreements(ptxas, cubin, own, self._frames_below(function.name)),
                *(found for callee in callees for found in _callee_disagreements(callee)),
            ),
            shared_variables=(
                None if shown is None or is_linked else shown.shared_of(function.name)
            ),
            language=language_of(self._layers.artifacts, self._layers.ptx, function.name, location),
            has_floats=shown.has_floats(reached) if shown is not None and reached else None,
        )

    def _with_shared(self, name: str, ptxas: PtxasFacts | None) -> PtxasFacts | None:
        """ptxas's figures, with all shared memory of a kernel that is linked later."""
        ptx, flow = self._layers.ptx, self._layers.flow
        if ptxas is None or ptx is None or not self._layers.artifacts.unit.options.is_relocatable:
            return ptxas
        reached = flow.reached(name) if flow is not None else ()
        known = ptx.shared_bytes(dict.fromkeys((name, *reached)))
        return replace(ptxas, shared=known) if known > (ptxas.shared or 0) else ptxas

    def _cap(self, function: CubinFunction) -> int | None:
        """The register cap of a function, which machine code holds of kernels alone."""
        if function.kind == "entry":
            return function.max_registers
        return self._layers.artifacts.unit.options.maxrregcount

    def _frames_below(self, name: str) -> frozenset[int]:
        """Frames of the functions that were compiled with a kernel, in bytes."""
        log = self._layers.log_of(name)
        called = log.callees(name) if log is not None else []
        return frozenset(one.stack_frame for one in called if one.stack_frame)

    def _callee(
        self, kernel: CubinFunction, callee: CubinFunction, kinds: Mapping[int, SiteKind]
    ) -> FunctionFacts:
        log = self._layers.log_of(kernel.name)
        reported = None
        if log is not None:
            reported = next((f for f in log.callees(kernel.name) if f.name == callee.name), None)
        return FunctionFacts(
            name=callee.name,
            demangled=demangle(callee.name),
            ptxas=reported.facts if reported is not None else None,
            sass=SassSites.of(callee.sites),
            sites=_split(callee.sites, kinds),
        )

    def _ptx(self, name: str) -> PtxFunction | None:
        return None if self._layers.ptx is None else self._layers.ptx.function(name)

    def _reported(self, name: str) -> PtxasFunction | None:
        log = self._layers.log_of(name)
        if log is None:
            return None
        return log.entry(name) or log.first(name)

    def _depth_unknown(self, name: str) -> bool:
        """Whether ptxas could not determine a kernel's stack depth.

        The cubin of ptxas 12.9 gives 0 for a kernel that recurses, where that of 13.5 says so, and
        its report leaves the depth out. It also does for a kernel that only hands its functions
        to others.
        """
        log, flow = self._layers.log_of(name), self._layers.flow
        if log is None:
            return False
        entry = log.entry(name)
        own = (callee for callee in log.callees(name) if not callee.linked)
        if name in log.stack_unknown or entry is None or not depth_left_out(entry, own):
            return name in log.stack_unknown
        calls = flow.calls(name) if flow is not None else None
        return calls is None or bool(calls.recursive) or calls.indirect

    def _kind(self, function: CubinFunction, site: Site) -> SiteKind:
        """Which ledger entry a site belongs to.

        A kernel has no caller whose registers it saves: in its own body, what ptxas does not mark
        is the program's. So it was at all 85,658 unmarked sites of 973 kernels with PTX lines.
        """
        kind = _ENTRIES[self._layers.origins.of(function, site).kind]
        if kind != "unknown" or function.kind != "entry" or not function.is_marked:
            return kind
        return "local-object" if function.body_at(site.pc) is function else kind

    def _uses(
        self, function: CubinFunction, home: str | None, kinds: Mapping[int, SiteKind]
    ) -> tuple[LineUse, ...]:
        """Sites grouped by the source line that a reader should look at."""
        if not self._lines.has_sites_of(function):
            return ()
        groups: dict[tuple[SourceLocation, SiteKind], list[Site]] = defaultdict(list)
        for body in (function, *function.callees):
            for site in body.sites:
                place = reader_line(self._lines.of_site(function, body, site), home)
                if place is not None:
                    groups[place, kinds[site.pc]].append(site)
        uses = [LineUse.of(place, kind, SiteClass.of(s)) for (place, kind), s in groups.items()]
        return tuple(sorted(uses, key=lambda use: (-use.sites.bytes, use.location, use.kind)))


def _split(sites: Iterable[Site], kinds: Mapping[int, SiteKind]) -> SiteSplit:
    """Sites by their kinds, which are given by their offsets."""
    classes: dict[SiteKind, list[Site]] = defaultdict(list)
    for site in sites:
        classes[kinds[site.pc]].append(site)
    return SiteSplit(
        spill=SiteClass.of(classes["spill"]),
        local_object=SiteClass.of(classes["local-object"]),
        unknown=SiteClass.of(classes["unknown"]),
    )


def _launch_bounds(ptx: PtxFunction | None, function: CubinFunction) -> LaunchBounds | None:
    """As PTX has them; a cubin alone does not keep how many blocks there are to be at least."""
    if ptx is not None:
        return ptx.launch_bounds
    return None if function.max_threads is None else LaunchBounds(function.max_threads, None)


def _ptx_facts(flow: ModuleFlow | None, function: PtxFunction) -> PtxFacts:
    survey, generic = function.survey, 0
    if survey.takes_generic_address and flow is not None:
        objects = flow.objects(function.name)
        generic = objects.generic_local if objects is not None else 0
    return PtxFacts(
        survey.bytes,
        survey.objects,
        survey.ld_local,
        survey.st_local,
        generic,
        function.thread_dimensions,
        function.only_prints,
    )


def _kernel_disagreements(
    ptxas: PtxasFacts | None, cubin: CubinFacts, own: SiteSplit, below: frozenset[int]
) -> list[Disagreement]:
    if ptxas is None:
        return []
    frames = _differ("stack_frame", ptxas=ptxas.stack_frame, cubin=cubin.stack_frame)
    if frames and _counts_called(ptxas, cubin, below):
        frames = [replace(found, reason="called-frames") for found in frames]
    return [
        *_differ("registers", ptxas=ptxas.registers, cubin=cubin.registers),
        *frames,
        *_differ("cumulative_stack", ptxas=ptxas.cumulative_stack, cubin=cubin.min_stack),
        *_spill_disagreements("", ptxas, own),
    ]


def _counts_called(ptxas: PtxasFacts, cubin: CubinFacts, below: frozenset[int]) -> bool:
    """Whether a kernel's frame in the cubin is its own and what it calls needs besides."""
    own, whole = ptxas.stack_frame, cubin.stack_frame
    if own is None or whole is None or not below or whole <= own:
        return False
    return whole - own in below or whole == ptxas.cumulative_stack


def _callee_disagreements(callee: FunctionFacts) -> list[Disagreement]:
    if callee.ptxas is None or callee.sites is None:
        return []
    return _spill_disagreements(f" of {callee.name}", callee.ptxas, callee.sites)


def _spill_disagreements(where: str, ptxas: PtxasFacts, sites: SiteSplit) -> list[Disagreement]:
    if sites.unknown != SiteClass():
        return []
    return [
        *_differ(f"spill_stores{where}", ptxas=ptxas.spill_stores, sass=sites.spill.store_bytes),
        *_differ(f"spill_loads{where}", ptxas=ptxas.spill_loads, sass=sites.spill.load_bytes),
    ]


def _differ(quantity: str, **values: int | None) -> list[Disagreement]:
    known = {source: value for source, value in values.items() if value is not None}
    if len(set(known.values())) < 2:
        return []
    return [Disagreement(quantity, known)]
