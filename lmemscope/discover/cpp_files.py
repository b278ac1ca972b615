"""Files that define CUDA kernels though their name says nothing of CUDA."""

from __future__ import annotations

import os
import re

from lmemscope.files import read_beside

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
    """Whether a file is C++ by its name and defines a kernel, as far as a quick look tells."""
    if not is_cpp_name(path):
        return False
    try:
        return _defines_kernel(read_beside(path))
    except OSError:
        return False


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
