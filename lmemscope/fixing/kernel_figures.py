"""A kernel's figures as `fix` and `tune` show them."""

from __future__ import annotations

from lmemscope.analysis.block_occupancy import held
from lmemscope.analysis.cost import Grid, bounded
from lmemscope.fixing.kernel_totals import frame_bytes
from lmemscope.model import Figures, KernelFacts


def figures(facts: KernelFacts, arch: str, grid: Grid) -> Figures:
    """A kernel's figures; frames, spills, sites and code are of all functions in its section."""
    # ptxas prints no figure where a kernel has none of it.
    shared = (facts.ptxas.shared or 0) if facts.ptxas is not None else None
    threads = bounded(facts, grid.threads)
    source = grid.source if threads == grid.threads else "launch-bounds"
    resident = None
    if facts.registers is not None:
        taken = (shared or 0) + grid.shared
        resident = held(arch, (threads, source), facts.registers, taken, facts.barriers or 0)
    sites = facts.sass
    return Figures(
        registers=facts.registers,
        stack_frame=frame_bytes(facts) if facts.stack_frame is not None else None,
        spill_stores=facts.all_spill_stores,
        spill_loads=facts.all_spill_loads,
        shared=shared,
        ldl=sites.load_sites if sites is not None else None,
        stl=sites.store_sites if sites is not None else None,
        code_bytes=facts.cubin.code_bytes if facts.cubin is not None else None,
        occupancy=resident.share if resident is not None else None,
        block=resident.block if resident is not None else None,
        block_from=resident.block_from if resident is not None else None,
        limited_by=resident.limited_by if resident is not None else (),
    )
