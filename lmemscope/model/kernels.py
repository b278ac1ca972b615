"""Everything known about a kernel, with the figures derived from it."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct
from msgspec.structs import asdict, force_setattr

from lmemscope.model.cause_table import traits_of
from lmemscope.model.causes import CauseShare, FrameRange, LocalAccess, LocalObject
from lmemscope.model.devices import Footprint
from lmemscope.model.document import NOT_GIVEN, always
from lmemscope.model.facts import (
    CallFacts,
    CubinFacts,
    Disagreement,
    FunctionFacts,
    LaunchBounds,
    LineUse,
    PtxasFacts,
    PtxFacts,
    SharedVariable,
    SiteSplit,
    spills_of,
)
from lmemscope.model.judgement import Finding, Quotes, Verdict
from lmemscope.model.languages import LanguageName
from lmemscope.model.launches import Launch
from lmemscope.model.occupancy import Occupancy
from lmemscope.model.places import is_library
from lmemscope.model.request import KernelKind, SourceLocation
from lmemscope.model.sites import SassSites, known_sum
from lmemscope.model.work import Work


class Sources(Struct, frozen=True):
    """Each source's figures for a kernel's own body, kept side by side.

    Attributes:
        ptxas: from ``ptxas -v``.
        cubin: from the records of the cubin.
    """

    ptxas: PtxasFacts | None
    cubin: CubinFacts | None


_NO_PTXAS = PtxasFacts(None, None, None, None, None, None, None)
_NO_CUBIN = CubinFacts(None, None, None, None)


class KernelFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All facts about one kernel: figures, both ledgers and every source.

    Derived figures, such as ``registers`` from ``sources``, are computed when the structure is
    made, whatever is passed for them. Judgements are in `KernelReport`.

    Attributes:
        name: mangled; identifies the kernel together with the unit's input and architecture.
        demangled: as written in C++; equals ``name`` if it cannot be demangled.
        kind: ``entry`` for ``__global__``, ``function`` for separately compiled device functions.
        location: of its definition, if line information shows it.
        registers, stack_frame: of the kernel's own body; from ptxas, else from the cubin.
        cumulative_stack: bytes per thread of the deepest call path.
        linked_stack: bytes per thread of the deepest call path after linking, as nvlink prints it.
        stack_known: False if the depth is not statically known (recursion, indirect calls).
        spill_stores, spill_loads: bytes in its own body; from ptxas, else from its sites.
        shared, barriers: from ``ptxas -v``.
        launch_bounds: of ``__launch_bounds__``, from the PTX's ``.maxntid``/``.minnctapersm``.
        ptx: local memory in the PTX, before ptxas.
        sass, sites: for the whole section, including non-inlined functions.
        own_sites: for the kernel's own body.
        lines: source lines of the sites, most site bytes first.
        callees: non-inlined functions in the kernel's section, sorted by name.
        sources: each source's figures.
        frame: contiguous ranges that add up to ``stack_frame``.
        causes: both ledgers, sorted by site bytes.
        cost: the cost of all causes except messages and launches; None if unknown.
        findings: the judged causes.
        objects: stack objects, by function and offset.
        calls: the call graph below the kernel, as far as the PTX shows it.
        launches: its device-side launches, its own and those of functions it reaches.
        run_time_sizes: what computes the size of each ``alloca``, as comparable text.
        accesses: every access, in address order, those by generic addresses last; absent if left
            out.
        verdict: one line on the kernel.
        disagreements: quantities on which sources contradict each other.
        quotes: lines of the artefacts behind the findings; absent if not requested.
        footprint: device memory that the driver reserves for it; None if no GPU was named.
        occupancy: for the block size given by a visible launch or launch bounds, else for the best
            one; None for functions, and if registers or the architecture's limits are unknown.
        shared_variables: shared memory variables, those of the kernel's own body first; None if
            ptxas does not place them, or if they are unknown. Not part of documents.
        language: source language. Not part of documents: findings reflect it.
        has_floats: whether it may compute with floating-point numbers; None if unknown. Not part of
            documents.
    """

    name: str
    demangled: str
    kind: KernelKind
    location: SourceLocation | None
    registers: int | None = always(None)
    stack_frame: int | None = always(None)
    cumulative_stack: int | None = always(None)
    stack_known: bool
    linked_stack: int | None = always(None)
    spill_stores: int | None = always(None)
    spill_loads: int | None = always(None)
    shared: int | None = always(None)
    barriers: int | None = always(None)
    launch_bounds: LaunchBounds | None
    ptx: PtxFacts | None
    sass: SassSites | None
    sites: SiteSplit | None
    own_sites: SiteSplit | None
    lines: tuple[LineUse, ...]
    callees: tuple[FunctionFacts, ...]
    sources: Sources
    frame: tuple[FrameRange, ...]
    causes: tuple[CauseShare, ...]
    cost: float | None = always(None)
    findings: tuple[Finding, ...]
    objects: tuple[LocalObject, ...]
    calls: CallFacts | None
    launches: tuple[Launch, ...] = always(())
    run_time_sizes: tuple[str, ...] = always(())
    accesses: tuple[LocalAccess, ...] = NOT_GIVEN
    verdict: Verdict | None = None
    disagreements: tuple[Disagreement, ...]
    quotes: Quotes | None = None
    footprint: Footprint | None = always(None)
    occupancy: Occupancy | None = always(None)
    shared_variables: tuple[SharedVariable, ...] | None = None
    has_floats: bool | None = None
    language: LanguageName = "cpp"

    def __post_init__(self) -> None:
        """Compute the derived figures."""
        for name, figure in self._following().items():
            force_setattr(self, name, figure)

    def _following(self) -> dict[str, float | None]:
        ptxas = self.ptxas or _NO_PTXAS
        cubin = self.cubin or _NO_CUBIN
        spilled = spills_of(self.ptxas, self.own_sites)
        own = cubin.stack_frame if ptxas.stack_frame is None else ptxas.stack_frame
        deepest = ptxas.cumulative_stack
        return {
            "registers": cubin.registers if ptxas.registers is None else ptxas.registers,
            "stack_frame": own,
            "cumulative_stack": cubin.min_stack if deepest is None else deepest,
            "linked_stack": ptxas.linked_stack,
            "spill_stores": spilled[0],
            "spill_loads": spilled[1],
            # ptxas omits the figure if it is zero.
            "shared": ptxas.shared if self.ptxas is not None else cubin.shared or None,
            "barriers": ptxas.barriers,
            "cost": self._cost(bool(own) or (self.sass is not None and self.sass.count > 0)),
        }

    def _cost(self, uses_local_memory: bool) -> float | None:
        """What its local memory costs per warp (`CauseShare.cost`), summed over costly causes."""
        if uses_local_memory and not self.causes:
            return None
        found = [share.cost for share in self.causes if traits_of(share.cause).costly]
        known = [cost for cost in found if cost is not None]
        return round(sum(known), 2) if len(known) == len(found) else None

    @property
    def ptxas(self) -> PtxasFacts | None:
        """The ``ptxas -v`` report for its own body."""
        return self.sources.ptxas

    @property
    def cubin(self) -> CubinFacts | None:
        """The cubin's records for its own body."""
        return self.sources.cubin

    @property
    def counted(self) -> tuple[LocalAccess, ...]:
        """The ``LDL``/``STL`` accesses, which both ledgers count."""
        return tuple(one for one in self.accesses if not one.is_generic)

    @property
    def generic(self) -> tuple[LocalAccess, ...]:
        """``LD``/``ST`` whose generic address provably points to local memory: in no ledger."""
        return tuple(one for one in self.accesses if one.is_generic)

    @property
    def all_spill_stores(self) -> int | None:
        """Spill-store bytes, including the functions in its code section that it calls."""
        called = (spills_of(one.ptxas, one.sites)[0] for one in self.callees)
        return known_sum(self.spill_stores, *called)

    @property
    def all_spill_loads(self) -> int | None:
        """Spill-load bytes, including the functions in its code section that it calls."""
        called = (spills_of(one.ptxas, one.sites)[1] for one in self.callees)
        return known_sum(self.spill_loads, *called)

    @property
    def spill_bytes(self) -> int | None:
        """Spill stores and loads together; None if either is unknown."""
        return known_sum(self.spill_stores, self.spill_loads)

    @property
    def shares(self) -> tuple[CauseShare, ...]:
        """The ledger entries to judge, with the rest of a structure merged with its members."""
        return tuple(
            share
            for share in self.causes
            if share.object_index is None or self.objects[share.object_index].extent != "rest"
        )

    @property
    def is_made_otherwise(self) -> bool:
        """Whether its causes come from PTX that may not be the source of the machine code."""
        return any(one.reason in ("other-ptxas", "other-target") for one in self.disagreements)

    @property
    def home(self) -> str | None:
        """The file that defines it; None if unknown."""
        return self.location.file if self.location is not None else None

    def line_of(self, access: LocalAccess) -> SourceLocation | None:
        """The line to show for an access to a variable.

        It is in the file that declares or indexes the variable: for a function in a header, the
        line shown is in the header, not where the kernel calls the function.
        """
        found = self.objects[access.object] if access.object is not None else None
        declared = found.declared if found is not None else None
        indexed = found.index.location if found is not None and found.index is not None else None
        for shown in (indexed, declared):
            file = shown.file if shown is not None and not is_library(shown.file) else None
            places = (frame.location for frame in access.chain)
            own = next((one for one in places if one.line > 0 and one.file == file), None)
            if own is not None and (shown is declared or file != self.home):
                return own
        return access.line(self.home)

    @property
    def uses_local_memory(self) -> bool:
        """Whether there is local memory to explain: a frame, or ``LDL``/``STL``."""
        return bool(self.stack_frame) or (self.sass is not None and self.sass.count > 0)


class KernelReport(KernelFacts, frozen=True, kw_only=True):
    """A kernel's facts with what is derived from them; some parts only on request.

    Attributes:
        verdict: one line on the kernel.
        work: what one warp executes.
    """

    UNWRITTEN: ClassVar = ("work", "shared_variables", "has_floats", "language")

    verdict: Verdict
    work: Work | None = None

    @classmethod
    def of(
        cls,
        facts: KernelFacts,
        verdict: Verdict,
        findings: tuple[Finding, ...] = (),
        quotes: Quotes | None = None,
        work: Work | None = None,
    ) -> KernelReport:
        """The facts of a kernel, with judgements."""
        judged = {"verdict": verdict, "findings": findings, "quotes": quotes, "work": work}
        return cls(**{**asdict(facts), **judged})

    @property
    def facts(self) -> KernelFacts:
        """The kernel's facts alone."""
        return self

    def __repr__(self) -> str:
        return f"<KernelReport: {self.demangled}, {self.verdict.text}>"
