"""Take stack and register figures from linked programs, where they differ from a unit's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.gate.figures import Figure
from lmemscope.gate.limits import Bound, bounds, limits_for
from lmemscope.gate.toolkits import toolkit_of
from lmemscope.model import (
    GapKind,
    GateFailure,
    KernelFacts,
    Limit,
    Link,
    LinkedKernel,
    MissingEvidence,
    Report,
    UnitReport,
)

_CHECKED = ("stack", "registers")
"""Figures known from linking for a kernel that is in no unit."""

_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class LinkedFigures:
    """Kernels of all linked programs, by input, architecture and mangled name."""

    kernels: Mapping[_Key, Sequence[LinkedKernel]]

    def of(self, unit: UnitReport, facts: KernelFacts) -> Sequence[LinkedKernel]:
        """A unit's kernel in the programs that contain it; empty if it was not linked."""
        return self.kernels.get((unit.input, unit.arch, facts.name), ())

    def replaced(
        self, unit: UnitReport, facts: KernelFacts, found: Mapping[str, Figure]
    ) -> dict[str, Figure]:
        """A kernel's figures, with stack and registers as in its programs."""
        linked = self.of(unit, facts)
        return {**found, **_figures(linked)} if linked else dict(found)


def linked_figures(links: Sequence[Link]) -> LinkedFigures:
    """The kernels of all programs that could be linked."""
    found: dict[_Key, list[LinkedKernel]] = {}
    for link in links:
        for kernel in link.kernels:
            key = (kernel.function.input or "", link.arch, kernel.function.name)
            found.setdefault(key, []).append(kernel)
    return LinkedFigures(found)


def _figures(kernels: Sequence[LinkedKernel]) -> dict[str, Figure]:
    """The maximum over all programs; unknown if it is unknown in one."""
    unbounded = next((one for one in kernels if one.stack is None), None)
    stacks = [one.stack for one in kernels if one.stack is not None]
    stack = Figure(max(stacks, default=None))
    if unbounded is not None:
        stack = Figure(None, _why(unbounded))
    registers = [r for one in kernels if (r := one.function.registers) is not None]
    return {"stack": stack, "registers": Figure(max(registers, default=None))}


def _why(kernel: LinkedKernel) -> str:
    if kernel.run_time_stack:
        return f"alloca in {short_name(demangle(kernel.run_time_stack[0].partition('$')[0]))}"
    if not kernel.unknown:
        return "nvlink cannot tell"
    cycle = kernel.unknown[0].cycle
    names = [short_name(call.demangled) for call in cycle]
    return f"recursion {' → '.join([*names, *names[:1]])}"


def lacks(report: Report) -> Iterator[tuple[GapKind, MissingEvidence]]:
    """What is unknown about programs."""
    for link in report.links:
        if link.failure is not None:
            why = f"{link.name}: {link.failure.message}"
            yield link.failure.kind, MissingEvidence(None, "link", why)
        for gap in link.gaps:
            yield gap.kind, MissingEvidence(None, gap.stage, f"{link.name}: {gap.reason}")


def of_no_unit(report: Report, limits: Sequence[Limit]) -> Iterator[GateFailure | MissingEvidence]:
    """Violated limits of kernels known only from linking, such as an archive's."""
    known = {
        (unit.input, unit.arch, kernel.facts.name)
        for unit in report.units
        for kernel in unit.kernels
    }
    for link in report.links:
        for kernel in link.kernels:
            function = kernel.function
            if (function.input or "", link.arch, function.name) in known:
                continue
            found = _figures([kernel])
            toolkit = toolkit_of((*link.tools, *report.tools))
            own = limits_for(limits, link.arch, toolkit, function.name, function.demangled)
            for bound in bounds(own):
                if bound.what in _CHECKED:
                    yield from _judged(bound, found, link, kernel)


def _judged(
    bound: Bound, found: Mapping[str, Figure], link: Link, kernel: LinkedKernel
) -> Iterator[GateFailure | MissingEvidence]:
    function = kernel.function
    name, where = short_name(function.demangled), function.input or link.name
    holds = bound.holds(found)
    if holds is None:
        yield MissingEvidence(where, "limit", f"{bound.what} of {name} is not known")
    elif not holds:
        yield GateFailure(
            kind="limit",
            input=where,
            arch=link.arch,
            kernel=name,
            symbol=function.name,
            expected=bound.text,
            found=f"{bound.what} {found[bound.what].shown}",
            finding=None,
            location=None,
            route="binary",
            figure=found[bound.what].value,
        )
