"""The frozen data types that cross a stage of the pipeline; this module imports nothing of ours.

Two vocabularies meet here. *Facts* are what the toolchain said and what the bytes of a cubin say
(`KernelFacts` and what it holds). *Judgements* (`Verdict`, `Finding`) are built from facts.

Units. Sizes are bytes per thread. Site bytes are bytes at instruction sites: the access width of
each ``LDL``/``STL`` summed over the instructions in the code, neither over executions nor over
threads; 31 KB at sites can share a frame of 128 bytes, so the two are never mixed.

``None`` always means "not observed", never zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Frontend = Literal["auto", "nvrtc", "nvcc", "ptx", "binary"]
SiteKind = Literal["spill", "local-object", "unknown"]
KernelKind = Literal["entry", "function"]
Cause = Literal[
    "register-spill",
    "callee-save",
    "dynamic-index",
    "rolled-loop",
    "large-array",
    "address-taken",
    "param-copy",
    "const-table",
    "volatile",
    "printf-args",
    "math-slow-path",
    "call-frame",
    "alloca",
    "device-launch",
    "debug-build",
    "promoted",
    "unattributed",
]
SourceKind = Literal[
    "parameter",
    "thread-id",
    "block-id",
    "loop-counter",
    "memory",
    "call",
    "other",
    "symbol",
]
Uniformity = Literal["uniform", "lane-varying", "data-dependent", "unknown"]
Severity = Literal["error", "warning", "note"]
Confidence = Literal["certain", "likely", "possible"]


@dataclass(frozen=True, slots=True, order=True)
class SourceLocation:
    """A line of a source file, as the line tables name it (1-based; line 0 means "no line")."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class InlineFrame:
    """One level of an inline chain: ``function`` (mangled, if known) at ``location``."""

    location: SourceLocation
    function: str | None


# --- what is asked for ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Everything a user can say about a compilation, in the terms of nvcc's options.

    Attributes:
        include_dirs: ``-I`` directories, in order.
        defines: ``-D`` definitions, ``NAME`` or ``NAME=VALUE``.
        std: C++ dialect (``c++17``), or None for the compiler's default.
        maxrregcount: register cap per thread, or None.
        use_fast_math: ``--use_fast_math``.
        instantiate: name expressions of template kernels (``rm<32>``).
        nvrtc_args, nvcc_args, ptxas_args: passed through untouched, each to its own tool.
    """

    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    std: str | None = None
    maxrregcount: int | None = None
    use_fast_math: bool = False
    instantiate: tuple[str, ...] = ()
    nvrtc_args: tuple[str, ...] = ()
    nvcc_args: tuple[str, ...] = ()
    ptxas_args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing to analyse: input x front end x architecture x options.

    Attributes:
        input: the path as the user typed or the directory walk found it; the display name.
        path: the absolute path.
        frontend: the route asked for; ``auto`` is resolved while compiling.
        arch: real architecture, such as ``sm_90`` or ``sm_100a``.
        options: how to compile.
    """

    input: str
    path: str
    frontend: Frontend
    arch: str
    options: CompileOptions = field(default_factory=CompileOptions)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool or library of the toolchain, as it was used or found."""

    name: str
    version: str | None
    path: str | None


@dataclass(frozen=True, slots=True)
class Gap:
    """Evidence that is missing for a unit, and why; never expressed as a zero."""

    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a unit could not be analysed. ``log`` is the tool's own words."""

    stage: str
    message: str
    hint: str | None = None
    command: str | None = None
    log: str | None = None


# --- facts ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LaunchBounds:
    """``__launch_bounds__``: threads per block at most, blocks per multiprocessor at least."""

    max_threads: int | None
    min_blocks: int | None


@dataclass(frozen=True, slots=True)
class PtxFacts:
    """What the PTX of a function shows. ptxas may keep all of it in registers in the end.

    Attributes:
        local_bytes: bytes per thread declared ``.local`` in the function.
        local_objects: stack objects, as far as the PTX delimits them.
        ld_local, st_local: number of ``ld.local`` / ``st.local`` instructions.
        generic_local: generic ``ld``/``st`` whose address provably derives from ``cvta.local``.
    """

    local_bytes: int
    local_objects: int
    ld_local: int
    st_local: int
    generic_local: int


@dataclass(frozen=True, slots=True)
class SassFacts:
    """``LDL``/``STL`` sites in machine code: how many, and bytes at those sites."""

    ldl: int
    stl: int
    ldl_bytes: int
    stl_bytes: int


@dataclass(frozen=True, slots=True)
class SiteClass:
    """One share of the site-bytes ledger."""

    load_sites: int = 0
    store_sites: int = 0
    load_bytes: int = 0
    store_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LineUse:
    """Local-memory instructions that one source line is responsible for.

    Attributes:
        location: the innermost line of the inline chain that lies in the user's own file.
        kind: ``spill``, ``local-object`` or ``unknown``, as in `SiteSplit`.
        sites: how many, and bytes at those sites.
    """

    location: SourceLocation
    kind: SiteKind
    sites: SiteClass


@dataclass(frozen=True, slots=True)
class SiteSplit:
    """Every ``LDL``/``STL`` site of a function in exactly one class; the classes add up to all.

    Attributes:
        spill: marked SpillRefill, or on a PTX line that is no local access: registers saved by
            ptxas (spills, and callee-saved registers of non-inlined functions).
        local_object: on the PTX line of a local access: a variable of the program.
        unknown: no PTX line to tell by.
    """

    spill: SiteClass
    local_object: SiteClass
    unknown: SiteClass


@dataclass(frozen=True, slots=True)
class IndexSource:
    """A leaf of an index: where it comes from, and under which name an author knows it."""

    kind: SourceKind
    name: str | None


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """How an object is indexed at run time.

    Attributes:
        expression: the index as written in the source, or None.
        sources: what it is made of, sorted.
        uniformity: the least uniform of its accesses.
        loop: line of the loop whose counter it is, where that is all it is.
    """

    expression: str | None
    sources: tuple[IndexSource, ...]
    uniformity: Uniformity
    loop: SourceLocation | None


@dataclass(frozen=True, slots=True)
class LocalObject:
    """A variable, or what the compiler made like one, in a function's stack frame.

    Attributes:
        function: mangled name of the PTX function that owns it.
        offset: bytes from the start of that function's PTX depot.
        size: bytes per thread, padding to the next object included where nothing tells it apart.
        cause: why it is in memory.
        name, type, declared: from the debug compilation's DWARF; None where not known.
        confidence: how sure the name is; None without a name.
        index: how it is indexed, where it is indexed at run time.
        evidence: PTX lines and symbols that show the cause.
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


@dataclass(frozen=True, slots=True)
class LocalAccess:
    """One ``LDL``/``STL`` with its cause.

    Attributes:
        pc: byte offset in the kernel's code section.
        opcode: as SASS writes it.
        is_store, width: direction; bytes per thread.
        function: mangled name of the function whose code it is in (not inlined).
        ptx_line: line in the PTX text, or None.
        chain: source location, innermost first; empty without line information.
        loop_depth: loops around the PTX instruction.
        cause: exactly one.
        object: index into the kernel's objects, or None.
        uniformity: whether the lanes of a warp use one address.
        sectors: sectors per request of a full warp, at most (docs/local-memory.md), or None.
        requests: requests that the access makes, one per 32-bit word.
        evidence: what shows the cause.
    """

    pc: int
    opcode: str
    is_store: bool
    width: int
    function: str
    ptx_line: int | None
    chain: tuple[InlineFrame, ...]
    loop_depth: int
    cause: Cause
    object: int | None
    uniformity: Uniformity
    sectors: int | None
    requests: int
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FrameRange:
    """A range of the kernel's stack frame and who owns it.

    ``owner`` is ``object``, ``spill slots``, ``saved registers``, ``padding`` or ``unknown``;
    ``object`` is an index into the kernel's objects.
    """

    offset: int
    size: int
    owner: str
    cause: Cause | None
    object: int | None


@dataclass(frozen=True, slots=True)
class CauseShare:
    """One line of the ledgers: frame bytes and site bytes of a cause and object."""

    cause: Cause
    object: int | None
    frame_bytes: int
    sites: SiteClass


@dataclass(frozen=True, slots=True)
class PtxasFacts:
    """What ``ptxas -v`` reports for one function; bytes per thread, spill figures at sites."""

    registers: int | None
    stack_frame: int | None
    spill_stores: int | None
    spill_loads: int | None
    cumulative_stack: int | None
    shared: int | None
    barriers: int | None


@dataclass(frozen=True, slots=True)
class CubinFacts:
    """What the cubin's ``.nv.info`` records say.

    ``min_stack`` is None where not statically known; ``max_registers`` is the register cap that
    the kernel was compiled under (255: the architecture's own).
    """

    registers: int | None
    stack_frame: int | None
    min_stack: int | None
    max_registers: int | None


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """One body of machine code: a kernel's own, or a non-inlined function inside its section."""

    name: str
    demangled: str
    ptxas: PtxasFacts | None
    sass: SassFacts | None
    sites: SiteSplit | None


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Functions that a kernel reaches, and what makes the stack depth unknowable.

    Attributes:
        reached: mangled names, sorted, the kernel aside.
        recursive: those that reach themselves.
        indirect: whether any call goes through a pointer.
        with_local_memory: separately compiled ones (relocatable code) that use local memory:
            their sites are counted on their own, not in the kernel's ledgers.
    """

    reached: tuple[str, ...]
    recursive: tuple[str, ...]
    indirect: bool
    with_local_memory: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two sources that should say the same and do not: shown, never forced to agree."""

    quantity: str
    values: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """One kernel, every source side by side.

    Attributes:
        name: mangled name; with the unit's input and architecture it identifies the kernel.
        demangled: as C++ writes it; equals ``name`` where it cannot be demangled.
        kind: ``entry`` for ``__global__``, ``function`` for separately compiled device functions.
        location: where the kernel is defined, as far as line information tells.
        stack_known: False when the stack depth is not statically known (recursion, indirect calls).
        launch_bounds: from the PTX's ``.maxntid``/``.minnctapersm``.
        ptxas, cubin, ptx: the three layers, for the kernel's own body.
        sass, sites: over the whole section, non-inlined functions included.
        lines: source lines behind the sites, most site bytes first.
        callees: non-inlined functions inside the kernel's section, sorted by name.
        disagreements: sources that contradict each other.
        objects: stack objects, by function and offset.
        accesses: every site with its cause, in address order.
        frame: ranges that add up to the kernel's stack frame.
        causes: both ledgers, sorted by site bytes.
        calls: the call graph below the kernel, as far as PTX shows it.
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
    sass: SassFacts | None
    sites: SiteSplit | None
    own_sites: SiteSplit | None
    lines: tuple[LineUse, ...]
    callees: tuple[FunctionFacts, ...]
    disagreements: tuple[Disagreement, ...]
    objects: tuple[LocalObject, ...] = ()
    accesses: tuple[LocalAccess, ...] = ()
    frame: tuple[FrameRange, ...] = ()
    causes: tuple[CauseShare, ...] = ()
    calls: CallFacts | None = None

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
        """Spill-store bytes of the kernel's own body, as ``ptxas -v`` says."""
        return self.ptxas.spill_stores if self.ptxas is not None else None

    @property
    def spill_loads(self) -> int | None:
        """Spill-load bytes of the kernel's own body, as ``ptxas -v`` says."""
        return self.ptxas.spill_loads if self.ptxas is not None else None


# --- judgements -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """One line on a kernel.

    Attributes:
        kind: ``clean``, ``promoted``, ``local-object``, ``spill``, ``call-stack`` or ``unknown``;
            the worst one that holds.
        text: for a person, naming bytes and lines.
        rank: sorts reports worst first: higher is worse.
    """

    kind: str
    text: str
    rank: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Advice:
    """One way out: what to do, the code to write where it is known, and whether it was tried."""

    text: str
    code: str | None = None
    verified: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause judged: how bad it is, what it means and what removes it.

    Attributes:
        rule, name: ``LM201``, ``dynamic-index``.
        severity: judged by cost: in a loop and across lanes is worst.
        confidence: in the cause.
        cause: of the contract.
        object, type: variable and its type, where known.
        bytes: frame bytes; where there are none, bytes at instruction sites.
        location: the line to look at first; ``related``: others, such as the declaration.
        index: how the object is indexed, where it is.
        message: one sentence.
        advice: best first.
        evidence: what shows it.
        fingerprint: stable across moved lines and other offsets.
    """

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    cause: Cause
    object: str | None
    type: str | None
    bytes: int
    location: SourceLocation | None
    related: tuple[SourceLocation, ...]
    index: IndexFacts | None
    message: str
    advice: tuple[Advice, ...]
    evidence: tuple[str, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class KernelReport:
    """A kernel's facts and what follows from them."""

    facts: KernelFacts
    verdict: Verdict
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class UnitReport:
    """Everything known about one unit.

    Attributes:
        input, arch: as in `Unit`.
        frontend: the route taken.
        options: the effective compiler options.
        failure: why nothing could be analysed, or None.
        gaps: evidence that is missing.
        kernels: sorted by name.
        tools: what was used for this unit.
        unknown_log_lines: lines of the compiler's report that were not understood.
    """

    input: str
    frontend: Frontend
    arch: str
    options: tuple[str, ...]
    failure: Failure | None
    gaps: tuple[Gap, ...] = ()
    kernels: tuple[KernelReport, ...] = ()
    tools: tuple[Tool, ...] = ()
    unknown_log_lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The whole result: what every exporter reads.

    Attributes:
        version: of lmemscope.
        toolchain: the tools used by any unit, sorted by name.
        units: in input order.
        default_arch: why an architecture was chosen without ``--arch`` ("no GPU found; sm_90"),
            or None when it was asked for.
    """

    version: str
    toolchain: tuple[Tool, ...]
    units: tuple[UnitReport, ...]
    default_arch: str | None = None
