"""Gate scenarios on hand-made reports, and the command on the real toolchain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from lmemscope.errors import UsageError
from lmemscope.exporters.gate_markdown import cut
from lmemscope.exporters.github import render_annotations
from lmemscope.formats.codec import encode
from lmemscope.formats.demangle import demangle
from lmemscope.gate import baseline, places
from lmemscope.gate.accounting import Inputs
from lmemscope.gate.compare import compare
from lmemscope.model import (
    Allowance,
    Baseline,
    Cause,
    Failure,
    Gap,
    GateResult,
    KernelDirective,
    KernelReport,
    Limit,
    Policy,
    PtxasFacts,
    Report,
    SiteClass,
    SiteSplit,
)
from lmemscope.rules.verdict import judge
from tests.support.builders import NOTHING, changed, facts, gate_as, judged, report
from tests.support.program import ROOT, Finished, run_program

TODAY = date(2026, 11, 21)


def gate(
    given: Report, rules: Policy | None = None, known: Baseline | None = None, tolerance: int = 0
) -> GateResult:
    return compare(given, rules or Policy(), known, tolerance=tolerance, today=TODAY)


def kinds(result: GateResult) -> list[str]:
    return [failure.kind for failure in result.failures]


DIRTY = judged("k", "dynamic-index")


def test_clean_code_passes() -> None:
    assert gate(report(judged("k"))).failures == ()


def test_local_memory_fails_by_default_and_says_why() -> None:
    result = gate(report(DIRTY))
    assert kinds(result) == ["new"]
    text = gate_as("text", result)
    for part in ("k (a.cu, sm_90)", "expected:", "found:", "where:", "why:", "remove:", "accept:"):
        assert part in text
    assert text.endswith("Gate failed: 1 failure.\n")


@pytest.mark.parametrize("cause", ["promoted", "printf-args", "device-launch"])
def test_harmless_causes_pass_by_default(cause: Cause) -> None:
    assert gate(report(judged("k", cause))).failures == ()


def test_a_baseline_accepts_what_it_holds() -> None:
    known = baseline.from_report(report(DIRTY))
    result = gate(report(DIRTY), known=known)
    assert result.failures == ()
    assert [a.by for a in result.accepted] == ["known in the baseline"]


def test_a_second_equal_array_beside_a_known_one_is_new() -> None:
    known = baseline.from_report(report(DIRTY))
    twice = judged("k", "dynamic-index", "dynamic-index")
    assert kinds(gate(report(twice), known=known)) == ["new"]
    both = baseline.from_report(report(twice))
    assert gate(report(twice), known=both).failures == ()


def test_a_new_kernel_is_new() -> None:
    known = baseline.from_report(report(DIRTY))
    result = gate(report(DIRTY, judged("other", "volatile")), known=known)
    assert [(f.kind, f.kernel) for f in result.failures] == [("new", "other")]


@pytest.mark.parametrize(
    ("were", "are"),
    [
        (
            ("pick<short, (Mode)1>", "pick<unsigned char, (Mode)0>", "pick<int, (Mode)0>"),
            ("take<short, (Mode)1>", "take<unsigned char, (Mode)0>", "take<int, (Mode)0>"),
        ),
        (("a::box<int>::run", "b::box<int>::go"), ("a::box<int, 2>::run", "b::box<int, 2>::go")),
        (("plain", "of<float>"), ("renamed", "to<float>")),
    ],
)
def test_renamed_instances_are_the_ones_with_their_arguments_or_of_their_template(
    were: tuple[str, ...], are: tuple[str, ...]
) -> None:
    def of(names: Sequence[str]) -> Report:
        return report(*(judged(name, "dynamic-index") for name in names))

    for order in (are, are[::-1]):
        result = gate(of(order), known=baseline.from_report(of(were)))
        assert result.verdict == "passed"
        said = {f"{old} is treated as renamed to {new}" for old, new in zip(were, are, strict=True)}
        assert said <= {*result.notes}


def overload(symbol: str, *causes: Cause) -> KernelReport:
    """A kernel with a mangled name; each of its arrays has 80 bytes."""
    kernel = judged("k", *causes)
    return changed(kernel, facts=replace(kernel.facts, name=symbol, demangled=demangle(symbol)))


@pytest.mark.parametrize(
    ("was", "now", "kinds_"),
    [
        # The clean overload takes the array, and the other loses it.
        (("_Z1kPi", "_Z1kPf"), ("_Z1kPf", "_Z1kPi"), ["new"]),
        (
            ("_ZN1n1kEPi", "_ZN12_GLOBAL__N_11kEPi"),
            ("_ZN12_GLOBAL__N_11kEPi", "_ZN1n1kEPi"),
            ["new"],
        ),
        (("_Z1kILi4EEvPT_", "_Z1kILj4EEvPT_"), ("_Z1kILj4EEvPT_", "_Z1kILi4EEvPT_"), ["new"]),
        # A parameter has another type now, a namespace has no name, a kernel is a template.
        (("_Z1kPi",), ("_Z1kPd",), []),
        (("_Z1kPi",), ("_ZN12_GLOBAL__N_11kEPi",), []),
        (("_Z1kPi",), ("k",), []),
        (("_Z1kPi", "_Z1kPf"), ("_Z1kPd", "_Z1kPf"), []),
        # Lambdas are numbered in their order, and Numba numbers what it compiles.
        (("_Z1kIZ4mainEUlvE_EvT_",), ("_Z1kIZ4mainEUlvE0_EvT_", "_Z1kIZ4mainEUlvE_EvT_"), []),
        (("_ZN1m1kB2v1Ei",), ("_ZN1m1kB2v2Ei", "_ZN1m1jB2v1Ei"), []),
    ],
)
def test_overloads_and_instances_do_not_exchange_what_is_known(
    was: tuple[str, ...], now: tuple[str, ...], kinds_: list[str]
) -> None:
    """The first kernel has an array, the others are clean."""

    def of(names: Sequence[str]) -> Report:
        return report(overload(names[0], "dynamic-index"), *map(overload, names[1:]))

    known = baseline.from_report(of(was))
    assert kinds(gate(of(now), known=known)) == kinds_
    assert gate(of(was), known=known).gone == ()


def test_an_overload_of_a_moved_file_takes_nothing_either() -> None:
    known = baseline.from_report(report(overload("_Z1kPi", "dynamic-index"), overload("_Z1kPf")))
    elsewhere = report(overload("_Z1kPf", "dynamic-index"), overload("_Z1kPi"))
    moved = replace(elsewhere, units=(replace(elsewhere.units[0], input="moved.cu"),))
    assert kinds(compare(moved, Policy(), known, inputs=Inputs(directories=("/",)))) == ["new"]


def test_of_an_earlier_baseline_it_is_said_that_overloads_share_what_is_known() -> None:
    entries = baseline.from_report(report(overload("_Z1kPi", "dynamic-index")))
    earlier = replace(entries, findings=(replace(entries.findings[0], symbol=None),))
    assert b"symbol" not in encode(earlier)
    alone, both = overload("_Z1kPf", "dynamic-index"), overload("_Z1kPi")
    one, two = gate(report(alone), known=earlier), gate(report(alone, both), known=earlier)
    assert (one.verdict, two.verdict) == ("passed", "passed")
    assert not any("overloads of k" in note for note in one.notes)
    assert any("overloads of k apart" in note for note in two.notes)


def test_a_renamed_kernel_is_recognised_and_noted() -> None:
    known = baseline.from_report(report(DIRTY))
    result = gate(report(judged("renamed", "dynamic-index")), known=known)
    assert result.failures == ()
    assert any("renamed" in note for note in result.notes)


def test_growth_is_worse_and_a_tolerance_forgives_drift() -> None:
    known = baseline.from_report(report(DIRTY))
    grown = report(judged("k", "dynamic-index", bytes_=96))
    assert kinds(gate(grown, known=known)) == ["worse"]
    assert gate(grown, known=known, tolerance=16).failures == ()
    assert kinds(gate(grown, known=known, tolerance=15)) == ["worse"]


def test_improvements_are_told_and_ratcheted() -> None:
    known = baseline.from_report(report(DIRTY))
    smaller = report(judged("k", "dynamic-index", bytes_=40))
    result = gate(smaller, known=known)
    assert result.failures == ()
    assert [(one.entry.bytes, one.bytes) for one in result.better] == [(80, 40)]
    assert [entry.bytes for entry in baseline.ratcheted(known, result.better).findings] == [40]


def test_what_is_gone_is_listed_and_can_be_removed() -> None:
    known = baseline.from_report(report(DIRTY))
    result = gate(report(judged("k")), known=known)
    assert result.failures == ()
    assert len(result.gone) == 1
    assert baseline.without(known, result.gone).findings == ()


def test_files_that_were_not_scanned_are_not_gone() -> None:
    known = baseline.from_report(report(DIRTY))
    elsewhere = replace(report(judged("k")).units[0], input="b.cu")
    there = Inputs(present=frozenset({"a.cu"}))
    result = compare(
        Report(version="0.1.0", toolchain={}, units=(elsewhere,)),
        Policy(),
        known,
        today=TODAY,
        inputs=there,
    )
    assert result.gone == ()


def test_a_new_toolchain_compares_by_cause_and_says_so() -> None:
    known = baseline.from_report(report(DIRTY, version="13.4"))
    grown = report(judged("k", "dynamic-index", bytes_=120, object_="renamed_by_compiler"))
    result = gate(grown, known=known)
    assert result.failures == ()
    assert any("13.4 → 13.5" in note for note in result.notes)
    other_cause = report(judged("k", "register-spill"))
    assert kinds(gate(other_cause, known=known)) == ["new"]


def test_another_architecture_has_its_own_entries() -> None:
    known = baseline.from_report(report(DIRTY))
    assert kinds(gate(report(DIRTY, arch="sm_120"), known=known)) == ["new"]


@pytest.mark.parametrize(
    ("limit", "fails"),
    [
        (Limit(max_frame=0), True),
        (Limit(max_frame=128), False),
        (Limit(max_sites=0), True),
        (Limit(max_sites=1), False),
        (Limit(max_registers=31), True),
        (Limit(max_registers=32), True),  # registers are no local memory: the default holds
        (Limit(max_spill=0), True),  # nor is an array a spill
        (Limit(max_spill=0, max_frame=80), False),
        (Limit(kernel="other*", max_frame=0), True),  # does not apply: the default holds
        (Limit(arch="sm_8*", max_registers=1), True),
        (Limit(forbid=("register-spill",)), False),
        (Limit(forbid=("dynamic-index",)), True),
        (Limit(allow=("dynamic-index",)), False),
        (Limit(allow=("volatile",)), True),
    ],
)
def test_each_limit(limit: Limit, fails: bool) -> None:
    made = changed(
        DIRTY,
        facts=changed(
            DIRTY.facts,
            ptxas=replace(facts().ptxas, stack_frame=80, registers=32),  # type: ignore[type-var]
        ),
    )
    result = gate(report(made), Policy((limit,)))
    assert bool(result.failures) == fails


@pytest.mark.parametrize(
    ("sites", "limit", "verdict"),
    [
        (SiteSplit(SiteClass(2, 3, 8, 12), NOTHING, NOTHING), 20, "passed"),
        (SiteSplit(SiteClass(2, 3, 8, 12), NOTHING, NOTHING), 19, "failed"),
        (SiteSplit(NOTHING, SiteClass(2, 3, 8, 12), NOTHING), 0, "passed"),
        (SiteSplit(NOTHING, NOTHING, NOTHING), 0, "passed"),
        # What nothing marks may be a spill.
        (SiteSplit(NOTHING, NOTHING, SiteClass(1, 0, 4, 0)), 0, "undecided"),
    ],
)
def test_machine_code_tells_spills_where_ptxas_reported_none(
    sites: SiteSplit, limit: int, verdict: str
) -> None:
    bare = changed(facts(), ptxas=None, sass=None, own_sites=sites, sites=sites)
    spilled = judged("k", "register-spill").findings if sites.spill.count else ()
    made = KernelReport.of(bare, judge(bare), spilled)
    result = gate(report(made), Policy((Limit(max_spill=limit),)))
    assert result.verdict == verdict


def allowance(**changes: object) -> Allowance:
    base = Allowance("k", "dynamic-index", 80, "measured", None, "a.cu:1")
    return replace(base, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "passes", "said"),
    [
        (allowance(), True, None),
        (allowance(bytes=None), True, None),
        (allowance(bytes=79), False, "accepts 79 bytes, and there are 80"),
        (allowance(cause="volatile"), False, "accepts nothing"),
        (allowance(kernel="z*"), False, "accepts nothing"),
        (allowance(arch="sm_9*"), True, None),
        (allowance(arch="sm_80"), False, "accepts nothing"),
        (allowance(expires=TODAY), True, None),
        (allowance(expires=date(2026, 11, 20)), False, "expired on 2026-11-20"),
    ],
)
def test_allowances(given: Allowance, passes: bool, said: str | None) -> None:
    result = gate(report(DIRTY), Policy(allowances=(given,)))
    assert (result.failures == ()) == passes
    assert bool(result.unused) == (said is not None)
    assert said is None or said in result.unused[0]


def test_bytes_of_an_allowance_bound_no_size_that_is_chosen_at_run_time() -> None:
    taken = report(judged("k", "alloca", bytes_=64))
    bounded, any_size = allowance(cause="alloca", bytes=256), allowance(cause="alloca", bytes=None)
    result = gate(taken, Policy(allowances=(bounded,)))
    assert kinds(result) == ["new"]
    assert "accepts 256 bytes, and no bound is known" in result.unused[0]
    assert gate(taken, Policy(allowances=(any_size,))).failures == ()


def test_allowances_and_expectations_in_sources() -> None:
    allow = KernelDirective("allow", 'dynamic-index 80 "bins, 3% of run time"', 4, "k")
    assert gate(report(DIRTY, directives=(allow,))).failures == ()
    holds = KernelDirective("expect", "frame=0 registers<=32", 4, "k")
    assert gate(report(judged("k"), directives=(holds,))).failures == ()
    fails = KernelDirective("expect", "registers<32", 4, "k")
    assert kinds(gate(report(judged("k"), directives=(fails,)))) == ["expectation"]


@pytest.mark.parametrize(
    ("word", "argument"),
    [("allow", "dynamic-index"), ("allow", 'nonsense 3 "why"'), ("expect", "frame~3")],
)
def test_comments_that_cannot_be_read_are_errors_with_their_line(word: str, argument: str) -> None:
    directive = KernelDirective(word, argument, 4, "k")
    with pytest.raises(UsageError, match=r"a\.cu:4"):
        gate(report(judged("k"), directives=(directive,)))


def test_missing_evidence_never_passes_silently() -> None:
    given = report(failure=Failure("compile", "NVRTC refused a.cu"))
    failed = gate(given)
    assert failed.missing
    assert gate(report(judged("k"), gaps=(Gap("ptxas", "no report", "evidence"),))).missing
    assert not gate(report(judged("k"), gaps=(Gap("names", "no source"),))).missing
    text = gate_as("text", failed)
    assert "Gate incomplete" in text
    accepted = compare(given, Policy(), None, allow_incomplete=True, today=TODAY)
    assert "Gate passed" in gate_as("text", accepted)


def test_baseline_files_round_trip_and_are_one_line_per_finding(tmp_path: Path) -> None:
    known = baseline.from_report(report(DIRTY, judged("z", "volatile")))
    path = tmp_path / "b.json"
    path.write_text(baseline.render(known))
    assert baseline.load(str(path)) == known
    assert sum('"kernel"' in line for line in path.read_text().splitlines()) == 2
    assert (
        json.loads(baseline.render(Baseline(schema=baseline.SCHEMA, toolchain={}, findings=())))[
            "findings"
        ]
        == []
    )


def test_a_baseline_means_the_same_files_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "src"
    inner.mkdir()
    monkeypatch.chdir(inner)
    (unit,) = report(DIRTY).units
    for spelled, written in (
        ("k.cu", "src/k.cu"),
        ("./k.cu", "src/k.cu"),
        (str(inner / "k.cu"), "src/k.cu"),
        ("../k.cu[target]", "k.cu[target]"),
        ("/opt/k.cu", "/opt/k.cu"),
        ("-", "-"),
    ):
        given = Report(version="0.1.0", toolchain={}, units=(replace(unit, input=spelled),))
        known = baseline.from_report(given)
        kept = places.as_written(known, str(tmp_path))
        assert [entry.input for entry in kept.findings] == [written]
        assert places.as_reported(kept, str(tmp_path), given) == known
        other = report(judged("other"))
        shown = [entry.input for entry in places.as_reported(kept, str(tmp_path), other).findings]
        assert shown == [spelled if spelled[:2] in ("..", "/o", "-") else "k.cu"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "lmemscope.baseline/1"}', '{"sch'])
def test_a_damaged_baseline_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"b\.json"):
        baseline.load(str(path))


def test_a_missing_baseline_and_one_from_the_future(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        baseline.load(str(tmp_path / "gone.json"))
    path = tmp_path / "b.json"
    path.write_text('{"schema": "lmemscope.baseline/9"}')
    with pytest.raises(UsageError, match="baseline/9"):
        baseline.load(str(path))


@pytest.mark.parametrize(
    ("pattern", "applies"), [("rm", True), ("ns::rm", True), ("rm<32>", True), ("other", False)]
)
def test_a_limit_names_a_template_as_the_flag_does(pattern: str, applies: bool) -> None:
    made = judged("void ns::rm<(int)32>(float*)", "dynamic-index")
    result = gate(report(made), Policy((Limit(kernel=pattern, max_registers=1),)))
    assert ("limit" in kinds(result)) == applies


def test_sarif_has_rules_regions_fingerprints_and_suppressions() -> None:
    known = baseline.from_report(report(DIRTY))
    given = report(DIRTY, judged("z", "volatile"))
    log = json.loads(gate_as("sarif", gate(given, known=known), given))
    (run,) = log["runs"]
    results = {r["ruleId"]: r for r in run["results"]}
    assert log["version"] == "2.1.0"
    assert results["LM201"]["suppressions"][0]["kind"] == "external"
    assert "suppressions" not in results["LM303"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1
        assert result["partialFingerprints"]["lmemscope/v1"]


@pytest.mark.parametrize(
    ("versions", "is_for"), [(">=13.1,<14", True), ("==13.5.*", True), ("<13.5", False)]
)
def test_limits_and_allowances_may_be_for_some_toolkits(versions: str, is_for: bool) -> None:
    given = report(DIRTY, version="13.5.34")
    limited = gate(given, Policy((Limit(max_registers=1, toolkit=versions),)))
    assert ("limit" in kinds(limited)) is is_for
    allowance = Allowance("k", "dynamic-index", None, "known", None, "a.toml", toolkit=versions)
    assert kinds(gate(given, Policy(allowances=(allowance,)))) == ([] if is_for else ["new"])


def test_a_limit_for_a_toolkit_needs_to_know_which_compiled() -> None:
    given = report(judged("k"))
    unknown = replace(given, units=tuple(replace(unit, tools=()) for unit in given.units))
    result = gate(unknown, Policy((Limit(max_registers=255, toolkit=">=13"),)))
    assert (result.verdict, len(result.missing)) == ("undecided", 1)
    assert gate(unknown, Policy((Limit(max_registers=255),))).verdict == "passed"


def test_github_annotations_are_escaped() -> None:
    text = render_annotations(gate(report(DIRTY)))
    assert text.startswith("::error file=a.cu,line=7,title=new%3A k (sm_90)::")
    assert text.count("\n") == 1


def test_a_comment_says_once_what_every_failure_expected() -> None:
    given = report(DIRTY, judged("z", "volatile"))
    text = gate_as("markdown", gate(given), given)
    assert text.count("no local memory beyond the baseline and allowances") == 1
    mixed = gate(given, Policy(limits=(Limit("k", max_registers=2), Limit("z", max_registers=1))))
    text = gate_as("markdown", mixed, given)
    for expected in ("max-registers 2 for k", "max-registers 1 for z"):
        (row,) = (line for line in text.splitlines() if f"expected: {expected}" in line)
        assert row.startswith(f"| `{expected[-1]}` ")


def test_comments_are_cut_clearly_below_githubs_limit() -> None:
    many = report(*(judged(f"kernel_{i}", "dynamic-index") for i in range(400)))
    text = gate_as("markdown", gate(many), many)
    assert len(text) <= 65_000
    assert "Truncated" in text
    assert text.count("<details>") == text.count("</details>")
    assert cut("short") == "short"


# --- the command ----------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("histogram.cu", "promoted.cu"):
        (tmp_path / name).write_text((ROOT / "kernels" / name).read_text())
    return tmp_path


def run(project: Path, *arguments: str, **environment: str) -> Finished:
    return run_program(*arguments, cwd=project, **environment)


@pytest.mark.toolchain
def test_adopting_the_gate_in_a_dirty_project(project: Path) -> None:
    assert run(project, "check", ".").code == 1
    assert run(project, "baseline", ".").code == 0
    assert run(project, "check", ".").code == 0
    source = project / "histogram.cu"
    moved = "// a comment\n\n" + source.read_text()
    source.write_text(moved)
    assert run(project, "check", ".").code == 0, "a moved line must not fail"
    source.write_text(moved.replace("unsigned bins[64] = {};", "unsigned bins[96] = {};"))
    worse = run(project, "check", ".")
    assert worse.code == 1
    assert "worse: histogram_private" in worse.out
    source.unlink()
    other = project / "promoted.cu"
    assert run(project, "check", str(other)).code == 0


@pytest.mark.toolchain
def test_the_command_reads_configuration_and_flags_win(project: Path) -> None:
    (project / "lmemscope.toml").write_text('[[limits]]\nkernel = "histogram*"\nmax-frame = 256\n')
    assert run(project, "check", ".").code == 0
    assert run(project, "check", ".", "--max-frame", "128").code == 1
    (project / "lmemscope.toml").write_text("[[limits]]\nmax-fame = 3\n")
    bad = run(project, "check", ".")
    assert bad.code == 2
    assert "unknown key max-fame" in bad.err


@pytest.mark.toolchain
def test_compile_options_come_from_the_configuration_and_flags_win(project: Path) -> None:
    (project / "lmemscope.toml").write_text(
        'arch = ["sm_80"]\ndefines = ["SIZE=3"]\nmaxrregcount = 40\nkernels = ["*_private"]\n'
    )
    (unit,) = run(project, "scan", "histogram.cu", "--format", "json").document["units"]
    assert unit["arch"] == "sm_80"
    assert {"-DSIZE=3", "--maxrregcount=40"} <= set(unit["options"])
    assert [kernel["name"] for kernel in unit["kernels"]] == ["histogram_private"]
    flags = ("--arch", "sm_90", "--kernel", "*_shared")
    (unit,) = run(project, "scan", "histogram.cu", "--format", "json", *flags).document["units"]
    assert unit["arch"] == "sm_90"
    assert [kernel["name"] for kernel in unit["kernels"]] == ["histogram_shared"]
    (project / "lmemscope.toml").write_text("arch = 90\n")
    bad = run(project, "scan", "histogram.cu")
    assert bad.code == 2
    assert "arch is 90, not a list" in bad.err


@pytest.mark.toolchain
def test_allowances_in_a_source_file(project: Path) -> None:
    source = project / "histogram.cu"
    text = source.read_text()
    comment = '// lmemscope: allow dynamic-index 256 "measured: 3% of run time"\n'
    source.write_text(text.replace('extern "C"', comment + 'extern "C"', 1))
    passed = run(project, "check", ".", "-v")
    assert passed.code == 0
    assert "measured: 3% of run time" in passed.out
    source.write_text(text.replace('extern "C"', comment.replace("256", "64") + 'extern "C"', 1))
    failed = run(project, "check", ".")
    assert failed.code == 1
    assert "accepts 64 bytes, and there are 256" in failed.out


@pytest.mark.toolchain
def test_a_unit_that_does_not_compile_leaves_the_gate_undecided(project: Path) -> None:
    (project / "histogram.cu").write_text("__global__ void k(int *x) { x[0] = ; }\n")
    undecided = run(project, "check", ".")
    assert undecided.code == 3
    assert "Gate incomplete" in undecided.out
    assert run(project, "check", ".", "--allow-incomplete").code == 0


@pytest.mark.toolchain
def test_a_glob_that_matches_nothing_is_no_pass(project: Path) -> None:
    nothing = run(project, "check", ".", "--kernel", "nothing*")
    assert nothing.code == 3
    assert "no kernel was checked" in nothing.out
    assert "Gate incomplete" in nothing.out


@pytest.mark.toolchain
def test_exports_of_the_command(project: Path) -> None:
    summary = project / "summary.md"
    annotated = run(project, "check", ".", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    assert annotated.code == 1
    assert annotated.out.startswith("::error file=histogram.cu,line=10,")
    assert "# Local memory gate: ❌" in summary.read_text()
    junit = run(project, "check", ".", "--format", "junit").out
    suites = ElementTree.fromstring(junit)
    assert [case.get("name") for case in suites.iter("testcase") if len(case)] == [
        "histogram_private"
    ]
    target = project / "out.sarif"
    assert run(project, "check", ".", "-o", str(target)).code == 1
    assert json.loads(target.read_text())["version"] == "2.1.0"
    for name, starts in (("out.xml", "<?xml"), ("out.md", "# Local memory"), ("out.txt", "new: ")):
        assert run(project, "check", ".", "-o", name).code == 1
        assert (project / name).read_text().startswith(starts)
    forced = run(project, "check", ".", "--format", "text", "-o", "gate.log")
    assert (forced.code, forced.out) == (1, "")
    unwritable = run(project, "check", ".", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY="/no/s.md")
    assert unwritable.code == 3
    assert "/no/s.md cannot be written" in unwritable.err


class TestWhatAMaintainerMet:
    """Found by setting the gate up on a project: each of these once passed or misled."""

    def test_a_limit_with_numbers_does_not_make_known_findings_gone(self) -> None:
        known = baseline.from_report(report(judged("k", "dynamic-index")))
        found = gate(report(judged("k", "dynamic-index")), Policy((Limit(max_frame=99),)), known)
        assert found.verdict == "passed"
        assert found.gone == ()

    def test_nor_does_an_allowance(self) -> None:
        known = baseline.from_report(report(judged("k", "dynamic-index")))
        accepted = Allowance("*", "dynamic-index", None, "small", None, "lmemscope.toml")
        found = gate(report(judged("k", "dynamic-index")), Policy((), (accepted,)), known)
        assert found.gone == ()
        cleaned = gate(report(judged("k")), Policy((), (accepted,)), known)
        assert [entry.kernel for entry in cleaned.gone] == ["k"]

    def test_a_reader_is_told_which_limit_accepts_what(self) -> None:
        found = gate(report(judged("k", "dynamic-index")), Policy((Limit(max_frame=96),)))
        assert [one.by for one in found.accepted] == ["within max-frame 96 for *"]
        text = gate_as("text", found, verbose=True)
        assert "accepted: k (sm_90): dynamic-index, 80 bytes: within max-frame 96 for *" in text
        assert text.endswith("Gate passed. 1 finding known or allowed.\n")

    def test_a_limit_that_is_exceeded_accepts_nothing(self) -> None:
        framed = changed(
            DIRTY, facts=changed(DIRTY.facts, ptxas=PtxasFacts(32, 80, 0, 0, 80, 0, 0))
        )
        found = gate(report(framed), Policy((Limit(max_frame=79),)))
        assert kinds(found) == ["limit"]
        assert found.accepted == ()

    def test_an_allowance_that_a_limit_makes_needless_is_told(self) -> None:
        rules = Policy((Limit(max_frame=96),), (allowance(),))
        (said,) = gate(report(DIRTY), rules).unused
        assert said.endswith("is not needed: within max-frame 96 for *")

    def test_an_architecture_that_the_baseline_knows_has_to_be_looked_at(self) -> None:
        old = [report(judged("k", "volatile"), arch=arch) for arch in ("sm_80", "sm_90")]
        both = replace(old[0], units=(*old[0].units, *old[1].units))
        known = baseline.from_report(both)
        found = gate(old[1], known=known)
        assert found.verdict == "undecided"
        assert "sm_80" in found.missing[0].text
        chosen = compare(old[1], Policy(), known, today=TODAY, inputs=Inputs(archs_typed=True))
        assert chosen.verdict == "passed"

    def test_no_array_is_blamed_for_registers(self) -> None:
        rules = Policy((Limit(max_registers=8, forbid=()),))
        (failure,) = gate(report(judged("k", "dynamic-index")), rules).failures
        assert failure.found == "registers 32"
        assert failure.finding is None
