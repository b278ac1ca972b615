"""The comment below a pull request: what it says first, what it says once, what it leaves out."""

from __future__ import annotations

import re
from datetime import date

from msgspec.structs import replace

from lmemscope.exporters import render
from lmemscope.gate import baseline
from lmemscope.gate.compare import compare
from lmemscope.gate.difference import difference
from lmemscope.model import Advice, Checked, GateResult, Limit, Policy, Report
from tests.support.builders import judged, report

MARK = "<!-- lmemscope -->"
LIMIT = 65_536
"""Characters that GitHub takes."""


def answer(given: Report, known: Report | None = None, policy: Policy | None = None) -> GateResult:
    before = baseline.from_report(known) if known is not None else None
    return compare(given, policy or Policy(), before, today=date(2026, 11, 29))


def comment(given: Report, known: Report | None = None, policy: Policy | None = None) -> str:
    made = render(Checked(given, answer(given, known, policy)), "pr-comment")
    assert isinstance(made, str)
    return made


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| **")]


def on(*archs: str) -> Report:
    """One kernel with local memory on several architectures."""
    each = [report(judged("k", "dynamic-index"), arch=arch) for arch in archs]
    return replace(each[0], units=tuple(unit for one in each for unit in one.units))


def test_a_bot_finds_its_comment_by_the_first_line() -> None:
    for given in (report(), report(judged("k", "dynamic-index"))):
        assert comment(given).splitlines()[0] == MARK
    same = difference(report(), report())
    assert str(render(same, "pr-comment")).splitlines()[0] == MARK


def test_a_failure_on_several_architectures_is_one_row_that_names_them() -> None:
    (row,) = rows(comment(on("sm_80", "sm_90")))
    assert row.startswith("| **new** | `k` |")
    assert row.endswith("| sm_80, sm_90 |")
    assert "`a.cu:7`" in row


def test_a_kernel_of_a_header_is_one_row_for_the_files_that_include_it() -> None:
    # Both say the line of the same file.
    given = report(judged("k", "dynamic-index"))
    units = tuple(replace(given.units[0], input=name) for name in ("a.cu", "b.cu"))
    (row,) = rows(comment(replace(given, units=units)))
    assert "`a.cu:7`<br>in `a.cu` and 1 more" in row


def test_a_kernel_with_other_figures_on_another_architecture_counts_once() -> None:
    sides = [
        [
            report(judged("k", *causes, bytes_=size), arch=arch)
            for arch, size in (("sm_80", 16), ("sm_90", 32))
        ]
        for causes in ((), ("dynamic-index",))
    ]
    old, new = (replace(two[0], units=tuple(u for one in two for u in one.units)) for two in sides)
    compared = difference(old, new)
    (unlike, same) = compared.kernels
    compared = replace(compared, kernels=(replace(unlike, figures=(("registers", 1, 2),)), same))
    text = str(render(compared, "pr-comment"))
    assert len(rows(text)) == 2
    assert "1 kernel new, worse or changed; 0 better or gone" in text


def test_what_is_known_is_in_no_row_and_what_grew_says_what_it_was() -> None:
    known = report(judged("k", "dynamic-index", bytes_=80))
    assert rows(comment(known, known)) == []
    grown = report(judged("k", "dynamic-index", bytes_=96), judged("z", "dynamic-index"))
    first, second = rows(comment(grown, known))
    assert first.startswith("| **worse** | `k` |")
    assert "96 bytes" in first
    assert "at most 80 bytes" in first
    assert second.startswith("| **new** | `z` |")


def test_what_became_smaller_or_is_gone_is_folded_away() -> None:
    known = report(judged("k", "dynamic-index", bytes_=80), judged("z", "dynamic-index"))
    text = comment(report(judged("k", "dynamic-index", bytes_=48), judged("z")), known)
    assert rows(text) == []
    assert "<summary>2 better or gone</summary>" in text
    assert "80 B → 48 B" in text
    assert "80 B → gone" in text


def test_each_finding_says_one_thing_to_try() -> None:
    kernel = judged("k", "dynamic-index")
    (finding,) = kernel.findings
    several = replace(finding, advice=(Advice("the first"), Advice("the second")))
    given = report(replace(kernel, findings=(several,)))
    text = comment(given)
    assert "the first" in text
    assert "the second" not in text
    assert text.count("**Try:**") == 1
    # A limit that the same finding is behind adds a row, and no second explanation.
    both = comment(given, policy=Policy(limits=(Limit("k", max_sites=0),)))
    assert len(rows(both)) >= 1
    assert both.count("**Try:**") == 1


def test_it_is_short_enough_and_every_fold_is_closed() -> None:
    many = report(*(judged(f"kernel_{i}", "dynamic-index") for i in range(400)))
    text = comment(many)
    assert len(text) <= LIMIT
    assert text.count("<details>") == text.count("</details>")
    assert len(rows(text)) < 400
    (left,) = re.findall(r"… and (\d+) more", text)
    assert len(rows(text)) + int(left) == 400


def test_a_name_mentions_nobody_and_ends_no_cell() -> None:
    text = comment(report(judged("f<`@you|#12`>", "dynamic-index")))
    (row,) = rows(text)
    assert "@you" not in row
    assert row.count(" | ") == 4


def test_a_difference_names_bad_rows_before_good_ones_and_merges_architectures() -> None:
    one, two = (
        replace(base, units=tuple(unit for r in (base, other) for unit in r.units))
        for base, other in (
            (
                report(judged("k"), judged("z", "volatile"), arch="sm_80"),
                report(judged("k"), judged("z", "volatile"), arch="sm_90"),
            ),
            (
                report(judged("k", "dynamic-index"), judged("z"), arch="sm_80"),
                report(judged("k", "dynamic-index"), judged("z"), arch="sm_90"),
            ),
        )
    )
    text = str(render(difference(one, two), "pr-comment"))
    assert "1 kernel new, worse or changed; 1 better or gone" in text
    worse, better = rows(text)
    assert worse.startswith("| **worse** | `k`")
    assert worse.endswith("| sm_80, sm_90 |")
    assert better.startswith("| **better** | `z`")
    assert text.index(worse) < text.index("<details>") < text.index(better)
