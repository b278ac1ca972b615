"""What the toolchain made of a unit, and what a debug compilation says of its variables."""

from __future__ import annotations

from msgspec import Struct

from lmemscope.model.cuda_source import CudaSource
from lmemscope.model.languages import LanguageName
from lmemscope.model.request import Frontend, Gap, KernelDirective, SourceLocation, Tool, Unit


class Member(Struct, frozen=True):
    """A data member: its place in the record, in bytes.

    Attributes:
        name, type: as the source says.
        offset, size: bytes; those of an anonymous union's members are in the record around it.
        members: of a structure, or of an array's element that is one.
        file, line: of the declaration; 0 where not known.
    """

    name: str
    offset: int
    size: int
    type: str
    members: tuple[Member, ...] = ()
    file: str = ""
    line: int = 0


class Variable(Struct, frozen=True):
    """A variable or parameter of a function.

    Attributes:
        function: mangled name of the function that declares it.
        name, type: as the source says.
        size: bytes, 0 where the type's size is not known.
        file, line: of the declaration.
        is_parameter: a formal parameter.
        members: of a structure, or of an array's element that is one; in order.
        order: position of the declaration in the document.
        referent: of a reference, what it stands for under its name; else None.
    """

    function: str
    name: str
    type: str
    size: int
    file: str
    line: int
    is_parameter: bool
    members: tuple[Member, ...]
    order: int
    referent: Variable | None = None


class Artifacts(Struct, frozen=True):
    """What the toolchain made of a unit.

    Attributes:
        unit: what was asked for.
        frontend: the route taken.
        options: the compiler options of that route.
        ptx: PTX text, as its line numbers are used, or None (see ``gaps``).
        ptxas_log: the compiler's log that holds ptxas's report, or None (see ``gaps``).
        cubin: machine code for ``unit.arch``.
        tools: what was used.
        gaps: what is missing and why.
        source: what the CUDA source says about itself, or None for other inputs.
        instantiated: name expressions that the compilation was given.
        key: where the outputs are kept in the store for the next run, or None.
        cached: whether they came from there.
        program: the text that was compiled where that is not the file's, or None.
        variables: what the front end knows of variables, where no debug compilation can tell.
        assembled: where ``cubin`` was not made here and has no line tables, what ptxas makes of
            ``ptx``, with its report in ``ptxas_log``; else None.
        language: of the source, where what lies beside the input says it; else None.
        directives: comments about its kernels that are in no CUDA source.
        defined: where kernels are defined, by mangled name, as what lies beside the input says.
    """

    unit: Unit
    frontend: Frontend
    options: tuple[str, ...]
    ptx: bytes | None
    ptxas_log: str | None
    cubin: bytes
    tools: tuple[Tool, ...]
    gaps: tuple[Gap, ...] = ()
    source: CudaSource | None = None
    instantiated: tuple[str, ...] = ()
    key: str | None = None
    cached: bool = False
    program: str | None = None
    variables: tuple[Variable, ...] | None = None
    assembled: bytes | None = None
    language: LanguageName | None = None
    directives: tuple[KernelDirective, ...] = ()
    defined: dict[str, SourceLocation] = {}
