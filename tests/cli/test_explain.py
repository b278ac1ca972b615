from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from docs.generate_rules import page
from lmemscope.analysis.groups import templates
from lmemscope.exporters.explanation import Explainer, frame_label
from lmemscope.exporters.json import parse_report, render_json
from lmemscope.model import (
    Cause,
    CauseShare,
    FrameRange,
    IndexFacts,
    IndexSource,
    KernelFacts,
    KernelReport,
    LineUse,
    PtxasFacts,
    Report,
    SiteClass,
    SiteKind,
    SourceKind,
    SourceLocation,
    Uniformity,
)
from lmemscope.rules import RULES
from lmemscope.rules.verdict import judge
from tests.support.builders import (
    changed,
    facts,
    find,
    kernel_with,
    local_object,
    report,
    report_of,
)
from tests.support.program import ROOT, run_program


@pytest.mark.toolchain
def test_an_explanation_tells_the_whole_story() -> None:
    finished = run_program("explain", "kernels/histogram.cu")
    assert finished.code == 0
    text = finished.out
    order = [
        "histogram_private",
        "Local memory is private",
        "bins is declared here",
        "Stack frame, 256 bytes",
        "lane 0",
        "error LM201 dynamic-index",
        "Proven fix:",
        "frame 256 → 0",
    ]
    positions = [text.index(part) for part in order]
    assert positions == sorted(positions)
    assert "unsigned bins[64] = {};" in text
    assert "__shared__ unsigned bins_lmem[64][128];" in text
    assert "lines of a class" in text, "the patch is shown without what it brings along"
    assert "Not compiled" not in text
    assert "histogram_shared" not in text.partition("Proven fix:")[0]
    said = [line for line in text.splitlines() if not line.startswith("       ")]
    assert max(map(len, said)) <= 110


@pytest.mark.toolchain
def test_rewrites_are_left_out_where_they_are_not_wanted() -> None:
    text = run_program("explain", "kernels/histogram.cu", "--no-fix").out
    assert "Proven fix" not in text
    assert "What may remove it" in text
    assert "Not compiled: see `lmemscope fix`." in text


@pytest.mark.toolchain
@pytest.mark.parametrize("command", ["explain", "fix"])
def test_the_excerpts_in_the_readme_are_the_programs_own(command: str) -> None:
    asked = f"{command} kernels/histogram.cu --block 128"
    _, found, rest = (ROOT / "README.md").read_text().partition(f"lmemscope {asked}\n```\n")
    assert found
    excerpt = rest.split("```")[1]
    left = iter(run_program(*asked.split(), "--arch", "sm_90").out.splitlines())
    assert "removed" in excerpt or "Proven fix" in excerpt
    for line in excerpt.strip("\n").splitlines():
        assert line in left, line


@pytest.mark.toolchain
def test_one_kernel_can_be_asked_for_and_a_clean_one_says_so() -> None:
    text = run_program("explain", "kernels/histogram.cu::histogram_shared").out
    assert "No local memory." in text
    assert "histogram_private" not in text
    missing = run_program("explain", "kernels/histogram.cu::nothing")
    assert missing.code == 3
    assert "no kernel that matches nothing" in missing.err


@pytest.mark.toolchain
def test_excerpts_are_shown_on_request() -> None:
    name = "kernels/histogram.cu::histogram_private"
    plain = run_program("explain", name).out
    assert "PTX behind it" not in plain
    shown = run_program("explain", name, "--ptx", "--sass").out
    assert re.search(r"^ +\d+  ld\.local\.u32", shown, re.MULTILINE)
    # Before 13.5 nvdisasm's JSON has no comma there.
    assert re.search(r"^ +0x[0-9a-f]{4}  LDL R\d+,?\[R\d+\] +dynamic-index", shown, re.MULTILINE)


@pytest.mark.toolchain
def test_each_kernel_is_shown_its_own_ptx(tmp_path: Path) -> None:
    """Two files define one name: what is quoted is cut out of each file's own artefacts."""
    for name, kind in (("a", "float"), ("b", "double")):
        (tmp_path / f"{name}.cu").write_text(
            f'extern "C" __global__ void pick({kind} *x, int n) {{\n'
            f"  {kind} own[64] = {{}};\n"
            f"  for (int i = 0; i < n; ++i) own[(int)x[i] & 63] += x[i];\n"
            f"  for (int i = 0; i < n; ++i) x[i] = own[(int)x[i + n] & 63];\n}}\n"
        )
    text = run_program("explain", str(tmp_path), "--ptx", "--arch", "sm_90").out
    # The costlier one, of doubles, comes first.
    second, first = text.split("pick  ")[1:]
    assert "/a.cu:" in first.splitlines()[0]
    assert re.search(r"ld\.local\.(f|b|u)32", first)
    assert not re.search(r"ld\.local\.(f|b|u)64", first)
    assert re.search(r"ld\.local\.(f|b|u)64", second)
    assert not re.search(r"ld\.local\.(f|b|u)32", second)


@pytest.mark.toolchain
def test_spills_come_with_the_peak_of_live_registers() -> None:
    text = run_program("explain", "kernels/thirty_doubles.cu").out
    peak = re.search(r"at most (\d+) are live at once", text)
    assert peak is not None
    assert 20 < int(peak.group(1)) <= 32
    assert "__launch_bounds__(1024)" in text


def test_a_failing_input_is_reported_with_its_message() -> None:
    finished = run_program("explain", "kernels/nothing.cu")
    assert finished.code == 3
    assert "does not exist" in finished.err


def test_rules_are_listed_and_shown() -> None:
    listed = run_program("rules").out.splitlines()
    assert [line.split()[0] for line in listed] == [rule.id for rule in RULES]
    page = run_program("rules", "dynamic-index")
    assert page.out.startswith("LM201 dynamic-index")
    assert run_program("rules", "lm201").out == page.out
    assert run_program("rules", "LM999").code == 2


def test_the_generated_pages_are_up_to_date() -> None:
    for rule in RULES:
        assert (ROOT / "docs" / "rules" / f"{rule.cause}.md").read_text() == page(rule)
    index = (ROOT / "docs" / "rules" / "README.md").read_text()
    assert all(f"{rule.cause}.md" in index for rule in RULES)


def test_a_glob_that_no_kernel_of_a_saved_report_matches_is_one_error(tmp_path: Path) -> None:
    names = ("blur", "histogram", "transpose")
    saved = tmp_path / "saved.json"
    saved.write_text(render_json(report_of(*map(facts, names))))
    missing = run_program("explain", f"{saved}::histgram*")
    assert (missing.code, missing.out) == (3, "")
    error, hint = missing.err.splitlines()
    assert error == f"error: [explain] {saved} has no kernel that matches histgram*"
    assert "the nearest names are histogram, " in hint


@pytest.mark.toolchain
def test_a_filter_that_no_kernel_matches_is_told() -> None:
    missing = run_program(
        "explain", str(ROOT / "kernels" / "histogram.cu"), "--kernel", "histogran"
    )
    assert (missing.code, missing.out) == (0, "")
    assert "no kernel matches histogran; the nearest names are histogram_" in missing.err


def explained(shown: Report, width: int = 100) -> str:
    """The explanation of a report's only kernel."""
    (only,) = shown.units
    (group,) = templates([(only, kernel) for kernel in only.kernels])
    return Explainer(color=False, width=width, left_out=shown.left_out).explain_group(group)


def shown_kernel(made: KernelFacts) -> Report:
    return report(KernelReport.of(made, judge(made), find(made)))


def test_a_saved_report_explains_the_lines_that_use_local_memory() -> None:
    place = SourceLocation("a.cu", 7)
    made = kernel_with("dynamic-index", depth=1)
    sites = SiteClass(2, 1, 8, 4)
    made = replace(
        made,
        lines=(LineUse.of(place, "local-object", sites),),
        causes=(CauseShare.of("dynamic-index", (0, made.objects[0]), 80, sites),),
    )
    kept = "`scan --format json --accesses` saves them"
    saved = explained(parse_report(render_json(shown_kernel(made))))
    assert "line 7: 2 loads and 1 store: dynamic-index of table" in saved
    assert kept in saved
    whole = explained(parse_report(render_json(shown_kernel(made), with_accesses=True)))
    assert "dynamic-index of table, in a loop" in whole
    assert kept not in whole


def test_a_line_names_a_cause_only_where_one_alone_can_be_meant() -> None:
    def noted(kind: SiteKind, *causes: Cause) -> str:
        sites = SiteClass(1, 0, 4, 0)
        shares = tuple(CauseShare.of(cause, None, 0, sites) for cause in causes)
        use = LineUse.of(SourceLocation("a.cu", 20), kind, sites)
        text = explained(shown_kernel(facts(lines=(use,), causes=shares)))
        lead = "line 20: "
        return next(line.partition(lead)[2] for line in text.splitlines() if lead in line)

    assert noted("spill", "register-spill", "alloca") == "1 load: register-spill"
    assert noted("local-object", "alloca", "dynamic-index") == "1 load: variables in local memory"
    assert noted("unknown", "alloca") == "1 load: owner unknown"


@pytest.mark.parametrize("width", [80, 100])
def test_long_names_are_shortened_to_the_width_and_stay_apart_from_figures(width: int) -> None:
    scopes = "cub::" + "detail::" * 9
    long = f"{scopes}Kernel<{', '.join(f'policy_{n}' for n in range(100))}>"
    settings = local_object("param-copy", name="settings.needs_fixing", type=long)
    made = changed(
        kernel_with("param-copy"),
        demangled=f"void {long}(int)",
        ptxas=PtxasFacts(32, 80, 0, 0, 80, None, 0),
        frame=(FrameRange.of(0, 80, "object", "param-copy", (0, settings)),),
        objects=(settings,),
    )
    text = explained(report(KernelReport.of(made, judge(made))), width)
    lines = text.splitlines()
    assert lines[0].startswith("cub::…::Kernel<policy_0, ")
    assert lines[0].endswith(">  a.cu:3  sm_90")
    assert max(map(len, lines)) <= width
    words = [line for line in lines if line.startswith("    word ")]
    assert [line.split(")")[1].split()[:2] for line in words] == [
        ["0", "4"],
        ["128", "132"],
        ["256", "260"],
    ]
    assert all(re.search(r"\)  +\d", line) for line in words)


@pytest.mark.parametrize(
    ("uniformity", "kinds", "is_certain"),
    [
        ("lane-varying", ("thread-id", "block-id"), True),
        ("lane-varying", ("thread-id", "parameter"), False),
        ("lane-varying", ("thread-id", "other"), False),
        ("lane-varying", ("loop-counter",), False),
        ("data-dependent", ("thread-id", "memory"), False),
        ("uniform", ("parameter",), True),
    ],
)
def test_lanes_differ_for_certain_only_by_the_threads_own_place(
    uniformity: Uniformity,
    kinds: tuple[SourceKind, ...],
    is_certain: bool,
    snapshot: SnapshotAssertion,
) -> None:
    sources = tuple(IndexSource(kind, None, None, None) for kind in kinds)
    index = IndexFacts("i", sources, uniformity, None)
    text = explained(shown_kernel(kernel_with("dynamic-index", index=index)))
    said = text.partition("\n   at a.cu:7\n")[2].partition("\n\n")[0]
    assert (" may " in said) != is_certain
    assert said == snapshot


def test_an_index_that_is_less_uniform_than_the_quoted_one_is_said(
    snapshot: SnapshotAssertion,
) -> None:
    quoted, other = IndexSource("parameter", "n", 0), IndexSource("memory", "p", 1)
    index = IndexFacts("n", (quoted,), "uniform", None, None, (other,), "data-dependent")
    text = " ".join(explained(shown_kernel(kernel_with("dynamic-index", index=index))).split())
    assert text == snapshot


def test_the_values_of_calls_are_no_saved_registers() -> None:
    (kernel,) = report_of(facts("k")).units[0].kernels
    causes: tuple[Cause, ...] = ("callee-save", "call-frame")
    parts = (FrameRange.of(0, 8, "saved registers", cause, None) for cause in causes)
    shown = [frame_label(kernel, part) for part in parts]
    assert shown == ["saved registers", "values passed in calls"]
