"""Barrier registers of a caller's, which ptxas marks as spills; encodings are nvdisasm's."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from lmemscope.formats.barriers import callers_barriers
from lmemscope.formats.sites import find_sites
from tests.support.builders import attributed, call, layers, ldl, program, stl

FROM_B11, FROM_B10, TO_B11 = 0x000000000B007355, 0x000000000A037355, 0x0000000B0B007356
BSSY_B11, NOTHING = 0x00001580000B7945, 0x0000000000007918
STORE_R0, LOAD_R0 = 0x0000640001007387, 0x0000640001007983
STORE_R3 = 0x0000600301007387
TO_B11_FROM_R0 = 0x000000000B007356
WIDE = 0x0000000000100800
"""The high word of an access of 4 bytes."""


def kept(*low: int, begin: int = 0, unmarked: Sequence[int] = ()) -> list[int]:
    """Numbers of the instructions that keep a caller's barriers."""
    code = memoryview(b"".join(struct.pack("<QQ", one, WIDE) for one in low))
    marks = {16 * at for at, one in enumerate(low) if one in (STORE_R0, STORE_R3, LOAD_R0)}
    sites = find_sites(code, frozenset(marks - {16 * at for at in unmarked}))
    own = [one for one in sites if one.pc >= begin * 16]
    return sorted(pc // 16 for pc in callers_barriers(code, begin * 16, own))


def test_what_is_stored_on_entry_and_brought_back_is_the_callers() -> None:
    body = (FROM_B11, FROM_B10, BSSY_B11, STORE_R0, STORE_R3, NOTHING, LOAD_R0, TO_B11_FROM_R0)
    assert kept(*body) == [3, 4, 6]
    # What stands before the body is another function's.
    assert kept(BSSY_B11, NOTHING, *body, begin=2) == [5, 6, 8]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Its own, in use.
        ((BSSY_B11, FROM_B11, STORE_R0, LOAD_R0, TO_B11_FROM_R0), []),
        # No barrier's value.
        ((NOTHING, STORE_R0, LOAD_R0, TO_B11_FROM_R0), []),
        # The register has been stored; what it has then is something else.
        ((FROM_B11, STORE_R0, STORE_R0), [1]),
        # It is brought back to another register than the barrier.
        ((FROM_B11, STORE_R0, LOAD_R0, NOTHING), [1]),
        ((FROM_B11, STORE_R0, LOAD_R0, LOAD_R0, TO_B11_FROM_R0), [1, 3]),
        ((FROM_B11, *[NOTHING] * 80, STORE_R0), []),
    ],
)
def test_other_spills_are_the_functions_own(body: tuple[int, ...], expected: list[int]) -> None:
    assert kept(*body) == expected


def test_a_body_that_begins_within_an_instruction_is_read_from_there() -> None:
    code = memoryview(struct.pack("<QQ", FROM_B11, WIDE) + struct.pack("<QQ", STORE_R0, WIDE))
    assert callers_barriers(code, 8, find_sites(code, frozenset({16}))) == {16}


def test_only_what_is_marked_is_looked_at() -> None:
    assert kept(FROM_B11, STORE_R0, LOAD_R0, TO_B11_FROM_R0, unmarked=(1, 2)) == []


def test_a_callers_barrier_is_saved_and_not_spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = "add.u32 %r9, %r8, 1;\nret;"
    ptx = program(f"{call('leaf', '%rd1')}\nret;", leaf=leaf)
    leafs = [stl("add.u32 %r9", marked=True), ldl("add.u32 %r9", marked=True)]
    assert {one.cause for one in attributed(layers(ptx, callees={"leaf": leafs})).accesses} == {
        "register-spill"
    }
    given = layers(ptx, callees={"leaf": leafs})
    (kernel,) = given.cubin.functions
    store, load = kernel.all_sites
    monkeypatch.setattr(
        type(given.cubin),
        "callers_barriers",
        lambda _, body: {store.pc} & {site.pc for site in body.sites},
    )
    assert [given.origins.of(kernel, one).kind for one in (store, load)] == ["save", "spill"]
    assert [one.cause for one in attributed(given).accesses] == ["callee-save", "register-spill"]
