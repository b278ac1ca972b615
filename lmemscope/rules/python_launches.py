"""Launches in Python: whether they ask for shared memory beyond what a kernel declares."""

from __future__ import annotations

import re

_CUPY = re.compile(r"\bshared_mem\b")
"""CuPy's argument of a launch."""
_NUMBA = re.compile(r"\[((?:[^\[\]()\n]|\([^()\n]*\)|\[[^\[\]\n]*\]){1,300})\]\s*\(")
"""What looks like ``kernel[grid, block, stream, bytes](``."""
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_WITH_BYTES = 4


def asks_for_shared_memory(text: str) -> bool:
    """Whether a launch of a Python file's may ask for dynamic shared memory.

    Numba's fourth part of a launch is its bytes, CuPy's the argument ``shared_mem``.
    """
    if _CUPY.search(text) is not None:
        return True
    shapes = (_BRACKETED.sub("", one[1]).split(",") for one in _NUMBA.finditer(text))
    return any(len(parts) == _WITH_BYTES and parts[-1].strip() != "0" for parts in shapes)
