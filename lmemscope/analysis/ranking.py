"""The order of kernels, worst first: by what the local memory of one launch costs.

Every format that puts kernels or groups of them in an order takes it from here. The cost is the
modelled one of the kernel itself (`KernelFacts.cost`), never a sum over instances: a program
launches one of them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from lmemscope.analysis.cost import once
from lmemscope.model import (
    CauseShare,
    KernelFacts,
    KernelReport,
    Report,
    UnitReport,
    traits_of,
    verdict_kind,
)

Row = tuple[UnitReport, KernelReport]
"""A kernel with the unit that it belongs to."""


def cost_of(facts: KernelFacts) -> float:
    """The modelled cost of a kernel's local memory, or the least that its figures allow.

    Where no model says it, as of a build log or an older report, each access is taken to run once.
    """
    if facts.cost is not None:
        return facts.cost
    if facts.sass is not None:
        return once(facts.sass.load_bytes, facts.sass.store_bytes)
    frame = facts.stack_frame or 0
    return max(once(facts.spill_loads or 0, facts.spill_stores or 0), once(frame, frame))


def cost_of_share(share: CauseShare) -> float:
    """As `cost_of`, of one cause and object."""
    if share.cost is not None:
        return share.cost
    return once(share.sites.load_bytes, share.sites.store_bytes)


def is_negligible(kernel: KernelReport) -> bool:
    """Whether all of a kernel's local memory is for messages and launches."""
    causes = kernel.facts.causes
    is_minor = kernel.verdict.kind == "minor"
    return is_minor and bool(causes) and not any(traits_of(one.cause).costly for one in causes)


def severity(row: Row) -> tuple[object, ...]:
    """A key that sorts kernels worst first: cost, kind, site bytes; ties by input, name and arch.

    Kernels whose local memory is negligible come behind the others, those without any last.
    """
    unit, kernel = row
    kind, weight = kernel.verdict.rank
    return (
        not verdict_kind(kernel.verdict.kind).uses_memory,
        is_negligible(kernel),
        -cost_of(kernel.facts),
        -kind,
        -weight,
        unit.input,
        kernel.facts.demangled,
        arch_order(unit.arch),
    )


def rows_of(report: Report) -> list[Row]:
    """Kernels of all units, in the report's order."""
    return [(unit, kernel) for unit in report.units for kernel in unit.kernels]


def worst_first(rows: Sequence[Row]) -> list[Row]:
    """Kernels in the order of `severity`."""
    return sorted(rows, key=severity)


@functools.lru_cache(maxsize=1024)
def arch_order(arch: str) -> tuple[int, str]:
    """A key that sorts architectures by number: ``sm_75``, ``sm_90``, ``sm_90a``, ``sm_100``."""
    digits = re.search(r"\d{1,9}", arch)
    return int(digits[0]) if digits is not None else 0, arch
