"""What the cost model says of a rewrite before it is compiled.

The kernel's own work is taken, without the accesses of the object, and with what stands in their
place. What the compiler makes of the rest, and of the registers, only a trial shows.
"""

from __future__ import annotations

from msgspec.structs import replace

from lmemscope.analysis.block_occupancy import shared_of
from lmemscope.analysis.cost import DEFAULT_BLOCK, Grid, bounded, cost, cost_of
from lmemscope.model import PIPES, STALLS, KernelReport, ObjectWork, Pipe, Stall, Work
from lmemscope.rewrites.base import Hit, Replacement, Target
from lmemscope.rules.launched import Block, blocks_of_kernel

_REGISTERS = 255
_INSTRUCTION = 16
"""Bytes of machine code (docs/how-it-works.md)."""


def grid_of(target: Target) -> Grid:
    """The grid that a target's kernels are modelled with."""
    if target.block is not None:
        return grid_of_block(target.block)
    grids = [blocks_of_kernel(hit.facts, hit.case.sources) for hit in target.hits]
    known = [one for one in grids if one is not None]
    return Grid(DEFAULT_BLOCK, max(known) if len(known) == len(grids) else None)


def grid_of_block(block: Block) -> Grid:
    """The grid of launches that are known."""
    return Grid(block.threads, block.blocks, block.source, block.dynamic_shared or 0)


def gain(target: Target, made: Replacement) -> float | None:
    """How many times as fast the kernels are, the one that gains least; None: not known."""
    grid = grid_of(target)
    found = [_gain_of(hit, made, grid) for hit in target.hits]
    known = [one for one in found if one is not None]
    return min(known) if known and len(known) == len(found) else None


def _gain_of(hit: Hit, made: Replacement, grid: Grid) -> float | None:
    facts, number = hit.facts, hit.case.share.object_index
    if not isinstance(facts, KernelReport) or facts.work is None or facts.registers is None:
        return None
    own = next((one for one in facts.work.objects if one.object == number), None)
    before = cost_of(facts, hit.arch, grid)
    if own is None or before is None:
        return None
    size = hit.case.object.size if hit.case.object is not None else 0
    work = _without(facts.work, own, size, made)
    sites = hit.case.share.load_sites + hit.case.share.store_sites
    # Some of it is in loops where it runs more often than it stands there.
    if work.looped_code is not None and own.loads + own.stores > sites:
        work = replace(work, looped_code=work.looped_code + sites * made.integer * _INSTRUCTION)
    threads = bounded(facts, grid.threads)
    if grid.blocks is None:
        # Of a grid whose blocks are known, a smaller block would have more.
        threads = min(threads, made.threads or threads)
    after = cost(
        work,
        hit.arch,
        Grid(threads, grid.blocks, grid.source, grid.shared),
        min(_REGISTERS, facts.registers + made.registers),
        grid.shared + shared_of(facts) + (made.shared or 0) * threads,
    )
    # A block that does not fit runs nowhere.
    return before.total / after.total if after is not None else 0.0


def _without(work: Work, own: ObjectWork, size: int, made: Replacement) -> Work:
    """Work with an object elsewhere."""
    executed = own.loads + own.stores
    in_memory = executed if made.shared is not None else 0.0
    in_memory = own.loads if made.cached is not None else in_memory
    pipes: dict[Pipe, float] = dict(zip(PIPES, work.pipes, strict=True))
    pipes["integer"] += made.integer * executed
    pipes["memory"] += in_memory - executed
    stalls: dict[Stall, float] = dict(zip(STALLS, work.stalls, strict=True))
    loads = sum(one.loads for one in work.objects)
    waiting = stalls["local"] * (own.loads / loads if loads else 0.0)
    stalls["local"] -= waiting
    stalls["arithmetic"] += waiting * made.waits
    stalls["shared"] += waiting if made.shared is not None else 0.0
    stalls["global"] += waiting if made.cached is not None else 0.0
    return replace(
        work,
        pipes=tuple(max(0.0, pipes[one]) for one in PIPES),
        stalls=tuple(stalls[one] for one in STALLS),
        local_lines=max(0.0, work.local_lines - own.lines),
        local_sectors=max(0.0, work.local_sectors - own.sectors),
        stored_lines=max(0.0, work.stored_lines - own.stored_lines),
        stored_sectors=max(0.0, work.stored_sectors - own.stored_sectors),
        varying_lines=max(0.0, work.varying_lines - own.varying_lines),
        shared_wavefronts=work.shared_wavefronts + (executed if made.shared is not None else 0.0),
        cached_lines=work.cached_lines + own.loads * (made.cached or 0.0),
        frame=max(0, work.frame - size),
    )
