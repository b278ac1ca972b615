"""SARIF 2.1.0 (OASIS): findings as results, rules with their pages, accepted ones suppressed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import quoted, rows
from lmemscope.formats import codec
from lmemscope.model import Finding, GateResult, Report, SourceLocation
from lmemscope.rules import RULES

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}


def render_sarif(report: Report, result: GateResult | None = None) -> str:
    """The log; with a gate's result, what is known or allowed carries a suppression."""
    accepted = {
        (a.input, a.arch, a.finding.fingerprint): a.by
        for a in (result.accepted if result is not None else ())
    }
    results = []
    for unit, kernel in rows(report):
        lines = quoted(unit)
        for finding in kernel.findings:
            by = accepted.get((unit.input, unit.arch, finding.fingerprint))
            results.append(
                _result(unit.input, unit.arch, kernel.facts.demangled, finding, by, lines)
            )
    notifications = [
        {
            "level": "error",
            "message": {"text": f"[{unit.failure.stage}] {unit.failure.message}"},
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(unit.input)}}],
        }
        for unit in report.units
        if unit.failure is not None
    ]
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "lmemscope",
                        "version": report.version,
                        "semanticVersion": report.version,
                        "rules": [_rule(index) for index in range(len(RULES))],
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": not notifications,
                        "toolExecutionNotifications": notifications,
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }
    return codec.pretty(document)


def render(report: Report, how: Presentation) -> str:
    """As `render_sarif`, without a gate's result; SARIF is always the same."""
    del how
    return render_sarif(report)


def _rule(index: int) -> dict[str, Any]:
    rule = RULES[index]
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.cause.split("-")),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": rule.page.split("\n\n")[1].replace("\n", " ")},
        "help": {"text": rule.page},
        "properties": {"tags": ["cuda", "local-memory", rule.cause]},
    }


def _result(
    path: str,
    arch: str,
    kernel: str,
    finding: Finding,
    by: str | None,
    lines: Mapping[SourceLocation, str],
) -> dict[str, Any]:
    place = finding.location or SourceLocation(path, 1)
    advice = " ".join(advice.text for advice in finding.advice)
    document: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": next(i for i, rule in enumerate(RULES) if rule.id == finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{kernel} ({arch}): {finding.message}. {advice}"},
        "locations": [
            {
                "physicalLocation": _physical(place, lines),
                "logicalLocations": [{"fullyQualifiedName": kernel, "kind": "function"}],
            }
        ],
        "partialFingerprints": {"lmemscope/v1": f"{arch}:{finding.fingerprint}"},
        "properties": {"bytes": finding.bytes, "confidence": finding.confidence, "arch": arch},
    }
    if finding.related:
        document["relatedLocations"] = [
            {"id": number, "physicalLocation": _physical(related, lines)}
            for number, related in enumerate(finding.related, start=1)
        ]
    if by is not None:
        kind = "external" if by.startswith("known") else "inSource"
        document["suppressions"] = [{"kind": kind, "status": "accepted", "justification": by}]
    return document


def _physical(place: SourceLocation, lines: Mapping[SourceLocation, str]) -> dict[str, Any]:
    region: dict[str, int] = {"startLine": max(place.line, 1)}
    text = lines.get(place, "")
    if text:
        region["startColumn"] = len(text) - len(text.lstrip()) + 1
        region["endColumn"] = len(text) + 1
    return {"artifactLocation": _artifact(place.file), "region": region}


def _artifact(path: str) -> dict[str, str]:
    from urllib.parse import quote

    try:
        # A name that is no UTF-8 is its bytes.
        name = quote(path, errors="surrogateescape")
    except UnicodeEncodeError:
        name = quote(path, errors="surrogatepass")
    return {"uri": name if not path.startswith("/") else f"file://{name}"}
