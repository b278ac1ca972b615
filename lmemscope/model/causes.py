"""Causes as facts: stack objects, accesses, frame ranges and the two ledgers."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from lmemscope.model.cause_table import Cause, FrameOwner
from lmemscope.model.document import NOT_GIVEN, always
from lmemscope.model.evidence import Evidence
from lmemscope.model.places import calling_line, reader_line
from lmemscope.model.request import (
    Confidence,
    InlineFrame,
    SourceKind,
    SourceLocation,
    Uniformity,
)
from lmemscope.model.sites import SiteClass

_OF_CALLS = frozenset({"math-slow-path", "printf-args"})
"""Causes whose accesses a library makes for a call in the user's code, wherever it is inlined."""

Extent = Literal["whole", "part", "rest"]
"""How much of a variable lies in the frame.

``whole``: all of it. ``part``: the compiler keeps the rest in registers or eliminates it. ``rest``:
what remains of a structure whose other members are separate objects.
"""


class IndexSource(Struct, frozen=True):
    """A leaf of an index expression: the origin of a value, and its name in the source.

    Attributes:
        kind, name: as in the documents; the name is the source's own if it is known. ``copy``: a
            ``memcpy`` or ``memset`` of run-time length, which becomes a loop over bytes.
        position: of a parameter, from 0.
        constant_trip: for a loop counter, whether the loop's trip count has a known maximum.
    """

    kind: SourceKind
    name: str | None
    position: int | None = None
    constant_trip: bool | None = None


class IndexFacts(Struct, frozen=True):
    """How an object is indexed at run time.

    Attributes:
        expression: the index as written in the source, or None.
        sources: leaves of the index, and `trip_sources`; sorted.
        uniformity: its uniformity across the lanes of a warp; if several such expressions are on
            the line, that of the least uniform.
        loop: line of the loop, if the index is just that loop's counter.
        location: the line to look at, which contains the expression: of the lines whose index
            decides, the one whose accesses move most, loops counted.
        other_sources: leaves of the object's other indices, sorted.
        other_uniformity: the least uniformity of the object's other accesses, if lower; else None.
        written_out: number of PTX instructions that `loop` would have if fully unrolled; None if
            unknown.
        trip_sources: values that are not part of the index, but make lanes leave its loops in
            different iterations; sorted.
        alternatives: indices as written, in source order, if the line has several and it is unknown
            which one is meant.
        called_from: the line of the kernel's file that calls the code at `location`, if that is in
            another of the user's files.
        chosen_by: values that select which of several objects a pointer leads to; not part of the
            index.
    """

    expression: str | None
    sources: tuple[IndexSource, ...]
    uniformity: Uniformity
    loop: SourceLocation | None
    location: SourceLocation | None = None
    other_sources: tuple[IndexSource, ...] = ()
    other_uniformity: Uniformity | None = None
    written_out: int | None = None
    trip_sources: tuple[IndexSource, ...] = ()
    alternatives: tuple[str, ...] = ()
    called_from: SourceLocation | None = None
    chosen_by: tuple[IndexSource, ...] = ()

    @property
    def all_sources(self) -> tuple[IndexSource, ...]:
        """Leaves of all of the object's places: whatever removes it has to deal with each."""
        return tuple(sorted({*self.made_of, *self.other_sources, *self.chosen_by}, key=str))

    @property
    def made_of(self) -> tuple[IndexSource, ...]:
        """Leaves of the quoted index, without `trip_sources`."""
        return tuple(one for one in self.sources if one not in self.trip_sources)

    @property
    def least_uniform(self) -> Uniformity:
        """The least uniformity among all of the object's indices."""
        return self.other_uniformity or self.uniformity


class LocalObject(Struct, frozen=True, omit_defaults=True):
    """A variable or compiler temporary in a function's stack frame.

    Attributes:
        function: mangled name of the PTX function that owns it.
        offset: bytes from the start of that function's PTX depot.
        size: bytes per thread; includes padding before the next object if it cannot be told apart.
        cause: why it is in memory.
        name, type, declared: from the debug compilation's DWARF; None if unknown.
        confidence: how certain the name is; None without a name.
        index: how it is indexed, if dynamically.
        evidence: the evidence for the cause as sentences, whose wording may change; filled in on
            output.
        escape: the line that passes its address to a function or stores it; None if none does.
        also: other causes, each of which alone would keep it in memory. Its bytes count for
            ``cause`` only; removing that cause leaves these.
        called_from: the user's lines that call the function that owns it, if that is a library
            function without line information; sorted.
        type_size: bytes of ``type``; None if unknown.
        extent: how much of ``type_size`` ``size`` covers.
        handed_at: the lines of all calls that receive its address; sorted.
        evidence_facts: PTX lines and symbols that prove the cause; absent in documents of earlier
            versions.
        is_alike: whether every store writes the same value in all lanes; absent if not.
    """

    function: str
    offset: int
    size: int
    cause: Cause
    name: str | None
    type: str | None
    declared: SourceLocation | None
    confidence: Confidence | None
    index: IndexFacts | None
    evidence: tuple[str, ...]
    escape: SourceLocation | None = always(None)
    also: tuple[Cause, ...] = always(())
    called_from: tuple[SourceLocation, ...] = always(())
    type_size: int | None = always(None)
    extent: Extent | None = always(None)
    handed_at: tuple[SourceLocation, ...] = always(())
    evidence_facts: tuple[Evidence, ...] = NOT_GIVEN
    is_alike: bool = False

    @property
    def span(self) -> int:
        """Size of the depot range, from ``offset``, that contains its own bytes."""
        return max(self.size, self.type_size or 0) if self.extent == "rest" else self.size


class LocalAccess(Struct, frozen=True, omit_defaults=True):
    """One local memory access, with its cause.

    Attributes:
        pc: byte offset in the kernel's code section.
        opcode: the SASS opcode.
        is_store, width: direction, and bytes per thread.
        function: mangled name of the function that contains the instruction (before inlining is
            undone).
        ptx_line: line in the PTX text, or None.
        chain: source locations, innermost first; empty without line information.
        loop_depth: number of enclosing loops of the program, from the machine code, or from the PTX
            if that does not tell. For a function without line information, loops around its call.
            None if unknown.
        cause: exactly one.
        object: index into the kernel's objects; if it may touch several, the first if they share
            one cause. None if there is none, or if their causes differ.
        uniformity: whether all lanes of a warp use one address.
        sectors: maximum sectors per request of a full warp (docs/local-memory.md), or None.
        requests: number of requests, one per 32-bit word.
        evidence: the evidence for the cause as sentences, whose wording may change; filled in on
            output.
        others: further objects it may touch, if its pointer is selected at run time, or does touch,
            if it is joined.
        library_loops: additional enclosing loops inside a library function that its line calls.
        evidence_facts: the evidence for the cause; absent in documents of earlier versions.
        generic: whether it is an ``LD``/``ST`` whose generic address provably points to local
            memory; in neither ledger. Absent in documents of earlier versions, where the opcode
            tells.
        joined: whether it moves bytes of all its objects: ptxas joins neighbouring accesses.
    """

    pc: int
    opcode: str
    is_store: bool
    width: int
    function: str
    ptx_line: int | None
    chain: tuple[InlineFrame, ...]
    loop_depth: int | None
    cause: Cause
    object: int | None
    uniformity: Uniformity
    sectors: int | None
    requests: int
    evidence: tuple[str, ...]
    others: tuple[int, ...] = always(())
    library_loops: int = always(0)
    evidence_facts: tuple[Evidence, ...] = NOT_GIVEN
    generic: bool | None = None
    joined: bool = always(False)

    @property
    def is_generic(self) -> bool:
        """Whether it is an ``LD``/``ST``: local because of its address, not its opcode."""
        if self.generic is not None:
            return self.generic
        return not self.opcode.startswith(("LDL", "STL"))

    def line(self, home: str | None) -> SourceLocation | None:
        """The line to show to a reader; for an access in library code, the line of the call.

        Args:
            home: the file that defines the kernel; None if unknown.
        """
        if self.cause in _OF_CALLS:
            return calling_line(self.chain)
        return reader_line(self.chain, home)

    @property
    def touched(self) -> tuple[int, ...]:
        """All objects it may touch."""
        return self.others if self.object is None else (self.object, *self.others)


class FrameRange(Struct, frozen=True):
    """A range of the kernel's stack frame, and its owner.

    Attributes:
        offset, size: bytes per thread; the ranges of a frame are contiguous.
        owner: what it contains.
        cause: the cause; None for padding.
        object, type, declared: name, type and declaration of the object, if known.
        object_index: index into ``objects``, or None.
    """

    offset: int
    size: int
    owner: FrameOwner
    cause: Cause | None
    object: str | None
    object_index: int | None
    type: str | None
    declared: SourceLocation | None

    @classmethod
    def of(
        cls,
        offset: int,
        size: int,
        owner: FrameOwner,
        cause: Cause | None,
        object_: tuple[int, LocalObject] | None = None,
    ) -> FrameRange:
        """A range; if an object owns it, with its index in the kernel and the object."""
        if object_ is None:
            return cls(offset, size, owner, cause, None, None, None, None)
        number, found = object_
        return cls(offset, size, owner, cause, found.name, number, found.type, found.declared)


class CauseShare(Struct, frozen=True, omit_defaults=True):
    """One ledger entry: frame bytes and site bytes of one cause and object.

    Attributes:
        cause: as in the documents.
        object: the object's name, if known.
        object_index: index into ``objects``, or None.
        frame_bytes: bytes per thread.
        load_sites, store_sites: number of instructions.
        load_bytes, store_bytes: bytes accessed by these instructions.
        location: the line of a cause without bytes, such as a launch, of an ``alloca``, or of the
            call if the bytes are in functions called through a pointer; else absent.
        cost: modelled cycles that its accesses take on a multiprocessor per launched warp, with
            loops counted (docs/fix.md); None if unknown.
    """

    cause: Cause
    object: str | None
    object_index: int | None
    frame_bytes: int
    load_sites: int
    store_sites: int
    load_bytes: int
    store_bytes: int
    location: SourceLocation | None = None
    cost: float | None = always(None)

    @classmethod
    def of(
        cls,
        cause: Cause,
        object_: tuple[int, LocalObject] | None,
        frame_bytes: int,
        sites: SiteClass,
        location: SourceLocation | None = None,
        cost: float | None = None,
    ) -> CauseShare:
        """An entry; if an object owns its bytes, with its index in the kernel and the object."""
        number, name = (None, None) if object_ is None else (object_[0], object_[1].name)
        counts = asdict(sites)
        return cls(cause, name, number, frame_bytes, **counts, location=location, cost=cost)

    @property
    def sites(self) -> SiteClass:
        """Its load and store instructions."""
        return SiteClass(self.load_sites, self.store_sites, self.load_bytes, self.store_bytes)

    def with_bytes(self, frame_bytes: int, sites: SiteClass) -> CauseShare:
        """The same entry with other byte counts."""
        return replace(self, frame_bytes=frame_bytes, **asdict(sites))

    def concerns(self, access: LocalAccess) -> bool:
        """Whether an access belongs to this entry, or may: each byte is counted once.

        A joined access has one source line, that of its first object's access.
        """
        if self.object_index is None:
            return (access.cause, access.object) == (self.cause, None)
        touched = (access.object,) if access.joined else access.touched
        return self.object_index in touched
