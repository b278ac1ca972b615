"""What the lanes of a warp cost when they access local memory.

Local memory is interleaved by 32-bit word across the lanes: word ``w`` of lane ``l`` lies at
``(w * 32 + l) * 4``. Lanes that use one address therefore touch 32 neighbouring words, 4 sectors
of 32 bytes per word; lanes that use different words touch a sector each. Measured on an H200, see
docs/local-memory.md.
"""

from __future__ import annotations

from lmemscope.model import Uniformity

LANES, WORD, SECTOR = 32, 4, 32
"""Lanes in a warp; bytes in a word; bytes in a sector."""


def sectors_per_request(uniformity: Uniformity, width: int) -> int | None:
    """Sectors that one request of a full warp moves, at most; None where it is not known.

    Args:
        uniformity: of the address across the lanes.
        width: bytes that each lane accesses.
    """
    words = max(1, width // WORD)
    if uniformity == "uniform":
        return words * LANES * WORD // SECTOR
    if uniformity == "unknown":
        return None
    return words * LANES
