"""Recognise C++ files that define CUDA kernels although their name does not say so."""

from __future__ import annotations

import os
import re

from lmemscope.files import cached_while_unchanged, read_beside
from lmemscope.model import CudaSource
from lmemscope.sources.cuda import SPLIT_WORD, read_cuda_source
from lmemscope.sources.encoding import decoded, readable
from lmemscope.sources.includes import user_files
from lmemscope.sources.macro_use import code

_ENDINGS = frozenset(
    ".c .cc .cpp .cxx .c++ .h .hh .hpp .hxx .h++ .inc .inl .ipp .tcc .tpp .txx".split()
)
_INSTANCE = re.compile(rb"(?m:^)[ \t]*template[ \t]+(?:[\w ]{0,80}[ \t])?__global__\b")
_BEFORE, _HEAD = 200, 4000
_NO_CODE = (b"#", b"//", b"/*", b"*")
_WORD = b"__global__"
_SPLIT = re.compile(SPLIT_WORD.encode())
_SPELLED = re.compile(
    rb"__global__|__location__\s*\(\s*global\b|__attribute(?:__)?\s*\(\([^()]*\b_*global_*\b"
)
_BODY = re.compile(rb"\{|<%")
_DEFINE = re.compile(rb"(?m:^)[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\(?:\r?\n|.))*)")
_HEADING = re.compile(rb"\b([A-Za-z_]\w*)\s+void\b|(?m:^)[ \t]*([A-Za-z_]\w*)[ \t]*\(")
_COMMON = frozenset(
    b"static inline virtual extern const constexpr friend return C if for while switch".split()
)
"""Words before ``void``, or before a bracket, that are not macros for kernels."""


def is_cpp_name(path: str) -> bool:
    """Whether a file name is C or C++ but not CUDA."""
    return os.path.splitext(path)[1].lower() in _ENDINGS


def may_be_included(path: str) -> bool:
    """Whether a file name is C++ and its text appears to contain device code."""
    if not is_cpp_name(path):
        return False
    try:
        text = read_beside(path)
        begins = _defines_kernel(text) or _by_macro(path, text)
        if not _may_be_in_string(text):
            return begins
        source = source_of(path)
    except OSError:
        return False
    return bool(source.strings) or (bool(source.kernels) and begins)


def may_name_kernel(path: str) -> bool:
    """The same for a file of a library: only what spells the keyword itself, which is fast."""
    try:
        return is_cpp_name(path) and _WORD in read_beside(path) and may_be_included(path)
    except OSError:
        return False


def source_of(path: str) -> CudaSource:
    """The facts read from a C++ file's text.

    Raises:
        OSError: it cannot be read.
    """
    return read_cuda_source(readable(decoded(read_beside(path)).text))


def _may_be_in_string(text: bytes) -> bool:
    """Whether device code may be inside a string, which a quick scan takes for code."""
    if (b".entry" in text and b".version" in text) or _SPLIT.search(text) is not None:
        return True
    if _WORD not in text:
        return False
    return b'R"' in text or any(_WORD in line and b'"' in line for line in text.splitlines())


def _defines_kernel(text: bytes) -> bool:
    """Whether ``__global__`` precedes a body, outside comments, strings and directives.

    Explicit instantiations (``template`` without parameters) count too.
    """
    joined = text.replace(b"\\\r\n", b"").replace(b"\\\n", b"")
    if b"global" not in joined:
        return False
    shown = code(text)
    return _INSTANCE.search(shown) is not None or any(
        _begins_kernel(shown, match.start()) for match in _SPELLED.finditer(shown)
    )


def _begins_kernel(text: bytes, at: int) -> bool:
    """Whether a definition starts at a word, outside comments and directives."""
    line = max(text.rfind(b"\n", max(at - _BEFORE, 0), at) + 1, at - _BEFORE, 0)
    body = _BODY.search(text, at, at + _HEAD)
    is_definition = body is not None and text.find(b";", at, body.start()) < 0
    return is_definition and not text[line:at].lstrip().startswith(_NO_CODE)


def _by_macro(path: str, text: bytes) -> bool:
    """Whether a macro, from the file or a header it includes, starts a kernel definition in it."""
    headings = ((one[1] or one[2], one.start()) for one in _HEADING.finditer(text))
    begun = {word for word, at in headings if word not in _COMMON and _begins_kernel(text, at)}
    if not begun:
        return False
    return any(not begun.isdisjoint(_kernel_macros(file)) for file in user_files(path))


def _kernel_macros(path: str) -> frozenset[bytes]:
    """A file's macros that expand to ``__global__``; empty if the file cannot be read."""
    try:
        return _macros_of(path)
    except OSError:
        return frozenset()


@cached_while_unchanged(16384)
def _macros_of(path: str) -> frozenset[bytes]:
    text = read_beside(path)
    if _SPELLED.search(text) is None:
        return frozenset()
    return frozenset(
        found[1] for found in _DEFINE.finditer(text) if _SPELLED.search(found[2]) is not None
    )
