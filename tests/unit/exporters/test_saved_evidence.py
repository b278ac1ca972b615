"""Saved reports as evidence: what was edited, filtered or contradicts itself passes no gate."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.exporters.json import parse_report, render_json
from lmemscope.formats import seal
from lmemscope.gate.consistency import contradictions
from lmemscope.model import Gap
from tests.support.builders import judged, report
from tests.support.program import ROOT, Finished, run_program

Document = dict[str, Any]


def resealed(document: Document) -> bytes:
    """A document as one writes it who knows how its digest is made."""
    kept = {key: value for key, value in document.items() if key != "digest"}
    return seal.sealed(json.dumps(kept, separators=(",", ":"), ensure_ascii=False).encode())


def kernels(document: Document) -> list[Document]:
    return [kernel for unit in document["units"] for kernel in unit["kernels"]]


def dirty(document: Document) -> Document:
    """A kernel with a frame and findings."""
    found = [kernel for kernel in kernels(document) if kernel["stack_frame"] and kernel["findings"]]
    return next(kernel for kernel in found if kernel["sass"]["ldl"] and kernel["frame"])


class TestSeal:
    def test_a_document_is_what_was_written(self) -> None:
        text = render_json(report(judged("k\x1a001A \u00e9 ::add-mask::", "dynamic-index")))
        assert seal.broken(text.encode()) is None
        # Readers may write it in one line, or with other escapes.
        again = json.dumps(json.loads(text), ensure_ascii=True)
        assert seal.broken(again.encode()) is None

    @pytest.mark.parametrize(
        "edit",
        [
            lambda d: d["units"].pop(),
            lambda d: d["units"][0]["kernels"].pop(),
            lambda d: d["units"][0]["kernels"][0]["findings"].clear(),
            lambda d: d["units"][0].update(gaps=[]),
            lambda d: d["units"][0].update(arch="sm_80"),
            lambda d: d.update(filters=[]),
            lambda d: d.update(gaps=[{"stage": "x", "reason": "x"}]),
            lambda d: d.pop("digest"),
            lambda d: d.update(digest="sha256:0"),
        ],
    )
    def test_an_edit_is_seen(self, edit: Callable[[Document], object]) -> None:
        whole = report(judged("k", "dynamic-index"), gaps=(Gap("ptxas", "no report", "evidence"),))
        text = render_json(replace(whole, filters=("--kernel k",)))
        document = json.loads(text)
        edit(document)
        assert seal.broken(json.dumps(document).encode()) is not None


@pytest.mark.toolchain
class TestPrograms:
    def check(self, tmp_path: Path, data: bytes, *others: str, cwd: Path | None = None) -> Finished:
        (tmp_path / "r.json").write_bytes(data)
        return run_program("check", *others, str(tmp_path / "r.json"), cwd=cwd or tmp_path)

    def test_reports_of_ours_agree_with_themselves(
        self, shipped: Finished, samples: Finished
    ) -> None:
        for one in (shipped, samples):
            assert list(contradictions(parse_report(one.out))) == []
            assert parse_report(one.out).doubts == ()
            assert seal.broken(one.out.encode()) is None

    @pytest.mark.parametrize(
        "edit",
        [
            # Figures remain, and what they are of does not.
            lambda k: k.update(findings=[], causes=[]),
            lambda k: k.update(findings=[]),
            lambda k: k["findings"].pop(0),
            lambda k: k["findings"][0].update(bytes=1),
            lambda k: k["causes"].pop(0),
            lambda k: k["causes"][0].update(frame_bytes=0),
            lambda k: k["causes"][0].update(load_sites=0, store_sites=0),
            lambda k: k["frame"].pop(),
            lambda k: k.update(frame=[], causes=[], findings=[]),
            lambda k: k.update(stack_frame=0),
            lambda k: k["sass"].update(ldl=0),
        ],
    )
    def test_figures_that_contradict_findings_are_missing_evidence(
        self, shipped: Finished, tmp_path: Path, edit: Callable[[Document], object]
    ) -> None:
        """Also where the digest was made anew, and limits let the findings that are left pass."""
        document = copy.deepcopy(shipped.document)
        kernel = dirty(document)
        document["units"] = [unit for unit in document["units"] if kernel in unit["kernels"]]
        document["units"][0]["kernels"] = [kernel]
        document["units"][0].update(gaps=[], directives=[])
        document.update(gaps=[], notes=[], links=[], paths=[document["units"][0]["input"]])
        allowed = [word for one in kernel["causes"] for word in ("--allow", one["cause"])]
        # Where its sources are as they were.
        assert self.check(tmp_path, resealed(document), *allowed, cwd=ROOT).code == 0
        edit(kernel)
        done = self.check(tmp_path, resealed(document), *allowed, cwd=ROOT)
        assert done.code == 3, done.out

    def test_what_an_edit_leaves_out_is_missing_evidence(
        self, shipped: Finished, tmp_path: Path
    ) -> None:
        document = copy.deepcopy(shipped.document)
        for unit in document["units"]:
            unit["kernels"] = [one for one in unit["kernels"] if not one["findings"]]
        done = self.check(tmp_path, json.dumps(document).encode())
        assert done.code == 3, done.out
        assert "changed after" in done.out

    @pytest.mark.parametrize("flags", [("--kernel", "clean"), ("--no-causes",), ("--top", "1"),
                                       ("--cause", "volatile"), ("--include", "b.cu")])  # fmt: skip
    def test_a_filtered_report_is_no_evidence_in_any_place(
        self, tmp_path: Path, flags: tuple[str, ...]
    ) -> None:
        (tmp_path / "a.cu").write_text("__global__ void k(float *o) { o[0] = 1; }\n")
        (tmp_path / "b.cu").write_text("__global__ void clean(float *o) { o[0] = 1; }\n")
        given = ("scan", ".", "--arch", "sm_90", *flags, "-o", "r.json")
        assert run_program(*given, cwd=tmp_path).code == 0
        whole = ("scan", ".", "--arch", "sm_90", "-o", "s.json")
        assert run_program(*whole, cwd=tmp_path).code == 0
        for paths in (["r.json"], ["a.cu", "r.json"], ["s.json", "r.json"], ["r.json", "s.json"]):
            done = run_program("check", *paths, "--arch", "sm_90", cwd=tmp_path)
            assert done.code == 2, (paths, done.out)
            assert "r.json" in done.err or "s.json" in done.err
        assert run_program("check", "a.cu", "s.json", "--arch", "sm_90", cwd=tmp_path).code == 0


def test_a_kernel_without_local_memory_agrees_with_itself() -> None:
    assert list(contradictions(report(judged("k")))) == []
