"""Functions of headers that the host's compiler reads as the device's does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.sources.syntax import Syntax

if TYPE_CHECKING:
    from tree_sitter import Node

    from lmemscope.rewrites.meanings import Meanings

_WORD = re.compile(rb"[A-Za-z_]\w*")
_BOTH = {frozenset((b"__host__", b"__device__")), frozenset[bytes]()}
"""What a macro says under CUDA, and without."""
_C_FILE = (".h", ".inc", ".inl")
_ONLY_CPP = frozenset((b"template", b"class", b"namespace", b"constexpr", b"std", b"static_cast"))
"""Words by which a header is none of C's, which has no classes and no overloads."""
_CPP_HEADER = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*<\w+>", re.MULTILINE)
"""A header whose name has no ending, which C has none of."""


def host_word(path: str, function: Node, syntax: Syntax, meanings: Meanings) -> bytes | None:
    """The macro that makes a function the device's and the host's, and is empty without CUDA.

    None where there is none, or where a compiler of C may read the file.

    Args:
        path: of the file.
        function: in it.
        syntax: of the file.
        meanings: of its names.
    """
    words = _ONLY_CPP.isdisjoint(_WORD.findall(syntax.code))
    if path.endswith(_C_FILE) and words and _CPP_HEADER.search(syntax.uncommented) is None:
        return None
    body = function.child_by_field_name("body")
    head = syntax.code[function.start_byte : body.start_byte] if body is not None else b""
    for found in _WORD.finditer(head):
        if {frozenset(_WORD.findall(text)) for _, text in meanings.macros(found[0])} == _BOTH:
            return bytes(found[0])
    return None
