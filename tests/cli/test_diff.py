from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.exporters import render
from lmemscope.gate.difference import difference
from lmemscope.model import Cause, Difference
from tests.support.builders import changed, judged, report
from tests.support.gate_reports import BROKEN, found, with_figures
from tests.support.gate_reports import project as recorded
from tests.support.program import ROOT, run_program


def test_equal_reports_do_not_differ() -> None:
    assert difference(report(judged("k")), report(judged("k"))) == Difference((), ())


def test_added_removed_worse_and_better_with_their_causes() -> None:
    old = report(judged("gone"), judged("worse"), judged("better", "volatile"))
    new = report(judged("new"), judged("worse", "dynamic-index"), judged("better"))
    found = {one.kernel: one for one in difference(old, new).kernels}
    assert {name: one.change for name, one in found.items()} == {
        "gone": "removed",
        "worse": "worse",
        "better": "better",
        "new": "added",
    }
    assert found["worse"].appeared == ("dynamic-index of table",)
    assert "dynamically indexed" in found["worse"].why[0]
    assert found["better"].vanished == ("volatile of table",)
    assert ("ldl", 0, 1) in found["worse"].figures


def test_architectures_match_only_when_asked() -> None:
    old, new = report(judged("k"), arch="sm_80"), report(judged("k", "volatile"), arch="sm_90")
    assert {one.change for one in difference(old, new).kernels} == {"added", "removed"}
    (one,) = difference(old, new, ignore_arch=True).kernels
    assert (one.change, one.arch) == ("worse", "sm_80 → sm_90")


@pytest.mark.parametrize(
    ("cause", "now", "before", "after", "change"),
    [
        ("dynamic-index", "register-spill", 80, 96, "changed"),
        ("dynamic-index", "dynamic-index", 80, 96, "worse"),
        ("dynamic-index", "dynamic-index", 96, 80, "better"),
        ("register-spill", "dynamic-index", 96, 80, "worse"),
    ],
)
def test_a_larger_frame_is_never_better(
    cause: Cause, now: Cause, before: int, after: int, change: str
) -> None:
    old = with_figures(found("k", before, cause), frame=before)
    new = with_figures(found("k", after, now), frame=after)
    ranks = {"dynamic-index": 3, "register-spill": 2}
    sides = [
        recorded(a=(changed(one, verdict=replace(one.verdict, rank=ranks[kind])),))
        for one, kind in ((old, cause), (new, now))
    ]
    (one,) = difference(*sides).kernels
    assert one.change == change


def test_what_ptxas_keeps_in_registers_is_neither_worse_nor_better_than_nothing() -> None:
    kept, none = recorded(a=(judged("k", "promoted"),)), recorded(a=(judged("k"),))
    assert kept.units[0].kernels[0].verdict.kind == "promoted"
    for pair in ((none, kept), (kept, none)):
        (one,) = difference(*pair).kernels
        assert one.change == "changed"


def test_spills_that_one_side_does_not_know_are_neither_better_nor_worse() -> None:
    known = with_figures(found("k"), stores=64, loads=64)
    assert known.facts.ptxas is not None
    unknown = replace(known.facts.ptxas, spill_stores=None, spill_loads=None, registers=40)
    sides = [
        recorded(a=(changed(known, facts=changed(known.facts, ptxas=one, cubin=None)),))
        for one in (known.facts.ptxas, unknown)
    ]
    for pair in (sides, sides[::-1]):
        (one,) = difference(*pair).kernels
        assert one.change == "changed"


@pytest.mark.parametrize("broken_first", [True, False])
def test_an_input_that_one_side_could_not_analyse_is_not_compared_and_said(
    broken_first: bool,
) -> None:
    sides = [
        recorded(a=(judged("k"),), b=BROKEN),
        recorded(a=(judged("k", "volatile"),), b=(judged("o"),)),
    ]
    compared = difference(*(sides if broken_first else reversed(sides)))
    assert [one.kernel for one in compared.kernels] == ["k"]
    (left,) = compared.not_compared
    assert (left.input, left.before is None, left.after is None) == (
        "b.cu",
        not broken_first,
        broken_first,
    )
    for name in ("table", "markdown", "pr-comment"):
        shown = render(compared, name)
        # Seen without opening anything.
        assert "NVRTC refused b.cu" in re.sub(r"(?s)<details>.*?</details>", "", shown), name


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "k.cu").write_text((ROOT / "kernels" / "histogram.cu").read_text())
    return tmp_path


@pytest.mark.toolchain
def test_saved_reports_inputs_and_formats(project: Path) -> None:
    run_program("report", "k.cu", "-o", "old.json", cwd=project)
    text = (project / "k.cu").read_text().replace("bins[64] = {}", "bins[80] = {}")
    (project / "after.cu").write_text(text)
    (project / "k.cu").write_text(text)
    run_program("report", "k.cu", "-o", "new.json", cwd=project)
    shown = run_program("diff", "old.json", "new.json", cwd=project)
    assert shown.code == 0
    assert "worse: histogram_private" in shown.out
    assert "stack_frame: 256 → 320" in shown.out
    assert "histogram_shared" not in shown.out
    same = run_program("diff", "k.cu", "after.cu", cwd=project)
    assert same.out == "No kernel differs.\n"
    document = json.loads(
        run_program("diff", "old.json", "k.cu", "--format", "json", cwd=project).out
    )
    assert document["schema"] == "lmemscope.diff/1"
    assert document["kernels"][0]["kernel"] == "histogram_private"
    assert (
        "| 🟥 |"
        in run_program("diff", "old.json", "new.json", "--format", "markdown", cwd=project).out
    )


@pytest.mark.toolchain
def test_two_architectures(project: Path) -> None:
    finished = run_program("diff", "k.cu", "--arch", "sm_75", "--arch", "sm_120", cwd=project)
    assert finished.code == 0
    assert "sm_75 → sm_120" in finished.out


@pytest.mark.toolchain
def test_two_git_revisions_leave_no_trace(project: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=project, capture_output=True, text=True, check=True
        )
        return done.stdout

    git("init", "-q", "-b", "main")
    git("add", "k.cu")
    git("commit", "-qm", "one")
    (project / "k.cu").write_text(
        (project / "k.cu").read_text().replace("bins[64] = {}", "bins[96] = {}")
    )
    git("commit", "-qam", "two")
    finished = run_program("diff", "--git", "HEAD~1..HEAD", "k.cu", cwd=project)
    assert finished.code == 0
    assert "stack_frame: 256 → 384" in finished.out
    assert len(git("worktree", "list").splitlines()) == 1
    assert git("status", "--porcelain") == ""
    bad = run_program("diff", "--git", "HEAD..nowhere", "k.cu", cwd=project)
    assert bad.code == 2
    assert "nowhere" in bad.err


def test_one_thing_is_no_comparison() -> None:
    finished = run_program("diff", "kernels/histogram.cu")
    assert finished.code == 2
    assert "two things" in finished.err
