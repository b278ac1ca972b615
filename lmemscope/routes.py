"""What the module of a kind of input does, and how an input's kind is told by its contents."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from msgspec import Struct, field
from msgspec.structs import replace

from lmemscope.files import open_regular
from lmemscope.model import Artifacts, Frontend, Gap, Unit
from lmemscope.model.inputs import CUDA, INPUT_KINDS, InputKind, kind_of

if TYPE_CHECKING:
    from lmemscope.sources.python import Survey


class Asked(Struct, frozen=True):
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


class Expansion(Struct, frozen=True):
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


class Along(Protocol):
    """What is done beside the compilation of a unit."""

    def meanwhile(self) -> object:
        """Called while a compiler runs."""

    def begin(self, artifacts: Artifacts) -> None:
        """Told of artefacts of which the PTX is known."""


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
        self, unit: Unit, cache_directory: str | None, along: Along | None = None
    ) -> Artifacts:
        """From a unit to its artefacts; raises `LmemscopeError` where that cannot be.

        Args:
            unit: what to compile.
            cache_directory: where the store is, or None.
            along: what to do while a compiler runs.
        """


def route_of(kind: InputKind) -> Route:
    """The module of a kind, imported now: most commands meet one kind only."""
    return cast(Route, import_module(kind.module))


_HEAD = 64
_BEGINNING = 16 << 20


def kind_of_content(path: str) -> InputKind | None:
    """The kind that a file's contents say, or None; for names that say nothing."""
    try:
        with open_regular(path) as stream:
            head = stream.read(_HEAD)
            kind = _signed(head)
            if kind is not None:
                return kind
            beginning = head + stream.read(_BEGINNING)
    except OSError:
        return None
    return next(
        (kind for kind in INPUT_KINDS if any(mark in beginning for mark in kind.marks)), None
    )


def binary_kind(path: str) -> InputKind | None:
    """As `kind_of_content`, of what holds device code beside other things; few bytes are read."""
    kind = _signed_kind(path)
    return kind if kind is not None and kind.by_content else None


def is_device_code(path: str) -> bool:
    """Whether a file is a cubin or a fat binary by its contents; few bytes are read."""
    kind = _signed_kind(path)
    return kind is not None and kind.is_device_code


def _signed_kind(path: str) -> InputKind | None:
    try:
        with open_regular(path) as stream:
            return _signed(stream.read(_HEAD))
    except OSError:
        return None


def _signed(head: bytes) -> InputKind | None:
    for kind in INPUT_KINDS:
        if kind.signature and all(head[at:].startswith(s) for at, s in kind.signature):
            return kind
    return None


def kind_of_unit(unit: Unit) -> InputKind:
    """The kind of a unit; a file that is none is there because its build compiles it as CUDA.

    What is machine code is told by its contents even where its name says so too.
    """
    named = kind_of(unit.path)
    if named is not None:
        return (_signed_kind(unit.path) or named) if named.signature else named
    return kind_of_content(unit.path) or CUDA


def is_linkable(unit: Unit) -> bool:
    """Whether a unit can be a part of a linked program: CUDA C++, PTX, or a cubin."""
    kind = kind_of_unit(unit)
    return unit.excerpt is None and kind.part is not None and not kind.by_content


def linked_unit(unit: Unit) -> Unit:
    """A unit as it is compiled for a link; of what is compiled already, the unit itself."""
    if kind_of_unit(unit).part not in ("source", "ptx"):
        return unit
    return replace(unit, options=unit.options.as_relocatable())
