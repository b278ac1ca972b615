"""What a reader asks to see of a report, and what a table of many kernels shows by itself."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from lmemscope.analysis.selection import MANY, listed, selected, settled
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.terminal import render
from lmemscope.model import KernelReport, Report, View
from tests.support.builders import changed, judged, report


def named(kernel: KernelReport, demangled: str) -> KernelReport:
    facts = replace(kernel.facts, name=demangled, demangled=demangled)
    return changed(kernel, facts=facts)


def few() -> Report:
    return report(
        named(judged("a", "dynamic-index", bytes_=80), "pick(int*)"),
        named(judged("b", "printf-args", bytes_=8), "print(int*)"),
        named(judged("c"), "clean(int*)"),
    )


def many() -> Report:
    clean = (named(judged("c"), f"void clean<{n}>(int*)") for n in range(MANY))
    picking = (
        named(judged("p", "dynamic-index", bytes_=80), f"void ns::pick<{n}>(int*)")
        for n in range(3)
    )
    spilling = named(judged("s", "register-spill", bytes_=800), "void spill<1>(int*)")
    return report(*clean, *picking, spilling)


def names(shown: Report) -> list[str]:
    return [kernel.facts.demangled for unit in shown.units for kernel in unit.kernels]


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (View(), ["pick(int*)", "print(int*)", "clean(int*)"]),
        (View(cause=("printf-args",)), ["print(int*)"]),
        (View(cause=("printf-args", "dynamic-index")), ["pick(int*)", "print(int*)"]),
        (View(top=1), ["pick(int*)"]),
        (View(top=1, sort="name"), ["clean(int*)"]),
        (View(local_only=True, top=9), ["pick(int*)", "print(int*)"]),
        (View(cause=("alloca",)), []),
    ],
)
def test_kernels_are_left_out(view: View, expected: list[str]) -> None:
    shown = selected(few(), view)
    assert names(shown) == expected
    assert shown.filters == tuple(sorted(view.filters))
    assert len(shown.units) == len(few().units), "a unit stays, for what it does not know"


def test_order_and_folding_leave_nothing_out() -> None:
    assert selected(few(), View(sort="name", group=True, all=True)).filters == ()


def test_what_top_chose_is_shown_as_it_was_counted() -> None:
    view = settled(many(), View(top=2))
    chosen = selected(many(), view)
    found = listed(chosen, view)
    assert (len(found.shown), found.is_folded) == (2, False)


def test_top_counts_groups_where_there_are_many() -> None:
    assert len(names(selected(many(), View(top=2)))) == 4
    assert len(names(selected(many(), View(top=2, group=False)))) == 2


def test_many_kernels_are_folded_to_what_uses_local_memory() -> None:
    found = listed(many(), View())
    assert {(one.name, one.instances) for one in found.shown} == {("ns::pick", 3), ("spill", 1)}
    assert sum(len(entry.kernels) for entry in found.clean) == MANY
    assert found.is_folded
    found = listed(many(), View(all=True))
    assert (len(found.shown), found.clean) == (MANY + 4, ())
    found = listed(few(), View())
    assert (len(found.shown), found.clean) == (3, ())


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        (None, "spill"),
        ("worst", "spill"),
        ("bytes", "spill"),
        ("name", "ns::pick"),
        ("file", "spill"),
    ],
)
def test_orders(sort: str | None, first: str) -> None:
    found = listed(many(), View(sort=sort))  # type: ignore[arg-type]
    assert found.shown[0].name == first


def test_the_table_says_what_it_does_not_show() -> None:
    text = render(many(), Presentation(width=100))
    assert "ns::pick ×3" in text
    assert f"{MANY} kernels without local memory hidden (--all shows them)" in text
    assert "cause" in text.splitlines()[0]
    assert "clean<7>" in render(many(), Presentation(width=100, view=View(all=True)))
    assert "Filtered: --top 1." in render(
        selected(many(), View(top=1)), Presentation(width=100, view=View(top=1))
    )


@pytest.mark.parametrize("width", [80, 100, 140])
def test_a_folded_table_is_one_screen(width: int) -> None:
    kernels = (
        named(
            judged("p", "dynamic-index", bytes_=80 + n, object_=f"a_rather_long_name_{n}"),
            f"void project::detail::kernel_number_{n}<{n}, float>(int*)",
        )
        for n in range(60)
    )
    text = render(report(*kernels, *many().units[0].kernels), Presentation(width=width))
    assert text.count("\n") <= 40
    assert max(map(len, text.splitlines())) <= width
    left = next(line for line in text.splitlines() if "more rows" in line)
    assert 5 <= 62 - int(left.split()[0]) <= 40
    assert "--top 62" in left


def test_names_that_would_read_alike_are_not_cut() -> None:
    long = "void project::detail::a_kernel_with_a_long_name<float, {}, 128, 64>(int*)"
    alike = report(*(named(judged("k"), long.format(n * 1000)) for n in range(1, 3)))
    text = render(alike, Presentation(width=80))
    assert "1000" in text
    assert "2000" in text


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_line_is_wider_and_no_figure_is_cut(width: int) -> None:
    archs = [f"sm_{number}" for number in (75, 80, 86, 89, 90, 100)]
    wide = "void project::detail::a_kernel_with_a_long_name<float, 128, 64>(int*)"
    units = [
        replace(report(named(judged("k", "dynamic-index"), wide)).units[0], arch=arch)
        for arch in archs
    ]
    whole = report(named(judged("other", "register-spill"), "void spilling<4096>(int*)"))
    whole = replace(whole, units=(*whole.units, *units))
    for view in (View(), View(group=True), View(sort="frame", all=True)):
        text = render(whole, Presentation(width=width, view=view))
        assert max(map(len, text.splitlines())) <= width, view
        assert "verdict" in text
        start = next(line.index("verdict") for line in text.splitlines() if "verdict" in line)
        verdicts = " ".join(line[start:].strip() for line in text.splitlines())
        assert "table 80 B" in verdicts, "the size of the array is whole"


def test_nothing_left_is_no_table(snapshot: SnapshotAssertion) -> None:
    nothing = selected(few(), View(cause=("alloca",)))
    text = render(nothing, Presentation(width=80, view=View(cause=("alloca",))))
    assert text == snapshot


def test_instances_with_other_causes_are_told_apart() -> None:
    alike = (named(judged("p", "dynamic-index"), f"void pick<{n}>(int*)") for n in (1, 2))
    other = (named(judged("p", "volatile"), f"void pick<{n}>(int*)") for n in (3, 4))
    text = render(report(*alike, *other), Presentation(width=100, view=View(group=True)))
    assert "pick<1> ×2" in text
    assert "pick<3> ×2" in text


def test_a_pipe_gets_every_row_and_whole_names() -> None:
    name = "project::" + "very_" * 40 + "long"
    text = render(report(named(judged("k"), f"{name}(int*)")), Presentation(width=None))
    assert name in text
    assert render(many(), Presentation(width=None)).count("×") == 1
