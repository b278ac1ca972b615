"""A kernel: what is known of it, and with what follows from that."""

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
    """Each source's own figures of a kernel's own body, so that nothing is lost by choosing one.

    Attributes:
        ptxas: what ``ptxas -v`` says.
        cubin: what the records of the cubin say.
    """

    ptxas: PtxasFacts | None
    cubin: CubinFacts | None


_NO_PTXAS = PtxasFacts(None, None, None, None, None, None, None)
_NO_CUBIN = CubinFacts(None, None, None, None)


class KernelFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One kernel: figures, ledgers and every source side by side.

    Figures that follow from others, as ``registers`` from ``sources``, are made with the structure,
    whatever is given for them. What is judged is in a `KernelReport`.

    Attributes:
        name: mangled; with the unit's input and architecture it identifies the kernel.
        demangled: as C++ writes it; equals ``name`` where it cannot be demangled.
        kind: ``entry`` for ``__global__``, ``function`` for separately compiled device functions.
        location: of its definition, as far as line information tells.
        registers, stack_frame: of the kernel's own body; ptxas's figure, else the cubin's.
        cumulative_stack: bytes per thread of the deepest call path.
        linked_stack: bytes per thread of the deepest call path after linking, as nvlink prints it.
        stack_known: False where the depth is not statically known (recursion, indirect calls).
        spill_stores, spill_loads: bytes of its own body: ptxas's figures, else those of its sites.
        shared, barriers: as ``ptxas -v`` says.
        launch_bounds: of ``__launch_bounds__``, from the PTX's ``.maxntid``/``.minnctapersm``.
        ptx: before ptxas.
        sass, sites: of the whole section, non-inlined functions included.
        own_sites: of the kernel's own body.
        lines: source lines behind the sites, most site bytes first.
        callees: non-inlined functions in the kernel's section, sorted by name.
        sources: each source's own figures.
        frame: ranges that add up to ``stack_frame``.
        causes: both ledgers, sorted by site bytes.
        cost: of all causes but those of messages and launches; None where not known.
        findings: the causes judged.
        objects: stack objects, by function and offset.
        calls: the call graph below the kernel, as far as PTX shows it.
        launches: what it launches from the device, itself or in functions that it reaches.
        run_time_sizes: what computes the size of each ``alloca``, as text that can be compared.
        accesses: every single access, in address order, those by generic addresses last; absent
            where they were left out.
        verdict: one line on the kernel.
        disagreements: sources that contradict each other.
        quotes: lines of the artefacts behind the findings; absent where they were not asked for.
        footprint: device memory that the driver reserves for it; None where no GPU was named.
        occupancy: for the block that a launch in sight or launch bounds say, else the best one;
            None of functions, and where registers or the architecture's limits are not known.
        shared_variables: in shared memory, those of the kernel's own body first; None where ptxas
            does not decide their places, or nothing shows them. No document holds them.
        language: of its source. No document holds it: findings say what follows.
        has_floats: whether it may compute with floating-point numbers; None where nothing tells.
            No document holds it.
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
        """Make the figures that follow from others."""
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
            # ptxas names none where there is none.
            "shared": ptxas.shared if self.ptxas is not None else cubin.shared or None,
            "barriers": ptxas.barriers,
            "cost": self._cost(bool(own) or (self.sass is not None and self.sass.count > 0)),
        }

    def _cost(self, uses_local_memory: bool) -> float | None:
        """What its local memory costs a warp (`CauseShare.cost`), all costly causes together."""
        if uses_local_memory and not self.causes:
            return None
        found = [share.cost for share in self.causes if traits_of(share.cause).costly]
        known = [cost for cost in found if cost is not None]
        return round(sum(known), 2) if len(known) == len(found) else None

    @property
    def ptxas(self) -> PtxasFacts | None:
        """What ``ptxas -v`` says of its own body."""
        return self.sources.ptxas

    @property
    def cubin(self) -> CubinFacts | None:
        """What the records of the cubin say of its own body."""
        return self.sources.cubin

    @property
    def counted(self) -> tuple[LocalAccess, ...]:
        """The ``LDL``/``STL``, which both ledgers count."""
        return tuple(one for one in self.accesses if not one.is_generic)

    @property
    def generic(self) -> tuple[LocalAccess, ...]:
        """``LD``/``ST`` whose generic address provably is a local one: in neither ledger."""
        return tuple(one for one in self.accesses if one.is_generic)

    @property
    def all_spill_stores(self) -> int | None:
        """Spill-store bytes with those of the functions in its code section, which it calls."""
        called = (spills_of(one.ptxas, one.sites)[0] for one in self.callees)
        return known_sum(self.spill_stores, *called)

    @property
    def all_spill_loads(self) -> int | None:
        """Spill-load bytes with those of the functions in its code section, which it calls."""
        called = (spills_of(one.ptxas, one.sites)[1] for one in self.callees)
        return known_sum(self.spill_loads, *called)

    @property
    def spill_bytes(self) -> int | None:
        """Spill stores and loads together; None where either is not known."""
        return known_sum(self.spill_stores, self.spill_loads)

    @property
    def shares(self) -> tuple[CauseShare, ...]:
        """The ledgers' lines to judge: what is left beside a structure's members goes with them."""
        return tuple(
            share
            for share in self.causes
            if share.object_index is None or self.objects[share.object_index].extent != "rest"
        )

    @property
    def is_made_otherwise(self) -> bool:
        """Whether its causes were found in PTX that may not be what it was assembled from."""
        return any(one.reason in ("other-ptxas", "other-target") for one in self.disagreements)

    @property
    def home(self) -> str | None:
        """The file that defines it; None where not known."""
        return self.location.file if self.location is not None else None

    def line_of(self, access: LocalAccess) -> SourceLocation | None:
        """The line that a reader of an access's variable is sent to.

        It is in the file that declares the variable, or that indexes it: what a header's function
        does with its own, and with what it is given, is shown there, and not where the kernel calls
        it.
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
        """Whether there is any local memory to explain: a frame, or ``LDL``/``STL``."""
        return bool(self.stack_frame) or (self.sass is not None and self.sass.count > 0)


class KernelReport(KernelFacts, frozen=True, kw_only=True):
    """A kernel's facts and what follows from them; the rest where it was asked for.

    Attributes:
        verdict: one line on the kernel.
        work: what a warp of it does.
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
        """The facts of a kernel, judged."""
        judged = {"verdict": verdict, "findings": findings, "quotes": quotes, "work": work}
        return cls(**{**asdict(facts), **judged})

    @property
    def facts(self) -> KernelFacts:
        """The kernel, for those who judge it."""
        return self

    def __repr__(self) -> str:
        return f"<KernelReport: {self.demangled}, {self.verdict.text}>"
