"""What local memory costs one warp of a kernel, by cause: the figure that ranks kernels.

It is the part of the cost model (`lmemscope.analysis.cost`) that local accesses alone make up, with
loops weighted as there, so it needs no look at the other instructions. An access counts in every
branch of a kernel, whichever of them a launch takes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec.structs import replace

from lmemscope.analysis.block_occupancy import shared_of
from lmemscope.analysis.cost import DEFAULT_BLOCK, Grid, bounded, cost
from lmemscope.analysis.layers import Layers
from lmemscope.analysis.loop_counts import bound_loops
from lmemscope.analysis.work import call_counts, frame_of, line_weights, local_work
from lmemscope.model import CauseShare, KernelFacts, LocalAccess


def with_costs(layers: Layers, facts: Iterable[KernelFacts]) -> tuple[KernelFacts, ...]:
    """Kernels with the modelled cost of each of their shares of local memory."""
    return tuple(_with_costs(layers, fact) if fact.causes else fact for fact in facts)


def _with_costs(layers: Layers, fact: KernelFacts) -> KernelFacts:
    weights: dict[int, float] = {}
    flow = layers.flow
    if flow is not None and fact.counted:
        bound_loops(flow, fact)
        counts = call_counts(flow, fact.name, lambda one, index: one.trips.weight(index))
        weights = line_weights(flow, counts, lambda one, index: one.trips.weight(index))
    by_share: dict[object, list[LocalAccess]] = defaultdict(list)
    for access in fact.accesses:
        by_share[access.cause, access.object].append(access)
    arch, registers = layers.cubin.arch, fact.registers
    grid = Grid(bounded(fact, DEFAULT_BLOCK))

    def of_share(share: CauseShare) -> CauseShare:
        if arch is None or registers is None:
            return share
        work = local_work(
            by_share[share.cause, share.object_index], weights, frame_of(fact), fact.objects
        )
        found = cost(work, arch, grid, registers, shared_of(fact))
        return replace(share, cost=round(found.local, 2)) if found is not None else share

    return replace(fact, causes=tuple(map(of_share, fact.causes)))
