"""The causes' records, and evidence as data: what a reword or a forgotten field must not change."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import sys
from pathlib import Path
from typing import get_args

import pytest

from lmemscope.exporters import render
from lmemscope.exporters.json import load_report
from lmemscope.formats.demangle import symbol_text
from lmemscope.gate import baseline
from lmemscope.model import (
    CAUSES,
    VERDICT_KINDS,
    Cause,
    CauseTraits,
    Evidence,
    EvidenceKind,
    IndexFacts,
    KernelReport,
    Report,
    UnitReport,
    evidence,
    evidence_text,
    traits_of,
)
from lmemscope.model import cause_table as table
from lmemscope.rules import RULES
from lmemscope.rules.verdict import judge
from tests.support.builders import facts, find, kernel_with, local_object


def report(*causes: Cause) -> Report:
    kernels = []
    for number, cause in enumerate(causes):
        made = dataclasses.replace(kernel_with(cause), name=f"k{number}")
        kernels.append(KernelReport(made, judge(made), find(made)))
    return Report("1", (), (UnitReport("a.cu", "nvrtc", "sm_90", (), None, (), tuple(kernels)),))


def test_a_record_that_leaves_a_field_out_fails() -> None:
    complete = dataclasses.asdict(CAUSES[0])
    for field in complete:
        with pytest.raises(TypeError, match=field):
            CauseTraits(**{key: value for key, value in complete.items() if key != field})


def test_a_cause_without_a_record_fails_at_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Path(table.__file__).read_text()
    changed = tmp_path / "cause_table_changed.py"
    changed.write_text(text.replace('    "alloca",\n', '    "alloca",\n    "new-cause",\n', 1))
    spec = importlib.util.spec_from_file_location("cause_table_changed", changed)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    with pytest.raises(TypeError, match="new-cause"):
        spec.loader.exec_module(module)


def test_every_cause_has_a_rule_of_its_name() -> None:
    assert {rule.cause: rule.module for rule in RULES} == {
        cause.name: f"lmemscope.rules.{cause.name.replace('-', '_')}" for cause in CAUSES
    }


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_the_verdict_counts_a_cause_as_its_record_says(cause: CauseTraits) -> None:
    verdict = judge(kernel_with(cause.name))
    assert verdict.kind == cause.verdict
    assert verdict.rank[0] == next(k.rank for k in VERDICT_KINDS if k.name == cause.verdict)


def test_the_worst_of_several_kinds_is_the_verdict() -> None:
    spilled, noted = kernel_with("register-spill", with_object=False), kernel_with("printf-args")
    both = dataclasses.replace(noted, causes=(*noted.causes, *spilled.causes))
    assert judge(both).kind == "spill"


def test_baselines_hold_what_is_gated_and_nothing_else() -> None:
    held = {entry.cause for entry in baseline.from_report(report(*get_args(Cause))).entries}
    assert held == {cause.name for cause in CAUSES if cause.gated}
    assert "dynamic-index" in held
    assert "promoted" not in held


@pytest.mark.parametrize("cause", ["dynamic-index", "register-spill"])
def test_findings_speak_of_an_index_where_the_cause_has_one(cause: Cause) -> None:
    index = IndexFacts("i", (), "uniform", None)
    (finding,) = find(kernel_with(cause, index=index))
    assert (finding.index == index) == traits_of(cause).indexed == (cause == "dynamic-index")


SENTENCES = [
    (Evidence("spill-mark"), "marked SpillRefill"),
    (Evidence("spill-mark", pc=32, sass="LDL.64"), "LDL.64 at 0x20: marked SpillRefill"),
    (Evidence("ptx-instruction", ptx_line=9, opcode="ld.local.f32"), "PTX line 9: ld.local.f32"),
    (Evidence("no-local-access", ptx_line=9), "ptxas made it: PTX line 9 has no local access"),
    (Evidence("frame-place"), "its address lies in the object"),
    (Evidence("address-passed", "f"), "its address goes to f"),
    (Evidence("address-passed"), "its address goes to a function pointer"),
    (Evidence("library-function", "f"), "it belongs to the library function f"),
    (Evidence("library-table", "t"), "filled from t, the library's table of 2/pi"),
    (
        Evidence("reduction-words", ptx_line=9, opcode="st.local.u32"),
        "PTX line 9: st.local.u32 stores a product with the bits of 2/pi, as the library's range "
        "reduction does",
    ),
    (
        Evidence("shared-place"),
        "the library's slow path of sine and cosine has this place at other times, and keeps its "
        "own bytes of it",
    ),
    (
        Evidence("holds-addresses", ptx_line=9, opcode="st.local.u64"),
        "PTX line 9: st.local.u64 stores the address of a local variable in it",
    ),
    (
        Evidence("chosen-address", ptx_line=9, opcode="ld.u32"),
        "PTX line 9: ld.u32 accesses it or other memory, by a pointer that is chosen at run time",
    ),
    (
        Evidence("chosen-address", "null", ptx_line=9, opcode="ld.u32"),
        "PTX line 9: ld.u32 accesses it by a pointer that is null on other paths",
    ),
    (
        Evidence("chosen-place", ptx_line=9, opcode="ld.u32"),
        "PTX line 9: ld.u32 accesses one of its places, by a pointer that is chosen at run time",
    ),
    (Evidence("held-address", "rows"), "rows holds its address"),
    (Evidence("set-pointer", "p"), "the pointer p is set to its address on some paths"),
    (Evidence("compared-address"), "its assignment operator compares addresses"),
    (
        Evidence("address-compared", ptx_line=9, opcode="setp.eq.s64"),
        "PTX line 9: setp.eq.s64 compares its address",
    ),
    (
        Evidence("local-test", ptx_line=9, opcode="isspacep.local"),
        "PTX line 9: isspacep.local asks in front of it whether a pointer is a local one",
    ),
    (
        Evidence("plain-declaration", "v"),
        "v, the variable that fits its place, is not declared volatile",
    ),
    (
        Evidence("volatile-choice", "v"),
        "the source chooses by ?: between v and another variable",
    ),
    (Evidence("parameter-copy", "p"), "filled from p"),
    (
        Evidence("parameter-changed", ptx_line=9, opcode="st.local.u32"),
        "PTX line 9: st.local.u32 changes the copy",
    ),
    (
        Evidence("constant-stores", bytes=9224, limit=1020),
        "only constants are stored in its 9224 bytes; a thread has at most 1020 in registers",
    ),
    (
        Evidence("constant-stores"),
        "only constants are stored in it, then it is read by index",
    ),
    (
        Evidence("object-size", bytes=2000, limit=1020),
        "2000 bytes; a thread has at most 1020 in registers",
    ),
    (Evidence("compiled-alone", "f"), "f is compiled for other files to call"),
    (
        Evidence("source-address", "f"),
        "the source gives its address to f, which is inlined",
    ),
    (Evidence("calls-itself", "f"), "f calls itself"),
    (Evidence("called-by-pointer", "f"), "f has its address stored, for calls"),
    (Evidence("called-directly", "f"), "f is called and keeps its caller's registers"),
    (
        Evidence("not-called", "f"),
        "f is linked for its address, and no call of the kernel's fits it",
    ),
    (
        Evidence("handed-to-child", "f", 9, bytes=8),
        "PTX line 9 stores its address at byte 8 of the parameters of f",
    ),
    (
        Evidence("unmarked-spill", bytes=41128, limit=1020),
        "its function keeps 41128 bytes that are no variable's; what it saves for a caller is 1020 "
        "at most",
    ),
    (Evidence("reported-spill", bytes=8), "ptxas: 8 bytes spill stores"),
    (Evidence("reported-frame", "k", bytes=16), "ptxas: k: stack frame 16 B"),
    (Evidence("reported-stores", "k", bytes=8), "ptxas: k: spill stores 8 B"),
    (Evidence("reported-loads", "k", bytes=4), "ptxas: k: spill loads 4 B"),
    (Evidence("linked-stack", "k", bytes=32), "nvlink: k: stack 32 B"),
    (Evidence("calls-without-spill"), "the kernel makes calls and ptxas reports no spill"),
    (Evidence("text", "as it was"), "as it was"),
]


@pytest.mark.parametrize(("shown", "text"), SENTENCES, ids=lambda value: str(value)[:40])
def test_evidence_is_shown_as_a_sentence(shown: Evidence, text: str) -> None:
    assert evidence_text(shown) == text


def test_sentences_name_functions_and_parameters_as_a_reader_does() -> None:
    passed = Evidence("address-passed", "_Z4leafPf")
    copied = Evidence("parameter-copy", "_Z6kernelI3RowEvT_Pf_param_1")
    assert evidence_text(passed, symbol_text) == "its address goes to leaf"
    assert evidence_text(copied, symbol_text) == "filled from parameter 1 of kernel<Row>"


def test_each_kind_of_evidence_has_its_sentence_here() -> None:
    assert {shown.kind for shown, _ in SENTENCES} == set(get_args(EvidenceKind))


def test_rewording_evidence_changes_neither_advice_nor_confidence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def judged() -> list[tuple[object, ...]]:
        made = [kernel_with(cause.name) for cause in CAUSES]
        found = [finding for one in made for finding in find(one)]
        return [(f.severity, f.confidence, f.message, f.advice, f.fingerprint) for f in found]

    before = judged()
    assert any("Inline leaf" in advice[0].text for *_, advice, _ in before)
    assert any(confidence == "certain" for _, confidence, *_ in before)
    reworded = {kind: lambda e: "¿?" for kind in get_args(EvidenceKind)}
    monkeypatch.setattr(evidence, "SENTENCES", reworded)
    assert evidence_text(Evidence("spill-mark")) == "¿?"
    assert judged() == before


def test_a_function_pointer_is_not_a_function_of_that_name() -> None:
    def first_advice(subject: str | None) -> str:
        made = kernel_with("address-taken")
        passed = local_object("address-taken", evidence=(Evidence("address-passed", subject),))
        (finding,) = find(dataclasses.replace(made, objects=(passed,)))
        return finding.advice[0].text

    assert first_advice(None).startswith("Replace the function pointer")
    assert first_advice("a function pointer").startswith("Inline")


def test_the_evidence_of_sites_names_instruction_and_offset_once() -> None:
    spilled = kernel_with("register-spill", with_object=False)
    (load,) = spilled.accesses
    twice = dataclasses.replace(spilled, accesses=(load, load))
    (finding,) = find(twice)
    assert finding.evidence == (Evidence("spill-mark", pc=16, sass="LDL"),)


def test_the_document_has_evidence_for_people_and_for_programs(tmp_path: Path) -> None:
    given = report("address-taken", "register-spill")
    text = render(given, "json", color=False, width=None, verbose=False)
    path = tmp_path / "r.json"
    path.write_text(text)
    finding = json.loads(text)["units"][0]["kernels"][0]["findings"][0]
    assert finding["evidence"] == ["its address goes to leaf"]
    assert finding["evidence_facts"][0]["kind"] == "address-passed"
    assert finding["evidence_facts"][0]["subject"] == "_Z4leafPf"
    loaded = load_report(str(path)).units[0].kernels
    assert [k.findings for k in loaded] == [k.findings for k in given.units[0].kernels]


def test_reports_without_evidence_facts_still_load(tmp_path: Path) -> None:
    document = json.loads(
        render(report("address-taken"), "json", color=False, width=None, verbose=False)
    )
    kernel = document["units"][0]["kernels"][0]
    for holder in (*kernel["findings"], *kernel["objects"]):
        del holder["evidence_facts"]
    path = tmp_path / "old.json"
    path.write_text(json.dumps(document))
    (finding,) = load_report(str(path)).units[0].kernels[0].findings
    assert [evidence_text(one) for one in finding.evidence] == ["its address goes to leaf"]


def test_a_clean_kernel_has_no_cause() -> None:
    assert judge(facts()).kind == "clean"
