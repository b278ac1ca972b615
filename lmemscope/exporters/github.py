"""Workflow commands that GitHub turns into annotations at the lines of a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.exporters import gate_text
from lmemscope.exporters.accounts import edited, left_out
from lmemscope.exporters.alike import alike, others
from lmemscope.exporters.escape_github import command
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import advice
from lmemscope.model import Checked, GateFailure, GateResult


def render(checked: Checked, how: Presentation) -> str:
    """The annotations, and the text for whoever reads the log."""
    return render_annotations(checked.result) + gate_text.render(checked, how)


def render_annotations(result: GateResult) -> str:
    """One ``::error`` for what is wrong in one place, and per piece of missing evidence.

    Accepted ones are warnings. GitHub shows ten of a step.

    What the change edits of the gate is a ``::warning``, what was left out a ``::notice``.
    """
    lines = [_annotation(group) for group in alike(result.failures)]
    for piece in result.missing:
        text, said = f"evidence is missing: {piece.text}", "lmemscope"
        if result.complete:
            lines.append(command("warning", text, file=piece.input, title=said))
        else:
            lines.append(command("error", text, file=piece.input, title=said))
    lines += [command("warning", text, title="lmemscope: review") for text in edited(result)]
    lines += [command("notice", text, title="lmemscope") for text in left_out(result)]
    return "".join(lines)


def _annotation(group: Sequence[GateFailure]) -> str:
    failure, *rest = group
    also = f" and {len(rest)} more" if rest else ""
    title = f"{failure.kind}: {failure.kernel} ({failure.arch}){also}"
    text = f"expected {failure.expected}, found {failure.found}"
    named = others(group)
    text += f", also in {named}" if named is not None else ""
    if failure.finding is not None:
        text += f". {failure.finding.message}"
        if failure.finding.advice:
            text += f". {advice(failure.finding, failure.route)}"
    place = failure.location
    file, line = (None, None) if place is None else (place.file, place.line)
    return command("error", text, file=file, line=line, title=title)
