"""What the gate says removes a failure: every format says the same one thing, as a sentence."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, cast

import pytest
from msgspec.structs import replace

from lmemscope.exporters import render
from lmemscope.gate.compare import compare
from lmemscope.model import Advice, Checked, Policy, Report
from tests.support.builders import judged, report

FORMATS = ("text", "json", "markdown", "sarif", "github", "pr-comment", "junit")
NONE = "lmemscope knows no small change that removes it."


def advised(*advice: Advice) -> Report:
    kernel = judged("k", "dynamic-index")
    (finding,) = kernel.findings
    return report(replace(kernel, findings=(replace(finding, advice=advice),)))


def shown(given: Report, format_: str) -> str:
    result = compare(given, Policy(), None, today=date(2026, 11, 30))
    return " ".join(str(render(Checked(given, result), format_)).split())


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_says_the_first_advice_alone(format_: str) -> None:
    given = advised(Advice("Keep it here.", rewrite="a"), Advice("Or keep it there.", rewrite="b"))
    text = shown(given, format_)
    assert "Keep it here." in text
    assert "Or keep it there." not in text


@pytest.mark.parametrize("format_", FORMATS)
def test_that_nothing_removes_it_is_nothing_to_try(format_: str) -> None:
    text = shown(advised(Advice(NONE, is_none=True)), format_)
    assert NONE in text
    assert "Try:" not in text


def test_the_document_has_what_the_text_says_of_a_failure() -> None:
    given = advised(Advice("Keep it here."))
    ((finding,),) = (one.findings for one in given.units[0].kernels)
    document = cast("dict[str, Any]", json.loads(shown(given, "json")))
    (failure,) = document["failures"]
    told = {one: failure[one] for one in ("object", "bytes", "why", "advice")}
    assert told == {
        "object": finding.object,
        "bytes": finding.bytes,
        "why": finding.message,
        "advice": "Keep it here.",
    }
    (silent,) = json.loads(shown(advised(), "json"))["failures"]
    assert silent["advice"] is None
