"""The modelled cost of a kernel: cycles of a multiprocessor that each of its warps takes.

Several parts of a multiprocessor work at a time, and what a warp waits for is hidden by the others
that are resident. So the cost is near the largest of

- each pipe's instructions by its throughput, and all of them by the schedulers' issue slots;
- the lines that go through L1;
- of those, what goes on to L2, and what goes on to memory;
- the waiting on the longest chain, shared by the resident warps;

and the root of the sum of their squares, as where one is large the others still delay it.

docs/fix.md has the formula, and the source of each constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from lmemscope.analysis.block_occupancy import shared_of
from lmemscope.analysis.occupancy import multiprocessor, resident_warps
from lmemscope.model import (
    PIPES,
    STALLS,
    BlockSource,
    Cost,
    KernelFacts,
    KernelReport,
    Pipe,
    Stall,
    Work,
)

_WARP, _WORD, _LINE, _SECTOR = 32, 4, 128, 32

DEFAULT_BLOCK = 256
"""Threads of a block where nothing says the kernel's own."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a GPU's multiprocessor can do in a cycle, and its share of what they have together.

    Attributes:
        fp32, integer, fp64: results per cycle.
        conversion: the same of conversions with floating point.
        l2: bytes per cycle of L2.
        memory: bytes per cycle of device memory.
        count: of multiprocessors.
        l2_megabytes: of all of L2.
    """

    fp32: int
    integer: int
    fp64: int
    conversion: int
    l2: float
    memory: float
    count: int
    l2_megabytes: int

    @property
    def l2_bytes(self) -> int:
        """A multiprocessor's share of L2."""
        return self.l2_megabytes * _MB // self.count


_MB = 1 << 20
_MACHINES = {
    75: Machine(64, 64, 2, 16, 32, 5.0, 40, 4),
    80: Machine(64, 64, 32, 16, 32, 10.2, 108, 40),
    86: Machine(128, 64, 2, 16, 32, 4.8, 84, 6),
    87: Machine(128, 64, 2, 16, 32, 4.8, 16, 4),
    89: Machine(128, 64, 2, 16, 32, 2.9, 128, 72),
    90: Machine(128, 64, 64, 64, 32, 14.5, 132, 50),
    100: Machine(128, 64, 64, 64, 32, 29.0, 148, 126),
    103: Machine(128, 64, 2, 64, 32, 29.0, 148, 126),
    120: Machine(128, 64, 2, 64, 32, 4.4, 170, 96),
    121: Machine(128, 64, 2, 64, 32, 2.7, 48, 24),
}
_SPECIAL = 16
_ISSUE = 128
"""Lanes that the four schedulers issue for in a cycle."""
_SCHEDULERS = 4
_BUSIEST = 2.0
"""Times its share of L2 and memory that a multiprocessor gets at most where others have no block:
launches of 64 to 100 blocks on an H200 (`benchmarks/model.py`)."""
_LOAD_STORE = 32
_L1_WAIT, _L2_WAIT, _MEMORY_WAIT = 40.7, 263.0, 478.8
_WAITS: dict[Stall, float] = {
    "arithmetic": 4.0,
    "fp64": 8.0,
    "special": 20.0,
    "shared": 29.0,
    "local": _L1_WAIT,
    "global": _L1_WAIT,
}
LOADED_LINE, STORED_LINE, STORED_SECTOR = 0.25, 1.6, 1.5
"""Cycles for a line of local memory that is loaded from L1, and for a line and each sector of it
that are stored: stores go through to L2. Measured on an H100 with `benchmarks/local_access.py`,
stores with half of the warps that a multiprocessor holds: with an eighth, they take 2.6 and 1.9."""
_CACHED_CODE, _FETCHED_CODE, _FETCHING = 32 << 10, 48 << 10, 1.5
"""Bytes of a loop's code that the nearest cache of instructions holds, bytes from which on all of
it comes from the next one, and cycles of a scheduler for an instruction from there. Measured on an
H100 with `benchmarks/instruction_fetch.py`."""


@dataclass(frozen=True, slots=True)
class Grid:
    """What a kernel is launched with.

    Attributes:
        threads: of a block.
        blocks: of the grid; None where that is not known: they are taken to fill the GPU.
        source: what says the threads.
        shared: bytes of dynamic shared memory of a block.
    """

    threads: int
    blocks: int | None = None
    source: BlockSource = "default"
    shared: int = 0


def cost_of(report: KernelReport, arch: str, grid: Grid) -> Cost | None:
    """The cost of a kernel as its report has it; None where something is not known.

    What functions of other sources, or behind pointers, do that it calls is not, and may be most of
    it.

    Args:
        report: with the kernel's work.
        arch: real architecture.
        grid: that is launched.
    """
    facts = report.facts
    if report.work is None or facts.registers is None:
        return None
    if facts.calls is not None and (facts.calls.external or facts.calls.indirect):
        return None
    shared = grid.shared + shared_of(facts)
    threads = bounded(facts, grid.threads)
    return cost(report.work, arch, replace(grid, threads=threads), facts.registers, shared)


def bounded(facts: KernelFacts, threads: int) -> int:
    """Threads of a block, no more than the launch bounds allow, which a rewrite may lower."""
    bounds = facts.launch_bounds
    most = bounds.max_threads if bounds is not None else None
    return min(threads, most) if most else threads


def cost(work: Work, arch: str, grid: Grid, registers: int, shared: int) -> Cost | None:
    """The cost of a kernel; None for an architecture that is not known, or a block that does not
    fit.

    Args:
        work: what a warp of it does.
        arch: real architecture.
        grid: that is launched.
        registers: per thread.
        shared: bytes of shared memory per block, all of it.
    """
    limits, machine = multiprocessor(arch), _machine(arch)
    warps = resident_warps(arch, grid.threads, registers, shared)
    if limits is None or limits.l1 is None or machine is None or not warps:
        return None
    blocks = warps // math.ceil(grid.threads / _WARP)
    if grid.blocks is not None:
        blocks = min(blocks, math.ceil(grid.blocks / machine.count))
        warps = blocks * math.ceil(grid.threads / _WARP)
    cache = limits.l1 - limits.reserved - blocks * shared
    # Stores to local memory are as fast as L2 takes them from all multiprocessors.
    share = _share(grid, machine)
    machine = replace(machine, l2=machine.l2 * share, memory=machine.memory * share)
    l1_missed, l2_missed = _misses(work.frame, warps, cache, machine)
    # A warp has one scheduler and its pipes: fewer warps than schedulers leave the others idle.
    issue = _issue(work, machine) * max(1.0, _SCHEDULERS / warps)
    stored = (work.stored_lines * STORED_LINE + work.stored_sectors * STORED_SECTOR) / share
    loaded = (work.local_lines - work.stored_lines) * LOADED_LINE
    missed = (work.local_sectors - work.stored_sectors) * l1_missed * _SECTOR / machine.l2
    beyond_l2 = work.local_sectors * l1_missed * l2_missed * _SECTOR / machine.memory
    local = math.hypot(loaded, stored + missed, beyond_l2)
    sectors = work.streamed_sectors + work.repeated_sectors
    again = _read_again(work, warps, cache)
    beyond = work.streamed_sectors + again * work.repeated_sectors
    lines = loaded + work.shared_wavefronts + work.cached_lines
    memory = math.hypot(
        lines + sectors * _SECTOR / _LINE,
        stored + missed + beyond * _SECTOR / machine.l2,
        beyond_l2 + work.streamed_sectors * _SECTOR / machine.memory,
    )
    waits = dict(_WAITS)
    # What is used once comes from memory; what is used again from L1, or from L2.
    loads = max(1.0, sectors + work.cached_lines * _LINE / _SECTOR)
    repeated = (beyond - work.streamed_sectors) / loads
    waits["global"] += work.streamed_sectors / loads * (_MEMORY_WAIT - _L1_WAIT) + repeated * (
        _L2_WAIT - _L1_WAIT
    )
    waits["local"] += l1_missed * (
        _L2_WAIT - waits["local"] + l2_missed * (_MEMORY_WAIT - _L2_WAIT)
    )
    # Alone, a warp takes a cycle for each instruction, and waits for what is not there yet.
    waited = sum(work.stalled(stall) * (waits[stall] - 1) for stall in STALLS)
    waiting = (work.instructions + waited) / warps
    return Cost(
        total=math.hypot(issue, memory, waiting),
        issue=issue,
        memory=memory,
        waiting=waiting,
        local=local,
        fits=l1_missed == 0,
        is_uniform=not work.varying_lines,
    )


def once(loaded: int, stored: int) -> float:
    """Cycles of local accesses that run once, of bytes per thread that stay in L1."""
    return loaded / _WORD * LOADED_LINE + stored / _WORD * (
        STORED_LINE + _LINE // _SECTOR * STORED_SECTOR
    )


def _machine(arch: str) -> Machine | None:
    digits = "".join(char for char in arch if char.isdigit())
    return _MACHINES.get(int(digits)) if digits else None


def _share(grid: Grid, machine: Machine) -> float:
    """How many times its share a multiprocessor gets of what all have, where some have no block."""
    return min(_BUSIEST, max(1.0, machine.count / grid.blocks)) if grid.blocks else 1.0


def _misses(frame: int, warps: int, cache: int, machine: Machine) -> tuple[float, float]:
    """Which part of local accesses misses L1, of so many bytes, and which part of these L2.

    Each thread goes through its frame before it comes back to a line of it.
    """
    size = float(frame * warps * _WARP)
    return _missed(size, max(cache, _LINE)), _missed(size, machine.l2_bytes)


def _read_again(work: Work, warps: int, cache: int) -> float:
    """Which part of what is read again from global memory has left L1 by then.

    Between two reads of an address the resident warps may have read all that they read once.
    """
    l1 = max(cache - work.frame * warps * _WARP, _LINE)
    return _missed(work.streamed_sectors * _SECTOR * warps, l1)


def _missed(size: float, cache: float) -> float:
    """None where it fits; beyond that what is not in the cache, if any part is as likely there."""
    return max(0.0, 1.0 - cache / size) if size else 0.0


def _issue(work: Work, machine: Machine) -> float:
    results: dict[Pipe, int] = {
        "fp32": machine.fp32,
        "integer": machine.integer,
        "fp64": machine.fp64,
        "special": _SPECIAL,
        "conversion": machine.conversion,
        "memory": _LOAD_STORE,
        "none": _ISSUE,
    }
    pipes = [number * _WARP / results[pipe] for pipe, number in zip(PIPES, work.pipes, strict=True)]
    return max(work.instructions * _WARP / _ISSUE * _fetching(work.looped_code), *pipes)


def _fetching(code: float | None) -> float:
    """Issue slots for an instruction of a loop with so many bytes of code, one if unknown."""
    if code is None:
        return 1.0
    missed = (code - _CACHED_CODE) / (_FETCHED_CODE - _CACHED_CODE)
    return 1.0 + (_FETCHING - 1.0) * min(1.0, max(0.0, missed))
