"""Tables of text: aligned, and broken within a terminal's width."""

from __future__ import annotations

import pytest

from lmemscope.exporters.text_table import broken, padded


def shown(*cells: str, widths: tuple[int, ...], right: tuple[int, ...] = ()) -> list[str]:
    """The lines of one row, below heads of one letter."""
    row = [[(cell, "")] for cell in cells]
    lines = broken("abc"[: len(cells)], [row], widths, right, color=False)
    return [line.text for line in lines[2:]]


def test_cells_are_as_wide_as_their_column_and_the_last_one_is_not() -> None:
    rows = [["name", "size", "said"], ["k", "128", "a"]]
    assert ["  ".join(cells) for cells in padded(rows, {1})] == [
        "name  size  said",
        "k      128  a",
    ]
    assert padded([["a", "b"], ["aa", "bb"]], {1}) == [["a ", " b"], ["aa", "bb"]]
    assert padded([]) == []


def test_one_very_long_cell_does_not_widen_the_other_rows() -> None:
    short, long, other = padded([["k", "1"], ["k" * 3000, "1"], ["kernel", "1"]])
    assert len(short[0]) == len(other[0]) < 200
    assert long[0] == "k" * 3000


def test_an_ideograph_takes_two_columns() -> None:
    assert padded([["数据", "x"], ["abcde", "y"]])[0] == ["数据 ", "x"]
    assert shown("数据数据", "x", widths=(4, 1)) == ["数据   x", "数据"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["one two", "three"]),
        ("onetwothreefour", ["onetwoth", "reefour"]),
        ("a onetwothreefour", ["a", "onetwoth", "reefour"]),
        ("onetwothree a", ["onetwoth", "ree a"]),
        ("", [""]),
        ("a  b", ["a  b"]),
    ],
)
def test_a_cell_is_broken_between_words_and_within_long_ones(text: str, lines: list[str]) -> None:
    assert [one.rstrip() for one in shown(text, widths=(8,))] == lines


def test_a_row_is_as_high_as_its_highest_cell_and_ends_with_its_text() -> None:
    assert shown("ab cd", "7", "x y z", widths=(2, 3, 3), right=(1,)) == [
        "ab     7   x y",
        "cd         z",
    ]
    assert shown("ab cd", "7", "x", widths=(2, 3, 3), right=(1,)) == ["ab     7   x", "cd"]


def test_styles_are_of_the_text_alone() -> None:
    row = [[("k", ""), ("file", "2")], [("said", "31")]]
    drawn = broken(("kernel", "verdict"), [row], (6, 7), (), color=True)
    assert [line.text for line in drawn] == [
        "\x1b[1mkernel   verdict\x1b[0m",
        "─" * 16,
        "k        \x1b[31msaid\x1b[0m",
        "\x1b[2mfile\x1b[0m",
    ]
