"""Facts: what the toolchain said, what the bytes of a cubin say."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from lmemscope.model.cause_table import traits_of
from lmemscope.model.causes import CauseShare, FrameRange, LocalAccess, LocalObject
from lmemscope.model.launches import Launch
from lmemscope.model.request import KernelKind, SiteKind, SourceLocation
from lmemscope.model.sites import SiteClass, known_sum


class LaunchBounds(Struct, frozen=True):
    """``__launch_bounds__``: threads per block at most, blocks per multiprocessor at least."""

    max_threads: int | None
    min_blocks: int | None


class SharedVariable(Struct, frozen=True):
    """A variable in shared memory that a kernel uses.

    Attributes:
        name: mangled.
        alignment: that its declaration asks for, in bytes.
        size: in bytes; None of dynamic shared memory.
        is_own: whether the kernel's own body declares it. ptxas puts these first, in their order.
    """

    name: str
    alignment: int
    size: int | None
    is_own: bool


class PtxFacts(Struct, frozen=True):
    """What the PTX of a function shows. ptxas may keep all of it in registers in the end.

    Attributes:
        local_bytes: bytes per thread declared ``.local`` in the function.
        local_objects: stack objects, as far as the PTX delimits them.
        ld_local, st_local: number of ``ld.local`` / ``st.local`` instructions.
        generic_local: generic ``ld``/``st`` whose address provably derives from ``cvta.local``.
        thread_dimensions: dimensions of a block that it asks for, by ``threadIdx`` or ``blockDim``.
        only_prints: whether it calls ``vprintf``, and nobody can see anything else that it does.
    """

    local_bytes: int
    local_objects: int
    ld_local: int
    st_local: int
    generic_local: int
    thread_dimensions: int = 1
    only_prints: bool = False


class LineUse(Struct, frozen=True):
    """Local-memory instructions that one source line is responsible for.

    Attributes:
        file, line: the innermost line of the inline chain that lies in the user's own file.
        kind: as in ``sites``.
        load_sites, store_sites: instructions.
        load_bytes, store_bytes: bytes at these instructions.
    """

    file: str
    line: int
    kind: SiteKind
    load_sites: int
    store_sites: int
    load_bytes: int
    store_bytes: int

    @classmethod
    def of(cls, place: SourceLocation, kind: SiteKind, sites: SiteClass) -> LineUse:
        """The sites of one kind at a line."""
        return cls(
            place.file,
            place.line,
            kind,
            sites.load_sites,
            sites.store_sites,
            sites.load_bytes,
            sites.store_bytes,
        )

    @property
    def location(self) -> SourceLocation:
        """The line."""
        return SourceLocation(self.file, self.line)

    @property
    def sites(self) -> SiteClass:
        """Its instructions."""
        return SiteClass(self.load_sites, self.store_sites, self.load_bytes, self.store_bytes)


class SiteSplit(Struct, frozen=True):
    """Every ``LDL``/``STL`` site of a function in exactly one class; the classes add up to all.

    Attributes:
        spill: registers that ptxas keeps in memory: spills, and what is saved across calls.
        local_object: the program's own accesses: its variables, and what calls pass on the stack.
        unknown: no PTX line to tell by.
    """

    spill: SiteClass
    local_object: SiteClass
    unknown: SiteClass

    def __add__(self, other: SiteSplit) -> SiteSplit:
        """Both together, class by class."""
        return SiteSplit(
            self.spill + other.spill,
            self.local_object + other.local_object,
            self.unknown + other.unknown,
        )


class PtxasFacts(Struct, frozen=True):
    """What ``ptxas -v`` reports for one function; bytes per thread, spill figures at sites.

    ``shared`` is static shared memory; of code that is linked later, what the PTX has of it, for
    ptxas leaves a template's and that of called functions to the linker.
    ``local`` is local memory as nvlink and very old toolkits print it; ``linked_stack`` the deepest
    call path after linking, as nvlink prints it.
    """

    registers: int | None
    stack_frame: int | None
    spill_stores: int | None
    spill_loads: int | None
    cumulative_stack: int | None
    shared: int | None
    barriers: int | None
    local: int | None = None
    linked_stack: int | None = None


class CubinFacts(Struct, frozen=True):
    """What the cubin's ``.nv.info`` records say.

    ``min_stack`` is None where not statically known; ``max_registers`` is the register cap that
    the kernel was compiled under (255: the architecture's own); ``shared_spills`` counts
    instructions that spill registers to shared memory; ``code_bytes`` is the size of the code
    section, functions that were not inlined and padding included.
    """

    registers: int | None
    stack_frame: int | None
    min_stack: int | None
    max_registers: int | None
    shared_spills: int = 0
    code_bytes: int | None = None


def _spills(ptxas: PtxasFacts | None, sites: SiteSplit | None) -> tuple[int | None, int | None]:
    """Bytes of a function's spill stores and loads: ptxas's figures, else those at its sites.

    The sites do not tell where one of them may be a spill.
    """
    if ptxas is not None:
        return ptxas.spill_stores, ptxas.spill_loads
    if sites is None or sites.unknown.count:
        return None, None
    return sites.spill.store_bytes, sites.spill.load_bytes


class FunctionFacts(Struct, frozen=True):
    """A non-inlined function inside a kernel's section; ``sass`` counts its own sites."""

    name: str
    demangled: str
    ptxas: PtxasFacts | None
    sass: SiteClass | None
    sites: SiteSplit | None


class CallFacts(Struct, frozen=True):
    """Functions that a kernel reaches, and what makes the stack depth unknowable.

    Attributes:
        reached: mangled names, sorted, the kernel aside.
        recursive: those that reach themselves.
        indirect: whether any call goes through a pointer.
        with_local_memory: separately compiled ones (relocatable code) that use local memory:
            their sites are counted on their own, not in the kernel's ledgers.
        external: functions that other translation units define, sorted; what they use is not
            known. Those of CUDA's own device runtime (``vprintf``, ``malloc``) are not among them.
        library: those that a library's file defines, of the ones reached or linked with the kernel;
            sorted.
        endless: recursive ones of which every path calls one of them again, so that no call of them
            returns; sorted.
        pointed: those that only calls through pointers can reach, and what these call: their
            address is taken, and they take and return what such a call says; sorted.
        leads_out: whether a call through a pointer may be of a function elsewhere: none that is
            defined here fits, or another translation unit defines the variable with the pointer.
    """

    reached: tuple[str, ...]
    recursive: tuple[str, ...]
    indirect: bool
    with_local_memory: tuple[str, ...] = ()
    external: tuple[str, ...] = ()
    library: tuple[str, ...] = ()
    endless: tuple[str, ...] = ()
    pointed: tuple[str, ...] = ()
    leads_out: bool = False


DisagreementReason = Literal["called-frames", "other-ptxas", "other-target"]

_WHY: dict[DisagreementReason, str] = {
    "called-frames": "the cubin counts the frames of the functions that it calls",
    "other-target": "the PTX beside it is for a newer architecture",
    "other-ptxas": "another ptxas, or other options, assembled the PTX beside it",
}


class Disagreement(Struct, frozen=True):
    """Two sources that should say the same and do not: shown, never forced to agree.

    Attributes:
        quantity: what they disagree on.
        values: what each source says.
        reason: why, or None where it is not known. ``called-frames``: a cubin counts the
            frames of functions whose address is taken into their caller's own. ``other-ptxas``:
            the installed ptxas makes other machine code of the PTX that is beside a cubin.
            ``other-target``: that PTX is for a newer architecture.
    """

    quantity: str
    values: tuple[tuple[str, int], ...]
    reason: DisagreementReason | None = None

    @property
    def said(self) -> str:
        """What each source says, in words."""
        return ", ".join(f"{source} says {value}" for source, value in self.values) + self.why

    @property
    def why(self) -> str:
        """The reason in words, behind the values; empty where it is not known."""
        return f" ({_WHY[self.reason]})" if self.reason is not None else ""


class KernelFacts(Struct, frozen=True):
    """One kernel, every source side by side.

    Attributes:
        name: mangled name; with the unit's input and architecture it identifies the kernel.
        demangled: as C++ writes it; equals ``name`` where it cannot be demangled.
        kind: ``entry`` for ``__global__``, ``function`` for separately compiled device functions.
        location: where the kernel is defined, as far as line information tells.
        stack_known: False when the stack depth is not statically known (recursion, indirect calls).
        launch_bounds: from the PTX's ``.maxntid``/``.minnctapersm``.
        ptxas, cubin, ptx: the three layers, for the kernel's own body.
        sass, sites: over the whole section, non-inlined functions included; ``own_sites`` without
            them.
        lines: source lines behind the sites, most site bytes first.
        callees: non-inlined functions inside the kernel's section, sorted by name.
        disagreements: sources that contradict each other.
        objects: stack objects, by function and offset.
        accesses: every site with its cause, in address order.
        generic: ``LD``/``ST`` whose generic address provably is a local one: local memory too,
            but in neither ledger, which count ``LDL``/``STL``.
        frame: ranges that add up to the kernel's stack frame.
        causes: both ledgers, sorted by site bytes.
        calls: the call graph below the kernel, as far as PTX shows it.
        launches: what it launches from the device, itself or in functions that it reaches.
        run_time_sizes: what computes the size of each ``alloca``, as text that can be compared.
        shared: variables in shared memory, those of the kernel's own body first; None where ptxas
            does not decide their places, or nothing shows them.
        has_floats: whether it may compute with floating-point numbers; None where nothing tells.
    """

    name: str
    demangled: str
    kind: KernelKind
    location: SourceLocation | None
    stack_known: bool
    launch_bounds: LaunchBounds | None
    ptxas: PtxasFacts | None
    cubin: CubinFacts | None
    ptx: PtxFacts | None
    sass: SiteClass | None
    sites: SiteSplit | None
    own_sites: SiteSplit | None
    lines: tuple[LineUse, ...]
    callees: tuple[FunctionFacts, ...]
    disagreements: tuple[Disagreement, ...]
    objects: tuple[LocalObject, ...] = ()
    accesses: tuple[LocalAccess, ...] = ()
    generic: tuple[LocalAccess, ...] = ()
    frame: tuple[FrameRange, ...] = ()
    causes: tuple[CauseShare, ...] = ()
    calls: CallFacts | None = None
    launches: tuple[Launch, ...] = ()
    run_time_sizes: tuple[str, ...] = ()
    shared: tuple[SharedVariable, ...] | None = None
    has_floats: bool | None = None

    @property
    def registers(self) -> int | None:
        """Registers per thread; ptxas's figure, else the cubin's."""
        if self.ptxas is not None and self.ptxas.registers is not None:
            return self.ptxas.registers
        return self.cubin.registers if self.cubin is not None else None

    @property
    def stack_frame(self) -> int | None:
        """The kernel's own stack frame in bytes per thread; ptxas's figure, else the cubin's."""
        if self.ptxas is not None and self.ptxas.stack_frame is not None:
            return self.ptxas.stack_frame
        return self.cubin.stack_frame if self.cubin is not None else None

    @property
    def cumulative_stack(self) -> int | None:
        """Bytes per thread of the deepest call path; None where not printed or not known."""
        if self.ptxas is not None and self.ptxas.cumulative_stack is not None:
            return self.ptxas.cumulative_stack
        return self.cubin.min_stack if self.cubin is not None else None

    @property
    def spill_stores(self) -> int | None:
        """Spill-store bytes of the kernel's own body: ptxas's figure, else that of its sites."""
        return _spills(self.ptxas, self.own_sites)[0]

    @property
    def spill_loads(self) -> int | None:
        """Spill-load bytes of the kernel's own body: ptxas's figure, else that of its sites."""
        return _spills(self.ptxas, self.own_sites)[1]

    @property
    def all_spill_stores(self) -> int | None:
        """Spill-store bytes with those of the functions in its code section, which it calls."""
        called = (_spills(one.ptxas, one.sites)[0] for one in self.callees)
        return known_sum(self.spill_stores, *called)

    @property
    def all_spill_loads(self) -> int | None:
        """Spill-load bytes with those of the functions in its code section, which it calls."""
        called = (_spills(one.ptxas, one.sites)[1] for one in self.callees)
        return known_sum(self.spill_loads, *called)

    @property
    def spill_bytes(self) -> int | None:
        """Spill stores and loads together; None where either is not known."""
        return known_sum(self.spill_stores, self.spill_loads)

    @property
    def cost(self) -> float | None:
        """What its local memory costs a warp (`CauseShare.cost`), all costly causes together.

        None where not known.
        """
        if self.uses_local_memory and not self.causes:
            return None
        found = [share.cost for share in self.causes if traits_of(share.cause).costly]
        known = [cost for cost in found if cost is not None]
        return round(sum(known), 2) if len(known) == len(found) else None

    @property
    def shares(self) -> tuple[CauseShare, ...]:
        """The ledgers' lines to judge: what is left beside a structure's members goes with them."""
        return tuple(
            share
            for share in self.causes
            if share.object is None or self.objects[share.object].extent != "rest"
        )

    @property
    def is_made_otherwise(self) -> bool:
        """Whether its causes were found in PTX that may not be what it was assembled from."""
        return any(one.reason in ("other-ptxas", "other-target") for one in self.disagreements)

    @property
    def home(self) -> str | None:
        """The file that defines it; None where not known."""
        return self.location.file if self.location is not None else None

    @property
    def uses_local_memory(self) -> bool:
        """Whether there is any local memory to explain: a frame, or ``LDL``/``STL``."""
        return bool(self.stack_frame) or (self.sass is not None and self.sass.count > 0)
