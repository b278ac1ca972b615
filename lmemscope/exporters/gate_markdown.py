"""The gate's result as a pull request comment: failures, then the report, cut to GitHub's limit."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from lmemscope.exporters import markdown
from lmemscope.exporters.accounts import edited, left_out, looked_at
from lmemscope.exporters.escape_markdown import (
    Markdown,
    code,
    constant,
    document,
    line,
    prose,
    table,
    text,
)
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import advice, verdict_text
from lmemscope.model import (
    Checked,
    GateFailure,
    GateResult,
    GateVerdict,
    KernelReport,
    Report,
)

LIMIT = 65_000
"""GitHub accepts comments of at most 65536 characters."""


_EMPTY = constant("")
MARKS: dict[GateVerdict, str] = {"passed": "✅", "failed": "❌", "undecided": "⚠️"}
"""Symbols shown before a verdict."""


def render(checked: Checked, how: Presentation) -> str:
    """A comment: the verdict, a table of failures, then as much of the report as fits."""
    result = checked.result
    title = constant("# Local memory gate: ")
    lines = [line(title, MARKS[result.verdict], " ", verdict_text(result)), _EMPTY]
    if result.failures:
        lines += _table(result.failures)
    missing = constant("**Missing evidence**")
    accepted = constant("**Missing evidence, accepted**")
    for heading, texts in (
        (accepted if result.complete else missing, [piece.text for piece in result.missing]),
        (constant("**To review**"), edited(result)),
        (constant("**Notes**"), [*result.notes, *result.unused]),
        (constant("**Checked, and left out**"), _accounted(result)),
    ):
        if texts:
            lines += [heading, _EMPTY, *(line(constant("- "), text(one)) for one in texts), _EMPTY]
    body = markdown.render(_to_the_point(checked.report), how).replace(
        "# Local memory report", "## Report", 1
    )
    return cut(document(lines) + body)


def _to_the_point(report: Report) -> Report:
    """The report with only the first advice of each finding, as in all gate output."""
    return replace(
        report,
        units=tuple(
            replace(unit, kernels=tuple(map(_first_advice, unit.kernels))) for unit in report.units
        ),
    )


def _first_advice(kernel: KernelReport) -> KernelReport:
    findings = (replace(one, advice=one.advice[:1]) for one in kernel.findings)
    return replace(kernel, findings=tuple(findings))


def _accounted(result: GateResult) -> list[str]:
    seen = looked_at(result)
    return [*([seen] if seen else []), *left_out(result)]


def cut(text: str) -> str:
    """At most `LIMIT` characters, cut at a line end and outside folded sections."""
    if len(text) <= LIMIT:
        return text
    note = "\n\n*Truncated: the report exceeds the size limit of a comment.*\n"
    room = LIMIT - len(note) - len("\n</details>")
    # Candidate cut positions, with the number of sections open there.
    end = opened = 0
    length = depth = 0
    closing = ""
    for one in text.split("\n"):
        length += len(one) + 1
        if length > room:
            break
        mark = one.strip()
        if closing:
            closing = "" if mark == closing else closing
        elif mark == "<pre>" or mark.startswith("```"):
            closing = "</pre>" if mark == "<pre>" else "`" * (len(mark) - len(mark.lstrip("`")))
        else:
            depth += (mark == "<details>") - (mark == "</details>")
        if not closing:
            end, opened = length - 1, depth
    return text[:end] + "\n</details>" * opened + note


def _table(failures: Sequence[GateFailure]) -> list[Markdown]:
    """One row per failure; an expectation shared by all is shown once, above."""
    expected = {failure.expected for failure in failures}
    shared = expected.pop() if len(expected) == 1 else None
    lines = [line("Expected: ", text(shared), "."), _EMPTY] if shared is not None else []
    rows = (_row(failure, with_expected=shared is None) for failure in failures)
    return [*lines, *table(("kernel", "found", "why"), rows), _EMPTY]


def _row(failure: GateFailure, *, with_expected: bool) -> tuple[Markdown, ...]:
    kernel = line(code(failure.kernel), f" ({failure.arch})")
    if failure.location is not None:
        place = f"{failure.location.file}:{failure.location.line}"
        kernel = line(kernel, constant("<br>"), code(place))
    found = prose(failure.found)
    if with_expected:
        found = line(found, constant("<br>expected: "), text(failure.expected))
    why = text("")
    if failure.finding is not None:
        why = prose(failure.finding.message)
        if failure.route == "log":
            why = line(why, ". ", prose(advice(failure.finding, failure.route)))
    return kernel, found, why
