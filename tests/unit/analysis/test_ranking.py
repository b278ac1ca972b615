"""The order of kernels in every format: by what the local memory of one launch costs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.analysis.groups import groups, templates
from lmemscope.analysis.ranking import cost_of, is_negligible, worst_first
from lmemscope.analysis.selection import listed, selected
from lmemscope.exporters.explanation import Explainer
from lmemscope.exporters.explanations import explanations
from lmemscope.exporters.formats import Presentation, render
from lmemscope.exporters.json import parse_report, render_json
from lmemscope.exporters.terminal import render as render_table
from lmemscope.model import (
    Cause,
    CauseShare,
    KernelReport,
    PtxasFacts,
    PtxFacts,
    Report,
    SassSites,
    SiteClass,
    SourceLocation,
    View,
)
from lmemscope.rules.verdict import judge
from tests.support.builders import changed, facts, find, kernel_with, local_object, report
from tests.support.program import run_program


def kernel(
    name: str,
    cost: float | None,
    cause: Cause = "dynamic-index",
    *,
    sites: int = 1,
    size: int = 80,
    file: str = "a.cu",
) -> KernelReport:
    """A kernel with one cause of a modelled cost."""
    share = SassSites(sites, 0, 4 * sites, 0)
    with_object = cause not in ("register-spill", "printf-args")
    base = kernel_with(cause, with_object=with_object)
    table = (0, base.objects[0]) if with_object else None
    made = changed(
        base,
        name=name,
        demangled=f"void {name}(float*)",
        location=SourceLocation(file, 3),
        sass=share,
        causes=(CauseShare.of(cause, table, size, share, cost=cost),),
        objects=tuple(replace(one, size=size) for one in base.objects),
        ptxas=PtxasFacts(32, size, 0, 0, size, None, 0),
        ptx=PtxFacts(size, 1, 1, 0, 0),
    )
    return KernelReport.of(made, judge(made), find(made))


def plain(name: str, cost: float) -> KernelReport:
    """A kernel that is no template."""
    made = kernel(name, cost)
    named = replace(made.facts, demangled=f"{name}(float*)")
    return changed(made, facts=named)


def clean(count: int) -> list[KernelReport]:
    made = (facts(f"clean_{n}") for n in range(count))
    return [KernelReport.of(one, judge(one)) for one in made]


def a_project() -> Report:
    """A few costly kernels beside hundreds of instances that only print, and cheap ones."""
    return report(
        *(kernel(f"stub<{n}>", 500.0, "printf-args", sites=40) for n in range(300)),
        *(kernel(f"cheap<{n}>", 8.0, sites=30) for n in range(100)),
        *(kernel(f"costly<{n}>", 900.0 + n, size=64 + 64 * n) for n in range(3)),
        kernel("spills_once", 20.0, "register-spill"),
        *clean(50),
    )


def test_a_kernels_cost_ranks_and_no_sum_over_instances() -> None:
    found = [one.name for one in groups(a_project()) if one.uses_memory]
    assert found == ["costly", "spills_once", "cheap", "stub"]


def test_messages_cost_nothing_whatever_their_sites() -> None:
    printing = kernel("stub", 500.0, "printf-args", sites=40)
    assert cost_of(printing.facts) == 0
    assert is_negligible(printing)
    assert not is_negligible(kernel("k", 0.0, "math-slow-path"))
    both = replace(
        printing.facts,
        causes=(*printing.facts.causes, CauseShare.of("alloca", None, 0, SiteClass(), cost=1.0)),
    )
    assert not is_negligible(KernelReport.of(both, judge(both)))


def test_where_no_model_says_a_cost_each_access_counts_once() -> None:
    unknown = kernel("unknown", None, sites=1000)
    known = kernel("known", 1.0)
    assert unknown.facts.cost is None
    (unit,) = report(unknown, known).units
    order = worst_first([(unit, known), (unit, unknown)])
    assert [one.facts.name for _, one in order] == ["unknown", "known"]


def test_what_a_build_log_says_is_ranked_by_it() -> None:
    def logged(name: str, frame: int, spills: int) -> KernelReport:
        ptxas = PtxasFacts(32, frame, spills, spills, frame, None, 0)
        made = facts(name, sass=None, sites=None, own_sites=None, cubin=None, ptx=None, ptxas=ptxas)
        return KernelReport.of(made, judge(made))

    made = report(logged("small", 8, 8), logged("large", 800, 0), logged("none", 0, 0))
    assert [one.name for one in groups(made)] == ["large", "small", "none"]


@pytest.mark.parametrize("format_name", ["table", "markdown", "html"])
def test_every_format_has_the_same_order(format_name: str) -> None:
    text = render(a_project(), format_name, width=100)
    begin = {"table": "verdict", "markdown": "|---|", "html": 'class="rows"'}[format_name]
    table = text[text.index(begin) :]
    places = [table.index(name) for name in ("costly", "spills_once", "cheap")]
    assert places == sorted(places)
    assert "300 kernels with only printf/assert argument buffers" in text


def test_the_cost_is_in_the_document_and_read_again() -> None:
    made = a_project()
    again = parse_report(render_json(made))
    assert [one.name for one in groups(again)] == [one.name for one in groups(made)]
    assert [k.facts.cost for k in again.units[0].kernels] == [
        k.facts.cost for k in made.units[0].kernels
    ]


def test_what_costs_nothing_is_one_line() -> None:
    found = listed(a_project(), View())
    assert [one.name for one in found.shown] == ["costly", "spills_once", "cheap"]
    assert [one.name for one in found.negligible] == ["stub"]
    text = render_table(a_project(), Presentation(width=100))
    assert "300 kernels with only printf/assert argument buffers hidden (--all shows them)" in text
    assert "stub" not in text.split("verdict")[1]


def test_what_costs_nothing_is_shown_where_it_is_asked_for() -> None:
    view = View(cause=("printf-args",))
    found = listed(selected(a_project(), view), view)
    assert [one.name for one in found.shown] == ["stub"]
    assert not found.negligible


def test_a_row_of_several_kernels_has_a_range_in_every_column() -> None:
    text = render_table(a_project(), Presentation(width=None))
    row = next(line for line in text.splitlines() if line.startswith("costly ×3"))
    cells = re.split(r"  +", row)
    titles = re.split(r"  +", next(one for one in text.splitlines() if one.startswith("kernel")))
    by_title = dict(zip(titles, cells, strict=False))
    assert (by_title["frame"], by_title["PTX .local"]) == ("64–192", "64–192")
    assert "table 64–192 B" in row


def test_no_figure_of_a_row_is_a_sum() -> None:
    (found,) = [one for one in groups(a_project()) if one.name == "cheap"]
    assert str(found.site_bytes) == "120"
    assert listed(a_project(), View(sort="bytes")).shown[0].name == "cheap"


def test_the_table_by_cause_names_the_worst_kernel_of_each() -> None:
    lines = render_table(a_project(), Presentation(width=100)).splitlines()
    assert lines[0].split() == ["cause", "kernels", "groups", "cost", "worst"]
    assert [line.split()[0] for line in lines[1:4]] == [
        "dynamic-index",
        "register-spill",
        "printf-args",
    ]
    assert lines[1].split()[-1] == "costly"


def following(text: str) -> list[str]:
    (line,) = [one for one in text.splitlines() if one.startswith("Next: ")]
    return shlex.split(line.removeprefix("Next: "))


@pytest.mark.parametrize("others", [0, 60])
def test_the_next_command_means_one_template(tmp_path: Path, others: int) -> None:
    saved = tmp_path / "saved.json"
    made = report(
        kernel("ns::pick<1>", 9.0),
        kernel("ns::pick<2>", 8.0),
        kernel("other::pick", 1.0),
        kernel("pick_more", 2.0),
        *clean(others),
    )
    saved.write_text(render_json(made))
    program, *words = following(run_program("scan", str(saved)).out)
    assert program == "lmemscope"
    text = run_program(*words).out
    assert text.startswith("ns::pick ×2")
    assert "other::pick" not in text
    assert "pick_more" not in text


def test_the_next_command_is_of_the_worst_row_whatever_the_order() -> None:
    made = report(plain("a_cheap", 1.0), plain("costly", 9.0))
    text = render_table(made, Presentation(width=100, view=View(sort="name")))
    assert following(text)[-1].endswith("::costly")


def test_nothing_to_explain_is_no_next_command() -> None:
    assert "Next:" not in render_table(report(*clean(2)), Presentation(width=100))


def explained(made: Report, most: int | None = None) -> list[str]:
    explainer = Explainer(color=False, width=100)
    return explanations(made, explainer, clean=False, most=most, width=100, path="build")


def test_instances_are_one_explanation() -> None:
    (text,) = explained(report(*(kernel(f"k<{n}>", float(n), size=16 * n) for n in range(1, 20))))
    assert text.startswith("k ×19")
    assert "stack frame of 16–304 bytes" in text
    assert text.count("LM201 dynamic-index") == 1
    assert "In all 19 instances" in text
    assert len(text.splitlines()) < 60


def test_what_only_some_instances_have_is_said_with_their_number() -> None:
    made = report(
        kernel("k<1>", 5.0), kernel("k<2>", 9.0), kernel("k<3>", 1.0, "register-spill", size=8)
    )
    (text,) = explained(made)
    assert "Shown below: k<2> on sm_90" in text
    assert "In 2 of 3 instances: <2>, <1>." in text
    assert "In 1 of 3 instances: <3>." in text


def test_background_comes_once() -> None:
    texts = explained(report(kernel("a", 9.0), kernel("b", 5.0), kernel("c", 1.0)))
    assert len(texts) == 3
    assert sum(text.count("Local memory is private") for text in texts) == 1
    assert sum(text.count("The hardware interleaves") for text in texts) == 1


def test_the_costliest_are_explained_and_the_others_listed() -> None:
    made = report(*(kernel(f"k_{n}", float(n)) for n in range(30)))
    *texts, last = explained(made, most=2)
    assert [text.split()[0] for text in texts] == ["k_29", "k_28"]
    assert "28 more templates" in last
    assert last.splitlines()[2].split()[0] == "k_27"
    assert len(last.splitlines()) < 30
    assert "'build::NAME'" in last


def test_the_line_to_look_at_comes_first_with_its_own_file() -> None:
    header = SourceLocation("include/inner.cuh", 12)
    made = kernel("k", 9.0)
    (finding,) = made.findings
    moved = replace(made, findings=(replace(finding, location=header),))
    (text,) = explained(report(moved))
    first = text.index("include/inner.cuh:12")
    assert first < text.index("Local memory is private")


def test_the_verdict_names_the_line_to_look_at_before_those_that_store() -> None:
    made = kernel_with("address-taken")
    culprit = SourceLocation("a.cu", 90)
    stored = replace(
        made,
        objects=(local_object("address-taken", escape=culprit),),
        accesses=tuple(
            replace(
                made.accesses[0],
                chain=(replace(made.accesses[0].chain[0], file="a.cu", line=line),),
            )
            for line in range(10, 20)
        ),
    )
    assert "lines 90, 10, 11, …" in judge(stored).text


def test_one_header_is_one_file_however_it_is_spelled() -> None:
    made = report(
        kernel("k<1>", 9.0, file="src/inst/../k.cuh"), kernel("k<2>", 8.0, file="src/k.cuh")
    )
    (unit,) = made.units
    assert len(templates([(unit, one) for one in unit.kernels])) == 1


LOOPED = """
extern "C" __global__ void a_few_times(float *x, int i) {
  float a[64];
  for (int k = 0; k < 64; ++k) a[k] = x[k];
  for (int k = 0; k < 8; ++k) a[(i * k) & 63] += x[k];
  x[0] = a[i & 63];
}
extern "C" __global__ void often(float *x, int i) {
  float a[64];
  for (int k = 0; k < 64; ++k) a[k] = x[k];
  float s = 0;
  for (int k = 0; k < 1000; ++k) { a[(i + k) & 63] += s; s += a[(i * k) & 63]; }
  x[0] = s;
}
extern "C" __global__ void says(float *x) { if (x[0] > 1) printf("%f %f", x[1], x[2]); }
"""


@pytest.mark.toolchain
def test_loops_weigh_what_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(LOOPED)
    (tmp_path / "a.json").write_text(
        run_program("scan", "a.cu", "--arch", "sm_90", "--format", "json", cwd=tmp_path).out
    )
    document = run_program("scan", "a.json", "--format", "json", cwd=tmp_path).document
    costs = {one["name"]: one["cost"] for one in document["units"][0]["kernels"]}
    assert costs["often"] > 5 * costs["a_few_times"] > 0
    assert costs["says"] == 0
    text = run_program("scan", "a.json", cwd=tmp_path).out
    assert text.index("often") < text.index("a_few_times") < text.index("says")
