"""Facts: what the toolchain said, what the bytes of a cubin say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from lmemscope.model.request import SiteKind, SourceLocation
from lmemscope.model.sites import SassSites, SiteClass


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
    section, functions that were not inlined and padding included; ``shared`` is static shared
    memory, None where a linker lays it out.
    """

    registers: int | None
    stack_frame: int | None
    min_stack: int | None
    max_registers: int | None
    shared_spills: int = 0
    code_bytes: int | None = None
    shared: int | None = None


def spills_of(ptxas: PtxasFacts | None, sites: SiteSplit | None) -> tuple[int | None, int | None]:
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
    sass: SassSites | None
    sites: SiteSplit | None


class CallFacts(Struct, frozen=True):
    """Functions that a kernel reaches, and what makes the stack depth unknowable.

    Attributes:
        reached: mangled names, sorted, the kernel aside.
        recursive: those that reach themselves.
        cycles: the shortest ways on which they do, each once, in the order of the calls: ``f, g``
            where ``f`` calls ``g``, and that calls ``f``.
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
    cycles: tuple[tuple[str, ...], ...] = ()


DisagreementReason = Literal["called-frames", "other-ptxas", "other-target"]

_WHY: dict[DisagreementReason, str] = {
    "called-frames": "the cubin counts the frames of the functions that it calls",
    "other-target": "the PTX beside it is for a newer architecture",
    "other-ptxas": "another ptxas, or other options, assembled the PTX beside it",
}


class Disagreement(Struct, frozen=True, omit_defaults=True):
    """Two sources that should say the same and do not: shown, never forced to agree.

    Attributes:
        quantity: what they disagree on.
        values: what each source says.
        reason: why, where it is known. ``called-frames``: a cubin counts the
            frames of functions whose address is taken into their caller's own. ``other-ptxas``:
            the installed ptxas makes other machine code of the PTX that is beside a cubin.
            ``other-target``: that PTX is for a newer architecture.
    """

    quantity: str
    values: dict[str, int]
    reason: DisagreementReason | None = None

    @property
    def said(self) -> str:
        """What each source says, in words."""
        return _said(self.values.items()) + self.why

    @property
    def why(self) -> str:
        """The reason in words, behind the values; empty where it is not known."""
        return f" ({_WHY[self.reason]})" if self.reason is not None else ""


class LinkDisagreement(Struct, frozen=True):
    """As `Disagreement`, of the sources of a linked kernel's figures.

    Attributes:
        quantity: what they disagree on.
        values: what each source says.
        reason: why, or None where it is not known.
    """

    quantity: str
    values: tuple[tuple[str, int], ...]
    reason: DisagreementReason | None = None

    @property
    def said(self) -> str:
        """What each source says, in words."""
        return _said(self.values) + (f" ({_WHY[self.reason]})" if self.reason is not None else "")


def _said(values: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{source} says {value}" for source, value in values)
