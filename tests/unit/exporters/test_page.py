"""What is on the page and in Markdown, and how much of it, whatever the report holds."""

from __future__ import annotations

import html
import json
import math
import re
from typing import get_args

import pytest
from msgspec.structs import replace

from lmemscope.analysis.groups import grouped, groups
from lmemscope.exporters import layout, render
from lmemscope.exporters.layout import names_of
from lmemscope.exporters.page.boxes import Box, squarified
from lmemscope.model import (
    VERDICT_KINDS,
    Cause,
    CauseShare,
    Failure,
    Gap,
    KernelReport,
    LineUse,
    Occupancy,
    PtxasFacts,
    Quotes,
    Report,
    SassSites,
    SiteClass,
    SourceLine,
    SourceLocation,
    UnitReport,
)
from lmemscope.rules.verdict import judge
from tests.support.builders import changed, judged, report
from tests.support.program import ROOT


def page_of(made: Report) -> str:
    return render(made, "html", color=False, width=None, verbose=True)


def markdown_of(made: Report) -> str:
    return render(made, "markdown", color=False, width=None, verbose=True)


def using(name: str, bytes_: int = 4) -> KernelReport:
    """A kernel whose dynamically indexed table has so many bytes at its sites."""
    made = judged(name, "dynamic-index")
    sites = SassSites(1, 0, bytes_, 0)
    share = CauseShare.of("dynamic-index", (0, made.facts.objects[0]), 80, sites)
    facts = changed(
        made.facts, causes=(share,), sass=sites, ptxas=PtxasFacts(32, 80, 0, 0, 80, None, 0)
    )
    return KernelReport.of(facts, judge(facts), made.findings)


def many(count: int, clean: int) -> Report:
    """So many kernels with local memory, no two of one template, and so many clean ones."""
    kernels = [using(f"kernel_{n}") for n in range(count)]
    return report(*kernels, *(judged(f"void clean_{n % 50}<{n}>(int)") for n in range(clean)))


@pytest.mark.parametrize("word", [*get_args(Cause), *(kind.name for kind in VERDICT_KINDS)])
def test_the_style_sheet_has_a_colour_for_each_cause_and_verdict(word: str) -> None:
    sheet = (ROOT / "lmemscope/exporters/page/style.css").read_text()
    if word in get_args(Cause):
        assert f".map rect.{word}{{fill:#" in sheet
        assert f".bar .{word}{{background:#" in sheet
    else:
        assert f"\n.{word}{{color:var(--" in sheet


def first_table(page: str) -> str:
    found = re.search(r'<table class="rows">.*?</table>', page, re.DOTALL)
    assert found is not None
    return found[0]


def test_the_verdict_is_the_second_column_and_clean_kernels_are_folded() -> None:
    page = page_of(report(using("k<1>"), using("k<2>", 16), judged("quiet")))
    table = first_table(page)
    assert re.findall(r"<button[^>]*>([^<]+)", table)[:2] == ["kernel", "verdict"]
    assert table.count("<tr") == 2, "the head, and one row for both instances"
    assert "×2" in table
    assert "quiet" not in table
    assert '<details class="quiet"><summary>1 kernel in 1 group</summary>' in page
    assert "quiet" in page
    assert "&lt;1&gt;" in page


def test_where_nothing_uses_local_memory_the_kernels_are_not_folded() -> None:
    page = page_of(report(judged("quiet")))
    assert '<details class="quiet" open>' in page
    assert "What uses local memory" not in page


def test_a_page_of_many_kernels_stays_small() -> None:
    page = page_of(many(300, 1200))
    assert len(page.encode()) < 5_000_000
    assert first_table(page).count("<tr") == 301
    assert page.count('class="card"') == 200
    assert "100 more groups in the table above" in page


def test_names_are_shortened_and_there_in_full() -> None:
    long = "cub::detail::segmented_radix_sort::DeviceSegmentedRadixSortKernel"
    full = f"void {long}<{', '.join(['std::integral_constant<int, 4>'] * 20)}>(int)"
    page = page_of(report(using(full)))
    assert "<b>cub::…::DeviceSegmentedRadixSortKernel</b>" in page
    assert full.replace("<", "&lt;").replace(">", "&gt;") in page


def test_the_map_holds_every_kernel_by_its_cost() -> None:
    made = report(*(using(f"kernel_{n}", 80 + n) for n in range(40)))
    page = page_of(made)
    total = sum(math.ceil(one.cost) for group in groups(made) for one in group.causes)
    for name in ("wide-map", "narrow-map"):
        found = re.search(rf'<svg[^>]*class="{name}".*?</svg>', page, re.DOTALL)
        assert found is not None
        sizes = re.findall(r"<title>[^<]*, (\d+) cycles</title>", found[0])
        assert sum(map(int, sizes)) == total
        assert f"a.cu {total}" in found[0]


@pytest.mark.parametrize("sizes", [[1], [6, 6, 4, 3, 2, 2, 1], [1000, 1], [5] * 30])
def test_boxes_are_as_large_as_their_sizes(sizes: list[int]) -> None:
    area = Box(10, 20, 600, 400)
    made = squarified(sizes, area)
    for size, box in zip(sizes, made, strict=True):
        assert box.width * box.height == pytest.approx(600 * 400 * size / sum(sizes))
        assert box.x >= 10 - 1e-6
        assert box.y >= 20 - 1e-6
        assert box.x + box.width <= 610 + 1e-6
        assert box.y + box.height <= 420 + 1e-6
    assert squarified([], area) == []


def test_machine_code_stands_beside_its_source_line() -> None:
    kernel = using("k")
    place = SourceLocation("a.cu", 7)
    facts = replace(kernel.facts, lines=(LineUse.of(place, "local-object", SiteClass(1, 0, 4, 0)),))
    quotes = Quotes(sass=("0x0010  LDL R1,[R2]", "… 3 more"), sass_at=(place, None))
    made = report(changed(kernel, facts=facts, quotes=quotes))
    unit = replace(made.units[0], source_lines=(SourceLine("a.cu", 7, "x = t[i];"),))
    page = page_of(replace(made, units=(unit,)))
    line = page.index("x = t[i];")
    code = page.index("0x0010  LDL R1,[R2]")
    assert line < code < page.index("elsewhere") < page.index("… 3 more")
    assert '<div class="src two">' in page
    assert '<div class="src two">' not in page_of(report(kernel))


def test_labels_tell_instances_apart() -> None:
    def labels(*names: str) -> set[str]:
        (group,) = groups(report(*map(judged, names)))
        return set(layout.labels(group))

    long = "ns::policy<float, int>"
    assert labels(f"k<{long}, 4, true>", f"k<{long}, 8, true>") == {"<…, 4, true>", "<…, 8, true>"}
    assert labels("box<int>::k<1>", "box<float>::k<1>") == {"box<int>::k<1>", "box<float>::k<1>"}
    assert labels("k<1>", "k<1, 2>") == {"k<1>", "k<1, 2>"}
    assert labels("plain") == {"plain"}


def test_markdown_shows_the_worst_groups_and_counts_the_rest() -> None:
    text = markdown_of(many(100, 1400))
    rows = [line for line in text.splitlines() if line.startswith("| 🟧")]
    assert len(rows) == 30
    assert "… and 70 more groups with local memory, in the HTML report." in text
    assert "1400 kernels without local memory" in text
    assert "… and 20 more groups, in the HTML report." in text
    assert len(text) < 65_000
    assert text.count("<details>") == text.count("</details>") == 31


def test_the_verdict_is_within_what_github_shows_of_a_table() -> None:
    name = "outer::middle::" + "n" * 70
    text = markdown_of(report(*(using(f"void {name}<{n}>(int)") for n in range(3))))
    head, _, row = [line for line in text.splitlines() if line.startswith("|")][:3]
    assert [cell.strip() for cell in head.split("|")][2:4] == ["kernel", "verdict"]
    assert "×3" in row
    lines = row.split("|")[2].split("<br>")
    assert max(map(len, lines)) <= 50
    assert re.sub(r"[` ]|<br>|×3", "", row.split("|")[2]).startswith("…::" + "n" * 70)
    assert "dynamic-index: table 80 B" in row.split("|")[3]


def test_what_fails_alike_for_two_architectures_is_said_once_and_its_log_folded() -> None:
    failure = Failure("compile", "refused", "mend it", None, "a.cu(1): error\n" * 50)
    made = report(using("k"), failure=None)
    failed = tuple(
        UnitReport(
            input="b.cu",
            frontend="nvrtc",
            arch=arch,
            options=(),
            failure=replace(failure, command=arch),
            gaps=(),
            kernels=(),
        )
        for arch in ("sm_80", "sm_90")
    )
    both = replace(made, units=(*made.units, *failed))
    page = page_of(both)
    assert page.count("[compile] refused") == 1
    assert "b.cu, sm_80, sm_90" in page
    assert "<summary>log</summary><pre>a.cu(1): error" in page
    text = markdown_of(both)
    assert text.count("refused") == 1
    assert text.count("a.cu(1): error") == 20
    assert "… 30 more lines" in text


def test_missing_evidence_names_an_input_and_counts_the_others() -> None:
    made = report(using("k"), gaps=(Gap("link", "what the linker adds is not known"),))
    three = [replace(made.units[0], input=f"{name}.cu") for name in "abc"]
    several = replace(made, units=tuple(three))
    said = " and 2 more: what the linker adds is not known (link)"
    assert f"<li><code>a.cu</code>{said}</li>" in page_of(several)
    assert f"- `a.cu`{said}" in markdown_of(several)


def caused(kernel: KernelReport, cause: Cause) -> KernelReport:
    """The kernel with its bytes put down to another cause, and to no variable."""
    share = replace(kernel.facts.causes[0], cause=cause, object=None, object_index=None)
    return changed(kernel, facts=replace(kernel.facts, causes=(share,)))


def cells_of(text: str) -> list[list[str]]:
    """Rows of the first table of a Markdown report."""
    table = text.partition("<details>")[0].splitlines()
    return [[cell.strip() for cell in line.split("|")[2:-1]] for line in table if "🟧" in line]


def test_groups_of_one_template_are_told_apart_by_the_worst_instance() -> None:
    long = "ns::policy<float, int>"
    one = [using(f"void k<{n}, true, {long}>(int)", 8 - n) for n in (1, 2)]
    two = [
        caused(using(f"void k<{n}, false, {long}>(int)", 40 - n), "unattributed") for n in (1, 2, 4)
    ]
    made = report(*one, *two, using("void other<1>(int)"), using("void other<2>(int)"))
    assert names_of(groups(made)) == ["k<1, false, …> ×3", "k<1, true, …> ×2", "other ×2"]
    page = page_of(made)
    assert page.count("<b>k&lt;1, false, …&gt;</b>") == 2, "its row and its section"
    names = [row[0].partition("<br>")[0] for row in cells_of(markdown_of(made))]
    assert names == ["`k<1, false, …>` ×3", "`k<1, true, …>` ×2", "`other` ×2"]


def routes(made: Report) -> Report:
    """The same unit by NVRTC and by nvcc."""
    (unit,) = made.units
    return replace(made, units=(unit, replace(unit, frontend="nvcc")))


def test_the_route_is_named_where_it_alone_differs() -> None:
    both = routes(report(using("k")))
    (group,) = groups(both)
    assert names_of([group]) == ["k"]
    assert layout.labels(group) == ["k (nvrtc)", "k (nvcc)"]
    apart = [one for row in group.kernels for one in grouped([row])]
    assert names_of(apart) == ["k (nvrtc)", "k (nvcc)"]


def test_the_program_of_a_file_stays_in_brackets() -> None:
    kernel = using("k")
    placed = replace(kernel.facts, location=SourceLocation("all.py", 3))
    made = report(changed(kernel, facts=placed))
    unit = replace(made.units[0], input="all.py[medians]")
    named = replace(made, units=(unit,))
    assert '<small title="all.py[medians]">all.py[medians]</small>' in page_of(named)
    assert '<code title="all.py[medians]:3">' in page_of(named)
    (row,) = cells_of(markdown_of(named))
    assert row[0] == "`k`<br>`all.py[medians]:3`"
    other = replace(unit, input="all.py[ranks]")
    (group,) = groups(replace(made, units=(unit, other)))
    assert layout.file_of(group) == "all.py[medians] and 1 more"


def test_bars_and_chips_count_kernels_in_one_order() -> None:
    spills = caused(using("s", 400), "register-spill")
    made = report(using("k<1>"), using("k<2>"), spills, judged("quiet"))
    older = replace(made.units[0], arch="sm_75")
    newer = replace(made.units[0], arch="sm_100")
    page = page_of(replace(made, units=(newer, older)))
    assert "; sm_75, sm_100. " in page
    table = re.search(r'<table class="causes">.*?</table>', page, re.DOTALL)
    assert table is not None
    bars = re.findall(r"<tr>\s*<td>([\w-]+)</td>.*?(\d+) kernels?</td>", table[0], re.DOTALL)
    assert bars == [("register-spill", "1"), ("dynamic-index", "2")]
    chips = re.search(r'data-causes="([^"]*)"', page)
    assert chips is not None
    assert json.loads(html.unescape(chips[1])) == [[cause, f"({number})"] for cause, number in bars]
    assert "<summary>1 kernel in 1 group</summary>" in page
    assert "<summary>1 kernel without local memory</summary>" in markdown_of(made)


def test_the_filter_is_given_variables_and_causes() -> None:
    row = re.search(r"<tr [^>]*>", first_table(page_of(report(using("k")))))
    assert row is not None
    assert 'data-c="dynamic-index" data-o="table"' in row[0]


def test_advice_that_two_findings_share_is_said_once() -> None:
    once = using("k")
    (finding,) = once.findings
    again = replace(finding, object="second", message="`second` too")
    twice = replace(once, findings=(finding, again))
    advice = finding.advice[0].text.partition("`")[0]
    for render_ in (page_of, markdown_of):
        first, second = render_(report(once)), render_(report(twice))
        assert first.lower().count("as above") == 0
        assert second.lower().count("as above") == 1
        assert second.count(advice) == first.count(advice) > 0


def test_what_is_too_small_for_a_name_in_the_map_is_listed() -> None:
    page = page_of(report(using("large", 5000), using("tiny", 1)))
    for name in ("wide-map", "narrow-map", "print-map"):
        assert f'<p class="{name} dim">Too small for a name: tiny 1.</p>' in page


def test_paper_has_a_map_of_its_own_width() -> None:
    page = page_of(report(using("a"), using("b")))
    printed = page.partition("@media print{")[2]
    assert ".map .wide-map{display:none}.map .print-map{display:block}" in printed
    assert "@media(max-width:52rem)" not in page, "paper is no narrow screen"


def test_a_verdict_in_markdown_is_cut_between_words() -> None:
    kernel = using("k")
    text = "dynamic-index: " + ", ".join(str(number) for number in range(1000, 1100))
    cut = replace(kernel, verdict=replace(kernel.verdict, text=text))
    (row,) = cells_of(markdown_of(report(cut)))
    assert re.fullmatch(r"dynamic-index: (\d{4}, )+…", row[1])
    assert 90 < len(row[1]) <= 110
    assert row[2:] == ["?", "80", "1/0"]


def test_tables_have_occupancy_where_it_is_known() -> None:
    def cells(*kernels: KernelReport) -> list[str]:
        return re.findall(r'data-l="occupancy">([^<]*)<', page_of(report(*kernels)))

    def held(share: float, kind: str = "entry") -> KernelReport:
        made = using("k")
        resident = Occupancy(share, 32, 4, 256, "launch", ("registers",))
        facts = changed(made.facts, kind=kind, occupancy=resident if share else None)
        return KernelReport.of(facts, judge(facts), made.findings)

    assert set(cells(held(0.5))) == {"50%"}
    assert set(cells(held(0.0))) == {"?"}
    assert set(cells(held(0.0, "function"))) == {"–"}
