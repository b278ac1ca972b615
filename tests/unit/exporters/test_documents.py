"""The documents hold what the model does: what one leaves out is left out on purpose."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import fields, replace

from lmemscope import model
from lmemscope.exporters import (
    fix_document,
    formats,
    gate_document,
    render,
)
from lmemscope.formats.codec import decode, encode, shaped
from lmemscope.formats.json_schema import json_schema
from lmemscope.gate.compare import compare
from tests.support.builders import judged, report

UNSAVED: list[tuple[type[Any], type[Any], str]] = [
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
    (
        model.GateFailure,
        gate_document.GateFailureDocument,
        "bound finding is_bounded route takes_comment",
    ),
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


def test_a_report_is_its_own_document() -> None:
    """Of all that it holds, only what is declared is not in the schema."""
    parts = json_schema(model.Report)
    for kind in (model.UnitReport, model.KernelReport, model.LocalAccess, model.CauseShare):
        written = set(parts["$defs"][kind.__name__]["properties"])
        assert {f.name for f in fields(kind)} - written <= {*getattr(kind, "UNWRITTEN", ())}
    assert names(model.Report) - set(parts["properties"]) == {"doubts"}
    assert "Work" not in parts["$defs"]


def test_figures_that_follow_are_made_anew() -> None:
    kernel = judged("k", "dynamic-index")
    assert kernel.ptxas is not None
    ptxas = replace(kernel.ptxas, registers=77, stack_frame=None)
    changed = replace(kernel, sources=replace(kernel.sources, ptxas=ptxas), registers=1)
    assert changed.registers == 77
    assert changed.cubin is not None
    assert changed.stack_frame == changed.cubin.stack_frame


def test_an_empty_list_that_is_given_is_written() -> None:
    kernel = replace(judged("k"), accesses=model.NOT_GIVEN)
    assert "accesses" not in json.loads(encode(kernel))
    assert json.loads(encode(replace(kernel, accesses=())))["accesses"] == []


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
    assert document == {
        "schema": "lmemscope.diff/1",
        "toolchain": [],
        "kernels": [],
        "not_compared": [],
    }
