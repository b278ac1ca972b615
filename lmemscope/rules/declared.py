"""What advice must know of a variable: its element, its extents, and what follows it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.base import Case
from lmemscope.rules.remembered import Remembered

_ARRAY = re.compile(r"(?P<element>[^\[\]]*?)(?<!\s)\s*(?P<extents>(?:\[\d+\])+)")
_QUALIFIERS = re.compile(r"\b(?:const|constexpr|static|volatile|register|__restrict__)\b")
_SIZES = {
    **dict.fromkeys(("bool", "char", "signed char", "unsigned char", "int8_t", "uint8_t"), 1),
    **dict.fromkeys(("short", "unsigned short", "int16_t", "uint16_t", "ushort", "__half"), 2),
    **dict.fromkeys(("half", "__nv_bfloat16", "nv_bfloat16", "char2", "uchar2"), 2),
    **dict.fromkeys(("int", "unsigned int", "unsigned", "float", "int32_t", "uint32_t"), 4),
    **dict.fromkeys(("uint", "half2", "__half2", "char4", "uchar4", "short2", "ushort2"), 4),
    **dict.fromkeys(("long", "unsigned long", "long long", "unsigned long long", "double"), 8),
    **dict.fromkeys(("int64_t", "uint64_t", "size_t", "float2", "int2", "uint2"), 8),
    **dict.fromkeys(("float3", "int3", "uint3"), 12),
    # Numba's.
    **{f"{kind}{8 * size}": size for kind in ("int", "uint", "float") for size in (1, 2, 4, 8)},
    **dict.fromkeys(("float4", "int4", "uint4", "double2", "longlong2", "ulonglong2"), 16),
}
"""Sizes of built-in and vector types, as nvcc on 64-bit Linux has them."""
_PADDING = 16

NO_TYPES = frozenset("return else case goto throw new delete".split())
"""Words that stand before a name where a type may, and declare nothing."""


def bytes_of(kind: str) -> int | None:
    """Bytes of a built-in or vector type, qualified or not; None for any other."""
    return _SIZES.get(_plain(kind))


@dataclass(frozen=True, slots=True)
class Declaration:
    """A variable as the compiler declares it.

    Attributes:
        name: without the structures that it is a member of.
        element: its element's type.
        extents: the numbers of elements, outermost first; empty of what is no array.
        element_bytes: None where not known.
    """

    name: str
    element: str
    extents: tuple[int, ...]
    element_bytes: int | None


def declaration_of(case: Case) -> Declaration | None:
    """How the object of a case is declared; None where its name or type is not known for sure."""
    found = case.object
    if found is None or found.name is None or found.type is None or found.confidence == "possible":
        return None
    array = _ARRAY.fullmatch(found.type)
    if array is None and "[" in found.type:
        return None
    element = _plain(array["element"] if array is not None else found.type)
    extents = _numbers(array["extents"]) if array is not None else ()
    size = found.type_size if found.type_size is not None else found.size
    return Declaration(
        name=found.name.rpartition(".")[2].rpartition("->")[2],
        element=element,
        extents=extents,
        element_bytes=_SIZES.get(element) or _share(size, math.prod(extents)),
    )


_BLOCK_LINES = 2000
_RESTS: Remembered[tuple[SourceLocation, str], str] = Remembered()


def rest_of_block(sources: SourceText, declared: SourceLocation, name: str) -> str:
    """What stands behind a variable's declarator up to the end of the block that it is in."""
    return _RESTS.of(sources, (declared, name), lambda: _rest_of_block(sources, declared, name))


def _rest_of_block(sources: SourceText, declared: SourceLocation, name: str) -> str:
    first = sources.line(declared.file, declared.line)
    found = re.search(rf"(?<!\w){re.escape(name)}\s*(?:\[[^\[\]]*\]\s*)*", first)
    if found is None:
        return ""
    lines, depth = [first[found.end() :]], 0
    end = min(declared.line + _BLOCK_LINES, len(sources.lines(declared.file)) + 1)
    for number in range(declared.line + 1, end):
        code = sources.code_line(declared.file, number - 1)
        if number == declared.line + 1:
            own = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", code)
            code = code[own.end() :] if own is not None else code
        for brace in re.findall("[{}]", code):
            depth += 1 if brace == "{" else -1
            if depth < 0:
                return "\n".join(lines)
        lines.append(sources.line(declared.file, number))
    return "\n".join(lines)


def _plain(element: str) -> str:
    return " ".join(_QUALIFIERS.sub(" ", element).split())


def _numbers(extents: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", extents))


def _share(size: int, elements: int) -> int | None:
    """Bytes of one element, where padding behind the last one cannot make it another number."""
    if size % elements == 0 or elements >= _PADDING:
        return size // elements or None
    return None
