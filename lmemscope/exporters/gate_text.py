"""The gate's answer for a person: what failed, why, where, what removes it, how to accept it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from lmemscope.exporters.layout import verdict_text
from lmemscope.model import GateFailure, GateResult, count, is_library

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Written:
    """What was done to the baseline.

    Attributes:
        update: what is gone was removed from it.
        ratchet: the figures of what has become smaller were taken into it.
    """

    update: bool = False
    ratchet: bool = False


_NOTHING = Written()


def render_gate(
    result: GateResult,
    *,
    color: bool,
    verbose: bool,
    written: Written = _NOTHING,
    width: int = _WIDTH,
) -> str:
    """Failures first, then what is worth knowing, then one line that sums up."""
    lines: list[str] = []
    for failure in result.failures:
        lines += [*_failure(failure, color, min(width, _WIDTH)), ""]
    if result.missing:
        lead = "note" if result.complete else _styled("error", "1;31", color)
        lines.append(f"{lead}: evidence that the gate needs is missing:")
        lines += [f"  {piece.text}" for piece in result.missing]
        if not result.complete:
            lines.append("  accept that with --allow-incomplete")
        lines.append("")
    lines += [f"note: {note}" for note in result.notes]
    lines += [f"note: {text}" for text in result.unused]
    for one in result.better:
        entry = one.entry
        lines.append(
            f"note: better than the baseline: {entry.kernel} ({entry.arch}): {entry.cause} was "
            f"{entry.bytes} bytes and is {one.bytes}; "
            + ("the baseline has it now" if written.ratchet else "--ratchet takes the new figure")
        )
    for entry in result.gone:
        lines.append(
            f"note: gone: {entry.kernel} ({entry.arch}): {entry.cause}; "
            + ("removed from" if written.update else "--update removes it from")
            + " the baseline"
        )
    if verbose:
        lines += [
            f"accepted: {a.kernel} ({a.arch}): {a.finding.cause}, {a.finding.bytes} bytes: {a.by}"
            for a in result.accepted
        ]
    sentence = f"Gate {verdict_text(result)}."
    verdict = _styled(sentence, "32" if result.verdict == "passed" else "1;31", color)
    known = (
        f" {count(len(result.accepted), 'finding')} known or allowed." if result.accepted else ""
    )
    return "\n".join([*lines, f"{verdict}{known}"]) + "\n"


def _failure(failure: GateFailure, color: bool, width: int) -> list[str]:
    head = f"{failure.kind}: {failure.kernel} ({failure.input}, {failure.arch}): {failure.found}"
    lines = [_styled(head, "1;31", color)]
    lines += [f"  expected: {failure.expected}", f"  found:    {failure.found}"]
    finding = failure.finding
    if failure.location is not None:
        lines.append(f"  where:    {failure.location.file}:{failure.location.line}")
    if finding is not None:
        lines += _wrapped(f"{finding.rule} {finding.message}", "  why:      ", width)
        for advice in finding.advice[:1]:
            # A log does not tell what would remove anything.
            lead = "  explain:  " if failure.route == "log" else "  remove:   "
            lines += _wrapped(advice.text, lead, width)
            if advice.code is not None:
                lines += [f"              {line}" for line in advice.code.splitlines()]
    lines += _wrapped(_acceptance(failure), "  accept:   ", width)
    return lines


def _acceptance(failure: GateFailure) -> str:
    finding = failure.finding
    if failure.kind == "limit":
        return "raise the limit, in the configuration or on the command line"
    if failure.kind == "expectation" or finding is None:
        return "change the expectation in the source"
    place = failure.location
    if failure.route not in ("nvrtc", "nvcc") or (place is not None and is_library(place.file)):
        return "[[allowances]] in the configuration, or lmemscope baseline"
    return (
        f'// lmemscope: allow {finding.cause} {finding.bytes} "reason" above the kernel, '
        "or lmemscope baseline"
    )


def _wrapped(text: str, lead: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _styled(text: str, code: str, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color else text
