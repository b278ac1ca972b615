"""What links and units say of each other: a kernel's linked stack, and what nvlink cannot see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from lmemscope.model import KernelReport, Link, UnitReport


def with_linked_stacks(
    reports: Sequence[UnitReport], links: Sequence[Link]
) -> Sequence[UnitReport]:
    """Units with what linking says of their kernels' stacks: the deepest, of several programs."""
    found: dict[tuple[str, str, str], int] = {}
    for link in links:
        for kernel in link.kernels:
            if kernel.linked_stack is not None and kernel.function.input is not None:
                key = (kernel.function.input, link.arch, kernel.function.name)
                found[key] = max(kernel.linked_stack, found.get(key, 0))
    if not found:
        return reports
    return [
        replace(one, kernels=tuple(_linked(one, kernel, found) for kernel in one.kernels))
        for one in reports
    ]


def with_run_time_stacks(links: Sequence[Link], reports: Sequence[UnitReport]) -> tuple[Link, ...]:
    """Links with what their units' causes say of ``alloca``, of which nvlink knows nothing."""
    takers = {
        _uncloned(kernel.facts.name)
        for unit in reports
        for kernel in unit.kernels
        if any(share.cause == "alloca" for share in kernel.facts.causes)
    }
    made = []
    for link in links:
        kernels = []
        for kernel in link.kernels:
            names = (kernel.function.name, *kernel.reaches)
            found = tuple(name for name in names if _uncloned(name) in takers)
            kernels.append(replace(kernel, run_time_stack=found) if found else kernel)
        made.append(replace(link, kernels=tuple(kernels)))
    return tuple(made)


def _uncloned(name: str) -> str:
    """A function's name without the number that ptxas gives its copies: ``f$5``."""
    return name.partition("$")[0] or name


def _linked(
    unit: UnitReport, kernel: KernelReport, found: Mapping[tuple[str, str, str], int]
) -> KernelReport:
    stack = found.get((unit.input, unit.arch, kernel.name))
    if stack is None or kernel.ptxas is None:
        return kernel
    ptxas = replace(kernel.ptxas, linked_stack=stack)
    return replace(kernel, sources=replace(kernel.sources, ptxas=ptxas))
