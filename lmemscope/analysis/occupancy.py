"""How many blocks and warps of a kernel a multiprocessor holds at a time.

The calculation of ``cuda_occupancy.h`` of CUDA's runtime, for kernels without dynamic shared
memory, clusters and device-side limits: registers are given to warps in pieces of 256, shared
memory to blocks in pieces of 128 bytes (256 before compute capability 8.0) beside what the system
keeps for each block. `benchmarks/occupancy.py` compares it with the header's own functions, and
with the driver of a GPU.

Nothing beyond the standard library is imported: a machine with a GPU may have no more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from lmemscope.analysis.multiprocessors import MULTIPROCESSORS, Multiprocessor

if TYPE_CHECKING:
    from lmemscope.model import Limiter

LARGEST_BLOCK = 1024
"""Threads of a block, at most: CUDA C++ Programming Guide, "Compute Capabilities"."""
_WARP = 32
_REGISTER_PIECE = 256
"""Registers in which warps are given them, on every architecture."""
_ROUNDED = 4
"""A block's warps are rounded up to so many where its registers are checked. Partitions of a
multiprocessor, but for 6.0, which has 2 and checks as 6.1 does."""
_BARRIERS_FROM = 90
"""The compute capability from which barriers limit the blocks."""
_COMPILED_FROM = 75
"""The least compute capability that the toolchain compiles for."""


@dataclass(frozen=True, slots=True)
class Residency:
    """What a multiprocessor holds of a kernel at a time.

    Attributes:
        blocks: 0 where a block does not fit.
        warps: of these blocks.
        share: of the warps that a multiprocessor can hold: the occupancy.
        limited_by: each of what allows no more blocks.
    """

    blocks: int
    warps: int
    share: float
    limited_by: tuple[Limiter, ...]


def multiprocessor(arch: str) -> Multiprocessor | None:
    """The limits of an architecture such as ``sm_90a``; None of one that is not in the table."""
    digits = "".join(char for char in arch if char.isdigit())
    return MULTIPROCESSORS.get(int(digits)) if digits else None


def residency(
    arch: str, threads: int, registers: int, shared: int, barriers: int = 0
) -> Residency | None:
    """What a multiprocessor holds of a kernel.

    Args:
        arch: real architecture.
        threads: of a block.
        registers: per thread.
        shared: shared memory per block, in bytes.
        barriers: that a block uses.

    Returns:
        None for an unknown architecture.
    """
    limits = multiprocessor(arch)
    if limits is None or threads < 1:
        return None
    warps = math.ceil(threads / _WARP)
    allowed: dict[Limiter, float] = {
        "registers": _by_registers(limits, warps, registers),
        "shared memory": _by_shared(limits, shared),
        "warps": limits.warps // warps if threads <= LARGEST_BLOCK else 0,
        "blocks": limits.blocks,
    }
    if barriers and limits.capability >= _BARRIERS_FROM:
        allowed["barriers"] = limits.barriers // barriers
    blocks = int(min(allowed.values()))
    limited = tuple(name for name, most in allowed.items() if most == blocks)
    return Residency(blocks, blocks * warps, blocks * warps / limits.warps, limited)


@lru_cache(maxsize=4096)
def best_block(arch: str, registers: int, shared: int, most: int, barriers: int = 0) -> int | None:
    """The largest block of whole warps with the highest occupancy.

    As ``cudaOccupancyMaxPotentialBlockSize`` chooses it.

    Args:
        arch, registers, shared, barriers: as of `residency`.
        most: threads of a block, at most.

    Returns:
        None for an unknown architecture, and where no block fits.
    """
    sizes = {min(most, warps * _WARP) for warps in range(1, math.ceil(most / _WARP) + 1)}
    held = {size: residency(arch, size, registers, shared, barriers) for size in sizes}
    fitting = [(one.warps, size) for size, one in held.items() if one is not None and one.blocks]
    return max(fitting)[1] if fitting else None


def resident_warps(arch: str, threads: int, registers: int, shared: int) -> int | None:
    """Warps of a kernel that a multiprocessor holds at a time; arguments as of `residency`.

    Returns:
        A number of warps, 0 where a block does not fit; None for an unknown architecture.
    """
    held = residency(arch, threads, registers, shared)
    return held.warps if held is not None else None


def _compiled() -> Iterator[Multiprocessor]:
    return (one for number, one in MULTIPROCESSORS.items() if number >= _COMPILED_FROM)


def _by_registers(limits: Multiprocessor, warps: int, registers: int) -> float:
    if not registers:
        return math.inf
    a_warp = _rounded_up(registers * _WARP, _REGISTER_PIECE)
    if a_warp * _rounded_up(warps, _ROUNDED) > limits.block_registers:
        return 0
    return limits.registers // limits.partitions // a_warp * limits.partitions // warps


def _by_shared(limits: Multiprocessor, shared: int) -> float:
    given = _given(limits, shared)
    if given > limits.block_shared + limits.reserved:
        return 0
    return limits.shared // given if given else math.inf


def _given(limits: Multiprocessor, shared: int) -> int:
    """Bytes of shared memory that a block is given."""
    return _rounded_up(shared + limits.reserved, limits.granularity)


def _rounded_up(value: int, piece: int) -> int:
    return -(-value // piece) * piece
