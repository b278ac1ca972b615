"""Which stack objects are pieces of one variable, with hand-made candidates."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lmemscope.analysis.candidates import Candidate
from lmemscope.analysis.layout import parts_of
from lmemscope.analysis.pieces import Joined, join_arrays, join_pieces, misjoined
from lmemscope.analysis.ptx.objects import PtxAccess, StackObject
from lmemscope.analysis.ptx.points_to import Pointee
from lmemscope.model import Member, Variable
from tests.support.builders import variable

BEST = variable("best", "float[3]", 12, 1)
VALUE = variable("value", "float", 4, 2, function="insert")
HELD = variable("n", "int", 4, 3)
CLOSURE = variable("visit", "(lambda)", 16, 4, members=(Member("in", 0, 8, "const int * &"),))


def piece(at: int, *others: int, size: int = 4, width: int | None = None) -> Joined:
    """An object with an access at its beginning, and one that others may be accessed by."""

    def access(index: int, *offsets: int, offset: int | None = None) -> PtxAccess:
        pointees = frozenset(Pointee("depot", one) for one in offsets)
        return PtxAccess(index, False, width or size, pointees, frozenset(), offset)

    accesses = [access(at, at, offset=at)]
    if others:
        accesses.append(access(100, at, *others))
    return Joined(StackObject(at, size, accesses), (at,))


def one(whose: Variable, size: int, mention: float = 1.0, fit: float = 1.0) -> Candidate:
    """A variable as a candidate of an object of so many bytes."""
    part = parts_of(whose)[0]
    return Candidate(whose, part, size - part.size, mention, fit, whose.function != "k")


CHOSEN = [piece(0, 4, 8), piece(4, 0, 8), piece(8, 0, 4)]


def arrays(pieces: Sequence[Joined], whole: Candidate) -> list[tuple[int, ...]]:
    known = [[one(VALUE, 4)] for _ in pieces]
    return [found.pieces for found in join_arrays(pieces, known, lambda objects: [[whole]])]


def test_what_a_pointer_is_chosen_in_is_the_array_that_is_as_large() -> None:
    assert arrays(CHOSEN, one(BEST, 12, 0.9)) == [(0, 4, 8)]


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([piece(0), piece(4), piece(8)], one(BEST, 12)),  # no pointer is chosen
        (CHOSEN[:2], one(BEST, 8)),  # less than the array
        (CHOSEN, one(BEST, 12, 0.4)),  # lines do not name it
        (CHOSEN, one(variable("next", "Node", 12), 12)),  # no array
    ],
)
def test_other_pieces_stay_apart(pieces: list[Joined], whole: Candidate) -> None:
    assert arrays(pieces, whole) == [found.pieces for found in pieces]


def test_pieces_that_may_each_be_a_variable_of_their_own_are_no_array() -> None:
    scalars = [variable(name, "float", 4) for name in ("x", "y", "z")]
    known = [[one(scalar, 4)] for scalar in scalars]
    assert len(join_arrays(CHOSEN, known, lambda objects: [[one(BEST, 12)]])) == 3
    known[2] = known[0]
    assert len(join_arrays(CHOSEN, known, lambda objects: [[one(BEST, 12)]])) == 1


ROWS = variable("rows", "float[2][2]", 16, 1)


def test_what_lies_between_chosen_pieces_is_the_arrays() -> None:
    """An index of rows chooses between elements of one column."""
    columns = [piece(0, 8), piece(4, 12), piece(8, 0), piece(12, 4)]
    assert arrays(columns, one(ROWS, 16)) == [(0, 4, 8, 12)]
    torn = [*columns[:2], piece(16, 0), piece(20, 4)]
    assert arrays(torn, one(ROWS, 16)) == [found.pieces for found in torn]


def test_an_array_is_found_beside_another_that_its_pointer_may_lead_to() -> None:
    either = [*(piece(at, *CHOSEN[0].pieces, 4, 8, 12) for at in (0, 4, 8)), piece(16, 0)]
    known = [[one(VALUE, 4)] for _ in either]

    def candidates(objects: Sequence[Joined]) -> list[list[Candidate]]:
        return [[one(BEST, found.found.size)] for found in objects]

    first = join_arrays(either, known, candidates)[0]
    assert first.pieces == (0, 4, 8)


def test_padding_behind_an_array_is_no_part_of_it() -> None:
    last = piece(8, 0, 4, size=8, width=4)
    assert arrays([*CHOSEN[:2], last], one(BEST, 16)) == [(0, 4, 8)]


def test_pieces_that_turn_out_to_be_another_variable_part_again() -> None:
    """What a closure holds by reference lies beside it, and its lines name the closure."""
    pieces = [piece(0, size=8), piece(8, size=8, width=4)]
    known = [[one(CLOSURE, 8)], [one(HELD, 8, 0.5), one(CLOSURE, 8)]]
    joined = join_pieces(pieces, known)
    assert [found.pieces for found in joined] == [(0, 8)]
    apart = misjoined(joined, [one(HELD, 16)])
    assert apart == {(0, CLOSURE), (8, CLOSURE)}
    assert [found.pieces for found in join_pieces(pieces, known, apart)] == [(0,), (8,)]


def test_pieces_that_are_their_variable_or_have_no_name_stay_joined() -> None:
    joined = join_pieces([piece(0, size=8), piece(8, size=8)], [[one(CLOSURE, 8)]] * 2)
    assert not misjoined(joined, [one(CLOSURE, 16)])
    assert not misjoined(joined, [None])
