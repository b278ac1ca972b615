"""Nsight Compute's metrics that tell of local memory, and a kernel's `Traffic` from them.

The names are those of ``ncu --query-metrics`` for compute capability 7.0 and later; where versions
name one figure differently, the first that a profile holds is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from lmemscope.model import ProfiledLaunch, Traffic

_LOCAL: Final = "l1tex__t_{}_pipe_lsu_mem_local_op_{}.sum"

_FIGURES: Final[Mapping[str, tuple[str, ...]]] = {
    "load_instructions": (
        "smsp__inst_executed_op_local_ld.sum",
        "smsp__sass_inst_executed_op_local_ld.sum",
        "sass__inst_executed_local_loads",
    ),
    "store_instructions": (
        "smsp__inst_executed_op_local_st.sum",
        "smsp__sass_inst_executed_op_local_st.sum",
        "sass__inst_executed_local_stores",
    ),
    "load_requests": (_LOCAL.format("requests", "ld"),),
    "store_requests": (_LOCAL.format("requests", "st"),),
    "load_sectors": (_LOCAL.format("sectors", "ld"),),
    "store_sectors": (_LOCAL.format("sectors", "st"),),
    "load_hits": ("l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit.sum",),
    "store_hits": ("l1tex__t_sectors_pipe_lsu_mem_local_op_st_lookup_hit.sum",),
    "sectors": ("l1tex__t_sectors.sum",),
    "l2_sectors": ("lts__t_sectors_srcunit_tex.sum",),
    "l2_hits": ("lts__t_sectors_srcunit_tex_lookup_hit.sum",),
    "dram_bytes": ("dram__bytes.sum",),
    "instructions": ("smsp__inst_executed.sum", "inst_executed"),
}
"""The fields of `Traffic`, by the metrics that are one."""

SECONDS: Final = "gpu__time_duration.sum"
REGISTERS: Final = "launch__registers_per_thread"
BLOCK: Final = "launch__block_size"
GRID: Final = "launch__grid_size"
OCCUPANCY: Final = "sm__warps_active.avg.pct_of_peak_sustained_active"
OCCUPANCY_LIMIT: Final = "sm__maximum_warps_per_active_cycle_pct"
CYCLES: Final = "sm__cycles_active.sum"
WARPS: Final = "smsp__warps_launched.sum"

METRICS: Final[tuple[str, ...]] = (
    *(names[0] for names in _FIGURES.values()),
    *(SECONDS, REGISTERS, BLOCK, GRID, OCCUPANCY, OCCUPANCY_LIMIT, CYCLES, WARPS),
)
"""What is asked for when a program is run."""

NAMES: Final = frozenset((*METRICS, *(name for names in _FIGURES.values() for name in names)))
"""What is read of a profile."""

SECTION: Final = "SourceCounters"
"""The section whose counters are kept for each instruction."""


def traffic(launches: Sequence[ProfiledLaunch]) -> Traffic:
    """The counters of launches of one kernel, added up; one that a launch lacks is not known."""
    return Traffic(**{field: total(launches, names) for field, names in _FIGURES.items()})


def total(launches: Iterable[ProfiledLaunch], names: Sequence[str]) -> float | None:
    """The sum of a metric over launches, by the first of its names that each of them has."""
    found = [_first(launch.metrics, names) for launch in launches]
    known = [one for one in found if one is not None]
    return sum(known) if known and len(known) == len(found) else None


def largest(launches: Iterable[ProfiledLaunch], name: str) -> float | None:
    """The largest value of a metric; None where no launch has it."""
    return max((one.metrics[name] for one in launches if name in one.metrics), default=None)


def mean(launches: Sequence[ProfiledLaunch], name: str) -> float | None:
    """The mean of a metric, each launch weighted by its time; None where one lacks it."""
    weights = [one.metrics.get(SECONDS, 1.0) or 1.0 for one in launches]
    values = [one.metrics[name] for one in launches if name in one.metrics]
    if not values or len(values) != len(launches):
        return None
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def _first(metrics: Mapping[str, float], names: Sequence[str]) -> float | None:
    return next((metrics[name] for name in names if name in metrics), None)
