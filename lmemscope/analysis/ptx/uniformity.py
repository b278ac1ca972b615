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


def sectors_per_request(uniformity: Uniformity) -> int | None:
    """Sectors that one request of a full warp moves, at most; None where it is not known.

    ``uniformity`` is that of the address across the lanes.
    """
    if uniformity == "uniform":
        return LANES * WORD // SECTOR
    return None if uniformity == "unknown" else LANES


def requests_per_access(width: int) -> int:
    """Requests that one access of ``width`` bytes per lane makes: one per 32-bit word."""
    return max(1, width // WORD)
