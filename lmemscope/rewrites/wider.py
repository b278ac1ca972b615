"""Whether an array may be read by a pointer to something larger than its elements.

Bytes that are read as words have to be aligned as words are. In a thread's frame they happen to be;
in another place they may lie otherwise, for their own type asks for nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import element_type
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.reaching import same_object
from lmemscope.sources.syntax import Declared, Syntax, around

if TYPE_CHECKING:
    from tree_sitter import Node

_CAST = re.compile(
    rb"\(\s*(?P<plain>[A-Za-z_][\w:\s]*?)\s*[*&][\s*&]*\)"
    rb"|(?:reinterpret|static)_cast\s*<\s*(?P<named>[A-Za-z_][\w:\s]*?)\s*[*&][^<>]*>"
)
"""Casts to pointers and references; a parameter without a name reads as one, too."""
_BYTES = {
    **dict.fromkeys((b"void", b"bool", b"char", b"int8_t", b"uint8_t", b"uchar"), 1),
    **dict.fromkeys((b"short", b"int16_t", b"uint16_t", b"ushort", b"half", b"__half"), 2),
    **dict.fromkeys((b"int", b"unsigned", b"signed", b"float", b"int32_t", b"uint32_t"), 4),
    **dict.fromkeys((b"uint",), 4),
    **dict.fromkeys((b"double", b"long", b"int64_t", b"uint64_t", b"size_t"), 8),
}
"""Bytes of a type by a word of it; of several words the one that says most counts."""
_ALIGNMENTS = frozenset(
    {b"alignof", b"_Alignof", b"__alignof", b"__alignof__", b"alignment_of", b"alignment_of_v"}
)
_SAYING = (b"char", b"short", b"long")


def aligned(target: Target, declared: Declared) -> bytes:
    """What asks for the alignment that any such pointer needs, where the array is put elsewhere.

    Raises:
        DeclinedError: the program may ask for the alignment, which would be another one.
    """
    if not _may_be_read_wider(target, declared):
        return b""
    if _ALIGNMENTS & target.meanings.words:
        raise DeclinedError("it needs another alignment, and the program asks for alignments")
    return b"__align__(16) "


def _may_be_read_wider(target: Target, declared: Declared) -> bool:
    """Whether something gets a pointer into an array, where code casts to larger elements."""
    own = _size(element_type(target)) or 1
    casts = (
        found["plain"] or found["named"]
        for text in target.meanings.texts
        for found in _CAST.finditer(text)
    )
    if not any((_size(target.meanings.spelled_out(one)) or 16) > own for one in casts):
        return False
    uses = target.syntax.uses(declared.name, declared.scope)
    return any(_is_pointer(one, len(declared.extents), target.syntax) for one in uses)


def _size(type_: bytes) -> int | None:
    """Bytes of a type of the language; None of others."""
    words = [one for one in re.findall(rb"\w+", type_) if one not in (b"const", b"volatile")]
    words = [one for one in words if one != b"std"]
    saying = [one for one in words if one in _SAYING] or words
    sizes = [_BYTES.get(one) for one in saying]
    return max(sizes) if sizes and None not in sizes else None  # type: ignore[type-var]


def _is_pointer(use: Node, dimensions: int, syntax: Syntax) -> bool:
    """Whether a use is more than an element that is read by its own type."""
    if any(True for _ in around(use, "sizeof_expression")):
        return False
    node, depth = use, 0
    while node.parent is not None and node.parent.type == "subscript_expression":
        if node.parent.child_by_field_name("argument") != node:
            break
        node, depth = node.parent, depth + 1
    if depth < dimensions:
        return True
    above = same_object(node).parent
    if above is None or above.type == "pointer_expression":
        return above is not None
    # A reference to something larger is as good as a pointer.
    return above.type in ("cast_expression", "argument_list")
