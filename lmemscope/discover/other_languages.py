"""Report files whose kernels are not read, so that nobody assumes they were.

These are other languages (HIP, CUDA Fortran, Julia), Python packages with their own compiler
(Triton, CuTe DSL), notebooks, and files whose CUDA ending is not the last (``k.cu.in``). They are
not inputs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from lmemscope.files import read_input
from lmemscope.model import Gap, count, kind_of, listed
from lmemscope.routes import binary_kind
from lmemscope.sources.jit_packages import compiler_of, instead
from lmemscope.sources.python_words import may_hold_kernels

_OTHER_ENDINGS = {".ipynb": "a notebook", ".pyx": "Cython", ".pyw": "Python named .pyw"}
_BINARIES = {".ltoir": "code for link-time optimisation"}
_LANGUAGES = {
    ".hip": ("HIP", re.compile(rb"\b__global__\b")),
    ".cuf": ("CUDA Fortran", re.compile(b"")),
    **dict.fromkeys(
        (".f", ".for", ".f90", ".f95", ".f03", ".f08"),
        ("CUDA Fortran", re.compile(rb"(?i:\battributes\s*\(\s*global|!\$cuf\b)")),
    ),
    ".jl": ("Julia", re.compile(rb"@(?:cuda|kernel)\b")),
    ".cl": ("OpenCL", re.compile(rb"\b(?:__)?kernel\b")),
    ".mojo": ("Mojo", re.compile(rb"\benqueue_function|\bfrom[ \t]+gpu\b")),
    ".rs": ("Rust", re.compile(rb"#\[(?:\w+::)?kernel\b|\bextern[ \t]+\"ptx-kernel\"")),
}
"""By ending in lower case: the language, and the bytes that show a kernel."""
THIRD_PARTY = "third-party code that no input includes"
_LIKE_CUDA = re.compile(r"\.cuh?(?:da|[^a-z]|$)", re.IGNORECASE)
_NAMED = 5


def language_of(path: str) -> str | None:
    """The language of a file that may hold unread kernels; None for most files."""
    ending = os.path.splitext(path)[1].lower()
    if ending in _BINARIES:
        return _BINARIES[ending]
    if ending in _LANGUAGES:
        return _other_language(path, *_LANGUAGES[ending])
    other = _OTHER_ENDINGS.get(ending)
    kind = kind_of(path)
    if kind is None and _LIKE_CUDA.search(os.path.basename(path)) is not None:
        # CMake names objects like k.cu.o.
        return f"a name that ends in {ending!r}" if binary_kind(path) is None else None
    if other is None and (kind is None or kind.reads != "imports"):
        return None
    try:
        data = read_input(path)
    except OSError:
        return other
    compiler = compiler_of(data)
    if compiler is not None:
        return other or compiler
    return other if other is not None and may_hold_kernels(data) else None


def _other_language(path: str, language: str, sign: re.Pattern[bytes]) -> str | None:
    try:
        return language if sign.search(read_input(path)) is not None else None
    except OSError:
        return language


def left_out(found: Mapping[str, str]) -> Iterator[str | Gap]:
    """A gap about such files, and a note if there is something to scan instead."""
    if found:
        names = listed([f"{name} ({language})" for name, language in found.items()], _NAMED)
        cache = instead(found.values())
        reason = f"kernels that are not read, in {count(len(found), 'file')}: {names}{cache}"
        yield Gap("walk", reason, "note")
        if cache:
            yield reason
