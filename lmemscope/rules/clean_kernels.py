"""The clean kernels of binaries as reports like those of the others, for who wants them all."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from lmemscope.formats.demangle import demangle
from lmemscope.model import (
    CleanKernel,
    CubinFacts,
    KernelFacts,
    KernelReport,
    Report,
    SassSites,
    SiteClass,
    SiteSplit,
    Sources,
    UnitReport,
)
from lmemscope.rules.verdict import judge

_NONE = SiteSplit(SiteClass(), SiteClass(), SiteClass())


def with_clean(report: Report) -> Report:
    """The report with a `KernelReport` for each `CleanKernel`, which is no longer beside them."""
    if not any(unit.clean for unit in report.units):
        return report
    return replace(report, units=tuple(map(_whole, report.units)))


def _whole(unit: UnitReport) -> UnitReport:
    kernels = sorted((*unit.kernels, *_reports(unit)), key=lambda one: one.name)
    return replace(unit, kernels=tuple(kernels), clean=())


def _reports(unit: UnitReport) -> Iterator[KernelReport]:
    for clean in unit.clean:
        facts = _facts(clean)
        yield KernelReport.of(facts, judge(facts))


def _facts(clean: CleanKernel) -> KernelFacts:
    return KernelFacts(
        name=clean.name,
        demangled=demangle(clean.name),
        kind=clean.kind,
        location=None,
        stack_known=True,
        launch_bounds=None,
        sources=Sources(None, CubinFacts(clean.registers, 0, 0, None)),
        ptx=None,
        sass=SassSites.of(()),
        sites=_NONE,
        own_sites=_NONE,
        lines=(),
        callees=(),
        frame=(),
        causes=(),
        findings=(),
        objects=(),
        calls=None,
        disagreements=(),
    )
