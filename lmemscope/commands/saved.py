"""Saved reports as inputs: read, reduced to what was asked for, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lmemscope.config.settings import Settings
from lmemscope.discover.walk import Globs
from lmemscope.errors import UsageError
from lmemscope.exporters.json import load_report
from lmemscope.exporters.selection import units_of
from lmemscope.formats.kernel_names import matches
from lmemscope.model import Report


def read(path: str, settings: Settings) -> Report:
    """A saved report, of which only the files, architectures and kernels asked for are kept.

    Raises:
        InputError: it does not exist, or is no report, or damaged.
        UsageError: it has the schema of another lmemscope, or holds no such architecture.
    """
    report = load_report(path)
    report = units_of(report, Globs(settings.root, settings.include, settings.exclude).admit)
    if settings.archs:
        units = tuple(unit for unit in report.units if unit.arch in settings.archs)
        if not units:
            held = ", ".join(dict.fromkeys(unit.arch for unit in report.units if unit.arch))
            raise UsageError(
                "input",
                f"{path} holds no report for {', '.join(settings.archs)}",
                hint=f"it was made for {held or 'nothing'}",
            )
        report = replace(report, units=units)
    if settings.kernels:
        report = replace(
            report,
            units=tuple(
                replace(
                    unit,
                    kernels=tuple(
                        one
                        for one in unit.kernels
                        if matches(settings.kernels, one.facts.name, one.facts.demangled)
                    ),
                )
                for unit in report.units
            ),
            filters=(*report.filters, *(f"--kernel {glob}" for glob in settings.kernels)),
        )
    return report


def combined(reports: Sequence[Report]) -> Report:
    """Several reports as one, in their order; a single one is left as it is."""
    if len(reports) == 1:
        return reports[0]
    tools = {tool for report in reports for tool in report.toolchain}
    whys = {report.default_arch for report in reports}
    return Report(
        version=reports[-1].version,
        toolchain=tuple(sorted(tools, key=lambda tool: (tool.name, str(tool.version)))),
        units=tuple(unit for report in reports for unit in report.units),
        default_arch=whys.pop() if len(whys) == 1 else None,
        notes=tuple(dict.fromkeys(note for report in reports for note in report.notes)),
        gaps=tuple(dict.fromkeys(gap for report in reports for gap in report.gaps)),
        left_out=tuple(dict.fromkeys(fact for report in reports for fact in report.left_out)),
        filters=tuple(dict.fromkeys(one for report in reports for one in report.filters)),
    )
