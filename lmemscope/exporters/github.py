"""Workflow commands that GitHub turns into annotations on the lines of a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.exporters import gate_text
from lmemscope.exporters.accounts import edited, left_out
from lmemscope.exporters.alike import alike, archs, others, title
from lmemscope.exporters.escape_github import command
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import advice
from lmemscope.model import Checked, GateFailure, GateResult

_PLAIN = Presentation()


def render(checked: Checked, how: Presentation) -> str:
    """The annotations, and the text for readers of the log."""
    return render_annotations(checked.result, how) + gate_text.render(checked, how)


def render_annotations(result: GateResult, how: Presentation = _PLAIN) -> str:
    """One ``::error`` per problem location, and per piece of missing evidence.

    Accepted ones become warnings. GitHub shows ten per step.

    Edits of the gate become a ``::warning``, and what was left out a ``::notice``.
    """
    lines = [_annotation(group, how) for group in alike(result.failures)]
    for piece in result.missing:
        text, said = f"evidence is missing: {piece.text}", "lmemscope"
        file = how.located(piece.input) if piece.input is not None else None
        if result.complete:
            lines.append(command("warning", text, file=file, title=said))
        else:
            lines.append(command("error", text, file=file, title=said))
    lines += [command("warning", text, title="lmemscope: review") for text in edited(result)]
    lines += [command("notice", text, title="lmemscope") for text in left_out(result)]
    return "".join(lines)


def _annotation(group: Sequence[GateFailure], how: Presentation) -> str:
    failure = group[0]
    head = f"{failure.kind}: {title(group)} ({archs(group)})"
    text = f"expected {failure.expected}, found {failure.found}"
    named = others(group)
    text += f", also in {named}" if named is not None else ""
    if failure.finding is not None:
        text += f". {failure.finding.message}"
        if failure.finding.advice:
            text += f". {advice(failure.finding, failure.route)}"
    place = failure.location
    file, line = (None, None) if place is None else (how.located(place.file), place.line)
    return command("error", text, file=file, line=line, title=head)
