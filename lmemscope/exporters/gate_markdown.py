"""The gate's answer for a pull request: failures first, then the report, cut to GitHub's limit."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.exporters.layout import advice, verdict_text
from lmemscope.exporters.markdown import render_markdown
from lmemscope.model import GateFailure, GateResult, GateVerdict, Report

LIMIT = 65_000
"""GitHub takes comments of at most 65536 characters."""


_MARKS: dict[GateVerdict, str] = {"passed": "✅", "failed": "❌", "undecided": "⚠️"}


def render_gate_markdown(report: Report, result: GateResult) -> str:
    """A comment: verdict, failures in a table, then the report as far as there is room."""
    lines = [f"# Local memory gate: {_MARKS[result.verdict]} {verdict_text(result)}", ""]
    if result.failures:
        lines += _table(result.failures)
    for title, texts in (
        (
            "Missing evidence" if not result.complete else "Missing evidence, accepted",
            tuple(piece.text for piece in result.missing),
        ),
        ("Notes", (*result.notes, *result.unused)),
    ):
        if texts:
            lines += [f"**{title}**", "", *(f"- {_cell(text)}" for text in texts), ""]
    text = "\n".join(lines) + "\n"
    body = render_markdown(report).replace("# Local memory report", "## Report", 1)
    return cut(text + body)


def cut(text: str, limit: int = LIMIT) -> str:
    """At most ``limit`` characters, ended at a line and outside of folded details."""
    if len(text) <= limit:
        return text
    note = "\n\n*Cut here: the report is longer than a comment may be.*\n"
    kept = text[: limit - len(note) - len("\n</details>")]
    kept = kept[: kept.rfind("\n")]
    open_details = kept.count("<details>") - kept.count("</details>")
    if kept.count("\n```") % 2 or kept.count("  ```") % 2:
        kept = kept[: kept.rfind("<details>")]
        open_details = kept.count("<details>") - kept.count("</details>")
    return kept + "\n</details>" * max(open_details, 0) + note


def _table(failures: Sequence[GateFailure]) -> list[str]:
    """One row for each failure; what all of them expected is said once, above."""
    expected = {failure.expected for failure in failures}
    shared = expected.pop() if len(expected) == 1 else None
    lines = [f"Expected: {shared}.", ""] if shared is not None else []
    lines += ["| kernel | found | why |", "|---|---|---|"]
    lines += [_row(failure, with_expected=shared is None) for failure in failures]
    return [*lines, ""]


def _row(failure: GateFailure, *, with_expected: bool) -> str:
    kernel = f"`{failure.kernel}` ({failure.arch})"
    if failure.location is not None:
        kernel += f"<br>`{failure.location.file}:{failure.location.line}`"
    found = failure.found
    if with_expected:
        found += f"<br>expected: {failure.expected}"
    why = ""
    if failure.finding is not None:
        why = failure.finding.message
        if failure.route == "log":
            why += f". {advice(failure.finding, failure.route)}"
    return f"| {' | '.join(_cell(cell) for cell in (kernel, found, why))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
