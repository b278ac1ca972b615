"""Exporters from one hand-made report: no toolchain, nothing but layout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import get_args

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from lmemscope.analysis.measuring import measured_kernels
from lmemscope.exporters import layout, render
from lmemscope.exporters.formats import Document, formats_of
from lmemscope.formats.demangle import demangle, plain_name, scopes, short_name
from lmemscope.gate.compare import compare
from lmemscope.gate.difference import difference
from lmemscope.model import (
    Checked,
    Chosen,
    CubinFacts,
    Disagreement,
    FixReport,
    Gap,
    KernelFacts,
    Measurement,
    Policy,
    Profile,
    ProfiledLaunch,
    PtxasFacts,
    PtxFacts,
    Report,
    SassSites,
    SiteClass,
    SiteSplit,
)
from lmemscope.rules.verdict import judge
from tests.support.builders import NOTHING, facts, report_of, spilling, with_object


def everything() -> Iterator[Document]:
    """One document of each kind, all about one kernel."""
    report = report_of(with_object())
    yield report
    yield Checked(report, compare(report, Policy(), None))
    yield difference(Report(version="0", toolchain={}, units=()), report)
    yield FixReport("0", (), (), Chosen((), (), "ring"))
    launch = ProfiledLaunch("ring", "0", None, None, "0", "9.0", {})
    kernels = measured_kernels(Profile((launch,)), report.units)
    yield Measurement(version="0", profiler=None, kernels=kernels)


@pytest.mark.parametrize(
    "document", list(everything()), ids=lambda document: type(document).__name__
)
def test_every_command_has_its_formats_from_the_table(document: Document) -> None:
    rows = formats_of(type(document))
    assert {"json", "table" if "table" in rows else "text"} <= rows.keys()
    for name in rows:
        written = render(document, name)
        text = written.decode() if isinstance(written, bytes) else written
        assert "ring" in text, name


@pytest.mark.parametrize("document", get_args(Document), ids=lambda document: document.__name__)
def test_no_ending_stands_for_two_formats_of_a_command(document: type[Document]) -> None:
    endings = [ending for row in formats_of(document).values() for ending in row.endings]
    assert len(set(endings)) == len(endings)


def table(given: Report, width: int | None = None) -> str:
    return render(given, "table", color=False, width=width, verbose=False)


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        (facts(), "clean"),
        (facts(ptx=PtxFacts(32, 1, 2, 2, 0)), "promoted"),
        (spilling(), "spill"),
        (with_object(), "local-object"),
        (facts(ptxas=PtxasFacts(32, 16, 0, 0, 16, None, 0)), "local-object"),
        (facts(stack_known=False), "call-stack"),
    ],
    ids=["clean", "promoted", "spill", "object", "frame alone", "unknown stack"],
)
def test_verdicts(kernel: KernelFacts, kind: str, snapshot: SnapshotAssertion) -> None:
    verdict = judge(kernel)
    assert verdict.kind == kind
    assert verdict.text == snapshot


def test_unknown_origin_is_never_called_a_spill() -> None:
    split = SiteSplit(NOTHING, NOTHING, SiteClass(1, 2, 4, 8))
    verdict = judge(facts(ptxas=None, sass=SassSites(1, 2, 4, 8), sites=split, own_sites=split))
    assert verdict.kind == "unknown"
    assert "spill" not in verdict.text


def test_rows_are_worst_first_and_stable() -> None:
    listed = layout.rows(report_of(facts("b"), with_object(), facts("a"), spilling()))
    assert [row[1].verdict.kind for row in listed] == ["spill", "local-object", "clean", "clean"]
    assert [row[1].facts.name for row in listed][2:] == ["a", "b"]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_tables_fit_their_terminal(width: int) -> None:
    text = table(report_of(spilling(), with_object(), facts()), width)
    drawn = text.partition("3 kernels")[0]
    assert max(len(line) for line in drawn.splitlines()) <= width
    assert "ring" in text
    squeezed = "".join(drawn.split())
    assert "128" in squeezed
    assert ("PTX.local" in squeezed) == (width >= 100)
    assert ("regs" in squeezed) == (width >= 72)


def test_a_pipe_gets_whole_names_and_verdicts_on_one_line() -> None:
    lines = table(report_of(with_object(), facts("n" * 90))).splitlines()
    assert lines[1].split()[0] == "ring"
    assert lines[1].endswith("local object 128 B: line 31")
    assert "n" * 90 in lines[2]


def test_missing_evidence_is_a_question_mark_not_a_zero() -> None:
    bare = facts(
        ptxas=None, ptx=None, sass=None, own_sites=None, cubin=CubinFacts(20, None, None, None)
    )
    cells = table(report_of(bare)).splitlines()[1].split()
    assert cells[:7] == ["clean_kernel", "sm_90", "20", "?", "?/?", "?", "?"]


def test_machine_code_without_accesses_spills_nothing() -> None:
    bare = facts(ptxas=None, ptx=None)
    assert (bare.spill_stores, bare.spill_loads) == (0, 0)
    # Nor does ptxas count what is spilled to shared memory.
    shared = facts(ptxas=None, ptx=None, cubin=CubinFacts(32, 0, 0, 255, shared_spills=2))
    assert (shared.spill_stores, shared.spill_loads) == (0, 0)
    unmarked = SiteSplit(NOTHING, NOTHING, SiteClass(1, 2, 4, 8))
    unknown = facts(ptxas=None, ptx=None, sites=unmarked, own_sites=unmarked)
    assert (unknown.spill_stores, unknown.spill_loads) == (None, None)


def test_failures_disagreements_and_gaps_follow_the_table(snapshot: SnapshotAssertion) -> None:
    odd = facts(disagreements=(Disagreement("spill_stores", {"ptxas": 144, "sass": 160}),))
    given = report_of(odd, failure=True)
    gap = replace(given.units[0], gaps=(Gap("ptx", "no PTX text"),))
    text = table(replace(given, units=(gap, given.units[1])))
    assert text == snapshot


def test_markdown_has_summary_table_and_folded_details_in_this_order() -> None:
    text = render(
        report_of(spilling(), with_object()), "markdown", color=False, width=None, verbose=False
    )
    order = [text.index(part) for part in ("# Local memory", "2 kernels", "| kernel", "<details>")]
    assert order == sorted(order)
    rows = [line for line in text.splitlines() if line.startswith(("| 🟥", "| 🟧"))]
    assert len(rows) == 2
    header = next(line for line in text.splitlines() if line.startswith("| | kernel"))
    assert {row.count(" | ") for row in rows} == {header.count(" | ")}
    assert text.count("<details>") == text.count("</details>") == 2
    assert "ns::spilling&lt;32, float&gt;" in text


def test_a_bar_in_a_name_does_not_break_the_markdown_table() -> None:
    text = render(report_of(facts("a|b")), "markdown", color=False, width=None, verbose=False)
    assert r"`a\|b`" in text


def test_json_says_null_where_nothing_was_observed() -> None:
    bare = facts(ptxas=None, ptx=None, sass=None, own_sites=None)
    text = render(report_of(bare), "json", color=False, width=None, verbose=False)
    kernel = json.loads(text)["units"][0]["kernels"][0]
    assert kernel["spill_stores"] is None
    assert kernel["ptx"] is None
    assert kernel["registers"] == 32


@pytest.mark.parametrize(
    ("name", "spelled", "short"),
    [
        ("_ZN1A1fEi$3", "A::f(int) [clone $3]", "A::f"),
        ("_Z1gIiEvT_$12", "void g<int>(int) [clone $12]", "g<int>"),
        ("leaf$1", "leaf$1", "leaf$1"),
    ],
)
def test_a_copy_that_ptxas_makes_has_a_name_too(name: str, spelled: str, short: str) -> None:
    assert demangle(name) == spelled
    assert short_name(demangle(name)) == short


@pytest.mark.parametrize(
    ("demangled", "short"),
    [
        ("void running_mean<(int)32>(float const*, float*, int)", "running_mean<32>"),
        ("kernel", "kernel"),
        ("void (anonymous namespace)::k<float, (unsigned int)4>(float)", "k<float, 4>"),
        ("void a::b<void (*)(int)>(int)", "a::b<void (*)(int)>"),
        ("dbl(double*, int)", "dbl"),
        (
            "k(S, float)::{lambda(int, int)#1}::operator()(int, int) const",
            "k::{lambda#1}::operator()",
        ),
        (
            "void a::k<float>(float*)::{lambda()#2}::operator()() const",
            "a::k<float>::{lambda#2}::operator()",
        ),
        ("void a::k<f(int)::{lambda(int)#2}>(float)", "a::k<f(int)::{lambda(int)#2}>"),
        ("std::function<void ()>::operator()() const", "std::function<void ()>::operator()"),
    ],
)
def test_short_names(demangled: str, short: str) -> None:
    assert layout.short_name(demangled) == short


@pytest.mark.parametrize(
    ("demangled", "path"),
    [
        ("void step<int>(int*)", ["step"]),
        ("Vec<ns::T>::push(int)", ["Vec", "push"]),
        ("ns::Vec<ns::T<int> >::~Vec()", ["ns", "Vec", "~Vec"]),
        ("Vec<float>::operator+=(Vec<float> const&)", ["Vec", "operator+="]),
        ("operator<<(std::ostream&, A const&)", ["operator<<"]),
        ("Vec<float>::operator()(int)", ["Vec", "operator()"]),
    ],
)
def test_a_name_is_told_from_the_arguments_of_its_class(demangled: str, path: list[str]) -> None:
    assert scopes(demangled) == path
    assert plain_name(demangled) == path[-1]
