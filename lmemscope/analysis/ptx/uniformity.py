"""What the lanes of a warp cost when they access local memory.

Local memory is interleaved by 32-bit word across the lanes: word ``w`` of lane ``l`` lies at
``(w * 32 + l) * 4``. Lanes that use one word index therefore touch 32 neighbouring words, 128
bytes, 4 sectors; lanes that use different words touch up to a sector each. An access wider than a
word is split into one request per word (measured on an H200, see docs/local-memory.md).
"""

from __future__ import annotations

from lmemscope.model import Uniformity

LANES, WORD, SECTOR = 32, 4, 32
"""Lanes in a warp; bytes in a word; bytes in a sector."""
_SHARED = LANES * WORD // SECTOR


def sectors_per_request(uniformity: Uniformity, places: int | None = None) -> int | None:
    """Sectors that one request of a full warp moves, at most; None where it is not known.

    Lanes that use one place share 4 sectors. In each place more they touch up to 4 others, and
    never more than one each.

    Args:
        uniformity: of the address across the lanes.
        places: how many different places an access can go to (`places_in`); None where not known.
    """
    if uniformity == "uniform":
        return _SHARED
    if uniformity == "unknown":
        return None
    return LANES if places is None else min(LANES, max(1, places) * _SHARED)


def places_in(offset: int, size: int, width: int = WORD) -> int:
    """How many places, each one word in a request, an object has for accesses of some width.

    Args:
        offset: bytes from an aligned address to the object.
        size: bytes of the object.
        width: bytes of an access per lane, which begins at a multiple of them.
    """
    unit = max(width, WORD)
    return (offset + max(size, 1) - 1) // unit - offset // unit + 1


def requests_per_access(width: int) -> int:
    """Requests that one access of ``width`` bytes per lane makes: one per 32-bit word."""
    return max(1, width // WORD)
