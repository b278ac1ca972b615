"""The one table of options.

A row is all there is to say about a setting: its name, what it takes, which doors it comes in by
(flag, configuration file, API), how a flag and the file combine, and its help. The flags of the
commands, the keys of the file, the checks of `lmemscope.scan` and of the pytest plugin, and the
table in docs/configuration.md are made from the rows; the values arrive in `Settings`, in the
`CompileOptions` it holds, or in the gate's `Policy`, each in the field of the option's name.

Nothing heavy is imported here: ``--help`` reads this table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lmemscope import files
from lmemscope.config import kinds
from lmemscope.config.device_options import DEVICE
from lmemscope.config.gate_options import ALLOWANCE, LIMIT
from lmemscope.config.link_options import LINKING
from lmemscope.config.option import Option
from lmemscope.config.view_options import VIEW
from lmemscope.model import (
    DEFAULT_PENDING_LAUNCHES,
    DEFAULT_STACK_LIMIT,
    CompileOptions,
    Frontend,
    LinkGroup,
    Moved,
    Quote,
    View,
)

DEFAULT_BASELINE = "lmemscope-baseline.json"
"""The baseline where none is named."""

LONGEST_TIMEOUT = 1_000_000
"""Seconds; what the operating system's waiting takes, about 12 days."""


MOST_JOBS = 1024
"""Processes at a time; several hundred MB each, and a slip of the finger beyond that."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a command was asked to do, beyond its inputs: the values of the options below.

    Attributes:
        archs: architectures asked for; empty means "choose".
        frontend: route from CUDA C++ to PTX.
        options: how to compile.
        kernels: globs over kernel names; empty means all.
        jobs: compilations at a time.
        timeout: seconds that one unit may take, or None.
        max_file_size: MiB; larger inputs are not read.
        causes: whether to look for causes and names, or to stop at the facts.
        quotes: lines of the artefacts that reports hold beside findings; `explain` asks for them.
        linked: whether the inputs are linked too.
        lto: whether links are made once more, with link-time optimisation.
        link: groups of inputs that are one program.
        build_database: whether a project's build database says how its files are compiled.
        trust_build: whether options of builds that may run a program, load a library or write a
            file are taken.
        cache: directory where compilers' outputs are kept between runs, or None.
        moved: where another revision's files are, or None. No option sets it.
        toolkit: directory of the toolkit to use instead of the installed one, or None.
        executor: where units run (``dask://host:port``), or None for this machine.
        include, exclude: globs over files of directories and builds, relative to ``root``.
        root: directory of the configuration, absolute.
        default_archs: for inputs that neither ``archs`` nor a build decides; empty means the GPU
            present, else the default. No option sets them.
        view: which kernels are shown, and in which order.
        narrowed: of ``include`` and ``exclude`` what flags gave, as typed: a choice for one run,
            while the file's say what the project is. No option sets it.
        arguments_as_written: for compilers, as the configuration file has them, those that are
            left out too.
        left_out: sentences on what the configuration file asks for in vain: without
            ``trust_build``, or beyond what there is. No option sets it.
        device, sm_count, threads_per_sm: the GPU to predict the driver's reservation for, or None.
        stack_limit, pending_launches: limits of the program that would run there.
    """

    archs: tuple[str, ...] = ()
    frontend: Frontend = "auto"
    options: CompileOptions = field(default_factory=CompileOptions)
    kernels: tuple[str, ...] = ()
    jobs: int = 1
    timeout: float | None = None
    max_file_size: int = files.DEFAULT_LIMIT
    causes: bool = True
    quotes: tuple[Quote, ...] = ()
    linked: bool = False
    lto: bool = False
    link: tuple[LinkGroup, ...] = ()
    build_database: bool = True
    trust_build: bool = False
    cache: str | None = None
    moved: Moved | None = None
    toolkit: str | None = None
    executor: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    root: str = "/"
    default_archs: tuple[str, ...] = ()
    view: View = field(default_factory=View)
    narrowed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    arguments_as_written: tuple[str, ...] = ()
    device: str | None = None
    sm_count: int | None = None
    threads_per_sm: int | None = None
    stack_limit: int = DEFAULT_STACK_LIMIT
    pending_launches: int = DEFAULT_PENDING_LAUNCHES

    @property
    def filters(self) -> tuple[str, ...]:
        """What leaves kernels or files out of this run's reports, as flags, sorted."""
        return tuple(sorted({*(f"--kernel {glob}" for glob in self.kernels), *self.narrowed}))


def _arguments(tool: str) -> Option:
    """The option that passes arguments through to a tool."""
    return Option(
        f"{tool.lower()}-args",
        kinds.listed(kinds.text("an argument", empty=True), "a list of arguments"),
        f"Pass ARG to {tool}.",
        flags=(f"--{tool.lower()}-arg",),
        metavar="ARG",
        merge="after",
        default=(),
        guarded=True,
    )


OPTIONS = (
    Option(
        "arch",
        kinds.listed(
            kinds.text("an architecture such as sm_90"), "a list of architectures such as sm_90"
        ),
        "Real architecture such as sm_90; repeatable; `all-major` for every family. "
        "[default: the GPU present, else sm_90]",
        flags=("--arch",),
        metavar="SM",
        default=(),
    ),
    Option(
        "include-dirs",
        kinds.listed(kinds.directory("a directory"), "a list of directories"),
        "Header directory.",
        flags=("-I",),
        metavar="DIR",
        merge="before",
        default=(),
    ),
    Option(
        "defines",
        kinds.listed(kinds.text("a macro NAME or NAME=VALUE"), "a list of macros, NAME=VALUE"),
        "Define a macro.",
        flags=("-D",),
        metavar="NAME[=VALUE]",
        merge="after",
        default=(),
    ),
    Option(
        "std",
        kinds.text("a dialect such as c++20"),
        "C++ dialect, such as c++20.",
        flags=("--std",),
        metavar="DIALECT",
    ),
    Option(
        "maxrregcount",
        kinds.whole(1, "registers"),
        "Register cap per thread.",
        flags=("--maxrregcount",),
        metavar="N",
    ),
    Option(
        "use-fast-math",
        kinds.switch(),
        "As the compilers' --use_fast_math.",
        flags=("--use-fast-math/--no-use-fast-math",),
        default=False,
    ),
    Option(
        "instantiate",
        kinds.listed(
            kinds.text("a name expression such as rm<32>"),
            "a list of name expressions such as rm<32>",
        ),
        "Instantiate a template kernel, such as 'rm<32>'; repeatable.",
        flags=("--instantiate",),
        metavar="EXPR",
        merge="after",
        default=(),
    ),
    Option(
        "frontend",
        kinds.choice("auto", "nvrtc", "nvcc", "both"),
        "Route from CUDA C++ to PTX; auto takes nvcc where a file holds host code.",
        flags=("--frontend",),
        default="auto",
    ),
    _arguments("NVRTC"),
    _arguments("nvcc"),
    _arguments("ptxas"),
    Option(
        "run-python",
        kinds.switch(),
        "Run .py inputs to compile their Numba kernels. Without it they are only read.",
        flags=("--run-python",),
        default=False,
        # A file that is found must not run programs.
        file=False,
    ),
    Option(
        "signatures",
        kinds.listed(
            kinds.text("a signature such as kernel(float32[::1], int32)"), "a list of signatures"
        ),
        "Types of a Python kernel: 'kernel(float32[::1], int32)'; repeatable.",
        flags=("--signature",),
        metavar="SIG",
        merge="before",
        default=(),
    ),
    Option(
        "kernels",
        kinds.listed(kinds.text("a glob over kernel names"), "a list of globs over kernel names"),
        "Only kernels whose demangled or mangled name matches; repeatable.",
        flags=("--kernel",),
        metavar="GLOB",
        default=(),
    ),
    Option(
        "jobs",
        kinds.whole(1, most=MOST_JOBS),
        "Compilations at a time, fewer where memory is short. [default: number of CPUs]",
        flags=("-j", "--jobs"),
        metavar="N",
        meaning="Compilations at a time, fewer where memory is short; of a file, no more than "
        "there are CPUs. [default: number of CPUs]",
    ),
    Option(
        "timeout",
        kinds.seconds(LONGEST_TIMEOUT),
        "Seconds that one input may take.",
        flags=("--timeout",),
        metavar="S",
    ),
    Option(
        "max-file-size",
        kinds.whole(1, "MiB"),
        f"MiB that an input may have; larger ones are not read. [default: {files.DEFAULT_LIMIT}]",
        flags=("--max-file-size",),
        metavar="MIB",
        default=files.DEFAULT_LIMIT,
    ),
    Option(
        "toolkit",
        kinds.directory(
            "a directory",
            exists=True,
            hint="name a CUDA installation, or a directory that CUDA wheels are installed in",
        ),
        "Take every CUDA tool from DIR: an installation, or a directory of wheels.",
        flags=("--toolkit",),
        metavar="DIR",
        guarded=True,
    ),
    Option(
        "executor",
        kinds.cluster(),
        "Analyse on the workers of a Dask cluster: dask://HOST:PORT.",
        flags=("--executor",),
        metavar="URL",
        guarded=True,
        # `scan` takes an Executor in its place.
        api=False,
    ),
    *LINKING,
    Option(
        "build-database",
        kinds.switch(),
        "Compile as the project's compile_commands.json says, which is found by itself.",
        flags=("--build-database/--no-build-database",),
        default=True,
    ),
    Option(
        "trust-build",
        kinds.switch(),
        "Take also options of builds and of the configuration file that may run programs, load "
        "libraries or write files.",
        flags=("--trust-build",),
        default=False,
        # What is to be trusted cannot say so itself.
        file=False,
    ),
    Option(
        "cache",
        kinds.switch(),
        "Keep what the compilers made for the next run; see `lmemscope cache`.",
        flags=("--cache/--no-cache",),
        default=True,
    ),
    Option(
        "include",
        kinds.listed(kinds.text("a glob over files"), "a list of globs over files"),
        "Of directories, builds and saved reports, only files that match; repeatable.",
        flags=("--include",),
        metavar="GLOB",
        default=(),
        meaning="Files of directories and builds: at least one glob must match.",
    ),
    Option(
        "exclude",
        kinds.listed(kinds.text("a glob over files"), "a list of globs over files"),
        "Of directories, builds and saved reports, no file that matches; repeatable.",
        flags=("--exclude",),
        metavar="GLOB",
        merge="after",
        default=(),
        meaning="Files of directories and builds: no glob may match.",
    ),
    Option(
        "causes",
        kinds.switch(),
        "Facts only, no causes and names; faster.",
        flags=("--no-causes",),
        default=True,
        group="facts",
        # A gate that looks for no causes would pass blindly.
        file=False,
        meaning="Whether to look for causes and names, or to stop at the facts; faster.",
    ),
    *DEVICE,
    *VIEW,
    Option(
        "baseline",
        kinds.path("the path of a file; in a configuration file, one below its directory"),
        "Known findings.",
        flags=("--baseline",),
        metavar="FILE",
        group="gate",
        api=False,
    ),
    Option(
        "limits",
        kinds.tables(),
        "What kernels may have at most.",
        default=(),
        group="gate",
        api=False,
        rows=LIMIT,
    ),
    Option(
        "allowances",
        kinds.tables(),
        "Findings that are accepted, each with its reason.",
        default=(),
        group="gate",
        api=False,
        rows=ALLOWANCE,
    ),
    Option(
        "tolerance",
        kinds.whole(0, "bytes"),
        "Drift of known findings.",
        flags=("--tolerance",),
        metavar="BYTES",
        default=0,
        group="gate",
        api=False,
    ),
    Option(
        "toolchain-tolerance",
        kinds.whole(0, "percent"),
        "Drift of known findings after a change of the toolchain.  [default: 50]",
        flags=("--toolchain-tolerance",),
        metavar="PERCENT",
        default=50,
        group="gate",
        api=False,
        meaning="Percent by which known findings may grow after a change of the toolchain; "
        "without it, 50.",
    ),
    Option(
        "uninstantiated",
        kinds.choice("error", "note"),
        "Kernels that nobody compiles, such as templates without an instance: missing evidence, "
        "or a note.",
        flags=("--uninstantiated",),
        default="error",
        group="gate",
        api=False,
    ),
    Option(
        "external",
        kinds.choice("error", "note"),
        "Calls of functions that other translation units define: missing evidence, or a note.",
        flags=("--external",),
        default="error",
        group="gate",
        api=False,
    ),
)
"""Every setting; within a group in the order of the help."""


def option(key: str) -> Option:
    """A row by its key."""
    return next(row for row in OPTIONS if row.key == key)
