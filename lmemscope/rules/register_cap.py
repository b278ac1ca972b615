"""What set a kernel's register cap, and what it would take to raise it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lmemscope.analysis.occupancy import LARGEST_BLOCK, multiprocessor
from lmemscope.model import LANGUAGES, KernelFacts

REGISTERS_PER_PARTITION = 16384
PARTITIONS = 4
ALLOCATION_UNIT = 8
WARP = 32
HARDWARE_CAP = 255
"""CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications": 64 K
registers per multiprocessor and 255 per thread for every capability from 7.5 to 12.1; they are
allocated to warps in units of 256, 8 per thread. A quarter belongs to each of the multiprocessor's
four partitions, over which warps are spread: what ptxas leaves per thread for bounds of 1 to 32
warps and 1 to 20 blocks shows it."""


@dataclass(frozen=True, slots=True)
class Cap:
    """The register cap: who set it, in words, and the way out by launch bounds, if any."""

    kind: Literal["launch-bounds", "option", "hardware", "allocator"]
    registers: int | None
    reason: str
    way_out: str = ""
    code: str | None = None


def registers_for(threads: int, blocks: int) -> int:
    """Registers that each of ``threads`` may have when ``blocks`` blocks share a multiprocessor."""
    warps = -(-threads // WARP) * blocks
    share = REGISTERS_PER_PARTITION // (WARP * -(-warps // PARTITIONS))
    return min(HARDWARE_CAP, share // ALLOCATION_UNIT * ALLOCATION_UNIT)


def spilling_threads(facts: KernelFacts) -> int:
    """Threads of a block that ptxas keeps room for where it spills to shared memory.

    Those of the launch bounds, else the most that find as many registers as the kernel uses: with
    255 registers it takes 76 bytes for each of 256 threads, with 64 44 for each of 1024 (measured
    with ptxas 13.5).
    """
    bounds = facts.launch_bounds
    if bounds is not None and bounds.max_threads:
        return bounds.max_threads
    used = facts.registers or 0
    fitting = range(LARGEST_BLOCK, 0, -WARP)
    return next((one for one in fitting if registers_for(one, 1) >= used), LARGEST_BLOCK)


def option_limit(facts: KernelFacts) -> int | None:
    """Registers that a kernel is limited to otherwise than by launch bounds; None: it is not.

    By ``-maxrregcount`` or ``__maxnreg__``: launch bounds, of whatever kind, override the former
    (measured with ptxas 13.5), and cannot stand beside the latter.
    """
    bounds = facts.launch_bounds
    limit = facts.cubin.max_registers if facts.cubin is not None else None
    is_bounded = bounds is not None and bounds.max_threads is not None
    return None if is_bounded or limit is None or limit >= HARDWARE_CAP else limit


def blocks_leaving(limit: int, threads: int, arch: str) -> int | None:
    """The minimum of blocks in launch bounds that leaves a thread no more than a limit does.

    Args:
        limit: registers per thread. Bounds leave whole units of 8, an option any number.
        threads: of a block, at most.
        arch: real architecture.

    Returns:
        None where no minimum does: of one that exceeds what a multiprocessor holds, ptxas keeps
        nothing.
    """
    held = multiprocessor(arch)
    most = 0 if held is None else min(held.blocks, held.warps // -(-threads // WARP))
    wanted = limit // ALLOCATION_UNIT * ALLOCATION_UNIT
    numbers = range(1, most + 1)
    return next((one for one in numbers if registers_for(threads, one) == wanted), None)


def register_limit(facts: KernelFacts) -> int:
    """Registers per thread that a kernel may have."""
    cap = facts.cubin.max_registers if facts.cubin is not None else None
    return cap or HARDWARE_CAP


def cap_of(facts: KernelFacts) -> Cap:
    """What limits a kernel's registers; what leaves more than the kernel uses does not."""
    cap = facts.cubin.max_registers if facts.cubin is not None else None
    bounds = facts.launch_bounds
    used = facts.registers or 0
    if bounds is not None and bounds.max_threads:
        blocks = bounds.min_blocks or 1
        # ptxas ignores a minimum of blocks that the multiprocessor has no room for.
        if cap is not None and cap == registers_for(bounds.max_threads, 1) < HARDWARE_CAP:
            blocks = 1
        allowed = registers_for(bounds.max_threads, blocks)
        told = cap in (None, allowed) or (
            cap is not None and cap >= HARDWARE_CAP and used <= allowed
        )
        if told and allowed < HARDWARE_CAP:
            minimum = f", {bounds.min_blocks}" if bounds.min_blocks else ""
            text = f"__launch_bounds__({bounds.max_threads}{minimum}) leaves"
            if not LANGUAGES[facts.language].is_cpp:
                text = f"blocks of {bounds.max_threads} threads leave"
            if _leaves_room(allowed, used):
                return _own_choice(facts, f"chosen by ptxas; {text} {allowed}")
            return Cap(
                "launch-bounds",
                allowed,
                f"{text} {allowed} per thread",
                *_looser(bounds.max_threads, blocks, allowed),
            )
    if cap is not None and cap < HARDWARE_CAP:
        if _leaves_room(cap, used):
            return _own_choice(facts, f"chosen by ptxas, below the limit of {cap}")
        return Cap("option", cap, f"the compiler was given a limit of {cap} registers")
    if used >= HARDWARE_CAP - 3:
        return Cap("hardware", HARDWARE_CAP, f"the architecture allows {HARDWARE_CAP} per thread")
    return _own_choice(facts, "chosen by ptxas")


def _own_choice(facts: KernelFacts, reason: str) -> Cap:
    """Fewer registers than any limit leaves, and how to say that one block is enough.

    Launch bounds without a minimum of blocks let ptxas leave room for several, as many as 8 of 256
    threads: it then spills at 48 registers what needs no spill, or fewer, with 255.
    """
    bounds = facts.launch_bounds
    if bounds is None or not bounds.max_threads or bounds.min_blocks:
        return Cap("allocator", None, reason)
    left = registers_for(bounds.max_threads, 1)
    code = f"__launch_bounds__({bounds.max_threads}, 1)"
    return Cap("allocator", None, reason, f"{code} leaves {left} registers", code)


def _leaves_room(limit: int, used: int) -> bool:
    """Whether a kernel could have had more registers; False where nobody knows what it uses."""
    allocated = -(-used // ALLOCATION_UNIT) * ALLOCATION_UNIT
    return 0 < allocated < limit


def smaller_block(threads: int, allowed: int) -> int | None:
    """Half of a block's threads, if each of them may have more registers than are allowed now."""
    smaller = threads // 2 // WARP * WARP
    return smaller if smaller and registers_for(smaller, 1) > allowed else None


def _looser(threads: int, blocks: int, allowed: int) -> tuple[str, str | None]:
    """The next looser launch bounds that leave more, with what they would leave."""
    for fewer in range(blocks - 1, 0, -1):
        left = registers_for(threads, fewer)
        if left > allowed:
            looser = f"__launch_bounds__({threads}, {fewer})"
            return f"{looser} leaves {left} registers instead of {allowed}", looser
    smaller = smaller_block(threads, allowed)
    if smaller is None:
        return "", None
    # Without a minimum ptxas may leave room for more blocks, and does not use all of them.
    looser = f"__launch_bounds__({smaller}, 1)"
    left = registers_for(smaller, 1)
    return (
        f"blocks of {smaller} threads, {looser}, leave {left} registers instead of {allowed}",
        looser,
    )


_STATIC_KB = 48
_FULL = (
    (64, 1024, 16, 0),
    (164, 2048, 32, 0),
    (100, 1536, 16, 0),
    (100, 1536, 24, 0),
    (164, 2048, 32, 1),
    (228, 2048, 32, 1),
    (100, 1536, 24, 1),
)
"""Of 7.5, 8.0, 8.6, 8.9, 9.0, 10.0 and 12.0: KB of shared memory of a multiprocessor, its threads,
its blocks, and KB that each block takes for the system. What ptxas 13 spilled there of a kernel
that has plenty to spill, in blocks of 64 to 1024 threads, is what these leave: for 9.0 it counts
with 164 KB, though there are 228."""


def spilling_rooms(threads: int) -> tuple[int, ...]:
    """Bytes of shared memory per block that ptxas spills to at most, on each architecture.

    Less what the kernel has there already: the share of a block where as many as fit by their
    threads are on the multiprocessor, and no more than static shared memory may be.
    """
    rooms = []
    for size, resident, most, system in _FULL:
        blocks = max(1, min(most, resident // threads))
        rooms.append(min(_STATIC_KB * 1024, size * 1024 // blocks) - system * 1024)
    return tuple(rooms)
