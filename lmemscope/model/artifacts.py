"""A unit's compiled artefacts, and the variables that its debug compilation describes."""

from __future__ import annotations

from msgspec import Struct

from lmemscope.model.cuda_source import CudaSource
from lmemscope.model.languages import LanguageName
from lmemscope.model.request import Frontend, Gap, KernelDirective, SourceLocation, Tool, Unit


class Member(Struct, frozen=True):
    """A data member and its place in the record.

    Attributes:
        name, type: as in the source.
        offset, size: bytes; members of an anonymous union are listed in the enclosing record.
        members: of a structure, or of an array whose elements are structures.
        file, line: of the declaration; 0 if unknown.
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
        name, type: as in the source.
        size: bytes; 0 if the size of the type is unknown.
        file, line: of the declaration.
        is_parameter: whether it is a formal parameter.
        members: of a structure, or of an array whose elements are structures; in order.
        order: position of the declaration in the debug information.
        referent: for a reference, the entity it refers to under its name; else None.
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
    """The artefacts of a unit, and how they were made.

    Attributes:
        unit: what was requested.
        frontend: the front end that was used.
        options: the compiler options passed by that front end.
        ptx: PTX text whose line numbers are referred to, or None (see ``gaps``).
        ptxas_log: the compiler's log that contains the ptxas report, or None (see ``gaps``).
        cubin: machine code for ``unit.arch``.
        tools: the tools used.
        gaps: what is missing and why.
        source: the parsed CUDA source, or None for other inputs.
        instantiated: name expressions passed to the compilation.
        key: key of the outputs in the store, or None.
        cached: whether the outputs came from the store.
        program: the text that was compiled if it is not the file's, or None.
        variables: variables known to the front end, for code without a debug compilation.
        assembled: if ``cubin`` was not made here and has no line tables, the cubin that ptxas makes
            from ``ptx``, with its report in ``ptxas_log``; else None.
        language: the source language, if a file beside the input states it; else None.
        directives: comments about its kernels that are not in a CUDA source.
        defined: where kernels are defined, by mangled name, according to files beside the input.
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
