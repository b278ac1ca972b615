"""What advice must know of a variable: its element, its extents, and what follows it."""

from __future__ import annotations

import re

from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.remembered import Remembered

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

NO_TYPES = frozenset("return else case goto throw new delete".split())
"""Words that stand before a name where a type may, and declare nothing."""


def bytes_of(kind: str) -> int | None:
    """Bytes of a built-in or vector type, qualified or not; None for any other."""
    return _SIZES.get(_plain(kind))


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
