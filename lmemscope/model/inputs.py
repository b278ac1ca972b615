"""The table of input kinds, and how inputs are named in reports.

To add a kind, add a row to `INPUT_KINDS`, and the module it names, which finds, plans and compiles
such files as described by `lmemscope.routes.Route`.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

T = TypeVar("T")

LinkInputKind = Literal["source", "ptx", "cubin", "object", "archive"]
STANDARD_INPUT = "-"
"""The path for compiler output piped to standard input."""


class InputKind(Struct, frozen=True):
    """A kind of input.

    Attributes:
        name: for messages.
        endings: file name endings, in lower case.
        module: dotted name of the module that implements `lmemscope.routes.Route`.
        signature: offsets and bytes that identify a named file whose ending does not.
        marks: bytes that identify one anywhere near its beginning.
        is_cuda: whether it is CUDA C++, whose launches may instantiate templates of other inputs.
        is_header: whether it is CUDA C++ that is compiled only if named, with the instances that
            other inputs launch.
        reads: which other files affect the result: those it includes, those beside it with the same
            name, or the modules it imports; None if unknown.
        by_content: whether only its first bytes identify it, whatever its name; the endings are
            those that such files usually have.
        is_device_code: whether the signature identifies nothing but device code, so that a
            directory walk includes such files whatever their name.
        part: its role in a linked program, or None if it cannot be linked.
    """

    name: str
    endings: tuple[str, ...]
    module: str
    signature: tuple[tuple[int, bytes], ...] = ()
    marks: tuple[bytes, ...] = ()
    is_cuda: bool = False
    is_header: bool = False
    reads: Literal["includes", "neighbours", "imports"] | None = None
    by_content: bool = False
    is_device_code: bool = False
    part: LinkInputKind | None = None


CUDA = InputKind(
    "CUDA C++",
    (".cu",),
    "lmemscope.lowering.cuda",
    is_cuda=True,
    reads="includes",
    part="source",
)
PTX = InputKind("PTX", (".ptx",), "lmemscope.lowering.ptx", reads="neighbours", part="ptx")
CUBIN = InputKind(
    "cubin",
    (".cubin",),
    "lmemscope.lowering.cubin",
    # The ELF magic, and EM_CUDA (190) as e_machine.
    signature=((0, b"\x7fELF"), (18, b"\xbe\x00")),
    is_device_code=True,
    reads="neighbours",
    part="cubin",
)
BUILD_LOG = InputKind(
    "build log",
    (".log",),
    "lmemscope.lowering.log",
    # First lines that `ptxas -v` and `nvlink -v` print for every function.
    marks=(b"ptxas info    : ", b"nvlink info    : "),
)
_BINARY = "lmemscope.lowering.binary"
LIBRARY = InputKind("library or program", (".so",), _BINARY, by_content=True)
PACKAGE = InputKind(
    "package",
    (".whl", ".zip", ".conda", ".pt2"),
    _BINARY,
    signature=((0, b"PK\x03\x04"),),
    by_content=True,
)

INPUT_KINDS: tuple[InputKind, ...] = (
    CUDA,
    InputKind(
        "CUDA C++ header",
        (".cuh",),
        "lmemscope.lowering.cuda",
        is_cuda=True,
        is_header=True,
        reads="includes",
        part="source",
    ),
    PTX,
    CUBIN,
    InputKind("Python", (".py",), "lmemscope.lowering.python", reads="imports"),
    BUILD_LOG,
    InputKind(
        "host object",
        (".o", ".obj", ".fatbin"),
        _BINARY,
        signature=((0, b"\x7fELF"),),
        by_content=True,
        part="object",
    ),
    LIBRARY,
    InputKind(
        "fat binary",
        (),
        _BINARY,
        signature=((0, b"\x50\xed\x55\xba"),),
        is_device_code=True,
        by_content=True,
    ),
    InputKind(
        "archive",
        (".a", ".lib"),
        _BINARY,
        signature=((0, b"!<arch>\n"),),
        by_content=True,
        part="archive",
    ),
    PACKAGE,
)
"""Every kind of input, in the order listed to users."""

INPUT_ENDINGS = tuple(ending for kind in INPUT_KINDS if kind.module for ending in kind.endings)
"""Endings of the files that are analysed."""

_BY_ENDING = {ending: kind for kind in INPUT_KINDS for ending in kind.endings}


def kind_of(path: str) -> InputKind | None:
    """The kind of a file that can be analysed, by its name, or None."""
    if path == STANDARD_INPUT:
        return BUILD_LOG
    kind = _BY_ENDING.get(_ending(path))
    return kind if kind is not None and not kind.by_content else None


def kind_of_binary(path: str) -> InputKind | None:
    """The kind of a file that a link uses as it is, by its name, or None."""
    kind = _BY_ENDING.get(_ending(path))
    return kind if kind is not None and kind.by_content and kind.part else None


def is_linkable(path: str) -> bool:
    """Whether a file can be linked into a program, by its name: an object, archive or library."""
    kind = _BY_ENDING.get(_ending(path))
    return kind is not None and kind.by_content and (kind.part is not None or kind is LIBRARY)


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


class InputId(Struct, frozen=True):
    """The name of an input in reports.

    Attributes:
        file: as shown to the user.
        variant: distinguishes inputs from one file: one of its programs, or a way to compile it;
            else an empty string.
    """

    file: str
    variant: str = ""

    def __str__(self) -> str:
        """``a.cu``, or ``a.cu[variant]``."""
        return f"{self.file}[{self.variant}]" if self.variant else self.file

    @classmethod
    def parse(cls, name: str) -> InputId:
        """Parse such a name; the file's own name may contain brackets too.

        The part that has an input's ending is taken as the file.
        """
        ends = [at for at, letter in enumerate(name) if letter == "["]
        if not name.endswith("]") or not ends:
            return cls(name)
        end = next((at for at in ends if _ending(name[:at]) in INPUT_ENDINGS), ends[0])
        return cls(name[:end], name[end + 1 : -1])


_HASHED = re.compile(
    r"(?<![0-9A-Za-z])(?:[A-Z2-7]{52}|[0-9a-f]{32,64})(?![0-9A-Za-z])"
    r"|(?<=_)[0-9a-f]{7}(?=(?:\.sm\d{1,3})?\.(?:cubin|ptx)\b)"
)
"""Triton's cache directories (base 32 of SHA-256; hexadecimal before 3.0), digest directories of
other compilers, and the digest at the end of Warp's module names."""
_NUMBERED = re.compile(r"(?<![^/])module_\d{4,9}(\.[^/]{1,200}\.)\d{1,9}(?=\.ptx\b)")
"""XLA's modules and their parts, numbered within the process that compiles them."""


_WHEEL = re.compile(
    r"(?<![^/\[])([\w.]{1,100})-\d[\w.+!]{0,60}((?:-\d\w{0,30})?-[\w.]{1,60}-[\w.]{1,60})"
    r"-[\w.]{1,200}(?=\.whl(?![^/\[\]]))"
)
"""A wheel's distribution, version, Python and ABI tags, and platform (PEP 427)."""
_CONDA = re.compile(
    r"(?<![^/\[])([\w.-]{1,100})-\d[\w.+!]{0,60}-[\w.]{1,60}(?=\.conda(?![^/\[\]]))"
)
_LIBRARY = re.compile(r"(?:(?<=\w)-[0-9a-f]{8})?\.so(?:\.\d{1,9}){0,6}(?![^/\[\]])")
"""End of a shared library's name: auditwheel's digest of its bytes, and the library's version."""


def without_hashes(name: str) -> str:
    """An input's name without what changes between releases: versions, and digests in cache names.

    A kernel that was edited or compiled by another version has another digest. ``c/<52
    letters>/k.cubin`` gives ``c/*/k.cubin``; XLA's ``module_0001.jit_f.5.ptx``, ``*.jit_f.*.ptx``;
    ``a-1.0-cp311-cp311-linux_x86_64.whl[a.libs/liba-01234567.so.1]``,
    ``a-*-cp311-cp311-*.whl[a.libs/liba.so]``.
    """
    named = _CONDA.sub(r"\1-*", _WHEEL.sub(r"\1-*\2-*", _LIBRARY.sub(".so", name)))
    return _HASHED.sub("*", _NUMBERED.sub(r"*\1*", named))


def digest_in(name: str) -> str:
    """The digest in an input's cache name, or an empty string; it tells instances apart."""
    found = _HASHED.search(name) or _NUMBERED.search(name)
    return found.group() if found is not None else ""


def respelled(value: T, spell: Callable[[str], str]) -> T:
    """A value with its inputs and files renamed.

    Args:
        value: has fields ``input``, ``file`` or ``sources``, at any depth.
        spell: maps a file's name to its new name.
    """

    @functools.cache
    def renamed(name: str) -> str:
        named = InputId.parse(name)
        return str(replace(named, file=spell(named.file)))

    def changed(held: Any, name: str = "") -> Any:
        if name in ("file", "input") and isinstance(held, str):
            return renamed(held)
        if name == "sources" and isinstance(held, Mapping):
            return {renamed(file): digest for file, digest in held.items()}
        if isinstance(held, tuple):
            return tuple(map(changed, held))
        if isinstance(held, Struct):
            return replace(
                held, **{one: changed(getattr(held, one), one) for one in held.__struct_fields__}
            )
        return held

    made: T = changed(value)
    return made


def is_part_of(name: str, files: Collection[str]) -> bool:
    """Whether an input may be one of the given files, or part of one, however its name is split.

    Args:
        name: the input's name.
        files: absolute paths.
    """
    ends = (len(name), *(at for at, letter in enumerate(name) if letter == "["))
    return any(os.path.abspath(name[:end]) in files for end in ends)
