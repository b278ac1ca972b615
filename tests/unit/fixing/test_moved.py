"""Whether a rewriting moves a kernel's own shared memory to a place that is aligned less."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.fixing.moved import is_moved
from lmemscope.formats.ptx import PtxModule
from lmemscope.model import PtxasFacts, SharedVariable
from tests.support.builders import changed, facts

Own = tuple[str, int, int]


def variables(
    *own: Own, others: tuple[tuple[str, int, int | None], ...] = ()
) -> tuple[SharedVariable, ...]:
    return (
        *(SharedVariable(*one, is_own=True) for one in own),
        *(SharedVariable(*one, is_own=False) for one in others),
    )


TILE, TABLE = ("tile", 1, 2048), ("table", 4, 180)
DYNAMIC = (("dynamic", 16, None),)


@pytest.mark.parametrize(
    ("was", "made", "moved"),
    [
        (variables(), variables(TABLE), False),
        (variables(TILE), variables(TABLE, TILE), True),
        (variables(TILE), variables(TILE, TABLE), False),
        (variables(TILE), variables(("table", 128, 256), TILE), False),
        (variables(("odd", 2, 6), TILE), variables(("odd", 2, 6), ("w", 4, 4), TILE), False),
        (variables(TILE, others=DYNAMIC), variables(TILE, TABLE, others=DYNAMIC), True),
        (variables(TILE, others=DYNAMIC), variables(TILE, ("w", 8, 256), others=DYNAMIC), False),
        (variables(others=DYNAMIC), variables(TABLE, others=DYNAMIC), True),
        (variables(others=DYNAMIC), variables(others=(*DYNAMIC, ("w", 4, 4))), True),
        (variables(TILE), variables(others=(TABLE, TILE)), True),
        (variables(TILE), variables(("renamed", 1, 2048)), False),
        (variables(TILE), variables(("renamed", 1, 2048), TABLE), True),
    ],
)
def test_what_lies_behind_a_new_variable_may_be_aligned_less(
    was: tuple[SharedVariable, ...], made: tuple[SharedVariable, ...], moved: bool
) -> None:
    base = facts()
    assert (
        is_moved(replace(base, shared_variables=was), replace(base, shared_variables=made)) is moved
    )


@pytest.mark.parametrize(("before", "moved"), [(0, False), (None, False), (64, True)])
def test_places_that_nothing_shows_are_as_they_were_only_if_there_was_nothing(
    before: int | None, moved: bool
) -> None:
    def with_bytes(size: int | None) -> PtxasFacts:
        return PtxasFacts(32, 0, 0, 0, 0, size, 0)

    was = changed(facts(), shared_variables=None, ptxas=with_bytes(before))
    made = changed(facts(), shared_variables=None, ptxas=with_bytes(640))
    assert is_moved(was, made) is moved
    assert not is_moved(was, was)


PTX = b"""
.version 8.8
.target sm_90
.address_size 64
.shared .align 1 .b8 outer[5];
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 r) helper()
{
    .shared .align 1 .b8 inner[7];
    mov.u32 %r1, outer;
    ret;
}
.visible .entry k()
{
    .shared .align 8 .b8 second[80];
    .shared .align 1 .b8 first[3];
    ret;
}
.shared .align 4 .b8 behind[4];
.visible .entry other()
{
    mov.u32 %r1, dynamic;
    @%p1 mul.f32 %f1, %f2, %f3;
    ret;
}
"""


def test_a_kernels_own_variables_come_first_in_their_order() -> None:
    module = PtxModule(PTX)
    found = [(one.name, one.size, one.is_own) for one in module.shared_of("k")]
    assert found[:2] == [("second", 80, True), ("first", 3, True)]
    assert set(found[2:]) == {("outer", 5, False), ("inner", 7, False)}
    assert {one.name for one in module.shared_of("other")} == {"outer", "inner", "dynamic"}


@pytest.mark.parametrize(
    ("instruction", "has_floats"),
    [
        ("mul.f32 %f1, %f2, %f3;", True),
        ("@!%p2 fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", True),
        ("{ add.bf16x2 %r1, %r2, %r3; }", True),
        ("cvt.rn.f32.s32 %f1, %r1;", True),
        ("ld.global.f32 %f1, [%rd1];", False),
        ("mov.f32 %f1, 0f00000000;", False),
        ("add.s32 %r1, %r2, %r3;", False),
        (".reg .f32 %f<4>;", False),
    ],
)
def test_instructions_tell_whether_a_kernel_computes_with_floats(
    instruction: str, has_floats: bool
) -> None:
    text = PTX.replace(
        b"    ret;\n}\n.shared", f"    {instruction}\n    ret;\n}}\n.shared".encode()
    )
    assert PtxModule(text).has_floats(["k"]) is has_floats
