"""The kinds of input, one row each: how one is told, what it stands for, how it is compiled.

Adding a kind is a row here and a module that is its `Route`. The modules are imported when a file
of their kind is met: most commands meet one kind only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol, cast

from lmemscope.files import open_regular
from lmemscope.model import Artifacts, Frontend, Gap, LinkInputKind, Unit

if TYPE_CHECKING:
    from lmemscope.sources.python import Survey
    from lmemscope.tools.process import Meanwhile


@dataclass(frozen=True, slots=True)
class Asked:
    """What planning knows about an input beside its unit.

    Attributes:
        archs: to compile for.
        explicit: whether the user or the build asked for them; else they are the default.
        frontend: route asked for.
        walked: a directory stood for the file; nobody named it.
        surveys: what is known of Python files already, by absolute path.
    """

    archs: tuple[str, ...]
    explicit: bool
    frontend: Frontend
    walked: bool
    surveys: Mapping[str, Survey] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expansion:
    """The units that an input stands for, and what it does not stand for: notes and gaps."""

    units: tuple[Unit, ...]
    notes: tuple[str | Gap, ...] = ()


def per_arch(unit: Unit, asked: Asked) -> Expansion:
    """A unit for each architecture, and for both routes where both were asked for."""
    routes: tuple[Frontend, ...] = (asked.frontend,)
    if asked.frontend == "both":
        routes = ("nvrtc", "nvcc")
    return Expansion(
        tuple(replace(unit, arch=arch, frontend=route) for arch in asked.archs for route in routes)
    )


class Route(Protocol):
    """What the module of a kind has."""

    def is_walked(self, path: str, beside: frozenset[str]) -> bool:
        """Whether a directory stands for a file of this kind.

        Args:
            path: of the file.
            beside: names of all files in its directory, in lower case.
        """

    def expand(self, unit: Unit, asked: Asked) -> Expansion:
        """From the input, as a unit without an architecture, to its units."""

    def lower(
        self, unit: Unit, cache_directory: str | None, meanwhile: Meanwhile | None = None
    ) -> Artifacts:
        """From a unit to its artefacts; raises `LmemscopeError` where that cannot be.

        Args:
            unit: what to compile.
            cache_directory: where the store is, or None.
            meanwhile: may be called while a compiler runs.
        """


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of input.

    Attributes:
        name: for messages.
        endings: of file names, in lower case.
        module: dotted name of its `Route`.
        signature: offsets and bytes that tell a named file whose ending says nothing.
        marks: bytes that tell one wherever they are in its beginning.
        is_cuda: CUDA C++, whose launches may instantiate templates of other inputs.
        is_header: CUDA C++ that is compiled as other inputs launch it, and only if named.
        reads: which other files decide what is made of one: those it includes, those beside it
            that have its name, the modules it imports; None where that cannot be told.
        part: what it is in a linked program, or None where it cannot be a part of one.
    """

    name: str
    endings: tuple[str, ...]
    module: str
    signature: tuple[tuple[int, bytes], ...] = ()
    marks: tuple[bytes, ...] = ()
    is_cuda: bool = False
    is_header: bool = False
    reads: Literal["includes", "neighbours", "imports"] | None = None
    part: LinkInputKind | None = None

    @property
    def route(self) -> Route:
        """The module, imported now."""
        return cast(Route, import_module(self.module))


CUDA = Kind(
    "CUDA C++",
    (".cu",),
    "lmemscope.lowering.cuda",
    is_cuda=True,
    reads="includes",
    part="source",
)
KINDS: tuple[Kind, ...] = (
    CUDA,
    Kind(
        "CUDA C++ header",
        (".cuh",),
        "lmemscope.lowering.cuda",
        is_cuda=True,
        is_header=True,
        reads="includes",
        part="source",
    ),
    Kind("PTX", (".ptx",), "lmemscope.lowering.ptx", reads="neighbours", part="ptx"),
    Kind(
        "cubin",
        (".cubin",),
        "lmemscope.lowering.cubin",
        # The ELF magic, and EM_CUDA (190) as e_machine.
        signature=((0, b"\x7fELF"), (18, b"\xbe\x00")),
        reads="neighbours",
        part="cubin",
    ),
    Kind("Python", (".py",), "lmemscope.lowering.python", reads="imports"),
    Kind(
        "build log",
        (".log",),
        "lmemscope.lowering.log",
        # Beginnings of what `ptxas -v` and `nvlink -v` print of every function.
        marks=(b"ptxas info    : ", b"nvlink info    : "),
    ),
)
"""Every kind of input, in the order in which they are listed to users."""

ENDINGS = tuple(ending for kind in KINDS for ending in kind.endings)
_BY_ENDING = {ending: kind for kind in KINDS for ending in kind.endings}
_HEAD = 64
_BEGINNING = 16 << 20
STANDARD_INPUT = "-"
"""As a path: a compiler's output, piped in."""


def kind_of(path: str) -> Kind | None:
    """The kind that a file's name says, or None."""
    if path == STANDARD_INPUT:
        return _BY_ENDING[".log"]
    return _BY_ENDING.get(os.path.splitext(path)[1].lower())


def kind_of_content(path: str) -> Kind | None:
    """The kind that a file's contents say, or None; for names that say nothing."""
    try:
        with open_regular(path) as stream:
            head = stream.read(_HEAD)
            for kind in KINDS:
                if kind.signature and all(head[at:].startswith(s) for at, s in kind.signature):
                    return kind
            beginning = head + stream.read(_BEGINNING)
    except OSError:
        return None
    return next((kind for kind in KINDS if any(mark in beginning for mark in kind.marks)), None)


def kind_of_unit(unit: Unit) -> Kind:
    """The kind of a unit; a file that is none is there because its build compiles it as CUDA."""
    return kind_of(unit.path) or kind_of_content(unit.path) or CUDA
