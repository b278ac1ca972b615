"""What NVRTC reads otherwise than nvcc with its host compiler, so that nvcc has to decide."""

from __future__ import annotations

import re

_ATTRIBUTE = "an attribute that NVRTC leaves out"
_READ_OTHERWISE = {
    _ATTRIBUTE: re.compile(
        rb"\}\s*(?:\w+\s*)?__(?:attribute__|align__)|\[\[\s*(?:using\s+)?(?:__)?gnu(?:__)?\s*:"
        rb"|\[\[\s*no_unique_address\b"
    ),
    "a string that NVRTC encodes otherwise": re.compile(
        rb'\b(?:u8|[uUL])R?"[^"\n]*[\x80-\xff]|"[^"\n]*\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})'
    ),
    "pow, which NVRTC multiplies out": re.compile(rb"(?<![\w.>])pow\s*\("),
    "a question to a number that NVRTC answers with an int": re.compile(
        rb"(?<![\w.>])(?:signbit|is(?:nan|inf|finite|normal))\s*\("
    ),
    "virtual functions, whose tables NVRTC names by other symbols": re.compile(rb"\bvirtual\b"),
}
"""What NVRTC reads, but otherwise than nvcc: structures have other sizes, or code differs.

Measured with CUDA 13: GNU attributes behind a type's braces or in double brackets; strings that are
wide or UTF-8 by their prefix, or name characters by number; and powers, for of a number and an
integer the host's library makes two numbers, where NVRTC has an overload that multiplies; the
classification of a number, which is a ``bool`` for nvcc and decides overloads and ``auto``; and the
table of virtual functions of an object that a template makes, which NVRTC reads through a symbol of
its own where nvcc names it.
"""


def read_otherwise(text: bytes) -> str | None:
    """What of a text NVRTC would read otherwise; None where nothing is known to be.

    Args:
        text: of a source or a header, spliced lines joined.
    """
    for what, pattern in _READ_OTHERWISE.items():
        if pattern.search(text) is not None:
            return what
    if b"__attribute__" in text and any(map(_is_attribute, text.split(b"\n"))):
        return _ATTRIBUTE
    return None


def _is_attribute(line: bytes) -> bool:
    """Whether a line defines a macro for an attribute: where that is used shows nothing of it."""
    return (
        b"define" in line and b"__attribute__" in line and (b"packed" in line or b"aligned" in line)
    )
