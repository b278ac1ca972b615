"""Remarks below the table: what is uncertain, unknown, or failed."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.exporters import launches, layout, reservation
from lmemscope.exporters.escape_terminal import Part, led, line, lines, styled
from lmemscope.exporters.formats import Presentation
from lmemscope.model import Failure, Report, UnitReport, count

_LOG_LINES = 20
_TREE_LINES = 60
_APART = 3


def remarks(report: Report, how: Presentation) -> list[Part]:
    """Lines of paragraphs, each after an empty line."""
    sections = (
        _launches(report, how.verbose),
        _reservation(report, how.width),
        _disagreements(report, how.width),
        _routes(report, how.width),
        _gaps(report, how.width),
        _unknown(report, how.verbose),
        *(layout.wrapped(f"note: {note}", how.width) for note in report.notes),
        *(
            _failure(unit, unit.failure, how.color, how.verbose)
            for unit in report.units
            if unit.failure is not None
        ),
    )
    return [one for section in sections if section for one in ("", *section)]


def _launches(report: Report, verbose: bool) -> Sequence[Part]:
    """The launch trees; their lines are not wrapped, which would break the branches."""
    found = launches.drawn(report)
    kept = found if verbose else launches.bounded(found, _TREE_LINES)
    return [f"{launches.TITLE}:", *(line("  ", one) for one in kept)] if found else []


def _reservation(report: Report, width: int | None) -> Sequence[Part]:
    return _listed(f"{reservation.title(report)}:", reservation.drawn(report), width)


def _disagreements(report: Report, width: int | None) -> Sequence[Part]:
    kernels: dict[str, list[str]] = {}
    for unit, kernel in layout.rows(report):
        for found in kernel.facts.disagreements:
            values = ", ".join(f"{source} {value}" for source, value in found.values.items())
            name = f"{layout.short_name(kernel.facts.demangled)} ({unit.arch})"
            kernels.setdefault(f"{found.quantity}: {values}{found.why}", []).append(name)
    said = [f"{name}: {what}" for what, found in kernels.items() for name in _few(found)]
    return _listed("Sources that disagree:", said, width)


def _routes(report: Report, width: int | None) -> Sequence[Part]:
    return _listed("NVRTC and nvcc differ:", layout.route_differences(report), width)


def _gaps(report: Report, width: int | None) -> Sequence[Part]:
    said = [
        f"{where}: [{stage}] {reason}"
        for names, reason, stage in layout.gaps(report)
        for where in _few(names)
    ]
    return _listed("Not known:", said, width)


def _listed(title: str, said: Sequence[str], width: int | None) -> Sequence[Part]:
    shown = (part for one in said for part in layout.wrapped(one, width, "  "))
    return [title, *shown] if said else []


def _few(names: list[str]) -> list[str]:
    """A line each, or one for all if there are many."""
    return names if len(names) <= _APART else [f"{names[0]} and {len(names) - 1} more"]


def _unknown(report: Report, verbose: bool) -> Sequence[Part]:
    found = [(unit, text) for unit in report.units for text in unit.unknown_log_lines]
    if not found:
        return []
    if not verbose:
        return [f"{count(len(found), 'line')} of the ptxas report not recognised (-v shows them)."]
    title = "Unrecognised lines of the ptxas report:"
    return [title, *(f"  {unit.input}: {text}" for unit, text in found)]


def _failure(unit: UnitReport, failure: Failure, color: bool, verbose: bool) -> Sequence[Part]:
    name = f" ({unit.arch})" if unit.arch else ""
    lead = line(styled("error:", "1;31", on=color), f" [{failure.stage}] ")
    made: list[Part] = [*led(lead, failure.message)]
    made[-1] = line(made[-1], name)
    if failure.log:
        log = failure.log.strip().splitlines()
        kept = log if verbose else log[:_LOG_LINES]
        made += [part for one in kept for part in lines(one, "  ")]
        if len(log) > len(kept):
            made.append(f"  … {count(len(log) - len(kept), 'more line')} (-v shows all)")
    if failure.command and verbose:
        made.append(f"command: {failure.command}")
    if failure.hint:
        made += led("hint: ", failure.hint)
    return made
