"""Facts about kernels and functions, as the toolchain reports them and the cubin contains them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from lmemscope.model.request import SiteKind, SourceLocation
from lmemscope.model.sites import SassSites, SiteClass


class LaunchBounds(Struct, frozen=True):
    """``__launch_bounds__``: maximum threads per block, minimum blocks per multiprocessor."""

    max_threads: int | None
    min_blocks: int | None


class SharedVariable(Struct, frozen=True):
    """A shared memory variable that a kernel uses.

    Attributes:
        name: mangled.
        alignment: the alignment requested by its declaration, in bytes.
        size: in bytes; None for dynamic shared memory.
        is_own: whether the kernel's own body declares it. ptxas places these first, in order.
    """

    name: str
    alignment: int
    size: int | None
    is_own: bool


class PtxFacts(Struct, frozen=True):
    """Local memory in a function's PTX, which ptxas may still promote to registers.

    Attributes:
        local_bytes: bytes per thread declared ``.local`` in the function.
        local_objects: number of stack objects, as far as the PTX separates them.
        ld_local, st_local: number of ``ld.local`` / ``st.local`` instructions.
        generic_local: number of generic ``ld``/``st`` whose address provably derives from
            ``cvta.local``.
        thread_dimensions: block dimensions that it reads through ``threadIdx`` or ``blockDim``.
        only_prints: whether it calls ``vprintf`` and has no other visible effect.
    """

    local_bytes: int
    local_objects: int
    ld_local: int
    st_local: int
    generic_local: int
    thread_dimensions: int = 1
    only_prints: bool = False


class LineUse(Struct, frozen=True):
    """Local memory instructions attributed to one source line.

    Attributes:
        file, line: the innermost line of the inline chain in the user's own file.
        kind: as in ``sites``.
        load_sites, store_sites: number of instructions.
        load_bytes, store_bytes: bytes accessed by these instructions.
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
        """The source line."""
        return SourceLocation(self.file, self.line)

    @property
    def sites(self) -> SiteClass:
        """Its load and store instructions."""
        return SiteClass(self.load_sites, self.store_sites, self.load_bytes, self.store_bytes)


class SiteSplit(Struct, frozen=True):
    """A function's ``LDL``/``STL`` sites, each in exactly one class.

    Attributes:
        spill: registers that ptxas stores in memory: spills, and registers saved across calls.
        local_object: accesses in the program: to variables, and to arguments on the stack.
        unknown: sites without a PTX line to classify them.
    """

    spill: SiteClass
    local_object: SiteClass
    unknown: SiteClass

    def __add__(self, other: SiteSplit) -> SiteSplit:
        """The sum of both, class by class."""
        return SiteSplit(
            self.spill + other.spill,
            self.local_object + other.local_object,
            self.unknown + other.unknown,
        )


class PtxasFacts(Struct, frozen=True):
    """What ``ptxas -v`` reports for one function: bytes per thread, and spill figures at sites.

    ``shared`` is static shared memory; in relocatable code it is taken from the PTX, because ptxas
    leaves that of templates and called functions to the linker. ``local`` is local memory as nvlink
    and very old toolkits print it. ``linked_stack`` is the deepest call path after linking, as
    nvlink prints it.
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
    """What the cubin's ``.nv.info`` records contain.

    ``min_stack`` is None if not statically known. ``max_registers`` is the register cap of the
    compilation (255: the architecture's own). ``shared_spills`` counts instructions that spill
    registers to shared memory. ``code_bytes`` is the size of the code section, including
    non-inlined functions and padding. ``shared`` is static shared memory, None if a linker lays it
    out.
    """

    registers: int | None
    stack_frame: int | None
    min_stack: int | None
    max_registers: int | None
    shared_spills: int = 0
    code_bytes: int | None = None
    shared: int | None = None


def spills_of(ptxas: PtxasFacts | None, sites: SiteSplit | None) -> tuple[int | None, int | None]:
    """Bytes of a function's spill stores and loads: from ptxas, else counted at its sites.

    Sites give no answer if an unclassified one may be a spill.
    """
    if ptxas is not None:
        return ptxas.spill_stores, ptxas.spill_loads
    if sites is None or sites.unknown.count:
        return None, None
    return sites.spill.store_bytes, sites.spill.load_bytes


class FunctionFacts(Struct, frozen=True):
    """A non-inlined function in a kernel's code section; ``sass`` counts its own sites only."""

    name: str
    demangled: str
    ptxas: PtxasFacts | None
    sass: SassSites | None
    sites: SiteSplit | None


class CallFacts(Struct, frozen=True):
    """The functions that a kernel can reach, and what makes its stack depth unknown.

    Attributes:
        reached: mangled names, sorted, without the kernel.
        recursive: functions that can reach themselves.
        cycles: the shortest call cycles among them, each once, in call order: ``f, g`` if ``f``
            calls ``g``, which calls ``f``.
        indirect: whether any call is through a pointer.
        with_local_memory: separately compiled functions (relocatable code) that use local memory;
            their sites are counted separately, not in the kernel's ledgers.
        external: functions defined in other translation units, sorted, whose local memory is
            unknown. Those of CUDA's device runtime (``vprintf``, ``malloc``) are not included.
        library: reached or linked functions that are defined in a library's file; sorted.
        endless: recursive functions that never return, because every path calls one of them again;
            sorted.
        pointed: functions that only calls through pointers can reach, and their callees: their
            address is taken, and their signature matches such a call; sorted.
        leads_out: whether a call through a pointer may reach a function defined elsewhere: none
            defined here fits, or another translation unit defines the variable that holds the
            pointer.
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
    cycles: tuple[tuple[str, ...], ...] = ()


DisagreementReason = Literal["called-frames", "other-ptxas", "other-target"]

_WHY: dict[DisagreementReason, str] = {
    "called-frames": "the cubin counts the frames of the functions that it calls",
    "other-target": "the PTX beside it is for a newer architecture",
    "other-ptxas": "another ptxas, or other options, assembled the PTX beside it",
}


class Disagreement(Struct, frozen=True, omit_defaults=True):
    """Two sources that should agree but do not; shown, never reconciled by force.

    Attributes:
        quantity: the quantity they disagree about.
        values: the value from each source.
        reason: why, if known. ``called-frames``: the cubin includes the frames of functions whose
            address is taken in their caller's frame. ``other-ptxas``: the installed ptxas produces
            different machine code from the PTX beside a cubin. ``other-target``: that PTX is for a
            newer architecture.
    """

    quantity: str
    values: dict[str, int]
    reason: DisagreementReason | None = None

    @property
    def said(self) -> str:
        """The value from each source, as text."""
        return _said(self.values.items()) + self.why

    @property
    def why(self) -> str:
        """The reason as text, to follow the values; empty if unknown."""
        return f" ({_WHY[self.reason]})" if self.reason is not None else ""


class LinkDisagreement(Struct, frozen=True):
    """As `Disagreement`, for the figures of a linked kernel.

    Attributes:
        quantity: the quantity they disagree about.
        values: the value from each source.
        reason: why, or None if unknown.
    """

    quantity: str
    values: tuple[tuple[str, int], ...]
    reason: DisagreementReason | None = None

    @property
    def said(self) -> str:
        """The value from each source, as text."""
        return _said(self.values) + (f" ({_WHY[self.reason]})" if self.reason is not None else "")


def _said(values: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{source} says {value}" for source, value in values)
