"""Files that define CUDA kernels though their name says nothing of CUDA."""

from __future__ import annotations

import os
import re

from lmemscope.files import read_beside
from lmemscope.model import CudaSource
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.encoding import decoded, readable

_ENDINGS = frozenset(
    ".c .cc .cpp .cxx .c++ .h .hh .hpp .hxx .h++ .inc .inl .ipp .tcc .tpp .txx".split()
)
_WORD = b"__global__"
_INSTANCE = re.compile(rb"(?m:^)[ \t]*template[ \t]+(?:[\w ]{0,80}[ \t])?__global__\b")
_BEFORE, _HEAD = 200, 4000
_NO_CODE = (b"#", b"//", b"/*", b"*")


def is_cpp_name(path: str) -> bool:
    """Whether a file is C or C++ by its name, which says nothing of CUDA."""
    return os.path.splitext(path)[1].lower() in _ENDINGS


def may_be_included(path: str) -> bool:
    """Whether a file is C++ by its name and holds device code, as far as its text tells."""
    if not is_cpp_name(path):
        return False
    try:
        text = read_beside(path)
        if not _may_be_in_string(text):
            return _defines_kernel(text)
        source = source_of(path)
    except OSError:
        return False
    return bool(source.strings) or (bool(source.kernels) and _defines_kernel(text))


def source_of(path: str) -> CudaSource:
    """What a C++ file says.

    Raises:
        OSError: it cannot be read.
    """
    return read_cuda_source(readable(decoded(read_beside(path)).text))


def _may_be_in_string(text: bytes) -> bool:
    """Whether device code may stand in a string, which a quick look takes for code."""
    if b".entry" in text and b".version" in text:
        return True
    if _WORD not in text:
        return False
    return b'R"' in text or any(_WORD in line and b'"' in line for line in text.splitlines())


def _defines_kernel(text: bytes) -> bool:
    """Whether ``__global__`` stands before a body, outside of comments' and directives' lines.

    Or behind ``template`` without parameters: an instance of a template that is elsewhere.
    """
    if _INSTANCE.search(text) is not None:
        return True
    at = text.find(_WORD)
    while at >= 0:
        line = max(text.rfind(b"\n", max(at - _BEFORE, 0), at) + 1, at - _BEFORE, 0)
        head, brace, _ = text[at : at + _HEAD].partition(b"{")
        is_definition = bool(brace) and b";" not in head and b"void" in head
        if is_definition and not text[line:at].lstrip().startswith(_NO_CODE):
            return True
        at = text.find(_WORD, at + len(_WORD))
    return False
