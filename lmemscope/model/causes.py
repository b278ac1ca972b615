"""Causes as facts: objects, accesses, the frame and the ledgers."""

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
"""Causes whose accesses a library makes for a call of the user's, wherever that is inlined."""

Extent = Literal["whole", "part", "rest"]
"""What of a variable lies in the frame.

``whole``: all of it. ``part``: the compiler keeps the rest in registers, or has none of it.
``rest``: what is left of a structure beside members that are objects of their own.
"""


class IndexSource(Struct, frozen=True):
    """A leaf of an index: where it comes from, and under which name an author knows it.

    Attributes:
        kind, name: of the contract; the name is the source's own where it is known. ``copy``: a
            ``memcpy`` or ``memset`` of run-time length, which becomes a loop over bytes.
        position: of a parameter, from 0.
        constant_trip: of a loop counter: whether the loop's trip count has a known maximum.
    """

    kind: SourceKind
    name: str | None
    position: int | None = None
    constant_trip: bool | None = None


class IndexFacts(Struct, frozen=True):
    """How an object is indexed at run time.

    Attributes:
        expression: the index as written in the source, or None.
        sources: what it is made of, and `trip_sources`; sorted.
        uniformity: its own across the lanes of a warp; of several that are written alike on that
            line the least uniform.
        loop: line of the loop whose counter it is, where that is all it is.
        location: the line to look at: of those whose index decides, the one whose accesses move
            most, loops counted; the expression stands there.
        other_sources: what the object's other indices are made of beside, sorted.
        other_uniformity: the least uniform of the object's other accesses, where that is less
            uniform; else None.
        written_out: PTX instructions that `loop` would be if each iteration stood for itself; None
            where that is not known.
        trip_sources: what it is not made of, but what lets lanes leave the loops that it counts in
            different iterations; sorted.
        alternatives: indices as written, where several stand on the line and nothing tells which
            one it is; in the order of the text.
        called_from: the line of the kernel's file that calls the code of `location`, where that is
            in another file of the user's.
        chosen_by: what decides which of several objects a pointer leads to; no part of the index.
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
        """What all of the object's places are made of: what removes it has to do with each."""
        return tuple(sorted({*self.made_of, *self.other_sources, *self.chosen_by}, key=str))

    @property
    def made_of(self) -> tuple[IndexSource, ...]:
        """What the quoted index is made of, without `trip_sources`."""
        return tuple(one for one in self.sources if one not in self.trip_sources)

    @property
    def least_uniform(self) -> Uniformity:
        """Of all of the object's indices."""
        return self.other_uniformity or self.uniformity


class LocalObject(Struct, frozen=True, omit_defaults=True):
    """A variable, or what the compiler made like one, in a function's stack frame.

    Attributes:
        function: mangled name of the PTX function that owns it.
        offset: bytes from the start of that function's PTX depot.
        size: bytes per thread, padding to the next object included where nothing tells it apart.
        cause: why it is in memory.
        name, type, declared: from the debug compilation's DWARF; None where not known.
        confidence: how sure the name is; None without a name.
        index: how it is indexed, where it is indexed at run time.
        evidence: what shows the cause, in words, which may change; filled where it is written.
        escape: the line that hands its address to a function or stores it; None where none does.
        also: other causes that alone would keep it in memory; its bytes count for ``cause`` only,
            and what removes that one leaves these.
        called_from: user's lines that call the function that owns it, where that function is the
            library's and has no lines of its own; sorted.
        type_size: bytes of ``type``; None where not known.
        extent: what ``size`` is of ``type_size``.
        handed_at: the lines of all calls that get its address; sorted.
        evidence_facts: PTX lines and symbols that show the cause; absent in earlier documents.
        is_alike: whether each store puts the same value there in all lanes; absent where not.
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
        """Bytes of the depot from ``offset`` on in which its own bytes lie."""
        return max(self.size, self.type_size or 0) if self.extent == "rest" else self.size


class LocalAccess(Struct, frozen=True, omit_defaults=True):
    """One access of local memory with its cause.

    Attributes:
        pc: byte offset in the kernel's code section.
        opcode: as SASS writes it.
        is_store, width: direction; bytes per thread.
        function: mangled name of the function whose code it is in (not inlined).
        ptx_line: line in the PTX text, or None.
        chain: source location, innermost first; empty without line information.
        loop_depth: loops of the program's around it in the machine code; around its PTX where that
            does not tell. Of a function without lines of its own, loops around its call. None
            where nothing tells.
        cause: exactly one.
        object: index into the kernel's objects; of several that it may touch the first, if they
            have one cause. None where there is none, and where they have several.
        uniformity: whether the lanes of a warp use one address.
        sectors: sectors per request of a full warp, at most (docs/local-memory.md), or None.
        requests: requests that the access makes, one per 32-bit word.
        evidence: what shows the cause, in words, which may change; filled where it is written.
        others: the further objects that it may touch, where its pointer is chosen at run time, or
            does touch, where it is joined.
        library_loops: further loops around it, inside a library's function that its line calls.
        evidence_facts: what shows the cause; absent in earlier documents.
        generic: whether it is an ``LD``/``ST`` whose generic address provably is a local one; such
            are in neither ledger. Absent in earlier documents, where the opcode tells.
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
        """Whether it is an ``LD``/``ST``: local by its address, and not by its opcode."""
        if self.generic is not None:
            return self.generic
        return not self.opcode.startswith(("LDL", "STL"))

    def line(self, home: str | None) -> SourceLocation | None:
        """The line that a reader is sent to: of what a library's code does, that of its call.

        Args:
            home: the file that defines the kernel; None where not known.
        """
        if self.cause in _OF_CALLS:
            return calling_line(self.chain)
        return reader_line(self.chain, home)

    @property
    def touched(self) -> tuple[int, ...]:
        """All objects that it may touch."""
        return self.others if self.object is None else (self.object, *self.others)


class FrameRange(Struct, frozen=True):
    """A range of the kernel's stack frame and who owns it.

    Attributes:
        offset, size: bytes per thread; the ranges of a frame follow each other.
        owner: what it holds.
        cause: why it is there; None for padding.
        object, type, declared: name, type and declaration of the object, where known.
        object_index: place of the object in ``objects``, or None.
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
        """A range; where an object owns it, with its place among the kernel's, and itself."""
        if object_ is None:
            return cls(offset, size, owner, cause, None, None, None, None)
        number, found = object_
        return cls(offset, size, owner, cause, found.name, number, found.type, found.declared)


class CauseShare(Struct, frozen=True, omit_defaults=True):
    """One line of the ledgers: frame bytes and site bytes of a cause and object.

    Attributes:
        cause: of the contract.
        object: the object's name, where known.
        object_index: place of the object in ``objects``, or None.
        frame_bytes: bytes per thread.
        load_sites, store_sites: instructions.
        load_bytes, store_bytes: bytes at these instructions.
        location: the line that shows a cause without bytes, as a launch's, or whose bytes are in
            functions that are called through a pointer: that call's; absent of all others.
        cost: cycles of a multiprocessor that its accesses take for each warp of a launch, modelled
            with loops counted (docs/fix.md); None where not known.
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
        """A line; where an object has its bytes, with its place among the kernel's, and itself."""
        number, name = (None, None) if object_ is None else (object_[0], object_[1].name)
        counts = asdict(sites)
        return cls(cause, name, number, frame_bytes, **counts, location=location, cost=cost)

    @property
    def sites(self) -> SiteClass:
        """Its instructions."""
        return SiteClass(self.load_sites, self.store_sites, self.load_bytes, self.store_bytes)

    def with_bytes(self, frame_bytes: int, sites: SiteClass) -> CauseShare:
        """The line of other bytes."""
        return replace(self, frame_bytes=frame_bytes, **asdict(sites))

    def concerns(self, access: LocalAccess) -> bool:
        """Whether an access is one of this line's, or may be: each byte is counted once."""
        if self.object_index is None:
            return (access.cause, access.object) == (self.cause, None)
        return self.object_index in access.touched
