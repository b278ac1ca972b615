"""The documents hold what the model does: what one leaves out is left out on purpose."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET, Struct, UnsetType

from lmemscope import model
from lmemscope.exporters import (
    fix_document,
    formats,
    gate_document,
    render,
    report_document,
)
from lmemscope.formats.codec import decode, encode, shaped
from lmemscope.gate.compare import compare
from tests.support.builders import judged, report

UNSAVED: list[tuple[type[Any], type[Any], str]] = [
    # Not of what was written: what a reader of a saved report found.
    (model.Report, report_document.ReportDocument, "doubts"),
    (model.UnitReport, report_document.UnitDocument, "cached headers others"),
    # Under other names: facts and sources are a kernel's, and its accesses are of two kinds.
    (model.KernelReport, report_document.KernelDocument, "facts work"),
    (model.KernelFacts, report_document.KernelDocument, "cubin generic ptxas"),
    (model.FunctionFacts, report_document.FunctionDocument, ""),
    (model.FrameRange, report_document.FrameRangeDocument, ""),
    (model.CauseShare, report_document.CauseDocument, "sites"),
    (model.SiteClass, report_document.CauseDocument, ""),
    (model.Finding, report_document.FindingDocument, ""),
    (model.LocalObject, report_document.ObjectDocument, ""),
    (model.LocalAccess, report_document.AccessDocument, ""),
    (model.Disagreement, report_document.DisagreementDocument, ""),
    # A patch holds the edits; what ranking went by is of no use later.
    (model.FixReport, fix_document.FixDocument, "chosen kernels trials"),
    (
        model.Trial,
        fix_document.CandidateDocument,
        "is_late is_slowing made modelled place rewriting",
    ),
    (model.Rewriting, fix_document.CandidateDocument, "base edits promises room takes version"),
    # Of a finding, what tells which one it is.
    (model.GateResult, gate_document.GateDocument, ""),
    (model.GateFailure, gate_document.GateFailureDocument, "finding is_bounded route"),
    (model.Accepted, gate_document.AcceptedDocument, "finding in_source"),
]


def names(kind: type[Any]) -> set[str]:
    return set(kind.__struct_fields__)


@pytest.mark.parametrize(
    ("kind", "document", "unsaved"), UNSAVED, ids=lambda one: getattr(one, "__name__", "")
)
def test_no_field_of_the_model_is_left_out_by_mistake(
    kind: type[Any], document: type[Any], unsaved: str
) -> None:
    assert sorted(names(kind) - names(document)) == unsaved.split()


def test_a_field_that_nothing_has_is_an_error_though_it_has_a_default() -> None:
    class Given(Struct):
        one: int

    class Wanted(Given):
        other: int = 2

    assert shaped(Wanted, Given(1), other=3) == Wanted(1, 3)
    with pytest.raises(AttributeError, match="nothing has other for Wanted"):
        shaped(Wanted, Given(1))


def test_what_may_be_absent_in_a_document_is_none_in_the_model() -> None:
    class Document(Struct):
        one: int | UnsetType = UNSET

    class Model(Struct):
        one: int | None = None

    class Required(Struct):
        one: int | None

    for number in (None, 3):
        written = shaped(Document, Model(number))
        assert encode(written) == (b"{}" if number is None else b'{"one":3}')
        assert shaped(Model, written) == Model(number)
    with pytest.raises(AttributeError, match="nothing has one for Required"):
        shaped(Required, Document())


def test_the_first_source_that_has_a_field_counts() -> None:
    place = model.SourceLocation("a.cu", 3)
    assert shaped(model.SourceLocation, model.SourceLocation("b.cu", 4), place).file == "b.cu"


def test_the_gate_and_a_difference_are_written_as_their_schemas_say() -> None:
    given = report(judged("k", "dynamic-index"))
    checked = model.Checked(given, compare(given, model.Policy(), None))
    written = render(checked, "json")
    assert isinstance(written, str)
    assert decode(written.encode(), gate_document.GateDocument).failures[0].cause == "dynamic-index"
    empty = model.Difference((), ())
    document = json.loads(formats.render(empty, "json"))
    assert document == {"schema": "lmemscope.diff/1", "toolchain": [], "kernels": []}
