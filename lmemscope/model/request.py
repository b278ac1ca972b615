"""What is requested: units, options and source locations, and terms used in documents."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.model.inputs import InputId
from lmemscope.model.option import Option
from lmemscope.model.work import LoopCounts

Frontend = Literal["auto", "nvrtc", "nvcc", "both", "ptx", "binary", "cupy", "numba", "log"]
FrontendChoice = Literal["auto", "nvrtc", "nvcc", "both"]
"""The choices for a front end; others follow from the kind of input."""

GapKind = Literal["uninstantiated", "evidence", "note"]
"""The kind of a gap: kernels that exist but are not compiled, for which a project's policy decides;
evidence that every gate needs; or a note that no gate needs."""

SiteKind = Literal["spill", "local-object", "unknown"]
KernelKind = Literal["entry", "function"]
SourceKind = Literal[
    "parameter",
    "thread-id",
    "block-id",
    "loop-counter",
    "copy",
    "memory",
    "call",
    "other",
    "symbol",
]
Uniformity = Literal["uniform", "lane-varying", "data-dependent", "unknown"]
Quote = Literal["ptx", "sass", "live"]
Severity = Literal["error", "warning", "note"]
Confidence = Literal["certain", "likely", "possible"]


class SourceLocation(Struct, frozen=True, order=True):
    """A line of a source file, as in the line tables (1-based; line 0 means "no line")."""

    file: str
    line: int


class SourceLine(Struct, frozen=True, order=True):
    """A line of a source file with its text, so that a report does not need the file."""

    file: str
    line: int
    text: str


class InlineFrame(Struct, frozen=True):
    """One level of an inline chain.

    Attributes:
        file, line: where.
        function: mangled, or null if unknown.
    """

    file: str
    line: int
    function: str | None

    @classmethod
    def at(cls, place: SourceLocation, function: str | None) -> InlineFrame:
        """The level of a function at a line."""
        return cls(place.file, place.line, function)

    @property
    def location(self) -> SourceLocation:
        """The source line."""
        return SourceLocation(self.file, self.line)


_RELOCATABLE = re.compile(
    r"(?<!\S)(?:-{1,2}(?:rdc|relocatable-device-code)[= ]true|-dc|--device-c)(?!\S)"
)


def _passed(tool: str) -> Option:
    return Option(
        f"Pass ARG to {tool}; repeatable.",
        f"--{tool.lower()}-arg",
        "ARG",
        check="argument",
        merge="after",
        guarded=True,
    )


class CompileOptions(Struct, frozen=True):
    """Everything a user can specify about a compilation, in terms of nvcc's options.

    Arguments passed through to nvcc that concern the other tools are included in theirs.

    Attributes:
        time_limit: seconds for running a Python file, or None: ``--timeout``.
        max_file_size: maximum size of the input in MiB, or None for the default.
    """

    include_dirs: Annotated[
        tuple[str, ...],
        Option(
            "Search DIR for headers; repeatable.", "-I", "DIR", check="directory", merge="before"
        ),
    ] = ()
    defines: Annotated[
        tuple[str, ...],
        Option(
            "Define a macro; repeatable.",
            "-D",
            "NAME[=VALUE]",
            "a macro NAME or NAME=VALUE",
            merge="after",
        ),
    ] = ()
    std: Annotated[
        str | None,
        Option("Use a C++ dialect, such as c++20.", "--std", "DIALECT", "a dialect such as c++20"),
    ] = None
    maxrregcount: Annotated[
        int | None,
        Option(
            "Limit kernels to N registers per thread.",
            "--maxrregcount",
            "N",
            least=1,
            unit="registers",
        ),
    ] = None
    use_fast_math: Annotated[
        bool, Option("Compile with --use_fast_math.", "--use-fast-math/--no-use-fast-math")
    ] = False
    instantiate: Annotated[
        tuple[str, ...],
        Option(
            "Instantiate a kernel template, such as 'rm<32>'; repeatable.",
            "--instantiate",
            "EXPR",
            "a name expression such as rm<32>",
            merge="after",
        ),
    ] = ()
    nvrtc_args: Annotated[tuple[str, ...], _passed("NVRTC")] = ()
    nvcc_args: Annotated[tuple[str, ...], _passed("nvcc")] = ()
    ptxas_args: Annotated[tuple[str, ...], _passed("ptxas")] = ()
    signatures: Annotated[
        tuple[str, ...],
        Option(
            "Compile a Python kernel for these types: 'kernel(float32[::1], int32)'; repeatable.",
            "--signature",
            "SIG",
            "a signature such as kernel(float32[::1], int32)",
            merge="before",
        ),
    ] = ()
    run_python: Annotated[
        bool,
        Option(
            "Run .py inputs to compile their Numba kernels; otherwise they are only read.",
            "--run-python",
            file=False,  # a configuration found in the tree must not run programs
        ),
    ] = False
    compile_ptx: Annotated[
        tuple[str, ...],
        Option(
            "Compile the PTX in binaries for SM if they contain no code for it; repeatable.",
            "--compile-ptx",
            "SM",
            check="architecture",
        ),
    ] = ()
    time_limit: float | None = None
    max_file_size: int | None = None

    @property
    def is_relocatable(self) -> bool:
        """Whether the pass-through arguments request relocatable device code: ``-rdc=true``."""
        given = " ".join((*self.nvcc_args, *self.nvrtc_args))
        return _RELOCATABLE.search(given) is not None

    def words(self, dash: str = "--") -> tuple[str, ...]:
        """Macros, directories, dialect and fast math as compiler arguments."""
        return (
            *(f"-D{define}" for define in self.defines),
            *(f"-I{path}" for path in self.include_dirs),
            *((f"{dash}std={self.std}",) if self.std is not None else ()),
            *((f"{dash}use_fast_math",) if self.use_fast_math else ()),
        )

    def as_relocatable(self) -> CompileOptions:
        """These options with separate compilation enabled for each tool; never enabled twice."""
        return replace(
            self,
            nvrtc_args=_with(self.nvrtc_args, "--relocatable-device-code=true"),
            nvcc_args=_with(self.nvcc_args, "-rdc=true"),
            ptxas_args=_with(self.ptxas_args, "-c"),
        )


def _with(words: tuple[str, ...], word: str) -> tuple[str, ...]:
    return words if word in words else (*words, word)


class LogExcerpt(Struct, frozen=True):
    """A unit's excerpt of a build log.

    Attributes:
        text: ptxas and nvlink output for its functions, as one compilation would print it.
        sources: by mangled name, the file to pass to `explain` for the function, if known.
        gaps: what the log does not show about it.
        problem, hint: why the log cannot be read, and what to do; else None.
    """

    text: str
    sources: tuple[tuple[str, str], ...] = ()
    gaps: tuple[Gap, ...] = ()
    problem: str | None = None
    hint: str | None = None


ObjectState = Literal["current", "compiled", "stale", "unknown"]
"""State of a build's object: its facts are used; or the unit is compiled although the object is
current, because it is stale, or because it may be stale."""


class BuiltObject(Struct, frozen=True):
    """The object file that a build compiled a unit to.

    Attributes:
        path: the object's path.
        state: whether the unit's facts are read from it.
        reason: why not; None if they are.
    """

    path: str
    state: ObjectState = "current"
    reason: str | None = None


class Unit(Struct, frozen=True):
    """One thing to analyse: input x front end x architecture x options.

    Attributes:
        input: the path as typed, or as found by the directory walk.
        path: the absolute path.
        frontend: the requested front end; ``auto`` is resolved while compiling.
        arch: real architecture, such as ``sm_90`` or ``sm_100a``.
        options: how to compile.
        toolkit: directory of the toolkit to use instead of the installed one, or None.
        launched: name expressions launched by other inputs; those of templates in this input are
            instantiated.
        program: name of the program within a Python file, or None.
        variant: distinguishes units of one file in reports, or an empty string.
        excerpt: the unit's part of a build log; None for what is compiled or read.
        one_of_archs: whether the build compiles the file for several architectures at once that are
            unknown here; ``__CUDA_ARCH_LIST__`` names them.
        is_named_as_built: whether its build passes the compiler this same absolute path and those
            of all header directories, so that `__FILE__` is the same here.
        built: absolute path of its build's object; None if there is none or it is not wanted.
    """

    input: str
    path: str
    frontend: Frontend
    arch: str
    options: CompileOptions = CompileOptions()
    toolkit: str | None = None
    launched: tuple[str, ...] = ()
    program: str | None = None
    variant: str = ""
    excerpt: LogExcerpt | None = None
    one_of_archs: bool = False
    is_named_as_built: bool = False
    built: BuiltObject | None = None

    @property
    def name(self) -> str:
        """The unit's name in reports: its file, with its variant if there are several."""
        return str(InputId(self.input, self.variant))


class Moved(Struct, frozen=True):
    """Where another revision is checked out, and which working tree it belongs to.

    Attributes:
        tree: absolute path of the checkout.
        live: absolute path of the repository.
        cache: where reports are stored, under working-tree paths.
    """

    tree: str
    live: str
    cache: str | None

    def in_live(self, path: str) -> str:
        """Map an absolute path from the checkout to the working tree."""
        is_below = path == self.tree or path.startswith(f"{self.tree}/")
        return self.live + path[len(self.tree) :] if is_below else path


class Wanted(Struct, frozen=True):
    """What the analysis of a unit should produce; travels with the unit.

    Attributes:
        kernels: globs over kernel names; none means all.
        causes: whether to determine causes and names, or only facts.
        quotes: which artefacts to quote beside findings; ``live`` counts live registers.
        cache: directory of stored outputs, or None to compile always.
        moved: for a unit of another revision, the mapping to working-tree paths.
        names: whether to find the names of variables, which takes a debug compilation.
        work: whether to count what kernels execute, for their cost.
        counts: loop trip counts to assume for kernels; for the others they follow from their own
            arrays.
        proposals: whether to ask rewrites for advice, which parses the sources.
        accesses: whether reports of binaries contain each access: for a large package, these take
            more memory than everything else.
    """

    kernels: tuple[str, ...] = ()
    causes: bool = True
    quotes: tuple[Quote, ...] = ()
    cache: str | None = None
    moved: Moved | None = None
    names: bool = True
    work: bool = False
    counts: tuple[LoopCounts, ...] = ()
    proposals: bool = False
    accesses: bool = True


class Share(Struct, frozen=True):
    """The subset of a binary's images that a worker reads.

    Attributes:
        number: the worker's number, from 0 to 255.
        claims: path of the file by which workers divide the images (`lmemscope.formats.claims`);
            None if one worker reads them all.
    """

    number: int = 0
    claims: str | None = None

    @property
    def is_first(self) -> bool:
        """Whether this worker reports what concerns the binary as a whole."""
        return self.number == 0


ALL_IMAGES = Share()


class Tool(Struct, frozen=True):
    """A tool or library of the toolchain, as used or found."""

    name: str
    version: str | None
    path: str | None


class Gap(Struct, frozen=True):
    """Something unknown about a unit, and why; never represented as a zero.

    Attributes:
        stage: the analysis stage it comes from.
        reason: for people.
        kind: how the gate treats it.
        input: the file or directory that has no unit; None if the reason names others.
    """

    stage: str
    reason: str
    kind: GapKind = "note"
    input: str | None = None


class Failure(Struct, frozen=True):
    """Why a unit could not be analysed.

    Attributes:
        stage, message, hint, command: as in the error.
        log: the tool's own output.
        kind: how the gate treats it.
    """

    stage: str
    message: str
    hint: str | None = None
    command: str | None = None
    log: str | None = None
    kind: GapKind = "evidence"


Form = Literal["plain", "template", "specialization"]
"""The form of a kernel definition."""


class KernelDirective(Struct, frozen=True):
    """A ``// lmemscope:`` comment that refers to a kernel.

    Attributes:
        word, argument: its keyword and argument; the keyword may be unknown.
        line: of the comment.
        kernel: unqualified name of the kernel it is in or above; empty if there is none.
        qualified: the same, with the namespaces that the source shows.
        lines: first and last line of the kernel, if known.
        ambiguous: whether other kernels in the file have that qualified name.
        file: the header that contains the comment, as displayed; None for the unit's own file.
        tie: what it is attached to: ``kernel``; ``function``, which is a kernel only if a macro
            makes it one; or ``branch``, a kernel or function after the end of the ``#if`` branch
            that contains the comment, which may not have been compiled.
        doubt: why it is unclear which compiled kernel is meant; then it applies to none.
        form, parameters: of the definition, as in `KernelDefinition`.
        namesakes: other functions of the same unqualified name, with their namespaces.
    """

    word: str
    argument: str
    line: int
    kernel: str
    qualified: str = ""
    lines: tuple[int, int] | None = None
    ambiguous: bool = False
    file: str | None = None
    tie: Literal["function", "branch", "kernel"] = "kernel"
    doubt: str = ""
    form: Form | None = None
    parameters: tuple[str | None, ...] | None = None
    namesakes: tuple[str, ...] = ()
