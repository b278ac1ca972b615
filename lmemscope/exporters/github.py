"""Workflow commands that GitHub turns into annotations at the lines of a pull request."""

from __future__ import annotations

from dataclasses import replace

from lmemscope.exporters.layout import advice
from lmemscope.model import GateFailure, GateResult


def render_annotations(result: GateResult) -> str:
    """One ``::error`` per failure and piece of missing evidence; accepted ones are warnings."""
    lines = [_annotation(failure) for failure in result.failures]
    level = "warning" if result.complete else "error"
    for piece in result.missing:
        place = "" if piece.input is None else f"file={_property(piece.input)},"
        text = _data(f"evidence is missing: {piece.text}")
        lines.append(f"::{level} {place}title=lmemscope::{text}")
    return "".join(f"{line}\n" for line in lines)


def _annotation(failure: GateFailure) -> str:
    title = f"{failure.kind}: {failure.kernel} ({failure.arch})"
    text = f"expected {failure.expected}, found {failure.found}"
    if failure.finding is not None:
        text += f". {failure.finding.message}"
        first = replace(failure.finding, advice=failure.finding.advice[:1])
        if first.advice:
            text += f". {advice(first, failure.route)}"
    place = ""
    if failure.location is not None:
        place = f"file={_property(failure.location.file)},line={failure.location.line},"
    return f"::error {place}title={_property(title)}::{_data(text)}"


def _data(text: str) -> str:
    """Escapes of GitHub's workflow commands for messages."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escapes for properties: those of messages, colon and comma."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
