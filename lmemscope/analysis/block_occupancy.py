"""A kernel's occupancy, for the block that its program gives it or the best one."""

from __future__ import annotations

from msgspec.structs import replace

from lmemscope.analysis.occupancy import LARGEST_BLOCK, best_block, residency
from lmemscope.model import BlockSource, KernelFacts, Occupancy


def occupancy_of(
    facts: KernelFacts,
    arch: str,
    block: tuple[int, BlockSource] | None,
    dynamic_shared: int | None = None,
) -> Occupancy | None:
    """The occupancy of a kernel as it is compiled.

    Args:
        facts: of the kernel.
        arch: real architecture.
        block: its threads and what says them; None for the best one.
        dynamic_shared: bytes that its launches ask for, or None.

    Returns:
        None of what is no kernel or calls functions of other sources, which may take more
        registers, and where registers or the architecture's limits are not known.
    """
    is_open = facts.calls is not None and bool(facts.calls.external)
    if facts.kind != "entry" or facts.registers is None or is_open:
        return None
    shared = shared_of(facts) + (dynamic_shared or 0)
    found = held(arch, block, facts.registers, shared, facts.barriers or 0, most_of(facts))
    return replace(found, dynamic_shared=dynamic_shared) if found is not None else None


def held(
    arch: str,
    block: tuple[int, BlockSource] | None,
    registers: int,
    shared: int,
    barriers: int = 0,
    most: int = LARGEST_BLOCK,
) -> Occupancy | None:
    """Occupancy by figures; arguments as of `occupancy_of` and `best_block`."""
    threads, source = block or (None, "best")
    if threads is None:
        threads = best_block(arch, registers, shared, most, barriers) or most
    found = residency(arch, threads, registers, shared, barriers)
    if found is None:
        return None
    return Occupancy(found.share, found.warps, found.blocks, threads, source, found.limited_by)


def shared_of(facts: KernelFacts) -> int:
    """Static shared memory; ptxas prints none of a kernel that has none."""
    return facts.shared or 0


def most_of(facts: KernelFacts) -> int:
    """Threads that a block has at most."""
    bounds = facts.launch_bounds
    return (bounds.max_threads if bounds is not None else None) or LARGEST_BLOCK
