"""How many warps of a kernel a multiprocessor holds at a time.

The plain formula of ``cuda_occupancy.h`` in CUDA's runtime: registers are given to warps in pieces
of 256, shared memory to blocks in pieces of 128 bytes (256 before compute capability 8.0) beside
what the system keeps for each block. It equals the driver's own answer where a kernel uses no
dynamic shared memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_WARP = 32
_REGISTERS = 65536
"""Per multiprocessor, of every architecture from 7.5 on; a warp gets them in pieces of 256."""
_PIECE = 256


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """Limits of a multiprocessor.

    Attributes:
        warps, blocks: resident at most.
        shared: bytes of shared memory.
        reserved: bytes of it that the system keeps for each block.
        granularity: bytes in which blocks are given it.
        l1: bytes of L1 cache and shared memory together.
    """

    warps: int
    blocks: int
    shared: int
    reserved: int
    granularity: int
    l1: int


_KB = 1024
_BY_CAPABILITY = {
    75: Multiprocessor(32, 16, 64 * _KB, 0, 256, 96 * _KB),
    80: Multiprocessor(64, 32, 164 * _KB, _KB, 128, 192 * _KB),
    86: Multiprocessor(48, 16, 100 * _KB, _KB, 128, 128 * _KB),
    87: Multiprocessor(48, 16, 164 * _KB, _KB, 128, 192 * _KB),
    89: Multiprocessor(48, 24, 100 * _KB, _KB, 128, 128 * _KB),
    90: Multiprocessor(64, 32, 228 * _KB, _KB, 128, 256 * _KB),
    100: Multiprocessor(64, 32, 228 * _KB, _KB, 128, 256 * _KB),
    103: Multiprocessor(64, 32, 228 * _KB, _KB, 128, 256 * _KB),
    120: Multiprocessor(48, 24, 100 * _KB, _KB, 128, 128 * _KB),
    121: Multiprocessor(48, 24, 100 * _KB, _KB, 128, 128 * _KB),
}
"""CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications per Compute
Capability": resident warps and blocks, shared memory, and the unified data cache."""


def multiprocessor(arch: str) -> Multiprocessor | None:
    """The limits of an architecture such as ``sm_90a``; None of one that is not in the table."""
    digits = "".join(char for char in arch if char.isdigit())
    return _BY_CAPABILITY.get(int(digits)) if digits else None


def resident_warps(arch: str, threads: int, registers: int, shared: int) -> int | None:
    """Warps of a kernel that a multiprocessor holds at a time.

    Args:
        arch: real architecture.
        threads: of a block.
        registers: per thread.
        shared: static shared memory per block, in bytes.

    Returns:
        A number of warps, 0 where a block does not fit; None for an unknown architecture.
    """
    limits = multiprocessor(arch)
    if limits is None or threads < 1:
        return None
    warps = math.ceil(threads / _WARP)
    by_registers = limits.blocks
    if registers:
        a_warp = math.ceil(registers * _WARP / _PIECE) * _PIECE
        by_registers = (_REGISTERS // 4 // a_warp * 4) // warps
    taken = math.ceil((shared + limits.reserved) / limits.granularity) * limits.granularity
    by_shared = limits.shared // taken if taken else limits.blocks
    return min(limits.blocks, limits.warps // warps, by_registers, by_shared) * warps


def may_limit(threads: int, shared: int, grid: int | None = None) -> bool:
    """Whether shared memory may keep blocks from being resident, on some known architecture.

    Args:
        threads: of a block.
        shared: shared memory per block, in bytes.
        grid: blocks of the largest grid; None where not known.
    """
    warps = math.ceil(threads / _WARP)
    for limits in _BY_CAPABILITY.values():
        taken = math.ceil((shared + limits.reserved) / limits.granularity) * limits.granularity
        resident = min(limits.blocks, limits.warps // warps)
        wanted = resident if grid is None else min(resident, grid)
        if taken * wanted > limits.shared:
            return True
    return False


def occupancy(arch: str, threads: int, registers: int, shared: int) -> float | None:
    """Warps that a multiprocessor holds, of those that it could; None for an unknown one."""
    held, limits = resident_warps(arch, threads, registers, shared), multiprocessor(arch)
    return None if held is None or limits is None else held / limits.warps
