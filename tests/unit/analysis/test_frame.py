"""The frame map and the ledgers on hand-made accesses: every byte has one owner."""

from __future__ import annotations

from typing import Any

import pytest

from lmemscope.analysis.frame import Placement, frame_map
from lmemscope.analysis.ledger import shares
from lmemscope.formats.sites import STACK_POINTER, Site
from lmemscope.model import Cause, FrameRange, KernelKind, LocalObject, SiteClass
from tests.support.builders import access, cubin_function, local_object


def site(pc: int, at: int, width: int = 4, base: int | None = STACK_POINTER) -> Site:
    return Site(pc, False, width, 4, base, None, at, False, False)


def drawn(
    frame: int,
    *sites: tuple[Site, Cause],
    objects: tuple[LocalObject, ...] = (),
    placed: tuple[Placement, ...] = (),
    inside: str = "k",
    **changes: Any,
) -> list[tuple[int, int, str]]:
    """Ranges of a frame; each site has a cause, and none an object."""
    function = cubin_function("k", *(one for one, _ in sites), **changes)
    accesses = [access(cause, pc=one.pc, object=None, function=inside) for one, cause in sites]
    ranges = frame_map(frame, function, accesses, objects, placed)
    assert sum(part.size for part in ranges) == frame
    return [(part.offset, part.size, part.owner) for part in ranges]


TABLE = local_object(size=64)


def test_without_a_frame_there_is_no_map() -> None:
    assert frame_map(0, cubin_function(), (), (TABLE,), ()) == ()
    assert frame_map(None, cubin_function(), (), (TABLE,), ()) == ()


def test_a_site_at_a_constant_place_places_the_depot() -> None:
    placed = Placement("k", site(16, at=40), 8)
    assert drawn(96, objects=(TABLE,), placed=(placed,)) == [
        (0, 32, "unknown"),
        (32, 64, "object"),
    ]


def test_the_most_votes_place_it() -> None:
    places = (32, 48, 32)
    placed = tuple(Placement("k", site(16, at=at), 0) for at in places)
    assert (32, 64, "object") in drawn(112, objects=(TABLE,), placed=placed)


@pytest.mark.parametrize("before", [0, 16])
def test_a_store_joined_from_two_is_placed_by_either(before: int) -> None:
    """``STL.64`` on the line of its second word: an odd number of words lies where it begins."""
    table = local_object(size=44)
    places = ((0, 4), (8, 12), (16, 20))
    placed = tuple(
        Placement("k", site(16, at=before + at, width=8), offset, 4) for at, offset in places
    )
    expected = [(before, 44, "object"), (before + 44, 4, "padding")]
    assert drawn(before + 48, objects=(table,), placed=placed)[-2:] == expected


def test_an_access_of_its_own_width_decides_between_the_words_of_a_joined_one() -> None:
    joined = tuple(Placement("k", site(16, at=at, width=8), at + 4, 4) for at in (8, 16))
    alone = Placement("k", site(32, at=40), 44, 4)
    table = local_object(offset=4, size=44)
    assert drawn(48, objects=(table,), placed=(*joined, alone))[0] == (0, 44, "object")


def test_only_the_stack_pointer_places_it() -> None:
    placed = (Placement("k", site(16, at=0, base=7), 0),)
    assert drawn(96, objects=(TABLE,), placed=placed) == [(0, 96, "unknown")]


@pytest.mark.parametrize(
    ("frame", "ranges"),
    [
        (64, [(0, 64, "object")]),
        (72, [(0, 64, "object"), (64, 8, "padding")]),
        (79, [(0, 64, "object"), (64, 15, "padding")]),
        (80, [(0, 80, "unknown")]),
        (56, [(0, 56, "unknown")]),
    ],
)
def test_alone_in_a_frame_of_its_size_a_depot_has_one_place(
    frame: int, ranges: list[tuple[int, int, str]]
) -> None:
    assert drawn(frame, objects=(TABLE,)) == ranges


SAVED = tuple((site(16 + at, at=at), "call-frame") for at in range(64, 132, 4))


@pytest.mark.parametrize(
    ("frame", "kind", "alignment", "last"),
    [
        # A multiple of 16 is used, and 8 bytes are kept to round the stack pointer down.
        (152, "function", 16, (132, 20, "padding")),
        # A kernel's is a multiple of 16 as it is.
        (208, "entry", 64, (132, 76, "unknown")),
        (240, "entry", 64, (132, 108, "padding")),
        (248, "function", 64, (132, 116, "padding")),
        # Nothing rounds the stack pointer down, or the frame is not of a size that it leads to.
        (152, "function", None, (132, 20, "unknown")),
        (160, "function", 16, (132, 28, "unknown")),
    ],
)
def test_what_aligns_the_stack_pointer_is_padding(
    frame: int, kind: KernelKind, alignment: int | None, last: tuple[int, int, str]
) -> None:
    placed = (Placement("k", site(16, at=0), 0),)
    changes = {"kind": kind, "stack_alignment": alignment}
    assert drawn(frame, *SAVED, objects=(TABLE,), placed=placed, **changes)[-1] == last


def test_an_aligned_depot_alone_has_one_place() -> None:
    changes = {"kind": "function", "stack_alignment": 32}
    table = local_object(size=68)
    expected = [(0, 68, "object"), (68, 52, "padding")]
    assert drawn(120, objects=(table,), **changes) == expected
    expected = [(0, 64, "object"), (64, 24, "padding")]
    assert drawn(88, objects=(TABLE,), **changes) == expected


@pytest.mark.parametrize(
    ("alignment", "expected"),
    [
        (128, [(0, 64, "object"), (64, 64, "padding"), (128, 4, "saved registers")]),
        (16, [(0, 64, "object"), (64, 64, "unknown"), (128, 4, "saved registers")]),
    ],
)
def test_a_depot_is_rounded_up_to_its_alignment(
    alignment: int, expected: list[tuple[int, int, str]]
) -> None:
    placed = (Placement("k", site(16, at=0), 0, alignment=alignment),)
    saved = (site(32, at=128), "callee-save")
    assert drawn(132, saved, objects=(TABLE,), placed=placed) == expected


def test_beside_spills_that_place_is_not_certain() -> None:
    spilled = (site(16, at=0), "register-spill")
    assert drawn(64, spilled, objects=(TABLE,)) == [(0, 4, "spill slots"), (4, 60, "unknown")]


def test_a_called_functions_only_depot_is_placed_alike() -> None:
    inner = local_object(function="leaf", size=64)
    assert drawn(64, objects=(inner,)) == [(0, 64, "object")]
    assert drawn(64, objects=(inner, local_object(function="other"))) == [(0, 64, "unknown")]


def test_the_one_depot_without_a_place_has_the_gap_of_its_size() -> None:
    other = local_object(function="leaf", size=40)
    placed = (Placement("leaf", site(16, at=64), 0),)
    expected = [(0, 64, "object"), (64, 40, "object"), (104, 8, "padding")]
    assert drawn(112, objects=(TABLE, other), placed=placed) == expected
    # Beside a spill it fits as well; of two such gaps nobody knows which.
    spill = (site(16, at=104), "register-spill")
    assert drawn(108, spill, objects=(TABLE, other), placed=placed)[0] == (0, 64, "object")
    twice = drawn(168, objects=(TABLE, other), placed=placed)
    assert [owner for _, _, owner in twice] == ["unknown", "object", "unknown"]


@pytest.mark.parametrize(
    ("cause", "owner"),
    [
        ("register-spill", "spill slots"),
        ("callee-save", "saved registers"),
        ("call-frame", "saved registers"),
        ("unattributed", "unknown"),
    ],
)
def test_sites_own_what_they_touch(cause: Cause, owner: str) -> None:
    assert drawn(16, (site(16, at=8, width=8), cause))[-1] == (8, 8, owner)


def test_a_function_that_moves_the_stack_pointer_has_a_frame_of_its_own() -> None:
    assert drawn(16, (site(16, at=8), "callee-save"), inside="leaf") == [(0, 16, "unknown")]
    assert (8, 4, "spill slots") in drawn(16, (site(16, at=8), "register-spill"), inside="leaf")


def test_sites_through_other_registers_own_nothing() -> None:
    assert drawn(16, (site(16, at=8, base=4), "register-spill")) == [(0, 16, "unknown")]


def test_nothing_is_owned_twice_nor_outside() -> None:
    placed = (Placement("k", site(16, at=0), 0),)
    spilled = (site(32, at=60, width=8), "register-spill")
    assert drawn(72, spilled, objects=(TABLE,), placed=placed) == [
        (0, 64, "object"),
        (64, 4, "spill slots"),
        (68, 4, "padding"),
    ]
    assert drawn(8, (site(16, at=4, width=16), "register-spill"))[-1] == (4, 4, "spill slots")
    assert drawn(8, (site(16, at=-4, width=8), "register-spill"))[0] == (0, 4, "spill slots")


def test_between_spill_slots_lie_spill_slots() -> None:
    sites = [(site(16 * n, at=at), "register-spill") for n, at in enumerate((0, 64))]
    assert drawn(68, *sites) == [(0, 68, "spill slots")]


def test_a_gap_is_padding_only_where_it_can_align_something() -> None:
    def gap(first: int, second: int) -> str:
        spilled, saved = site(0, at=first), site(16, at=second)
        ranges = drawn(second + 4, (spilled, "register-spill"), (saved, "callee-save"))
        return next(owner for at, _, owner in ranges if at == first + 4)

    assert gap(0, 16) == "padding"
    assert gap(0, 20) == "unknown"


def test_what_is_unknown_is_unattributed_and_padding_has_no_cause() -> None:
    function = cubin_function("k", site(16, at=20))
    spilled = access("register-spill", pc=16, object=None)
    ranges = frame_map(32, function, [spilled], (), ())
    assert [(part.owner, part.cause) for part in ranges] == [
        ("unknown", "unattributed"),
        ("spill slots", "register-spill"),
        ("padding", None),
    ]


# Ledgers.


def test_each_cause_and_object_has_one_line_with_both_sums() -> None:
    accesses = [
        access(width=4),
        access(width=8, is_store=True),
        access(width=16, object=1),
        access("register-spill", object=None),
    ]
    frame = [
        FrameRange.of(0, 80, "object", "dynamic-index", (0, local_object())),
        FrameRange.of(80, 4, "spill slots", "register-spill"),
        FrameRange.of(84, 4, "spill slots", "register-spill"),
        FrameRange.of(88, 8, "padding", None),
    ]
    lines = shares(accesses, frame, [local_object()] * 2)
    assert [(s.cause, s.object_index, s.frame_bytes, s.sites.bytes) for s in lines] == [
        ("dynamic-index", 1, 0, 16),
        ("dynamic-index", 0, 80, 12),
        ("register-spill", None, 8, 4),
    ]
    assert lines[1].sites == SiteClass(1, 1, 4, 8)


def test_most_site_bytes_come_first_then_most_frame_bytes_then_the_name() -> None:
    frame = [
        FrameRange.of(0, 8, "object", "volatile", (0, local_object())),
        FrameRange.of(8, 8, "object", "alloca", (1, local_object())),
        FrameRange.of(16, 16, "object", "volatile", (2, local_object())),
    ]
    lines = shares([access("const-table", object=3)], frame, [local_object()] * 4)
    assert [(s.cause, s.object_index) for s in lines] == [
        ("const-table", 3),
        ("volatile", 2),
        ("alloca", 1),
        ("volatile", 0),
    ]


def test_a_joined_access_alone_is_placed_where_the_depot_may_begin() -> None:
    joined = Placement("k", site(16, at=0, width=16), 12, 4, alignment=8)
    assert drawn(80, objects=(TABLE,), placed=(joined,))[0] == (0, 64, "object")
    wide = Placement("k", site(16, at=16, width=16), 12, 4, alignment=16)
    assert drawn(80, objects=(TABLE,), placed=(wide,)) == [(0, 16, "unknown"), (16, 64, "object")]


def test_what_is_left_of_a_structure_has_what_its_members_have_not() -> None:
    member = local_object(name="s.a", offset=4, size=80, extent="whole")
    rest = local_object(name="s", offset=0, size=8, type_size=88, extent="rest")
    placed = (Placement("k", site(16, at=0), 0),)
    function = cubin_function("k", site(16, at=0))
    accesses = [access(pc=16, object=None)]
    ranges = frame_map(88, function, accesses, (rest, member), placed)
    assert [(part.offset, part.size, part.object_index) for part in ranges] == [
        (0, 4, 0),
        (4, 80, 1),
        (84, 4, 0),
    ]
