"""How trials are run and shown: progress, notes, one entry for what is one thing."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from lmemscope.app import worker
from lmemscope.app.session import Session
from lmemscope.commands.options import TRIAL_SECONDS
from lmemscope.config.settings import from_flags
from lmemscope.exporters import render
from lmemscope.exporters.proven import factor
from lmemscope.fixing.attach import with_fixes
from lmemscope.fixing.gathered import Fixes, gathered_with_fixes
from lmemscope.fixing.rank import ranked
from lmemscope.fixing.run import Asked, fix
from lmemscope.model import (
    Advice,
    Chosen,
    Cost,
    Declined,
    Edit,
    Figures,
    Finding,
    FixReport,
    Report,
    Rewriting,
    SourceLocation,
    Trial,
    TrialVerdict,
    Untried,
)
from lmemscope.rewrites import said as said_of
from tests.support.builders import report_of, spilling
from tests.support.program import ROOT, Here, run_program

T = TypeVar("T")
BEFORE = Figures(32, 64, 0, 0, 0, 4, 4, 900, 1.0)
AFTER = replace(BEFORE, stack_frame=0, ldl=0, stl=0)

RINGS = """\
template <int N>
__global__ void __launch_bounds__(64) ring(const float *in, float *out, int n) {
  float window[N] = {};
  for (int i = 0; i < n; ++i) {
    window[i % N] += in[i];
    out[i] = window[(n - i) % N];
  }
}
template __global__ void ring<20>(const float *, float *, int);
template __global__ void ring<24>(const float *, float *, int);
"""


class Counting(Here):
    """Remembers what was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Callable[..., Any]] = []

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        self.asked.append(fn)
        return super().submit(fn, *args, **kwargs)


@pytest.fixture
def rings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring.cu").write_text(RINGS)
    return tmp_path


@pytest.mark.toolchain
def test_each_unit_is_analysed_once(rings: Path) -> None:
    settings = from_flags({"arch": ("sm_90",), "kernels": ("*<20>",)}).settings
    settings = replace(settings, quotes=("ptx",))
    fixes = Fixes(tries=True, saved=None, block=None)
    with Counting() as workers:
        report, _ = gathered_with_fixes(["ring.cu"], Session(settings, workers), fixes)
    assert workers.asked.count(worker.analyse_unit) == 1
    # Trials need all kernels; who asked for one gets that one, with what was asked of it.
    ((kernel,),) = [unit.kernels for unit in report.units]
    assert kernel.facts.demangled.startswith("void ring<20>")
    assert kernel.quotes is not None
    assert kernel.quotes.ptx
    assert kernel.findings[0].fix is not None
    assert [unit.others for unit in report.units] == [("ring<24>",)]


class Never(Here):
    """Does the analysis, and never ends a trial."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        if fn is worker.analyse_unit:
            return super().submit(fn, *args, **kwargs)
        return Future()


@pytest.mark.toolchain
@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_trials_that_nobody_asked_for_end_in_time(rings: Path, seconds: float) -> None:
    fixes = Fixes(tries=False, saved=None, block=None, seconds=seconds)
    with Never() as executor:
        session = Session(from_flags({"arch": ("sm_90",)}).settings, executor)
        report, notes = gathered_with_fixes(["ring.cu"], session, fixes)
    assert any("0 of" in one and "`lmemscope fix`" in one for one in notes)
    findings = [one for unit in report.units for own in unit.kernels for one in own.findings]
    assert findings
    for one in findings:
        assert one.fix is None
        assert one.advice[-1].is_none, "it says that there is more to try"
        assert any(advice.applicability is not None for advice in one.advice)


class Stuck(Here):
    """Never ends the first trial, and does all else at once."""

    def __init__(self) -> None:
        super().__init__()
        self.trials = 0

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        if fn is worker.analyse_unit:
            return super().submit(fn, *args, **kwargs)
        self.trials += 1
        return Future() if self.trials == 1 else super().submit(fn, *args, **kwargs)


@pytest.mark.toolchain
def test_trials_that_end_in_time_are_shown_whatever_came_before_them(rings: Path) -> None:
    fixes = Fixes(tries=False, saved=None, block=None, seconds=0.5)
    with Stuck() as executor:
        session = Session(from_flags({"arch": ("sm_90",)}).settings, executor)
        report, notes = gathered_with_fixes(["ring.cu"], session, fixes)
    assert executor.trials > 2
    (late,) = (one for one in notes if "`lmemscope fix`" in one)
    assert f"{executor.trials - 1} of {executor.trials} " in late
    findings = [one for unit in report.units for own in unit.kernels for one in own.findings]
    assert all(one.fix is not None for one in findings)


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("kernel", "files", "is_tried"),
    [(None, 1, False), ("*<20>", 1, True), ("*<20>", 2, True), ("*<20>", 3, False)],
)
def test_of_a_directory_only_a_named_kernel_of_few_sources_is_tried(
    rings: Path, kernel: str | None, files: int, is_tried: bool
) -> None:
    for number in range(1, files):
        (rings / f"ring{number}.cu").write_text(RINGS)
    flags = {"arch": ("sm_90",), "kernels": (kernel,) if kernel is not None else ()}
    fixes = Fixes(tries=False, saved=None, block=None, seconds=TRIAL_SECONDS)
    with Counting() as executor:
        session = Session(from_flags(flags).settings, executor)
        report, _ = gathered_with_fixes(["."], session, fixes)
    assert (set(executor.asked) != {worker.analyse_unit}) is is_tried
    findings = [one for unit in report.units for own in unit.kernels for one in own.findings]
    assert findings
    assert all((one.fix is not None) is is_tried for one in findings)


HISTOGRAM = """import cupy
k = cupy.RawKernel(r'''
extern "C" __global__ void k(const int *p, int *out, int n) {
  int bins[40] = {};
  for (int i = 0; i < n; ++i) ++bins[p[i] % 40];
  out[threadIdx.x] = bins[n];
}
''', "k")
k.compile()
"""


@pytest.mark.toolchain
@pytest.mark.parametrize("runs", [False, True])
def test_a_program_that_is_run_is_not_run_for_trials_that_nobody_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(HISTOGRAM)
    fixes = Fixes(tries=False, saved=None, block=None, seconds=TRIAL_SECONDS)
    with Counting() as executor:
        flags = {"arch": ("sm_90",), "run_python": runs}
        session = Session(from_flags(flags).settings, executor)
        report, _ = gathered_with_fixes(["a.py"], session, fixes)
    findings = [one for unit in report.units for own in unit.kernels for one in own.findings]
    assert findings
    assert all((one.fix is None) is runs for one in findings)


@pytest.mark.toolchain
def test_what_is_tried_is_told_before_it_is_waited_for(rings: Path) -> None:
    told: list[tuple[int, int, str]] = []
    settings = from_flags({"arch": ("sm_90",)}).settings
    with Here() as executor:
        session = Session(settings, executor, lambda *said: told.append(said[:3]))
        _, found = fix(["ring.cu"], session, Asked())
    tried = len({one.rewriting.edits for one in found.trials})
    assert told[:2] == [(0, 1, "ring.cu"), (1, 1, "ring.cu")]
    assert told[2][::2] == (0, "window, object 1 of 1: unroll")
    assert [done for done, _, _ in told[2:-1]] == list(range(tried))
    assert told[-1] == (tried, tried, "one patch of the best")
    # Who watches need not wait for the end to know that there is a fix.
    first = next(at for at, one in enumerate(told) if one[2].endswith("; a fix for 1 so far"))
    assert 3 <= first < len(told) - 1
    assert "so far" not in "".join(one for _, _, one in told[:first])


@pytest.mark.toolchain
@pytest.mark.parametrize("color", ["auto", "never"])
def test_a_terminal_sees_how_far_it_is(rings: Path, color: str) -> None:
    parent, child = pty.openpty()
    seen: list[bytes] = []

    def read() -> None:
        while True:
            try:
                data = os.read(parent, 4096)
            except OSError:
                return
            if not data:
                return
            seen.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    done = subprocess.run(
        [sys.executable, "-m", "lmemscope", "explain", "ring.cu", "--fix", "--color", color],
        cwd=rings,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm",
            "COLUMNS": "120",
            "NO_COLOR": "",
        },
        stdout=subprocess.PIPE,
        stderr=child,
        timeout=300,
        check=False,
    )
    os.close(child)
    reader.join(timeout=60)
    os.close(parent)
    assert done.returncode == 0
    assert b"object 1 of 1" not in done.stdout
    assert b"object 1 of 1" in b"".join(seen)
    assert (b"\x1b[36m" in b"".join(seen)) == (color == "auto")


@pytest.mark.toolchain
def test_a_patch_for_many_instances_is_shown_once(rings: Path) -> None:
    shown = run_program("explain", "ring.cu", "--fix", cwd=rings).out
    # One explanation of both, with the costlier one's figures.
    assert "In all 2 instances, 80–96 bytes." in shown
    assert shown.count("Proven fix: ") == 1
    assert shown.count("+++ b/ring.cu") == 1
    assert " ".join(shown.split()).count("in a column of shared memory") == 1, "and not as advice"
    joined = " ".join(shown.split())
    assert joined.count(" times the modelled speed") + joined.count("same modelled speed") >= 1


@pytest.mark.toolchain
def test_notes_are_shown_as_scan_shows_them(rings: Path) -> None:
    (rings / "lmemscope.toml").write_text("jobs = 900\n")
    note = "jobs is 900, and there "
    table = run_program("fix", "ring.cu", cwd=rings)
    assert note in table.out.replace("\n  ", " ")
    assert "Architecture sm_90: the default" in table.out.replace("\n", " ")
    patch = run_program("fix", "ring.cu", "--format", "patch", cwd=rings)
    assert note in patch.err
    assert note not in patch.out
    document = run_program("fix", "ring.cu", "--format", "json", cwd=rings).document
    assert note in document["notes"][0]
    assert document["default_arch"].startswith("sm_90: the default")


def a_trial(kernel: str, line: int, verdict: TrialVerdict = "removed", **more: Any) -> Trial:
    given: dict[str, Any] = {
        "input": "a.cu",
        "arch": "sm_90",
        "kernel": kernel,
        "object": None,
        "fingerprint": f"{kernel}{line}",
        "cause": "register-spill",
        "place": SourceLocation("a.cu", line),
        "rewriting": Rewriting("launch-bounds", "safe", (Edit("/a.cu", 1, 2, b"3"),), "fewer"),
        "verdict": verdict,
        "rank": 1 if verdict == "removed" else None,
        "before": BEFORE,
        "after": AFTER,
        "cost_before": None,
        "cost_after": None,
        "patch": None,
    }
    return Trial(**{**given, **more})


def shown(*trials: Trial) -> str:
    report = FixReport("0", trials, (), Chosen((), (), ""), kernels=(3, 3))
    return render(report, "table")


def test_spills_of_instances_on_other_lines_are_one_entry(snapshot: SnapshotAssertion) -> None:
    text = shown(a_trial("k<1>", 7), a_trial("k<2>", 9), a_trial("k<3>", 9))
    assert text == snapshot
    assert text.count("launch-bounds") == 1


def test_another_outcome_in_other_kernels_is_said(snapshot: SnapshotAssertion) -> None:
    others = (a_trial("k<2>", 9, "reduced"), a_trial("k<3>", 9, "no-effect"))
    text = shown(a_trial("k<1>", 7), *others, a_trial("k<4>", 9))
    assert text == snapshot


def test_other_edits_are_another_entry() -> None:
    edits = (Edit("/a.cu", 5, 6, b"3"),)
    other = a_trial("m", 8, rewriting=Rewriting("launch-bounds", "safe", edits, "fewer"))
    text = shown(a_trial("k", 7), other, a_trial("k", 7, object="w"), a_trial("k", 7, cause="x"))
    assert text.count("launch-bounds") == 4


def test_a_header_of_two_inputs_is_one_entry(snapshot: SnapshotAssertion) -> None:
    text = shown(a_trial("k", 7, object="w"), a_trial("m", 7, object="w", input="b.cu"))
    assert text == snapshot


def test_rewrites_of_one_name_are_told_apart(snapshot: SnapshotAssertion) -> None:
    edits = (Edit("/a.cu", 5, 6, b"3"),)
    more = Rewriting("launch-bounds", "safe", edits, "none at all")
    text = shown(a_trial("k", 7), a_trial("k", 7, rewriting=more))
    assert text == snapshot


def test_the_modelled_speed_is_shown_where_it_is_known() -> None:
    assert "× 2.5" in shown(a_trial("k", 7, cost_before=100.0, cost_after=40.0))
    assert "speed" not in shown(a_trial("k", 7, cost_before=100.0))


@pytest.mark.parametrize(
    ("verdict", "rank", "texts"),
    [
        ("removed", 1, ["Fewer."]),
        ("reduced", 1, ["Fewer.", "Another way."]),
        (
            "removed",
            None,
            [
                "Another way.",
                "Nothing is offered of what was tried: `launch-bounds` (removes it, but k2 spills "
                "more).",
            ],
        ),
        (
            "no-effect",
            None,
            [
                "Another way.",
                "Nothing is offered of what was tried: `launch-bounds` (no effect).",
            ],
        ),
    ],
)
def test_advice_that_was_not_tried_is_left_out_beside_a_proven_removal(
    verdict: TrialVerdict, rank: int | None, texts: list[str]
) -> None:
    report = report_of(spilling())
    (unit,) = report.units
    (kernel,) = unit.kernels
    advice = (Advice("Less.", rewrite="launch-bounds"), Advice("Another way."))
    finding = Finding(
        *("LM101", "register-spill", "warning", "certain", "register-spill"),
        *(None, None, 8, None, (), None, "It spills.", advice, (), "f"),
    )
    kernel = replace(kernel, findings=(finding,))
    report = replace(report, units=(replace(unit, kernels=(kernel,)),))
    tried = a_trial(kernel.facts.demangled, 7, verdict)
    error = "k2 spills more" if verdict == "removed" and rank is None else None
    tried = replace(tried, rank=rank, fingerprint=finding.fingerprint, error=error)
    found = with_fixes(report, FixReport("0", (tried,), (), Chosen((), (), "")))
    assert [one.text for one in found.units[0].kernels[0].findings[0].advice] == texts


def test_what_removes_an_object_but_costs_more_is_said_to_be_left(
    snapshot: SnapshotAssertion,
) -> None:
    report = report_of(spilling())
    (unit,) = report.units
    (kernel,) = unit.kernels
    none = Advice("Nothing removes it without a rewrite.", is_none=True)
    finding = Finding(
        *("LM101", "register-spill", "warning", "certain", "register-spill"),
        *(None, None, 8, None, (), None, "It spills.", (none,), (), "f"),
    )
    kernel = replace(kernel, findings=(finding,))
    report = replace(report, units=(replace(unit, kernels=(kernel,)),))
    slower = {"rank": None, "fingerprint": "f", "cost_before": 10.0, "cost_after": 20.0}
    tried = a_trial(kernel.facts.demangled, 7, "removed", **slower)
    found = with_fixes(report, FixReport("0", (tried,), (), Chosen((), (), "")))
    (said,) = found.units[0].kernels[0].findings[0].advice
    assert said.text == snapshot


def spills_once() -> Report:
    """A report of one kernel, with one finding: it spills, and nothing is advised."""
    report = report_of(spilling())
    (unit,) = report.units
    (kernel,) = unit.kernels
    finding = Finding(
        *("LM101", "register-spill", "warning", "certain", "register-spill"),
        *(None, None, 8, None, (), None, "It spills.", (), (), "f"),
    )
    kernel = replace(kernel, findings=(finding,))
    return replace(report, units=(replace(unit, kernels=(kernel,)),))


def test_what_is_as_fast_as_before_is_said_to_be_left(snapshot: SnapshotAssertion) -> None:
    """A fix is proven, and the model says that nothing is won by it."""
    report = spills_once()
    (kernel,) = report.units[0].kernels
    cost = Cost(10.0, 1.0, 1.0, 1.0, 0.1, fits=True, is_uniform=True)
    same = {"rank": 1, "fingerprint": "f", "cost_before": 10.0, "cost_after": 9.9}
    tried = a_trial(kernel.facts.demangled, 7, modelled=cost, **same)
    found = with_fixes(report, FixReport("0", (tried,), (), Chosen((), (), "")))
    (finding,) = found.units[0].kernels[0].findings
    assert finding.fix is not None
    assert finding.advice[0].is_none
    assert finding.advice[0].text == snapshot
    faster = replace(tried, cost_after=5.0)
    found = with_fixes(report, FixReport("0", (faster,), (), Chosen((), (), "")))
    assert not any(one.is_none for one in found.units[0].kernels[0].findings[0].advice)


def test_a_finding_of_which_nothing_was_compiled_in_its_time_is_undecided() -> None:
    late = a_trial("k", 7, "failed", after=None, is_late=True)
    other = a_trial("k", 7, "failed", after=None, error="line 3: error: no")
    nothing = Chosen((), (), "")
    assert FixReport("0", (late,), (), nothing).undecided == 1
    assert FixReport("0", (late, late), (), nothing).undecided == 1
    assert FixReport("0", (late, other), (), nothing).undecided == 0
    assert FixReport("0", (late, a_trial("k", 9)), (), nothing).undecided == 1


def test_what_was_not_tried_when_the_run_was_ended_is_said() -> None:
    report = spills_once()
    (unit,) = report.units
    (kernel,) = unit.kernels
    nothing = FixReport("0", (), (), Chosen((), (), ""))

    def said(tried: FixReport, *, is_cut: bool) -> bool:
        (shown,) = with_fixes(report, tried, is_cut=is_cut).units[0].kernels[0].findings
        return any("Not all of its rewrites were tried" in one.text for one in shown.advice)

    assert said(nothing, is_cut=True)
    assert not said(nothing, is_cut=False)
    why = Untried(unit.input, unit.arch, "k", None, "register-spill", None, "it is too large")
    assert not said(replace(nothing, untried=(why,)), is_cut=True)
    tried = a_trial(kernel.facts.demangled, 7, "no-effect", rank=None, fingerprint="f")
    assert said(replace(nothing, trials=(tried,)), is_cut=True)
    assert not said(replace(nothing, trials=(tried,)), is_cut=False)


def test_that_an_offer_may_round_otherwise_is_said_once() -> None:
    own = {"object": "w", "rounding": True}
    text = " ".join(shown(a_trial("k", 7, **own), a_trial("j", 7, **own)).split())
    assert text.count("launch-bounds of `w`: Results may round differently") == 1
    for other in ({"rounding": False}, {"rounding": None}, {"rounding": True, "rank": None}):
        assert "round differently" not in shown(a_trial("k", 7, **other))


def test_a_variable_of_the_same_name_has_its_own_fix() -> None:
    # Both are given to one function, on whose line both findings are.
    report = report_of(spilling())
    (unit,) = report.units
    (kernel,) = unit.kernels
    used = SourceLocation("a.cu", 90)
    findings = tuple(
        Finding(
            *("LM201", "dynamic-index", "warning", "certain", "dynamic-index"),
            *("r", None, 8, used, (SourceLocation("a.cu", line),), None, "It is.", (), (), "f"),
        )
        for line in (240, 542)
    )
    kernel = replace(kernel, findings=findings)
    report = replace(report, units=(replace(unit, kernels=(kernel,)),))
    more = {"fingerprint": "f", "object": "r", "declared": SourceLocation("a.cu", 542)}
    tried = a_trial(kernel.facts.demangled, 90, **more)
    (ranked_first,) = ranked([tried])
    found = with_fixes(report, FixReport("0", (ranked_first,), (), Chosen((), (), "")))
    assert [one.fix is not None for one in found.units[0].kernels[0].findings] == [False, True]
    why = (*(unit.input, unit.arch, "k", "r", "dynamic-index"), used)
    untried = tuple(
        Untried(
            *(*why, f"line {line} does not fit", SourceLocation("a.cu", line)),
            (Declined(f"line {line} does not fit", is_ruled_out=True),),
        )
        for line in (240, 542)
    )
    found = with_fixes(report, FixReport("0", (), untried, Chosen((), (), "")))
    said = [one.advice[-1].text for one in found.units[0].kernels[0].findings]
    assert ["line 240" in said[0], "line 542" in said[1]] == [True, True]


def test_advice_that_the_machine_rules_out_is_not_shown() -> None:
    report = spills_once()
    (unit,) = report.units
    (kernel,) = unit.kernels
    advice = (Advice("Fits.", rewrite="select"), Advice("Does not.", rewrite="shared-memory"))
    finding = replace(kernel.findings[0], advice=advice)
    kernel = replace(kernel, findings=(finding,))
    report = replace(report, units=(replace(unit, kernels=(kernel,)),))
    declined = (
        Declined("a class may do something else", ("select",)),
        Declined("64 KB do not fit", ("shared-memory",), True),
    )
    why = Untried(unit.input, unit.arch, "k", None, "register-spill", None, said_of(declined))
    tried = FixReport("0", (), (replace(why, declined=declined),), Chosen((), (), ""))
    (shown,) = with_fixes(report, tried).units[0].kernels[0].findings
    assert [one.rewrite for one in shown.advice] == ["select", None]


def test_what_a_rewrite_does_not_read_is_no_claim_about_the_program(
    snapshot: SnapshotAssertion,
) -> None:
    report = spills_once()
    (unit,) = report.units
    declined = (
        Declined("a class may do something else", ("select",)),
        Declined("512 bytes for each of 1024 threads do not fit", ("shared-row",), True),
    )
    why = Untried(unit.input, unit.arch, "k", None, "register-spill", None, said_of(declined))
    tried = FixReport("0", (), (replace(why, declined=declined),), Chosen((), (), ""))
    (shown,) = with_fixes(report, tried).units[0].kernels[0].findings
    assert shown.advice[-1].text == snapshot
    assert "select" not in shown.advice[-1].text
    assert render(tried, "table", width=200) == snapshot
    # Where it is said already that nothing does, that is enough.
    (kernel,) = unit.kernels
    nothing = (Advice("Nothing removes it without a rewrite.", is_none=True),)
    finding = replace(kernel.findings[0], advice=nothing)
    left = replace(unit, kernels=(replace(kernel, findings=(finding, *kernel.findings[1:])),))
    (shown,) = with_fixes(replace(report, units=(left,)), tried).units[0].kernels[0].findings
    assert shown.advice == nothing
    earlier = replace(tried, untried=(why,))
    (shown,) = with_fixes(report, earlier).units[0].kernels[0].findings
    assert "do not fit" not in shown.advice[-1].text


def test_what_removes_an_object_and_is_not_offered_is_not_called_slower(
    snapshot: SnapshotAssertion,
) -> None:
    report = spills_once()
    (kernel,) = report.units[0].kernels
    unknown = {"rank": None, "fingerprint": "f", "cost_before": None, "cost_after": None}
    tried = a_trial(kernel.facts.demangled, 7, "removed", error="k2 spills more", **unknown)
    found = with_fixes(report, FixReport("0", (tried,), (), Chosen((), (), "")))
    (said,) = found.units[0].kernels[0].findings[0].advice
    assert said.text == snapshot


@pytest.mark.parametrize(
    ("gain", "shown"),
    [
        (0.035, "0.035"),
        (0.93, "0.93"),
        (0.99, "0.99"),
        (1.0, "1"),
        (1.04, "1.04"),
        (1.36, "1.4"),
        (9.4, "9.4"),
        (12.3, "12"),
        (140.2, "140"),
    ],
)
def test_a_speed_up_is_told_from_one(gain: float, shown: str) -> None:
    assert factor(gain) == shown


@pytest.mark.toolchain
def test_a_block_is_asked_for_with_the_rewrites_that_need_it(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        "__global__ void k(const int *p, int *out, int n) {\n"
        "  int bins[40] = {};\n"
        "  for (int i = 0; i < n; ++i) ++bins[p[i] % 40];\n"
        "  out[threadIdx.x] = bins[n];\n"
        "}\n"
    )
    asked = ("explain", "k.cu", "--arch", "sm_90", "--block", "96")
    done = run_program(*asked, "--fix", cwd=tmp_path)
    assert "for each of 96 threads" in done.out
    alone = run_program(*asked, "--no-fix", cwd=tmp_path)
    assert alone.code == 2
    assert "ask for them with --fix" in alone.err
