"""Which of its candidates each object is, with hand-made candidates."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from lmemscope.analysis.assignment import assign
from lmemscope.analysis.candidates import Candidate
from lmemscope.analysis.layout import parts_of
from lmemscope.model import Member, Variable
from tests.support.builders import variable

KINDS = variable("kinds", "int[5]", 20, 1)
BOXES = variable("boxes", "int[5]", 20, 2)
WIDE = variable("wide", "double[4]", 32, 3)
SCALE = Member("scale", 0, 12, "Vector", (Member("x", 0, 4, "float"),), "a.cu", 1)
BODY = variable("body", "Body", 144, 4, members=(SCALE,))
HEAP = variable("heap", "MinK", 20, 6, members=(Member("keys", 0, 8, "float*"),))
NORMAL = variable("normal", "Vector", 12, 5, function="inlined", members=SCALE.members)


def one(
    whose: Variable, mention: float, size: int | None = None, *, path: str = "", fit: float = 1.0
) -> Candidate:
    """A variable, or a member, as a candidate of an object of so many bytes."""
    part = next(part for part in parts_of(whose) if part.path == path)
    slack = (part.size if size is None else size) - part.size
    return Candidate(whose, part, slack, mention, fit, whose.function != "k")


def decided(*objects: tuple[int, Sequence[Candidate]]) -> list[str | None]:
    """What each object is, from its size and its candidates."""
    chosen = assign([size for size, _ in objects], [candidates for _, candidates in objects])
    return [None if c is None else c.variable.name + c.part.path for c in chosen]


def test_what_can_only_be_one_variable_has_it_before_what_may_be_another() -> None:
    narrow = (20, [one(KINDS, 0.8), one(BOXES, 0.0)])
    either = (20, [one(KINDS, 1.0), one(BOXES, 1.0)])
    assert decided(narrow, either) == ["kinds", "boxes"]
    assert decided(either, narrow) == ["boxes", "kinds"]


def test_a_variable_stays_with_the_object_that_loses_much_without_it() -> None:
    much = (20, [one(KINDS, 1.0), one(BOXES, 0.5)])
    assert decided((20, [one(KINDS, 0.9)]), much) == [None, "kinds"]


def test_an_index_is_not_into_a_structure_that_has_no_array() -> None:
    """``heap.add(key)`` names what only points to the array that it indexes."""
    assert decided((20, [one(HEAP, 1.0, fit=0.0), one(KINDS, 0.2)])) == ["kinds"]
    assert decided((20, [one(HEAP, 1.0, fit=0.0), one(KINDS, 0.2), one(BOXES, 0.2)])) == [None]


def test_a_whole_variable_comes_before_its_members() -> None:
    member = (12, [one(BODY, 1.0, path=".scale"), one(NORMAL, 1.0)])
    assert decided((12, [one(NORMAL, 1.0)]), member, (144, [one(BODY, 0.9)])) == [
        "normal",
        "normal",
        "body",
    ]


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ([one(KINDS, 0.3), one(BOXES, 0.3)], "boxes"),
        # An array exists once, whatever the lines say.
        ([one(KINDS, 0.3), one(BOXES, 0.1)], "boxes"),
        ([one(KINDS, 0.0, fit=0.5), one(BOXES, 0.0, fit=0.5)], "boxes"),
        # The other one's type fits better.
        ([one(KINDS, 0.0), one(BOXES, 0.0, fit=0.5)], None),
        # It may be another copy of an inlined function's.
        ([one(replace(KINDS, function="inlined"), 0.3), one(BOXES, 0.1)], None),
        # Two are left.
        ([one(BOXES, 0.3), one(replace(BOXES, name="more"), 0.3)], None),
    ],
)
def test_what_is_left_over_has_the_last_variable_that_its_lines_name(
    left: list[Candidate], expected: str | None
) -> None:
    first = (20, [one(KINDS, 1.0), one(BOXES, 0.0)])
    assert decided(first, (20, left)) == ["kinds", expected]


def test_what_a_compiler_may_have_copied_is_not_the_last_of_its_size() -> None:
    first = replace(BODY, name="first")
    known = [one(first, 0.3), one(BODY, 0.1)]
    assert decided((144, [one(first, 1.0)]), (144, known)) == ["first", None]


def test_the_only_array_of_its_size_is_it_where_a_line_says_so() -> None:
    assert decided((20, [one(KINDS, 0.3, fit=0.4)])) == ["kinds"]
    assert decided((20, [one(KINDS, 0.0, fit=0.4)])) == [None]
    assert decided((36, [one(KINDS, 0.3, 36, fit=0.4)])) == [None]


def test_two_objects_that_may_be_the_last_array_are_neither() -> None:
    known = [one(KINDS, 0.0), one(BOXES, 0.0)]
    assert decided((20, [one(KINDS, 1.0)]), (20, known), (20, known)) == ["kinds", None, None]


def test_one_elimination_makes_the_next_possible() -> None:
    aliased = (32, [one(WIDE, 1.0, fit=0.0), one(KINDS, 0.1, 32), one(BOXES, 0.0, 32)])
    both = (32, [one(KINDS, 0.3, 32), one(BOXES, 0.3, 32)])
    wide = (32, [one(WIDE, 0.7)])
    assert decided(both, aliased, wide) == ["boxes", "kinds", "wide"]


def test_equals_lie_in_the_order_of_their_declarations() -> None:
    for low, high in ((0.5, 0.67), (0.67, 0.5)):
        equal = [(20, [one(KINDS, said), one(BOXES, said)]) for said in (low, high)]
        assert decided(*equal) == ["kinds", "boxes"]


def test_clear_lines_count_more_than_the_order_of_declarations() -> None:
    first = (20, [one(KINDS, 0.5), one(BOXES, 1.0)])
    second = (20, [one(KINDS, 1.0), one(BOXES, 0.5)])
    assert decided(first, second) == ["boxes", "kinds"]


def test_what_might_be_a_variable_without_an_object_just_as_well_has_no_name() -> None:
    more = replace(BOXES, name="more")
    either = (20, [one(KINDS, 1.0), one(BOXES, 1.0), one(more, 1.0)])
    assert decided(either, either) == [None, None]
    assert decided(either, either, either) == ["kinds", "boxes", "more"]


def test_nor_has_what_might_be_a_variable_of_an_inlined_function_that_is_elsewhere() -> None:
    """As where one of three tables lies in a place that another variable has before it."""
    inlined = [replace(one, function="inlined") for one in (KINDS, BOXES)]
    alike = (20, [one(each, 1.0) for each in inlined])
    assert decided(alike) == [None]
    assert decided(alike, alike) == ["kinds", "boxes"]
    assert decided(alike, alike, alike) == ["kinds", "boxes", "kinds"]


def test_as_many_arrays_as_objects_are_left_over_in_their_order() -> None:
    silent = (20, [one(KINDS, 0.2), one(BOXES, 0.2)])
    assert decided(silent, silent) == ["kinds", "boxes"]
