"""What a multiprocessor of each architecture holds; `benchmarks/occupancy.py --write` makes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """Limits of a multiprocessor; sizes in bytes.

    Attributes:
        capability: compute capability, 90 for 9.0.
        warps, blocks: resident at most.
        registers: of all of it.
        block_registers: of a block, at most.
        partitions: that warps are spread over, each with its share of the registers.
        shared: shared memory of all of it.
        block_shared: of a block, at most, where a kernel opts in.
        reserved: shared memory that the system keeps for each block.
        granularity: pieces in which blocks are given shared memory.
        barriers: of the resident blocks together; they limit these from 9.0 on.
        l1: L1 cache and shared memory together; None where they are apart.
    """

    capability: int
    warps: int
    blocks: int
    registers: int
    block_registers: int
    partitions: int
    shared: int
    block_shared: int
    reserved: int
    granularity: int
    barriers: int
    l1: int | None


MULTIPROCESSORS = {
    50: Multiprocessor(50, 64, 32, 65536, 65536, 4, 65536, 49152, 0, 256, 64, None),
    52: Multiprocessor(52, 64, 32, 65536, 65536, 4, 98304, 49152, 0, 256, 64, None),
    53: Multiprocessor(53, 64, 32, 65536, 32768, 4, 65536, 49152, 0, 256, 64, None),
    60: Multiprocessor(60, 64, 32, 65536, 65536, 2, 65536, 49152, 0, 256, 64, None),
    61: Multiprocessor(61, 64, 32, 65536, 65536, 4, 98304, 49152, 0, 256, 64, None),
    62: Multiprocessor(62, 64, 32, 65536, 32768, 4, 65536, 49152, 0, 256, 64, None),
    70: Multiprocessor(70, 64, 32, 65536, 65536, 4, 98304, 98304, 0, 256, 64, 131072),
    72: Multiprocessor(72, 64, 32, 65536, 65536, 4, 98304, 98304, 0, 256, 64, 131072),
    75: Multiprocessor(75, 32, 16, 65536, 65536, 4, 65536, 65536, 0, 256, 32, 98304),
    80: Multiprocessor(80, 64, 32, 65536, 65536, 4, 167936, 166912, 1024, 128, 64, 196608),
    86: Multiprocessor(86, 48, 16, 65536, 65536, 4, 102400, 101376, 1024, 128, 16, 131072),
    87: Multiprocessor(87, 48, 16, 65536, 65536, 4, 167936, 166912, 1024, 128, 16, 196608),
    88: Multiprocessor(88, 48, 16, 65536, 65536, 4, 102400, 101376, 1024, 128, 16, 131072),
    89: Multiprocessor(89, 48, 24, 65536, 65536, 4, 102400, 101376, 1024, 128, 24, 131072),
    90: Multiprocessor(90, 64, 32, 65536, 65536, 4, 233472, 232448, 1024, 128, 64, 262144),
    100: Multiprocessor(100, 64, 32, 65536, 65536, 4, 233472, 232448, 1024, 128, 64, 262144),
    101: Multiprocessor(101, 48, 24, 65536, 65536, 4, 233472, 232448, 1024, 128, 24, 262144),
    103: Multiprocessor(103, 64, 32, 65536, 65536, 4, 233472, 232448, 1024, 128, 32, 262144),
    110: Multiprocessor(110, 48, 24, 65536, 65536, 4, 233472, 232448, 1024, 128, 24, 262144),
    120: Multiprocessor(120, 48, 24, 65536, 65536, 4, 102400, 101376, 1024, 128, 24, 131072),
    121: Multiprocessor(121, 48, 24, 65536, 65536, 4, 102400, 101376, 1024, 128, 24, 131072),
}
"""By compute capability: ``cuda_occupancy.h`` of the CUDA runtime, and the CUDA C++ Programming
Guide, "Compute Capabilities", table "Technical Specifications per Compute Capability"."""
