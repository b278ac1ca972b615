"""What is asked for: units, options, places in source files; and words of the contract."""

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
"""What may be asked for; the others follow from the kind of an input."""

GapKind = Literal["uninstantiated", "evidence", "note"]
"""What is not known: kernels that are there and that nobody compiles, which a project's policy
decides; what every gate needs; what none does."""

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
    """A line of a source file, as the line tables name it (1-based; line 0 means "no line")."""

    file: str
    line: int


class SourceLine(Struct, frozen=True, order=True):
    """A line of a source file with its text, so that reports need the file no more."""

    file: str
    line: int
    text: str


class InlineFrame(Struct, frozen=True):
    """One level of an inline chain.

    Attributes:
        file, line: where.
        function: mangled, or null where not known.
    """

    file: str
    line: int
    function: str | None

    @classmethod
    def at(cls, place: SourceLocation, function: str | None) -> InlineFrame:
        """A function's level at a line."""
        return cls(place.file, place.line, function)

    @property
    def location(self) -> SourceLocation:
        """The line."""
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
    """Everything a user can say about a compilation, in the terms of nvcc's options.

    What the user's arguments for nvcc say to the other tools is part of theirs.

    Attributes:
        time_limit: seconds that running a Python file may take, or None: ``--timeout``.
        max_file_size: MiB that the input may have, or None for the default.
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
            file=False,  # a file that is found must not run programs
        ),
    ] = False
    compile_ptx: Annotated[
        tuple[str, ...],
        Option(
            "Compile the PTX of binaries for SM where they hold no code for it; repeatable.",
            "--compile-ptx",
            "SM",
            check="architecture",
        ),
    ] = ()
    time_limit: float | None = None
    max_file_size: int | None = None

    @property
    def is_relocatable(self) -> bool:
        """Whether what is passed through asks for code that is linked later: ``-rdc=true``."""
        given = " ".join((*self.nvcc_args, *self.nvrtc_args))
        return _RELOCATABLE.search(given) is not None

    def words(self, dash: str = "--") -> tuple[str, ...]:
        """Macros, directories, dialect and fast mathematics as words for a compiler."""
        return (
            *(f"-D{define}" for define in self.defines),
            *(f"-I{path}" for path in self.include_dirs),
            *((f"{dash}std={self.std}",) if self.std is not None else ()),
            *((f"{dash}use_fast_math",) if self.use_fast_math else ()),
        )

    def as_relocatable(self) -> CompileOptions:
        """With what each tool calls separate compilation; once, where a build has it."""
        return replace(
            self,
            nvrtc_args=_with(self.nvrtc_args, "--relocatable-device-code=true"),
            nvcc_args=_with(self.nvcc_args, "-rdc=true"),
            ptxas_args=_with(self.ptxas_args, "-c"),
        )


def _with(words: tuple[str, ...], word: str) -> tuple[str, ...]:
    return words if word in words else (*words, word)


class LogExcerpt(Struct, frozen=True):
    """A unit's part of a build log.

    Attributes:
        text: what ptxas and nvlink reported of its functions, as one compilation would print it.
        sources: by mangled name, the file whose compilation explains the function, where known.
        gaps: what the log leaves open about it.
        problem, hint: why nothing can be read from the log, and the way out; else None.
    """

    text: str
    sources: tuple[tuple[str, str], ...] = ()
    gaps: tuple[Gap, ...] = ()
    problem: str | None = None
    hint: str | None = None


ObjectState = Literal["current", "compiled", "stale", "unknown"]
"""Of a build's object: facts are read from it; the unit is compiled, though it is up to date, or
because it is not, or because that cannot be shown."""


class BuiltObject(Struct, frozen=True):
    """What a build has compiled a unit to.

    Attributes:
        path: of the object.
        state: whether the unit's facts are read from it.
        reason: why not; None where they are.
    """

    path: str
    state: ObjectState = "current"
    reason: str | None = None


class Unit(Struct, frozen=True):
    """One thing to analyse: input x front end x architecture x options.

    Attributes:
        input: the path as the user typed or the directory walk found it.
        path: the absolute path.
        frontend: the route asked for; ``auto`` is resolved while compiling.
        arch: real architecture, such as ``sm_90`` or ``sm_100a``.
        options: how to compile.
        toolkit: directory of the toolkit to use instead of the installed one, or None.
        launched: name expressions that other inputs launch; those of templates in this one are
            instantiated.
        program: which of the programs in a Python file this is, by name, or None.
        variant: what tells units of one file apart in reports, or an empty string.
        excerpt: of a build log, the unit's part; None for what is compiled or read.
        one_of_archs: whether the build compiles the file for more architectures at once, and
            which is not known; ``__CUDA_ARCH_LIST__`` has them.
        is_named_as_built: whether its build gives the compiler this absolute path, and those of
            all directories of headers: `__FILE__` is then the same there.
        built: the object of its build, absolute; None where there is none, or nobody asks.
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
        """The unit's name in reports: its file, and its variant where there are several."""
        return str(InputId(self.input, self.variant))


class Moved(Struct, frozen=True):
    """Where another revision's files are, and where they would be in the working tree.

    Attributes:
        tree: the directory that the revision is written out to, absolute.
        live: the repository's own.
        cache: where reports are kept, under the names of the working tree.
    """

    tree: str
    live: str
    cache: str | None

    def in_live(self, path: str) -> str:
        """An absolute path of the revision as the working tree has it."""
        is_below = path == self.tree or path.startswith(f"{self.tree}/")
        return self.live + path[len(self.tree) :] if is_below else path


class Wanted(Struct, frozen=True):
    """What an analysis of a unit is to give; it travels with the unit.

    Attributes:
        kernels: globs over kernel names; none means all.
        causes: whether to look for causes and names, or to stop at the facts.
        quotes: lines of the artefacts to show beside findings; ``live`` counts registers.
        cache: directory where compilers' outputs are kept, or None to compile always.
        moved: of a unit of another revision, under which names its report is kept.
        names: whether objects are to have their variables' names, which takes one more compilation.
        work: whether to count what kernels do, for their cost.
        counts: how often loops of kernels are taken to run then; those of others are told by their
            own arrays.
        proposals: whether to ask rewrites for advice, which reads the sources as syntax trees.
        accesses: whether reports of binaries hold each access by itself: those of a large package
            take more memory than all else that is known of its kernels.
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
    """Which of a binary's images a worker reads.

    Attributes:
        number: of the worker, from 0.
        of: how many there are.
    """

    number: int = 0
    of: int = 1

    @property
    def is_first(self) -> bool:
        """Whether what is to be said once of the binary is said here."""
        return self.number == 0


ALL_IMAGES = Share()


class Tool(Struct, frozen=True):
    """A tool or library of the toolchain, as it was used or found."""

    name: str
    version: str | None
    path: str | None


class Gap(Struct, frozen=True):
    """What is not known of a unit, and why; never expressed as a zero.

    Attributes:
        stage: of the analysis that it comes from.
        reason: for a person.
        kind: what the gate makes of it.
        input: the file or directory that no unit stands for; None where the reason names others.
    """

    stage: str
    reason: str
    kind: GapKind = "note"
    input: str | None = None


class Failure(Struct, frozen=True):
    """Why a unit could not be analysed.

    Attributes:
        stage, message, hint, command: as of the error.
        log: the tool's own words.
        kind: what the gate makes of it.
    """

    stage: str
    message: str
    hint: str | None = None
    command: str | None = None
    log: str | None = None
    kind: GapKind = "evidence"


Form = Literal["plain", "template", "specialization"]
"""What a definition of a kernel is."""


class KernelDirective(Struct, frozen=True):
    """A ``// lmemscope:`` comment that speaks of a kernel.

    Attributes:
        word, argument: what it says; the word may be one that nobody knows.
        line: of the comment.
        kernel: unqualified name of the kernel that it is in or above; empty where there is none.
        qualified: the same with the namespaces that the source shows.
        lines: first and last line of the kernel, where known.
        ambiguous: whether other kernels of the file have that qualified name.
        file: the header that holds the comment, as shown to the user; None: the unit's own file.
        tie: to what it is tied: ``kernel``; ``function``, one that is a kernel only if a macro
            makes it one; or ``branch``, a kernel or function after the end of the branch of an
            ``#if`` that holds the comment, which may not have been compiled.
        doubt: why it cannot be told which compiled kernel is meant; then it holds for none.
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
