"""What is advised before anything is compiled: proposals that are likely to help, or the reason."""

from __future__ import annotations

from importlib import import_module

import pytest
from msgspec.structs import replace

from lmemscope.advising.changes import changed_lines
from lmemscope.model import (
    Cause,
    Edit,
    Evidence,
    IndexSource,
    InlineFrame,
    SourceLocation,
)
from lmemscope.rewrites import likely, tried_beside
from lmemscope.rewrites.base import Target
from tests.support.builders import changed
from tests.support.rewriting import LOADED, SCATTERED, indexed, kernel

COUNTED = IndexSource("loop-counter", None, constant_trip=True)
OPEN = IndexSource("loop-counter", None, constant_trip=False)
LOOP = "for (int i = 0; i < {end}; ++i) a[i] = p[i];"


def advised(asked: Target) -> list[str]:
    return [one.rewrite.name for one in likely(asked)[0]]


def test_an_index_that_data_decides_is_not_unrolled_but_compared_with() -> None:
    asked = indexed(LOOP.format(end="8"), "out[0] = a[p[n] & 7];", source=LOADED)
    assert advised(asked)[0] == "select"
    assert "unroll" not in advised(asked)


@pytest.mark.parametrize(
    ("elements", "also", "registers", "limit", "is_advised"),
    [
        (32, (), 32, 255, True),
        (33, (), 32, 255, False),
        (32, ("volatile",), 32, 255, False),
        (32, (), 32, 64, True),
        (32, (), 40, 64, False),
    ],
)
def test_comparing_is_for_small_arrays_that_nothing_else_keeps_in_memory(
    elements: int, also: tuple[Cause, ...], registers: int, limit: int, is_advised: bool
) -> None:
    asked = indexed(
        "out[0] = a[p[n]];",
        source=LOADED,
        elements=elements,
        also=also,
        registers=registers,
        limit=limit,
    )
    assert ("select" in advised(asked)) == is_advised


@pytest.mark.parametrize("module", ["select", "bounded_loop"])
def test_an_array_of_unknown_extent_is_not_known_to_be_small(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    is_likely = import_module(f"lmemscope.rewrites.{module}").REWRITE.is_likely
    source = LOADED if module == "select" else COUNTED
    asked = indexed("out[0] = a[p[n]];", source=source)
    assert is_likely(asked)
    monkeypatch.setattr(f"lmemscope.rewrites.{module}.elements_of", lambda _: None)
    assert not is_likely(asked)


@pytest.mark.parametrize(
    ("written_out", "elements", "limit", "is_advised"),
    [
        (64, 8, 255, True),
        (None, 8, 255, True),
        (131072, 8, 255, True),
        (131073, 8, 255, False),  # nvcc does not write that out.
        (64, 200, 255, True),
        (64, 200, 128, False),
        (64, 400, 255, True),  # Larger than registers can be: little of it is in use.
    ],
)
def test_a_loop_of_constant_trips_is_unrolled_where_registers_may_hold_the_array(
    written_out: int | None, elements: int, limit: int, is_advised: bool
) -> None:
    asked = indexed(
        LOOP.format(end=str(elements)),
        source=COUNTED,
        cause="rolled-loop",
        elements=elements,
        written_out=written_out,
        limit=limit,
    )
    assert ("unroll" in advised(asked)) == is_advised


def test_a_loop_to_a_number_of_run_time_is_bounded() -> None:
    asked = indexed(LOOP.format(end="n"), source=OPEN)
    assert "bounded-loop" in advised(asked)
    assert "unroll" not in advised(asked)
    assert "bounded-loop" not in advised(indexed(LOOP.format(end="n"), source=LOADED))


@pytest.mark.parametrize(("limit", "is_advised"), [(255, True), (32, True), (24, False)])
def test_a_loop_is_bounded_though_no_register_is_left(limit: int, is_advised: bool) -> None:
    """What indices and loads have registers for now is constant then."""
    asked = indexed(LOOP.format(end="n"), source=OPEN, elements=32, registers=limit, limit=limit)
    assert ("bounded-loop" in advised(asked)) == is_advised
    assert "select" not in advised(asked), "its comparisons take registers besides"


def test_a_loop_is_not_bounded_where_a_function_has_another_over_the_array() -> None:
    bounded = "for (int i = 0; i < n; ++i) a[i] = p[i];"
    lines = kernel("float a[8];", bounded, "merge(a, n);", "a[3] += 1;").splitlines()
    parts = ("a[i]", "merge", "a[3]")
    at = {part: n for n, one in enumerate(lines, 1) for part in parts if part in one}

    def advised_with(*accessed: str) -> list[str]:
        own = [InlineFrame.at(SourceLocation("/p/a.cu", at[part]), None) for part in accessed]
        accesses = tuple(replace(SCATTERED, loop_depth=1, chain=(one,)) for one in own)
        body = (bounded, "merge(a, n);", "a[3] += 1;")
        return advised(indexed(*body, source=OPEN, accesses=accesses))

    assert "bounded-loop" in advised_with("a[i]")
    assert "bounded-loop" in advised_with("a[i]", "a[3]")
    assert "bounded-loop" not in advised_with("a[i]", "merge")


def test_where_all_decline_the_nearest_says_why() -> None:
    asked = indexed("out[0] = a[p[n] & 7];", source=LOADED, kind="volatile float")
    made, declined = likely(asked)
    assert made == ()
    assert (declined[0].rewrites, declined[0].reason) == (("select",), "it is volatile")


def test_what_is_not_likely_to_help_is_known_to_be_tried() -> None:
    asked = indexed("out[0] = a[p[n] & 7];", source=LOADED)
    beside = [one.name for one in tried_beside(asked, ["select"])]
    assert "narrow" not in beside
    assert "shared-memory" in beside
    assert "shared-row" not in beside, "it only stands in for shared memory"
    assert "select" not in beside
    assert tried_beside(asked, [*beside, "select"]) == ()


def test_the_lines_that_change_are_shown_and_helper_classes_counted() -> None:
    text = b"first\nfloat a[8];\nlast\n"
    helper = b"".join(b"// line %d\n" % number for number in range(12))
    edits = (Edit("a.cu", 0, 0, helper), Edit("a.cu", 6, 11, b"Own"))
    shown = changed_lines(edits, {"a.cu": text}.get, "a.cu")
    assert shown.splitlines() == [
        "- float a[8];",
        "+ Own a[8];",
        "// and 12 lines of helpers",
    ]
    many = Edit("b.cuh", 0, len(text), b"\n".join(b"x" for _ in range(9)) + b"\n")
    lines = changed_lines((many,), {"b.cuh": text}.get, "a.cu").splitlines()
    assert lines[0] == "// b.cuh"
    assert lines[-1] == "+ // 4 more lines"


def test_a_pointer_that_moves_through_an_array_is_no_obstacle_to_shared_memory() -> None:
    asked = indexed("int *q = a;", "out[0] = *q++;", source=LOADED, cause="address-taken")
    assert "shared-memory" not in advised(asked)
    (hit,) = asked.hits
    assert hit.case.object is not None
    shown = Evidence("chosen-place", ptx_line=3, opcode="ld.local.u32")
    walked = replace(hit.case.object, evidence_facts=(shown,))
    asked = replace(asked, hits=(changed(hit, case=changed(hit.case, object=walked)),))
    assert "shared-memory" in advised(asked)
