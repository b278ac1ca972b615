"""The kinds of input, one row each, and how an input is named in reports.

Adding a kind is a row of `INPUT_KINDS` and the module that the row names, which finds, plans and
compiles such files as `lmemscope.routes.Route` describes it.
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
"""As a path: a compiler's output, piped in."""


class InputKind(Struct, frozen=True):
    """A kind of input.

    Attributes:
        name: for messages.
        endings: of file names, in lower case.
        module: dotted name of its `lmemscope.routes.Route`.
        signature: offsets and bytes that tell a named file whose ending says nothing.
        marks: bytes that tell one wherever they are in its beginning.
        is_cuda: CUDA C++, whose launches may instantiate templates of other inputs.
        is_header: CUDA C++ that is compiled as other inputs launch it, and only if named.
        reads: which other files decide what is made of one: those it includes, those beside it
            that have its name, the modules it imports; None where that cannot be told.
        by_content: whether only the first bytes tell it, whatever its name; the endings are those
            that such files usually have.
        is_device_code: whether the signature tells device code and nothing else: a directory stands
            for such a file whatever its name.
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
    # Beginnings of what `ptxas -v` and `nvlink -v` print of every function.
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
"""Every kind of input, in the order in which they are listed to users."""

INPUT_ENDINGS = tuple(ending for kind in INPUT_KINDS if kind.module for ending in kind.endings)
"""Of the files that are analysed."""

_BY_ENDING = {ending: kind for kind in INPUT_KINDS for ending in kind.endings}


def kind_of(path: str) -> InputKind | None:
    """The kind of an analysed file by its name, or None."""
    if path == STANDARD_INPUT:
        return BUILD_LOG
    kind = _BY_ENDING.get(_ending(path))
    return kind if kind is not None and not kind.by_content else None


def kind_of_binary(path: str) -> InputKind | None:
    """The kind of a file that a link takes as it is, by its name, or None."""
    kind = _BY_ENDING.get(_ending(path))
    return kind if kind is not None and kind.by_content and kind.part else None


def is_linkable(path: str) -> bool:
    """Whether a program may be linked with a file, by its name: an object, archive or library."""
    kind = _BY_ENDING.get(_ending(path))
    return kind is not None and kind.by_content and (kind.part is not None or kind is LIBRARY)


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


class InputId(Struct, frozen=True):
    """The name of an input in reports.

    Attributes:
        file: as shown to the user.
        variant: what tells inputs of one file apart: a program of it, or a way to compile it; else
            an empty string.
    """

    file: str
    variant: str = ""

    def __str__(self) -> str:
        """``a.cu``, or ``a.cu[variant]``."""
        return f"{self.file}[{self.variant}]" if self.variant else self.file

    @classmethod
    def parse(cls, name: str) -> InputId:
        """From the text; a file's own name may hold brackets too.

        What has the ending of an input is the file.
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
"""Triton's directories (base 32 of SHA-256; hexadecimal before 3.0), those of other compilers with
a digest, and the end of the names of Warp's modules."""
_NUMBERED = re.compile(r"(?<![^/])module_\d{4,9}(\.[^/]{1,200}\.)\d{1,9}(?=\.ptx\b)")
"""XLA's modules and their parts: counted through the process that compiles them."""


_WHEEL = re.compile(
    r"(?<![^/\[])([\w.]{1,100})-\d[\w.+!]{0,60}((?:-\d\w{0,30})?-[\w.]{1,60}-[\w.]{1,60})"
    r"-[\w.]{1,200}(?=\.whl(?![^/\[\]]))"
)
"""A wheel's distribution, its version, its tags of Python and ABI, and its platform (PEP 427)."""
_CONDA = re.compile(
    r"(?<![^/\[])([\w.-]{1,100})-\d[\w.+!]{0,60}-[\w.]{1,60}(?=\.conda(?![^/\[\]]))"
)
_LIBRARY = re.compile(r"(?:(?<=\w)-[0-9a-f]{8})?\.so(?:\.\d{1,9}){0,6}(?![^/\[\]])")
"""How a shared library's name ends: auditwheel's digest of its bytes, and the library's version."""


def without_hashes(name: str) -> str:
    """An input's name without what the next release has otherwise: versions, and digests by which
    caches call what they hold.

    A kernel that was edited, or compiled by another version, has another digest. ``c/<52
    letters>/k.cubin`` gives ``c/*/k.cubin``; XLA's ``module_0001.jit_f.5.ptx``, ``*.jit_f.*.ptx``;
    ``a-1.0-cp311-cp311-linux_x86_64.whl[a.libs/liba-01234567.so.1]``,
    ``a-*-cp311-cp311-*.whl[a.libs/liba.so]``.
    """
    named = _CONDA.sub(r"\1-*", _WHEEL.sub(r"\1-*\2-*", _LIBRARY.sub(".so", name)))
    return _HASHED.sub("*", _NUMBERED.sub(r"*\1*", named))


def digest_in(name: str) -> str:
    """The digest by which a cache calls an input, or an empty string: it tells instances apart."""
    found = _HASHED.search(name) or _NUMBERED.search(name)
    return found.group() if found is not None else ""


def respelled(value: T, spell: Callable[[str], str]) -> T:
    """A value whose inputs and files have other names.

    Args:
        value: with fields ``input``, ``file`` and ``sources``, at any depth.
        spell: from a file's name to another one.
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
    """Whether an input may be one of some files, or a part of one, wherever its name is divided.

    Args:
        name: of the input.
        files: absolute paths.
    """
    ends = (len(name), *(at for at, letter in enumerate(name) if letter == "["))
    return any(os.path.abspath(name[:end]) in files for end in ends)
