"""All options: the fields of `Configuration` and its parts, each declared once.

A field annotated with an `Option` is a flag of every command in its group, a key of the
configuration file and a parameter of `lmemscope.scan`, with the same name, type, default and help.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct, field

from lmemscope import files
from lmemscope.config.kinds import Kind, is_structure, kind_of_field
from lmemscope.model import (
    DEFAULT_PENDING_LAUNCHES,
    DEFAULT_STACK_LIMIT,
    CompileOptions,
    FrontendChoice,
    LinkGroup,
    Moved,
    Policy,
    Quote,
    View,
)
from lmemscope.model.option import GateOption, Option

DEFAULT_BASELINE = "lmemscope-baseline.json"
"""The default baseline file."""

T = TypeVar("T")


def _of_device(help_: str, flag: str, metavar: str, unit: str = "", least: int = 0) -> Option:
    return Option(
        help_,
        flag,
        metavar,
        "the name of a GPU, or present",
        least,
        unit=unit,
        group="facts",
        api=False,
    )


class Settings(Struct, frozen=True):
    """What a command was asked to do, apart from its inputs.

    Attributes:
        options: how to compile.
        view: which kernels to show, and in which order.
        root: absolute path of the configuration's directory, which its globs are relative to.
        quotes: which artefacts reports quote beside findings; set by `explain`.
        proposals: whether findings include advice from rewrites; off if it is not shown.
        accesses: whether reports of binaries contain each ``LDL`` and ``STL``; off if they are not
            shown.
        moved: the mapping from another revision's files, or None.
        default_archs: for inputs without an architecture from ``archs`` or a build; empty means the
            GPU present, else the default.
        narrowed: the part of ``include`` and ``exclude`` given as flags, as typed: a selection for
            one run, whereas the file defines the project.
        arguments_as_written: compiler arguments in the configuration file, including those that are
            left out.
        left_out: sentences about settings in the configuration file that are ignored: for lack of
            ``trust_build``, or because they exceed what is available.
    """

    archs: Annotated[
        tuple[str, ...],
        Option(
            "Compile for SM, such as sm_90, or `all-major` for every family; repeatable.  "
            "[default: the GPU present, else sm_90]",
            "--arch",
            "SM",
            "an architecture such as sm_90",
            key="arch",
        ),
    ] = ()
    options: CompileOptions = field(default_factory=CompileOptions)
    frontend: Annotated[
        FrontendChoice,
        Option(
            "Compile CUDA C++ with this compiler; auto uses nvcc for files with host code.",
            "--frontend",
        ),
    ] = "auto"
    kernels: Annotated[
        tuple[str, ...],
        Option(
            "Only analyse kernels whose mangled or demangled name matches GLOB; repeatable.",
            "--kernel",
            "GLOB",
            "a glob over kernel names",
        ),
    ] = ()
    jobs: Annotated[
        int,
        Option(
            "Run up to N compilations at a time, fewer when memory is short.  "
            "[default: number of CPUs, which a file cannot exceed]",
            "-j --jobs",
            "N",
            least=1,
            most=1024,  # several hundred MB each; more is surely a typo
            default=None,
        ),
    ] = 1
    timeout: Annotated[
        float | None, Option("Stop analysing an input after S seconds.", "--timeout", "S")
    ] = None
    max_file_size: Annotated[
        int,
        Option(
            "Do not read inputs larger than this.", "--max-file-size", "MIB", least=1, unit="MiB"
        ),
    ] = files.DEFAULT_LIMIT
    toolkit: Annotated[
        str | None,
        Option(
            "Use the CUDA tools in DIR: an installation, or a directory of wheels.",
            "--toolkit",
            "DIR",
            check="toolkit",
            guarded=True,
        ),
    ] = None
    executor: Annotated[
        str | None,
        Option(
            "Analyse on the workers of a Dask cluster: dask://HOST:PORT.",
            "--executor",
            "URL",
            check="cluster",
            guarded=True,
            api=False,  # `scan` takes an Executor instead
        ),
    ] = None
    linked: Annotated[
        bool,
        Option(
            "Also link the inputs, as one program or as their build links them.",
            "--link",
            file=False,  # in the file, the `link` table also lists the inputs
        ),
    ] = False
    lto: Annotated[
        bool,
        Option(
            "With --link or [[link]]: also link with link-time optimisation, and compare.", "--lto"
        ),
    ] = False
    link: Annotated[
        tuple[LinkGroup, ...],
        Option("Inputs that form one program, linked if one of them is an input.", api=False),
    ] = ()
    build_database: Annotated[
        bool,
        Option(
            "Compile as the project's compile_commands.json says, found automatically.",
            "--build-database/--no-build-database",
        ),
    ] = True
    objects: Annotated[
        bool,
        Option(
            "Read the build's up-to-date objects instead of compiling.",
            "--objects/--no-objects",
        ),
    ] = True
    trust_build: Annotated[
        bool,
        Option(
            "Accept options from builds and the configuration file that can run programs, load "
            "libraries or write files.",
            "--trust-build",
            file=False,  # an untrusted file cannot declare itself trusted
        ),
    ] = False
    cache: Annotated[
        str | None,
        Option(
            "Keep compiler outputs for the next run; see `lmemscope cache`.",
            "--cache/--no-cache",
            check="switch",
            default=True,
        ),
    ] = None
    include: Annotated[
        tuple[str, ...],
        Option(
            "Only analyse files matching GLOB, in directories, builds and saved reports; "
            "repeatable.",
            "--include",
            "GLOB",
            "a glob over files",
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Option(
            "Skip files matching GLOB, in directories, builds and saved reports; repeatable.",
            "--exclude",
            "GLOB",
            "a glob over files",
            merge="after",
        ),
    ] = ()
    causes: Annotated[
        bool,
        Option(
            "Report facts only, without causes and names; faster.",
            "--no-causes",
            group="facts",
            file=False,  # a gate without causes would pass blindly
        ),
    ] = True
    device: Annotated[
        str | None,
        _of_device(
            "Report what the driver reserves for local memory on this GPU, or on the one present.",
            "--device",
            "NAME",
        ),
    ] = None
    sm_count: Annotated[
        int | None,
        _of_device(
            "Set the number of multiprocessors, such as for an unknown GPU.",
            "--sm-count",
            "N",
            "multiprocessors",
            1,
        ),
    ] = None
    threads_per_sm: Annotated[
        int | None,
        _of_device(
            "Set the resident threads per multiprocessor of that GPU.",
            "--threads-per-sm",
            "N",
            "threads",
            32,
        ),
    ] = None
    stack_limit: Annotated[
        int,
        _of_device(
            "Assume this cudaLimitStackSize of the program.", "--stack-limit", "BYTES", "bytes"
        ),
    ] = DEFAULT_STACK_LIMIT
    pending_launches: Annotated[
        int,
        _of_device(
            "Assume this cudaLimitDevRuntimePendingLaunchCount of the program.",
            "--pending-launches",
            "N",
            "launches",
            1,
        ),
    ] = DEFAULT_PENDING_LAUNCHES
    view: View = field(default_factory=View)
    root: str = "/"
    quotes: tuple[Quote, ...] = ()
    proposals: bool = True
    accesses: bool = True
    moved: Moved | None = None
    default_archs: tuple[str, ...] = ()
    narrowed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    arguments_as_written: tuple[str, ...] = ()

    @property
    def filters(self) -> tuple[str, ...]:
        """Flags that exclude kernels or files from this run's reports, sorted."""
        return tuple(sorted({*(f"--kernel {glob}" for glob in self.kernels), *self.narrowed}))


class Configuration(Struct, frozen=True):
    """The complete configuration of a command.

    Attributes:
        settings: what to analyse and how.
        policy: limits and allowances; those in source comments come with the report.
        file: the configuration file, or None.
        written: the file's values, by option name; flags may override them.
    """

    settings: Settings = field(default_factory=Settings)
    baseline: Annotated[
        str | None,
        GateOption("Accept the findings in this baseline.", "--baseline", "FILE", check="path"),
    ] = None
    policy: Policy = field(default_factory=Policy)
    tolerance: Annotated[
        int,
        GateOption("Let known findings grow by up to BYTES.", "--tolerance", "BYTES", unit="bytes"),
    ] = 0
    toolchain_tolerance: Annotated[
        int,
        GateOption(
            "Let known findings grow by up to PERCENT when the toolchain changed.",
            "--toolchain-tolerance",
            "PERCENT",
            unit="percent",
        ),
    ] = 50
    file: str | None = None
    written: Mapping[str, Any] = field(default_factory=dict)


class Row(Option, frozen=True, kw_only=True):
    """A declared option together with its field.

    Attributes:
        field: its name.
        kind: how to check a value.
        required: for a key in a table, whether it must be present.
        rows: the options in its tables, if its value is a list of tables.
    """

    field: str
    kind: Kind
    required: bool
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """The key as a Python identifier."""
        return self.key.replace("-", "_")

    @property
    def flags(self) -> tuple[str, ...]:
        """Its flags, in click's form."""
        return tuple((self.spelled or "").split())

    @property
    def flag(self) -> str:
        """The flag used in messages."""
        return self.flags[-1].partition("/")[0]


_DECLARED = Option.__struct_fields__


def rows_of(declaring: Any) -> Iterator[Row]:
    """The options declared by a structure and those nested in it, in field order."""
    for own in _fields(declaring):
        declared = _declared(own.type)
        if declared is None:
            if is_structure(own.type):
                yield from rows_of(own.type)
            continue
        type_ = get_args(own.type)[0]
        of_tables = get_origin(type_) is tuple and is_structure(get_args(type_)[0])
        said = {name: getattr(declared, name) for name in _DECLARED}
        said["key"] = declared.key or own.name.replace("_", "-")
        if declared.default is ...:
            said["default"] = None if own.default is NODEFAULT else own.default
        yield Row(
            **said,
            field=own.name,
            kind=kind_of_field(type_, declared),
            required=own.default is NODEFAULT and declared.default is ...,
            rows=tuple(rows_of(get_args(type_)[0])) if of_tables else (),
        )


def filled(declaring: Callable[..., T], values: Mapping[str, Any], **more: Any) -> T:
    """A structure, and those nested in it, filled with option values.

    Args:
        declaring: the structure.
        values: by option name.
        more: other fields, and fields that hold something other than the option's value.
    """
    given: dict[str, Any] = {}
    for own in _fields(declaring):
        declared = _declared(own.type)
        if declared is not None:
            given[own.name] = values[declared.key or own.name]
        elif is_structure(own.type) and own.name not in more:
            given[own.name] = filled(own.type, values)
    return declaring(**given | more)


def _declared(hint: Any) -> Option | None:
    if get_origin(hint) is not Annotated:
        return None
    return next((one for one in get_args(hint) if isinstance(one, Option)), None)


_fields = functools.cache(msgspec.structs.fields)


OPTIONS = tuple(rows_of(Configuration))
"""Every option; within a group, in help order."""


def option(key: str) -> Row:
    """An option by its key."""
    return next(row for row in OPTIONS if row.key == key)


LIMIT, ALLOWANCE, LINK = (option(key).rows for key in ("limits", "allowances", "link"))
"""The keys of the tables; flags for limits form one more limit, for all kernels."""
