"""Which of a line's subscripts an access may be, where the loop around them is written out."""

from __future__ import annotations

import pytest

from lmemscope.analysis.counted import Turns, in_turn, running
from lmemscope.analysis.ptx.leaves import Leaf
from lmemscope.formats.statements import Subscript
from lmemscope.model import SourceText

DATA = Leaf("memory", "in")
COUNTED = Leaf("loop-counter", None, constant_trip=True)
OPEN = Leaf("loop-counter", None, constant_trip=False)


@pytest.mark.parametrize(
    ("head", "leaves", "kept"),
    [
        # Without a counter among its parts, an index is none of a counter alone.
        ("for (int i = 0; i < m / 2; ++i)", (DATA,), ["m - 1 - i"]),
        ("for (int i = 0; i < 8; ++i)", (DATA,), ["m - 1 - i"]),
        ("for (int i = k; i < m; ++i)", (DATA,), ["i", "i + 1", "m - 1 - i"]),
        # The counter of a loop that is not written out is part of all of them.
        ("for (int i = 0; i < m / 2; ++i)", (DATA, OPEN), ["i", "i + 1", "m - 1 - i"]),
        ("for (int i = 0; i < 8; ++i)", (DATA, OPEN), ["m - 1 - i"]),
        ("for (int i = 0; i < 8; ++i)", (DATA, COUNTED), ["i", "i + 1", "m - 1 - i"]),
    ],
)
def test_the_counter_of_a_written_out_loop_is_no_index_of_other_things(
    head: str, leaves: tuple[Leaf, ...], kept: list[str]
) -> None:
    lines = [head, "  s += d[i] == d[m - 1 - i] && d[i + 1];"]
    sources = SourceText(lambda file: lines if file == "a.cu" else [])
    found = [Subscript(("d",), text, 2, True, False, False) for text in ("i", "i + 1", "m - 1 - i")]
    counters = [leaf for leaf in leaves if leaf.kind == "loop-counter"]
    constant = any(leaf.constant_trip for leaf in counters)
    turns = Turns(frozenset(), frozenset(), bool(counters), constant)
    assert [one.text for one in running(found, "a.cu", turns, sources)] == kept


@pytest.mark.parametrize(
    ("lines", "text", "is_kept"),
    [
        (["for (int i = 0; i < 4; ++i)", "  s += row[i];"], "i", False),
        (["for (int i = 0; i < 4; ++i) {", "  s += row[2 * i + 1];"], "2 * i + 1", False),
        # The counter names an element, and is no part of the index.
        (["for (int i = 0; i < 4; ++i)", "  s += row[perm[i]];"], "perm[i]", True),
        (["for (int i = 0; i < 4; ++i)", "  s += row[p.x[i] + i];"], "p.x[i] + i", True),
        # The loop is over: it may have ended anywhere.
        (["for (i = 0; i < 4; ++i) if (x[i]) break;", "s += row[i];"], "i", True),
        (["for (int i = 0; i < 4; ++i) { s += i; }", "s += row[i];"], "i", True),
    ],
)
def test_an_index_of_written_out_counters_alone_is_none(
    lines: list[str], text: str, is_kept: bool
) -> None:
    sources = SourceText(lambda file: lines if file == "a.cu" else [])
    found = [Subscript(("row",), text, 2, True, False, False)]
    turns = Turns(frozenset(), frozenset(), any_counted=False, any_constant=False)
    assert bool(running(found, "a.cu", turns, sources)) == is_kept


@pytest.mark.parametrize(
    ("of_data", "kept"),
    [
        ((False, True), (["j"], ["k"])),  # As in the text.
        ((True, False), (["k"], ["j", "k"])),  # The other way round.
        ((True, True), (["j"], ["k"])),
        ((False, False), (["j"], ["k"])),
    ],
)
def test_a_comparison_may_read_its_second_operand_first(
    of_data: tuple[bool, bool], kept: tuple[list[str], list[str]]
) -> None:
    lines = ["for (int j = 1; j < 49; j++)", "  if (w[j] < w[k]) k = j;"]
    sources = SourceText(lambda file: lines if file == "a.cu" else [])
    found = [Subscript(("w",), text, 2, True, False, False) for text in ("j", "k")]
    said = [in_turn(found, turn, of_data, "a.cu", sources) for turn in (0, 1)]
    assert [[one.text for one in each] for each in said] == [*kept]
