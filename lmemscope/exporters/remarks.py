"""What stands below the table: what is uncertain, what is not known, and what failed."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.exporters import layout
from lmemscope.exporters.escape import visible
from lmemscope.exporters.formats import Presentation
from lmemscope.model import Failure, Report, UnitReport, count

_LOG_LINES = 20
_APART = 3


def remarks(report: Report, how: Presentation) -> list[str]:
    """Paragraphs, each with an empty line before it."""
    sections = (
        _disagreements(report, how.width),
        _routes(report, how.width),
        _gaps(report, how.width),
        _unknown(report, how.verbose),
        "".join(
            "\n" + layout.wrapped(visible(f"note: {note}"), how.width) for note in report.notes
        ),
        *(
            _failure(unit, unit.failure, how.color, how.verbose)
            for unit in report.units
            if unit.failure is not None
        ),
    )
    return [text for text in sections if text]


def _disagreements(report: Report, width: int | None) -> str:
    kernels: dict[str, list[str]] = {}
    for unit, kernel in layout.rows(report):
        for found in kernel.facts.disagreements:
            values = ", ".join(f"{source} {value}" for source, value in found.values)
            name = f"{layout.short_name(kernel.facts.demangled)} ({unit.arch})"
            kernels.setdefault(f"{found.quantity}: {values}{found.why}", []).append(name)
    lines = [f"{name}: {said}" for said, found in kernels.items() for name in _few(found)]
    return _listed("Sources that disagree:", lines, width)


def _routes(report: Report, width: int | None) -> str:
    return _listed("NVRTC and nvcc differ:", layout.route_differences(report), width)


def _gaps(report: Report, width: int | None) -> str:
    inputs: dict[tuple[str, str], list[str]] = {}
    for unit in report.units:
        for gap in unit.gaps:
            inputs.setdefault((gap.stage, gap.reason), []).append(unit.input)
    lines = [
        f"{where}: [{stage}] {reason}"
        for (stage, reason), found in inputs.items()
        for where in _few(layout.distinct(found))
    ]
    return _listed("Not known:", lines, width)


def _listed(title: str, lines: Sequence[str], width: int | None) -> str:
    shown = (layout.wrapped(visible(line), width, "  ") for line in lines)
    return "\n".join([f"\n{title}", *shown]) if lines else ""


def _few(names: list[str]) -> list[str]:
    """A line for each, or one for all where they are many."""
    return names if len(names) <= _APART else [f"{names[0]} and {len(names) - 1} more"]


def _unknown(report: Report, verbose: bool) -> str:
    found = [(unit, line) for unit in report.units for line in unit.unknown_log_lines]
    if not found:
        return ""
    if not verbose:
        return f"\n{count(len(found), 'line')} of the ptxas report not understood (-v shows)."
    return "\n".join(
        [
            "\nLines of the ptxas report not understood:",
            *(visible(f"  {u.input}: {t}") for u, t in found),
        ]
    )


def _failure(unit: UnitReport, failure: Failure, color: bool, verbose: bool) -> str:
    name = f" for {unit.arch}" if unit.arch else ""
    lead = "\x1b[1;31merror:\x1b[0m" if color else "error:"
    lines = [f"\n{lead} [{failure.stage}] {visible(failure.message, lines=True)}{name}"]
    if failure.log:
        log = failure.log.strip().splitlines()
        kept = log if verbose else log[:_LOG_LINES]
        lines += [f"  {visible(line, lines=True)}" for line in kept]
        if len(log) > len(kept):
            lines.append(f"  … {count(len(log) - len(kept), 'more line')} (-v shows all)")
    if failure.command and verbose:
        lines.append(f"command: {visible(failure.command)}")
    if failure.hint:
        lines.append(f"hint: {visible(failure.hint, lines=True)}")
    return "\n".join(lines)
