"""Reports as SARIF 2.1.0 (OASIS): findings are results, accepted ones are suppressed."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from lmemscope.exporters import escape_json
from lmemscope.exporters.accounts import edited, left_out
from lmemscope.exporters.escape_sarif import message, name, uri
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import advice, quoted, rows
from lmemscope.exporters.sarif_fixes import fixes
from lmemscope.model import (
    Accepted,
    Account,
    Checked,
    Finding,
    GateFailure,
    GateResult,
    Report,
    SourceLocation,
    UnitReport,
)
from lmemscope.rules import RULES

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_GATE_RULES: dict[str, dict[str, Any]] = {
    kind: {
        "id": kind,
        "name": kind.capitalize(),
        "shortDescription": {"text": text},
        "properties": {"tags": ["cuda", "local-memory", "gate"]},
    }
    for kind, text in (
        ("limit", "A kernel exceeds a configured limit."),
        ("expectation", "A kernel does not meet an expectation in the source."),
    )
}
_Placed = Callable[[str], str]
"""Maps a file's name to its URI."""
_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.+-]*", re.ASCII)
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}


def render(shown: Report | Checked, how: Presentation) -> str:
    """The log; with a gate result, known or allowed findings carry a suppression."""

    def placed(path: str) -> str:
        return uri(how.located(path))

    report, result = (shown.report, shown.result) if isinstance(shown, Checked) else (shown, None)
    answers = _Answers(result) if result is not None else None
    results = []
    for unit, kernel in rows(report):
        lines = quoted(unit)
        for finding in kernel.findings:
            one = _result(unit, kernel.facts.demangled, finding, lines, placed)
            if answers is not None:
                answers.mark(one, unit.input, unit.arch, kernel.facts.name, finding)
            results.append(one)
    if result is not None:
        results += [_exceeded(one, placed) for one in result.failures if one.kind in _GATE_RULES]
        notifications = _notifications(result, placed)
    else:
        notifications = [
            _notification(
                "error", f"[{unit.failure.stage}] {unit.failure.message}", unit.input, placed
            )
            for unit in report.units
            if unit.failure is not None
        ]
    invocation: dict[str, Any] = {
        "executionSuccessful": not notifications if result is None else result.complete,
        "toolExecutionNotifications": notifications,
    }
    if result is not None:
        invocation["exitCode"] = result.exit_code
        invocation["properties"] = {"accounts": [_account(one) for one in result.accounts]}
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "lmemscope",
                        "version": name(report.version),
                        **_semantic(report.version),
                        "rules": [
                            *(_rule(index) for index in range(len(RULES))),
                            *(_GATE_RULES.values() if result is not None else ()),
                        ],
                    }
                },
                "invocations": [invocation],
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }
    return escape_json.document(document)


def _semantic(version: str) -> dict[str, str]:
    """A version if it is a valid semantic version; a saved report may contain any text."""
    return {"semanticVersion": version} if _VERSION.fullmatch(version) else {}


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
    unit: UnitReport,
    kernel: str,
    finding: Finding,
    lines: Mapping[SourceLocation, str],
    placed: _Placed,
) -> dict[str, Any]:
    arch, place = unit.arch, finding.location or SourceLocation(unit.input, 1)
    document: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": next(i for i, rule in enumerate(RULES) if rule.id == finding.rule),
        "level": _LEVELS[finding.severity],
        "message": message(
            f"{kernel} ({arch}): {finding.message}. {advice(finding, unit.frontend)}"
        ),
        "locations": [
            {
                "physicalLocation": _physical(place, lines, placed),
                "logicalLocations": [_logical(kernel)],
            }
        ],
        "partialFingerprints": {"lmemscope/v1": f"{arch}:{finding.fingerprint}"},
        "properties": {"bytes": finding.bytes, "confidence": finding.confidence, "arch": arch},
    }
    if finding.fix is not None:
        document["fixes"] = fixes(finding.fix, message, placed)
    if finding.related:
        document["relatedLocations"] = [
            {"id": number, "physicalLocation": _physical(related, lines, placed)}
            for number, related in enumerate(finding.related, start=1)
        ]
    return document


class _Answers:
    """The gate's decision on each finding; equal findings are counted."""

    def __init__(self, result: GateResult) -> None:
        self._accepted: dict[tuple[str, str, str], list[Accepted]] = defaultdict(list)
        self._failed: dict[tuple[str, str, str], list[GateFailure]] = defaultdict(list)
        for accepted in result.accepted:
            self._accepted[accepted.input, accepted.arch, accepted.symbol].append(accepted)
        for failure in result.failures:
            self._failed[failure.input, failure.arch, failure.symbol].append(failure)

    def mark(
        self, document: dict[str, Any], path: str, arch: str, symbol: str, finding: Finding
    ) -> None:
        """Suppress an accepted result; one that the gate ignores becomes informational."""
        accepted = self._accepted[path, arch, symbol]
        for one in accepted:
            if one.finding == finding:
                accepted.remove(one)
                kind = "inSource" if one.in_source else "external"
                document["suppressions"] = [
                    {"kind": kind, "status": "accepted", "justification": name(one.by)}
                ]
                return
        minded = any(
            failure.finding == finding and failure.kind not in _GATE_RULES
            for failure in self._failed[path, arch, symbol]
        )
        # A failure of the gate is at least as severe as a known finding, whatever the rule's level.
        document |= {"level": "error"} if minded else {"kind": "informational", "level": "none"}


def _exceeded(failure: GateFailure, placed: _Placed) -> dict[str, Any]:
    """A result for an exceeded limit or failed expectation."""
    place = failure.location or SourceLocation(failure.input, 1)
    text = f"{failure.kernel} ({failure.arch}): {failure.found}; expected {failure.expected}"
    key = "\0".join((failure.kind, failure.arch, failure.input, failure.symbol, failure.expected))
    return {
        "ruleId": failure.kind,
        "ruleIndex": len(RULES) + list(_GATE_RULES).index(failure.kind),
        "level": "error",
        "message": message(text),
        "locations": [
            {
                "physicalLocation": _physical(place, {}, placed),
                "logicalLocations": [_logical(failure.kernel)],
            }
        ],
        "partialFingerprints": {
            "lmemscope/v1": hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        },
        "properties": {"arch": failure.arch},
    }


def _notifications(result: GateResult, placed: _Placed) -> list[dict[str, Any]]:
    """Missing evidence, edits of the gate, and what was left out."""
    level = "warning" if result.complete else "error"
    missing = [_notification(level, piece.text, piece.input, placed) for piece in result.missing]
    edits = (_notification("warning", text, None, placed) for text in edited(result))
    return [
        *missing,
        *edits,
        *(_notification("note", text, None, placed) for text in left_out(result)),
    ]


def _notification(level: str, text: str, path: str | None, placed: _Placed) -> dict[str, Any]:
    document: dict[str, Any] = {"level": level, "message": message(text)}
    if path is not None:
        document["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": placed(path)}}}]
    return document


def _account(account: Account) -> dict[str, str]:
    told = {"subject": account.subject, "state": account.state}
    return told | {"name": name(account.name), "reason": name(account.reason)}


def _logical(kernel: str) -> dict[str, str]:
    return {"fullyQualifiedName": name(kernel), "kind": "function"}


def _physical(
    place: SourceLocation, lines: Mapping[SourceLocation, str], placed: _Placed
) -> dict[str, Any]:
    region: dict[str, int] = {"startLine": max(place.line, 1)}
    text = lines.get(place, "")
    if text:
        region["startColumn"] = len(text) - len(text.lstrip()) + 1
        region["endColumn"] = len(text) + 1
    return {"artifactLocation": {"uri": placed(place.file)}, "region": region}
