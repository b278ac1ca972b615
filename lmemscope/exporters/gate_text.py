"""The gate's result for people: what failed, why, where, what removes it, how to accept it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import LiteralString

import msgspec

from lmemscope.analysis.groups import template_name
from lmemscope.exporters.accounts import edited, left_out, looked_at
from lmemscope.exporters.alike import alike, archs, others, title
from lmemscope.exporters.escape_terminal import Part, document, line, lines, styled, wrapped
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import verdict_text
from lmemscope.formats.demangle import demangle
from lmemscope.formats.kernel_names import spellings
from lmemscope.model import Advice, Checked, GateFailure, GateResult, count, is_library

_WIDTH = 100


def render(checked: Checked, how: Presentation) -> str:
    """Failures first, then further information, then a one-line summary."""
    result, color = checked.result, how.color
    width = min(how.width or _WIDTH, _WIDTH)
    made: list[Part] = []
    for failure, *rest in alike(result.failures):
        made += described(failure, width, color=color, rest=rest)
        made += [*_accepted(failure, rest, checked, width), ""]
    made += _accepted_by_baseline(checked)
    if result.missing:
        lead = "note" if result.complete else styled("error", "1;31", on=color)
        made.append(line(lead, ": evidence that the gate needs is missing:"))
        made += [f"  {piece.text}" for piece in result.missing]
        if not result.complete:
            made += _accepting(result)
        made.append("")
    made += [f"review: {text}" for text in edited(result)]
    made += [f"note: {note}" for note in result.notes]
    made += [f"note: {text}" for text in (*result.unused, *left_out(result))]
    made += _improved(checked)
    if how.verbose:
        made += [
            f"accepted: {a.kernel} ({a.arch}): {a.finding.cause}, {a.finding.bytes} bytes: {a.by}"
            for a in result.accepted
        ]
        made += [f"{one.state}: {one.text}" for one in result.accounts if one.state != "left-out"]
    sentence = f"Gate {verdict_text(result)}."
    verdict = styled(sentence, "32" if result.verdict == "passed" else "1;31", on=color)
    known = (
        f" {count(len(result.accepted), 'finding')} known or allowed." if result.accepted else ""
    )
    seen = looked_at(result)
    return document([*made, *([seen] if seen else []), line(verdict, known)])


def _accepting(result: GateResult) -> Iterator[str]:
    """The options that accept missing evidence."""
    if any(one.needs_trust for one in result.missing):
        yield "  accept what this change edits with --trust-configuration"
    elif result.missing:
        yield "  accept that with --allow-incomplete"


def _improved(checked: Checked) -> Iterator[str]:
    """Known findings that have become smaller or are gone, and what happens to the baseline."""
    result, written = checked.result, checked.written
    known = "the baseline" if checked.new_since is None else checked.new_since
    taken = "the baseline has it now" if written.ratchet else "--ratchet takes the new figure"
    left = "removed from" if written.update else "--update removes it from"
    smaller, gone = f"; {taken}", f"; {left} the baseline"
    if checked.new_since is not None:
        smaller = gone = ""
    for one in result.better:
        entry = one.entry
        was = f"{entry.kernel} ({entry.arch}): {entry.cause} was {entry.bytes} bytes"
        yield f"note: better than {known}: {was} and is {one.bytes}{smaller}"
    for entry in result.gone:
        yield f"note: gone: {entry.kernel} ({entry.arch}): {entry.cause}{gone}"


def described(
    failure: GateFailure,
    width: int = _WIDTH,
    *,
    color: bool = False,
    rest: Sequence[GateFailure] = (),
) -> list[Part]:
    """What failed, why, where, and what removes it, in lines; and where else it fails."""
    group = (failure, *rest)
    place = f"({failure.input}, {archs(group)})"
    head = f"{failure.kind}: {title(group)} {place}: {failure.found}"
    made: list[Part] = [styled(head, "1;31", on=color)]
    made += [f"  expected: {failure.expected}", f"  found:    {failure.found}"]
    finding = failure.finding
    if failure.location is not None:
        made.append(f"  where:    {failure.location.file}:{failure.location.line}")
    named = others(group)
    if named is not None:
        made += _led("  also:     ", named, width)
    if finding is not None:
        made += _led("  why:      ", f"{finding.rule} {finding.message}", width)
        for advice in finding.advice[:1]:
            made += _led(_lead(failure, advice), advice.text, width)
            if advice.code is not None:
                made += lines(advice.code.rstrip("\n"), "              ")
    return made


def _lead(failure: GateFailure, advice: Advice) -> LiteralString:
    if advice.applicability is not None:
        return "  try:      "
    # A log does not show what would remove anything.
    return "  explain:  " if failure.route == "log" else "  remove:   "


def _led(lead: LiteralString, text: str, width: int) -> Sequence[Part]:
    return wrapped(text, width, lead, " " * len(lead))


_INNER = "              "


def _accepted(
    failure: GateFailure, rest: Sequence[GateFailure], checked: Checked, width: int
) -> Iterator[Part]:
    """How to accept a failure and similar ones: by a comment if possible, else by configuration.

    A change cannot accept its own failures through its configuration.
    """
    finding = failure.finding
    if failure.kind == "limit":
        said = "raise the limit, in the configuration or on the command line"
        yield from _led("  accept:   ", said, width)
        return
    if failure.kind == "expectation" or finding is None:
        yield from _led("  accept:   ", "change the expectation in the source", width)
        return
    size = finding.bytes if failure.is_bounded else None
    kernels = {template_name(one.kernel) for one in (failure, *rest)}
    if all(map(_takes_comment, (failure, *rest))):
        sized = f" {size}" if size is not None else ""
        where = "the kernel" if len(kernels) == 1 else f"each of the {len(kernels)} kernels"
        said = f'// lmemscope: allow {finding.cause}{sized} "reason" above {where}'
        yield from _led("  accept:   ", said, width)
        return
    file = checked.acceptance.configuration
    each = f", and so for each of the {len(kernels)} kernels" if len(kernels) > 1 else ""
    trust = "" if checked.new_since is None else ", which takes --trust-configuration"
    yield from _led("  accept:   ", f"in {file}{each}{trust}:", width)
    lead = "tool.lmemscope." if os.path.basename(file) == "pyproject.toml" else ""
    yield f"{_INNER}[[{lead}allowances]]"
    # Every JSON string is a valid TOML string.
    yield f"{_INNER}kernel = {msgspec.json.encode(_glob(failure)).decode()}"
    yield f'{_INNER}cause = "{finding.cause}"'
    if size is not None:
        yield f"{_INNER}bytes = {size}"
    yield f'{_INNER}reason = "…"'


def _takes_comment(failure: GateFailure) -> bool:
    if failure.takes_comment is not None:
        return failure.takes_comment
    place = failure.location
    is_own = place is None or not is_library(place.file)
    return failure.route in ("nvrtc", "nvcc") and is_own


def _glob(failure: GateFailure) -> str:
    """The name for a kernel in an allowance: its template, if that is one of the kernel's names."""
    names = spellings(failure.symbol, demangle(failure.symbol))
    return next((one for one in (template_name(failure.kernel),) if one in names), failure.symbol)


def _accepted_by_baseline(checked: Checked) -> Iterator[Part]:
    """The command that records all new findings; a change cannot do so through its own baseline."""
    command = checked.acceptance.baseline
    is_new = any(one.kind in ("new", "worse") for one in checked.result.failures)
    if is_new and command is not None and checked.new_since is None:
        yield f"To accept all new and worse findings: {command}"
        yield ""
