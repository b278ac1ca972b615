"""Every ``LDL``/``STL`` gets one cause, and the object it belongs to where there is one.

Where a site comes from is its `Origin`. A site of the program's own leads by its PTX access to the
stack object; the others were made by ptxas: a spill where it is marked as one, a saved register in
a function that is called, the frame of a call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.analysis.frame import Placement, frame_map
from lmemscope.analysis.kernel_objects import find_objects
from lmemscope.analysis.layers import Layers
from lmemscope.analysis.ledger import shares
from lmemscope.analysis.names import Names
from lmemscope.analysis.origin import Origin, access_of
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.objects import FunctionObjects
from lmemscope.analysis.ptx.run_time_stack import run_time_sizes
from lmemscope.analysis.ptx.uniformity import (
    places_in,
    requests_per_access,
    sectors_per_request,
)
from lmemscope.analysis.result_buffers import result_buffers
from lmemscope.analysis.saves import Saves
from lmemscope.analysis.site_loops import Depth, SiteLoops
from lmemscope.formats.cubin import CubinFunction
from lmemscope.formats.sites import STACK_POINTER, Site
from lmemscope.model import (
    Cause,
    Evidence,
    FrameRange,
    InlineFrame,
    KernelFacts,
    LocalAccess,
    SourceLocation,
    SourceText,
    Uniformity,
)

_MARKED = (Evidence("spill-mark"),)


def attribute(
    layers: Layers,
    names: Names | None,
    sources: SourceText,
    function: CubinFunction,
    facts: KernelFacts,
) -> KernelFacts:
    """A kernel's facts with objects, accesses, frame map, ledgers and call graph.

    Args:
        layers: the unit's.
        names: of variables, or None.
        sources: the user's files.
        function: the kernel's machine code.
        facts: the kernel's.
    """
    kernel = _Kernel(layers, names, sources, function, facts)
    sites = function.all_sites
    accesses = kernel.accesses(sites)
    objects = tuple(kernel.objects.listed)
    known = (facts.stack_frame, function, accesses, objects, kernel.placements)
    frame = frame_map(*known)
    if layers.flow is not None and any(part.owner == "unknown" for part in frame):
        read = ((site, layers.origins.of(function, site)) for site in function.sites)
        frame = frame_map(*known, result_buffers(layers.flow, function, read))
    if objects:
        placed = zip(accesses, sites, strict=True)
        accesses = tuple(kernel.in_frame(access, site, frame) for access, site in placed)
    causes = shares(accesses, frame, objects)
    takes = layers.flow is not None and any(share.cause == "alloca" for share in causes)
    if takes:
        place = kernel.allocated_at()
        causes = tuple(
            replace(share, location=place) if share.cause == "alloca" else share for share in causes
        )
    return replace(
        facts,
        objects=objects,
        accesses=(*accesses, *kernel.generic()),
        frame=frame,
        causes=causes,
        calls=layers.flow.calls(facts.name) if layers.flow is not None else None,
        run_time_sizes=run_time_sizes(layers.flow, facts.name) if layers.flow and takes else (),
    )


class _Explained(Struct, frozen=True):
    """What is known of a site.

    Attributes:
        cause: exactly one.
        object: index into the kernel's objects, or None.
        uniformity: of its address across the lanes.
        evidence: what shows the cause.
        others: further objects that it may touch.
    """

    cause: Cause
    object: int | None
    uniformity: Uniformity
    evidence: tuple[Evidence, ...]
    others: tuple[int, ...] = ()


class _Kernel:
    """The sites of one kernel.

    Attributes:
        objects: its stack objects.
        placements: sites seen so far that tell where ptxas put an object.
    """

    def __init__(
        self,
        layers: Layers,
        names: Names | None,
        sources: SourceText,
        function: CubinFunction,
        facts: KernelFacts,
    ) -> None:
        self._layers, self._function, self._facts = layers, function, facts
        self._lines = layers.lines
        self._has_lines = self._lines.has_sites_of(function)
        self._saves = Saves(layers.flow, facts) if layers.flow is not None else None
        self._debug = layers.ptx is not None and layers.ptx.is_debug
        self.objects = find_objects(layers, names, sources, function)
        self.placements: list[Placement] = []
        self._alignments: dict[str, int] = {}
        # A function beside the kernel's code may have a frame of its own; one without has its
        # objects in the kernel's.
        callees = ((one.name, one.ptxas) for one in facts.callees)
        frameless = (name for name, told in callees if told and told.stack_frame == 0)
        self._framed = frozenset({function.name, *frameless})
        self._of_members: set[int] = set()
        self._allocations: Counter[int] = Counter()
        self._loops = SiteLoops(layers, function)
        self._alike: dict[tuple[object, ...], LocalAccess] = {}

    def accesses(self, sites: Sequence[Site]) -> tuple[LocalAccess, ...]:
        """The sites of the kernel's code, in address order, as `access` gives each.

        Of machine code alone, which names no line, most of those in as many loops tell the same.
        """
        layers, function = self._layers, self._function
        if layers.flow is not None or self._has_lines or function.section in layers.cubin.ptx_lines:
            return tuple(map(self.access, sites))
        found: list[LocalAccess] = []
        for body in (function, *function.callees):
            depths, alike = self._loops.depths(body), dict[object, LocalAccess]()
            for site, depth in zip(body.sites, depths, strict=True):
                pc = site.pc
                key = depth, site.spill_refill, site.is_store, site.width, site.is_signed, site.base
                one = alike.get(key)
                if one is None:
                    one = alike[key] = self.access(site)
                found.append(replace(one, pc=pc))
        if function.callees:
            found.sort(key=attrgetter("pc"))
        return tuple(found)

    def access(self, site: Site, *, generic: bool = False) -> LocalAccess:
        """A site with its place, its cause and its cost."""
        function = self._function
        body = function.body_at(site.pc)
        origin = self._layers.origins.of(function, site)
        chain = self._lines.of_site(function, body, site) if self._has_lines else ()
        depth = self._loops.of(body, site, origin, chain)
        if chain or generic or origin.kind == "object":
            return self._made(site, body, origin, chain, depth, generic=generic)
        # Of a library's code alone, each site is one of many that tell the same.
        key = (body.name, origin, depth, site.is_store, site.width, site.is_signed, site.base)
        alike = self._alike.get(key)
        if alike is None:
            alike = self._alike[key] = self._made(site, body, origin, chain, depth, generic=False)
        return replace(alike, pc=site.pc)

    def _made(
        self,
        site: Site,
        body: CubinFunction,
        origin: Origin,
        chain: tuple[InlineFrame, ...],
        depth: Depth,
        *,
        generic: bool,
    ) -> LocalAccess:
        found = self._explain(site, body, origin)
        uniformity = found.uniformity
        if site.is_uniform and site.base is None:
            uniformity = "uniform"
        places = 0
        for number in () if found.object is None else (found.object, *found.others):
            touched = self.objects.listed[number]
            places += places_in(touched.offset, touched.span, site.width)
        if _is_kept(found, body, origin):
            depth = Depth(0)
        return LocalAccess(
            pc=site.pc,
            opcode=site.opcode,
            is_store=site.is_store,
            width=site.width,
            function=body.name,
            ptx_line=origin.ptx_line,
            chain=chain,
            loop_depth=depth.own,
            library_loops=depth.library,
            cause="debug-build" if self._debug else found.cause,
            object=found.object,
            uniformity=uniformity,
            sectors=sectors_per_request(uniformity, places or None),
            requests=requests_per_access(site.width),
            evidence=(),
            evidence_facts=found.evidence,
            others=found.others,
            generic=generic,
        )

    def in_frame(self, access: LocalAccess, site: Site, frame: Sequence[FrameRange]) -> LocalAccess:
        """An access with the objects that lie where it goes, if that is one place of the frame.

        A loop that copies or clears a whole structure is written out: then each store has its
        place. ptxas joins neighbouring accesses, of one object or of several.
        """
        number = access.object
        if number is None or access.function != self._function.name:
            return access
        covered: list[int] = []
        if site.base == STACK_POINTER and site.uniform_base is None:
            end = site.displacement + site.width
            covered = [
                part.object_index
                for part in frame
                if part.offset < end and site.displacement < part.offset + part.size
                if part.object_index is not None
            ]
        members = self.objects.members(number)
        if len(members) > 1 and access.pc not in self._of_members:
            covered = [one for one in covered if one in members]
        elif number in covered and not access.others:
            covered.sort(key=lambda one: one != number)
        else:
            return access
        first, *others = dict.fromkeys(covered or members)
        cause = self.objects.listed[first].cause
        joined = bool(covered and others)
        return replace(access, cause=cause, object=first, others=tuple(others), joined=joined)

    def allocated_at(self) -> SourceLocation | None:
        """The line of the ``alloca`` whose memory most sites access."""
        flow = self._layers.flow
        if flow is None or not self._allocations:
            return None
        ((line, _),) = self._allocations.most_common(1)
        function = flow.ptx.function_at(line)
        dataflow = flow.dataflow(function.name) if function is not None else None
        if dataflow is None:
            return None
        allocation = dataflow.body.instructions[dataflow.by_line[line][0]]
        chain = self._lines.of_instruction(allocation)
        return self._lines.reader_line(chain, self._facts.name)

    def generic(self) -> tuple[LocalAccess, ...]:
        """``LD``/``ST`` at PTX accesses whose address is local on every path."""
        flow, function = self._layers.flow, self._function
        if flow is None or not self.objects.listed:
            return ()
        reached = flow.reached(self._facts.name)
        result = []
        for site in self._layers.cubin.generic_sites(function):
            origin = self._layers.origins.of(function, site)
            if origin.function in reached and _is_local(flow, self._facts.name, origin):
                access = self.access(site, generic=True)
                if access.touched:
                    result.append(access)
        return tuple(result)

    def _explain(self, site: Site, body: CubinFunction, origin: Origin) -> _Explained:
        flow = self._layers.flow
        if origin.kind == "spill":
            return _Explained("register-spill", None, "uniform", _MARKED)
        if flow is None or origin.kind == "unknown":
            # Another register than the stack pointer is no proof against a spill: ptxas addresses
            # spills by a copy of it in kernels that use alloca.
            known: Uniformity = "uniform" if site.is_uniform else "unknown"
            return _Explained("unattributed", None, known, ())
        if origin.kind == "save":
            assert self._saves is not None
            saved = self._saves.cause(body, origin)
            return _Explained(saved.cause, None, "uniform", saved.evidence)
        if origin.kind == "argument":
            return _Explained("call-frame", None, "uniform", (_passes(flow, origin),))
        return self._of_object(flow, site, body, origin)

    def _of_object(
        self, flow: ModuleFlow, site: Site, body: CubinFunction, origin: Origin
    ) -> _Explained:
        """Attribution through the PTX access, whose address leads to the object."""
        assert origin.function is not None
        assert origin.instruction is not None
        objects = flow.objects(origin.function)
        assert objects is not None
        opcode = objects.body.instructions[origin.instruction].opcode
        evidence = (
            Evidence("ptx-instruction", ptx_line=origin.ptx_line, opcode=opcode),
            *((Evidence("frame-place"),) if origin.by_place else ()),
        )
        access = objects.access_at.get(origin.instruction)
        if access is None:
            return _Explained("unattributed", None, "unknown", evidence)
        uniformity = access.uniformity
        kinds = {pointee.kind for pointee in access.pointees}
        if "alloca" in kinds:
            self._allocations.update(p.offset for p in access.pointees if p.kind == "alloca")
            return _Explained("alloca", None, uniformity, evidence)
        if kinds == {"argument"}:
            # Read where the caller put it, for its address is needed.
            return _Explained("call-frame", None, uniformity, (_passes(flow, origin),))
        owners = flow.owners(self._facts.name, origin.function, access.pointees)
        access_key = (origin.function, origin.instruction)
        numbers = {number for key in owners for number in self.objects.numbers(key, access_key)}
        if any(self.objects.is_own(key, access_key) for key in owners):
            self._of_members.add(site.pc)
        known = sorted(numbers)
        if len(known) == 1:
            if access.offset is not None and body.name in self._framed:
                # A constant place: it tells where ptxas put the object in the frame.
                align = self._alignment(objects)
                placed = Placement(origin.function, site, access.offset, access.width, align)
                self.placements.append(placed)
            found = self.objects.listed[known[0]]
            return _Explained(found.cause, known[0], uniformity, evidence)
        causes = {self.objects.listed[number].cause for number in known}
        if len(causes) == 1:
            return _Explained(causes.pop(), known[0], uniformity, evidence, tuple(known[1:]))
        test = objects.foreign_test(origin.instruction) if not known else None
        if test is not None:
            found_local = Evidence("local-test", ptx_line=test.line, opcode=test.opcode)
            return _Explained("address-taken", None, uniformity, (*evidence, found_local))
        cause: Cause = "address-taken" if "parameter" in kinds else "unattributed"
        return _Explained(cause, None, uniformity, evidence, tuple(known))

    def _alignment(self, objects: FunctionObjects) -> int:
        """Bytes that a function's depot begins at a multiple of."""
        name = objects.dataflow.function.name
        if name not in self._alignments:
            depots = (depot.align for depot in objects.body.locals)
            self._alignments[name] = max(depots, default=1)
        return self._alignments[name]


def _is_kept(found: _Explained, body: CubinFunction, origin: Origin) -> bool:
    """Whether a function keeps a register for its caller: that it stores and loads once, whatever
    line it has."""
    is_saved = origin.kind == "save" and body.kind == "function" and found.cause == "call-frame"
    return found.cause == "callee-save" or is_saved


def _passes(flow: ModuleFlow, origin: Origin) -> Evidence:
    """The PTX access that passes a value on the stack; its subject is whose argument or result."""
    found = access_of(flow, origin)
    assert found is not None
    assert origin.instruction is not None
    dataflow, access = found
    own = {name for name, _, _ in dataflow.function.parameters}
    whose: str | None = None
    if "param" not in access.modifiers:
        whose = origin.function  # Through the address of its own argument.
    elif access.address is not None and access.address.base in own:
        whose = origin.function
    elif access.isa.access == "store":
        # An argument is stored in front of the call that takes it.
        later = (call for call in dataflow.flow.calls if call.index > origin.instruction)
        whose = next((call.callee for call in later), None)
    elif access.isa.access == "load":
        # A result is loaded behind the call that returns it.
        before = [call for call in dataflow.flow.calls if call.index < origin.instruction]
        whose = before[-1].callee if before else None
    return Evidence("ptx-instruction", whose, ptx_line=origin.ptx_line, opcode=access.opcode)


def _is_local(flow: ModuleFlow, kernel: str, origin: Origin) -> bool:
    """Whether the address on an origin's line is a local one, however a kernel reaches it."""
    function, line = origin.function, origin.ptx_line
    objects = flow.objects(function) if function is not None else None
    if objects is None or function is None or line is None:
        return False
    indices = objects.dataflow.by_line.get(line, ())
    return any(flow.is_local(kernel, function, index) for index in indices)
