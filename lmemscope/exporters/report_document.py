"""The document ``lmemscope.report/1``: how a `Report` is laid out in JSON.

Most of the model is in the document as it is: a field that is added to such a structure needs
nothing here. The structures below are those that the contract lays out in another way than the
model does: figures chosen among several sources, places and counts beside what they belong to,
names beside the numbers of objects. Their fields are in the contract's order, and their docstrings
are the descriptions of the published schema. A field without a value in a document of an earlier
lmemscope has a default here; the others are required.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from lmemscope.model import (
    BuiltObject,
    CallFacts,
    Cause,
    CleanKernel,
    CubinFacts,
    DisagreementReason,
    Evidence,
    Failure,
    Finding,
    Footprint,
    FrameOwner,
    Frontend,
    Gap,
    KernelDirective,
    KernelKind,
    Launch,
    LaunchBounds,
    LeftOut,
    LineUse,
    Link,
    LocalAccess,
    LocalObject,
    PtxasFacts,
    PtxFacts,
    Quotes,
    Reservation,
    SiteSplit,
    SourceLine,
    SourceLocation,
    Tool,
    Verdict,
)


class ToolDocument(Struct, frozen=True, kw_only=True):
    """A tool by its name.

    Attributes:
        version, path: as found; null where not known.
        others: those of the same name that were used too; absent where there is only one.
    """

    version: str | None
    path: str | None
    others: tuple[ToolDocument, ...] | UnsetType = UNSET


class SourcesDocument(Struct, frozen=True, kw_only=True):
    """Each source's own figures, so that nothing is lost by choosing one.

    Attributes:
        ptxas: what ``ptxas -v`` says.
        cubin: what the records of the cubin say.
    """

    ptxas: PtxasFacts | None
    cubin: CubinFacts | None


class SassDocument(Struct, frozen=True, kw_only=True):
    """``LDL``/``STL`` sites in machine code.

    Attributes:
        ldl, stl: instructions.
        ldl_bytes, stl_bytes: bytes at these instructions.
    """

    ldl: int
    stl: int
    ldl_bytes: int
    stl_bytes: int


class FunctionDocument(Struct, frozen=True, kw_only=True):
    """A non-inlined function inside a kernel's section.

    Attributes:
        name, demangled: as of kernels.
        ptxas: what ``ptxas -v`` says of it.
        sass, sites: its own.
    """

    name: str
    demangled: str
    ptxas: PtxasFacts | None
    sass: SassDocument | None
    sites: SiteSplit | None


class FrameRangeDocument(Struct, frozen=True, kw_only=True):
    """A range of the kernel's stack frame and who owns it; the ranges add up to ``stack_frame``.

    Attributes:
        offset, size: bytes per thread.
        owner: what it holds.
        cause: why it is there; null for padding.
        object, type, declared: name, type and declaration of the object, where known.
        object_index: place of the object in ``objects``, or null.
    """

    offset: int
    size: int
    owner: FrameOwner
    cause: Cause | None
    object: str | None
    object_index: int | None
    type: str | None
    declared: SourceLocation | None


class CauseDocument(Struct, frozen=True, kw_only=True):
    """One line of the ledgers: frame bytes and site bytes of a cause and object.

    Attributes:
        cause: of the contract.
        object: the object's name, where known.
        object_index: place of the object in ``objects``, or null.
        frame_bytes: bytes per thread.
        load_sites, store_sites: instructions.
        load_bytes, store_bytes: bytes at these instructions.
        location: the line that shows a cause without bytes; absent otherwise.
        cost: cycles of a multiprocessor that its accesses take for each warp of a launch, modelled;
            null where not known.
    """

    cause: Cause
    object: str | None
    object_index: int | None
    frame_bytes: int
    load_sites: int
    store_sites: int
    load_bytes: int
    store_bytes: int
    location: SourceLocation | UnsetType = UNSET
    cost: float | None = None


class FindingDocument(Finding, frozen=True):
    """A cause judged: how bad it is, what it means and what removes it.

    Attributes:
        evidence: what shows it, in words, which may change.
        evidence_facts: the same as data; absent in earlier documents.
    """

    evidence: tuple[str, ...]  # type: ignore[assignment]
    evidence_facts: tuple[Evidence, ...] | UnsetType = UNSET


class ObjectDocument(LocalObject, frozen=True):
    """A variable, or what the compiler made like one, in a function's stack frame.

    Attributes:
        evidence: what shows the cause, in words, which may change.
        evidence_facts: the same as data; absent in earlier documents.
    """

    evidence: tuple[str, ...]  # type: ignore[assignment]
    evidence_facts: tuple[Evidence, ...] | UnsetType = UNSET


class AccessDocument(LocalAccess, frozen=True):
    """One access of local memory with its cause.

    Attributes:
        evidence: what shows the cause, in words, which may change.
        evidence_facts: the same as data; absent in earlier documents.
        generic: whether it is an ``LD``/``ST`` whose generic address provably is a local one; such
            are in neither ledger. Absent in earlier documents, where the opcode tells.
    """

    evidence: tuple[str, ...]  # type: ignore[assignment]
    evidence_facts: tuple[Evidence, ...] | UnsetType = UNSET
    generic: bool | UnsetType = UNSET


class DisagreementDocument(Struct, frozen=True, kw_only=True):
    """Two sources that should say the same and do not.

    Attributes:
        quantity: what they disagree on.
        values: what each source says.
        reason: why, where it is known.
    """

    quantity: str
    values: dict[str, int]
    reason: DisagreementReason | UnsetType = UNSET


class KernelDocument(Struct, frozen=True, kw_only=True):
    """One kernel: figures, ledgers, findings, verdict.

    Attributes:
        name: mangled.
        demangled: as C++ writes it; equals ``name`` where it cannot be demangled.
        kind: ``function`` for separately compiled device functions.
        location: of its definition.
        registers, stack_frame: of the kernel's own body; ptxas's figure, else the cubin's.
        cumulative_stack: bytes per thread of the deepest call path.
        linked_stack: bytes per thread of the deepest call path after linking, as nvlink prints it.
        stack_known: false where the depth is not statically known.
        spill_stores, spill_loads: bytes, as ``ptxas -v`` says, of the kernel's own body.
        shared, barriers: as ``ptxas -v`` says.
        launch_bounds: of ``__launch_bounds__``.
        ptx: before ptxas.
        sass, sites: of the whole section, non-inlined functions included.
        own_sites: of the kernel's own body.
        lines: source lines behind the sites, most site bytes first.
        callees: non-inlined functions in the kernel's section, sorted by name.
        sources: each source's own figures.
        frame: adds up to ``stack_frame``.
        causes: both ledgers, sorted by site bytes.
        cost: of all causes but those of messages and launches; null where not known.
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
        footprint: device memory that the driver reserves for it; null where no GPU was named.
    """

    name: str
    demangled: str
    kind: KernelKind
    location: SourceLocation | None
    registers: int | None
    stack_frame: int | None
    cumulative_stack: int | None
    stack_known: bool
    linked_stack: int | None = None
    spill_stores: int | None
    spill_loads: int | None
    shared: int | None
    barriers: int | None
    launch_bounds: LaunchBounds | None
    ptx: PtxFacts | None
    sass: SassDocument | None
    sites: SiteSplit | None
    own_sites: SiteSplit | None
    lines: tuple[LineUse, ...]
    callees: tuple[FunctionDocument, ...]
    sources: SourcesDocument
    frame: tuple[FrameRangeDocument, ...]
    causes: tuple[CauseDocument, ...]
    cost: float | None = None
    findings: tuple[FindingDocument, ...]
    objects: tuple[ObjectDocument, ...]
    calls: CallFacts | None
    launches: tuple[Launch, ...] = ()
    run_time_sizes: tuple[str, ...] = ()
    accesses: tuple[AccessDocument, ...] | UnsetType = UNSET
    verdict: Verdict
    disagreements: tuple[DisagreementDocument, ...]
    quotes: Quotes | UnsetType = UNSET
    footprint: Footprint | None = None


class UnitDocument(Struct, frozen=True, kw_only=True):
    """Everything known about one input on one architecture.

    Attributes:
        input, arch: what was compiled, and for what.
        frontend: the route taken.
        options: the effective compiler options.
        failure: why nothing could be analysed.
        gaps: evidence that is missing.
        tools: what was used for this unit.
        unknown_log_lines: lines of the compiler's report that were not understood.
        kernels: sorted by mangled name; of a binary, those that use local memory.
        clean: the other kernels of a binary; absent where there are none.
        source_lines: text of the lines that the kernels name.
        directives: ``// lmemscope:`` comments that speak of a kernel; absent where left out.
        launches: device-side launches that the source has and no compiled code shows.
        source_digest: SHA-256 of the input's file; null where there is none.
        sources: SHA-256 of each of the user's files that it was compiled from, by path; null where
            they are not known.
        built: the object of its build; absent where there is none.
    """

    input: str
    frontend: Frontend
    arch: str
    options: tuple[str, ...]
    failure: Failure | None
    gaps: tuple[Gap, ...]
    tools: tuple[Tool, ...] = ()
    unknown_log_lines: tuple[str, ...] = ()
    kernels: tuple[KernelDocument, ...]
    clean: tuple[CleanKernel, ...] | UnsetType = UNSET
    source_lines: tuple[SourceLine, ...] = ()
    directives: tuple[KernelDirective, ...] | UnsetType = UNSET
    launches: tuple[Launch, ...] = ()
    source_digest: str | None = None
    sources: dict[str, str] | None = None
    built: BuiltObject | UnsetType = UNSET


class ReportDocument(Struct, frozen=True, kw_only=True):
    """The whole result of a run. Sizes are bytes per thread; null means not observed.

    Attributes:
        schema: of the document.
        version: of the lmemscope that wrote it.
        toolchain: every tool used, by name.
        default_arch: why an architecture was chosen, when none was asked for.
        notes: what was left out of the inputs.
        gaps: of inputs that no unit stands for.
        left_out: what the run knew and the document does not hold.
        filters: options that kept what was found out of the document, as they are typed.
        reservation: device memory that the driver reserves for all; null where no GPU was named.
        units: one per input and architecture, in input order.
        links: programs that were linked; empty where none was.
        paths: what the run was given, as typed; absent in earlier documents.
        digest: of all the rest, such that a later edit is seen; absent in earlier documents.
    """

    schema: Literal["lmemscope.report/1"]
    version: str
    toolchain: dict[str, ToolDocument]
    default_arch: str | None = None
    notes: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    filters: tuple[str, ...] = ()
    reservation: Reservation | None = None
    units: tuple[UnitDocument, ...]
    links: tuple[Link, ...] = ()
    paths: tuple[str, ...] | None = None
    digest: str | UnsetType = UNSET
