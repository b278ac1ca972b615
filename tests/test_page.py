"""What is on the page and in Markdown, and how much of it, whatever the report holds."""

from __future__ import annotations

import dataclasses
import re

import pytest

from lmemscope.analysis.groups import groups
from lmemscope.exporters import layout, render
from lmemscope.exporters.page.boxes import Box, squarified
from lmemscope.model import (
    CauseShare,
    Failure,
    Gap,
    KernelReport,
    LineUse,
    PtxasFacts,
    Quotes,
    Report,
    SiteClass,
    SourceLine,
    SourceLocation,
    UnitReport,
)
from lmemscope.rules.verdict import judge
from tests.builders import judged, report


def page_of(made: Report) -> str:
    return render(made, "html", color=False, width=None, verbose=True)


def markdown_of(made: Report) -> str:
    return render(made, "markdown", color=False, width=None, verbose=True)


def using(name: str, bytes_: int = 4) -> KernelReport:
    """A kernel whose dynamically indexed table has so many bytes at its sites."""
    made = judged(name, "dynamic-index")
    sites = SiteClass(1, 0, bytes_, 0)
    share = CauseShare("dynamic-index", 0, 80, sites)
    facts = dataclasses.replace(
        made.facts, causes=(share,), sass=sites, ptxas=PtxasFacts(32, 80, 0, 0, 80, None, 0)
    )
    return KernelReport(facts, judge(facts), made.findings)


def many(count: int, clean: int) -> Report:
    """So many kernels with local memory, no two of one template, and so many clean ones."""
    kernels = [using(f"kernel_{n}") for n in range(count)]
    return report(*kernels, *(judged(f"void clean_{n % 50}<{n}>(int)") for n in range(clean)))


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


def test_the_map_holds_every_byte_once() -> None:
    made = report(*(using(f"kernel_{n}", 8 + n) for n in range(40)))
    page = page_of(made)
    total = sum(8 + n for n in range(40))
    for name in ("wide-map", "narrow-map"):
        found = re.search(rf'<svg[^>]*class="{name}".*?</svg>', page, re.DOTALL)
        assert found is not None
        sizes = re.findall(r"<title>[^<]*, (\d+) bytes</title>", found[0])
        assert sum(map(int, sizes)) == total
        assert f"{total} bytes at instruction sites" in found[0]


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
    facts = dataclasses.replace(
        kernel.facts, lines=(LineUse(place, "local-object", SiteClass(1, 0, 4, 0)),)
    )
    quotes = Quotes(sass=("0x0010  LDL R1,[R2]", "… 3 more"), sass_at=(place, None))
    made = report(dataclasses.replace(kernel, facts=facts, quotes=quotes))
    unit = dataclasses.replace(made.units[0], source_lines=(SourceLine("a.cu", 7, "x = t[i];"),))
    page = page_of(dataclasses.replace(made, units=(unit,)))
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
        UnitReport("b.cu", "nvrtc", arch, (), dataclasses.replace(failure, command=arch))
        for arch in ("sm_80", "sm_90")
    )
    both = dataclasses.replace(made, units=(*made.units, *failed))
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
    three = [dataclasses.replace(made.units[0], input=f"{name}.cu") for name in "abc"]
    several = dataclasses.replace(made, units=tuple(three))
    said = " and 2 more: what the linker adds is not known (link)"
    assert f"<li><code>a.cu</code>{said}</li>" in page_of(several)
    assert f"- `a.cu`{said}" in markdown_of(several)
