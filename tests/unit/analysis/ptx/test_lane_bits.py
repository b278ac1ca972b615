"""Which lanes of a warp share what is computed from their place: on hand-made PTX."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.blocks import UNKNOWN, Blocks, Extents
from lmemscope.analysis.ptx.slicing import Dataflow
from tests.support.builders import ptx_module as module

PARAMETERS = ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)"
START = """
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u32 %r9, [k_param_1];
    cvta.to.global.u64 %rd3, %rd1;
    mov.u32 %r8, %tid.x;
    mul.wide.u32 %rd4, %r8, 4;
    add.s64 %rd5, %rd3, %rd4;
    ld.global.u32 %r7, [%rd5];
"""
"""Uniform: ``%r9``. Of a lane's place: ``%r8``. Of its data: ``%r7``."""


def _blocks(shape: Extents | None) -> Blocks:
    return UNKNOWN if shape is None else Blocks(frozenset({shape}), are_all=True)


def level(body: str, register: str = "%r1", shape: Extents | None = None) -> str:
    """Uniformity of a register where the store to ``[%rd3]`` reads it."""
    text = f"{START}{body}\nret;".replace("USE", f"st.global.u32 [%rd3], {register}")
    flow = Dataflow(module(text, PARAMETERS).functions[0], blocks=_blocks(shape))
    (at,) = (
        index
        for index, one in enumerate(flow.body.instructions)
        if one.opcode == "st.global.u32" and one.operands[1] == register
    )
    return flow.uniformity(register, at)


def counted(step: str, use: str, start: str = "%r8", end: str = "setp.lt.s32 %p1, %r2, %r9") -> str:
    """A loop that counts in ``%r2``."""
    return f"""
    mov.u32 %r2, {start};
$LOOP:
    {use}
    {step}
    {end};
    @%p1 bra $LOOP;
    """


USED = "shr.u32 %r1, %r2, 5; USE;"


@pytest.mark.parametrize(
    ("computed", "expected"),
    [
        ("add.s32 %r2, %r8, 64; shr.u32 %r1, %r2, 5;", "uniform"),
        ("add.s32 %r2, %r8, 65; shr.u32 %r1, %r2, 5;", "lane-varying"),
        ("add.s32 %r2, %r8, %r9; shr.u32 %r1, %r2, 5;", "lane-varying"),
        ("shl.b32 %r3, %r9, 5; add.s32 %r2, %r3, %r8; shr.u32 %r1, %r2, 5;", "uniform"),
        ("shl.b32 %r3, %r7, 5; add.s32 %r2, %r3, %r8; shr.u32 %r1, %r2, 5;", "data-dependent"),
        ("mad.lo.s32 %r2, %r9, 32, %r8; and.b32 %r1, %r2, -32;", "uniform"),
        ("mad.lo.s32 %r2, %r9, 16, %r8; and.b32 %r1, %r2, -32;", "lane-varying"),
        ("sub.s32 %r2, %r8, %r9; shr.u32 %r1, %r2, 5;", "lane-varying"),
        ("shl.b32 %r2, %r8, 27; shr.s32 %r3, %r2, 31; and.b32 %r1, %r3, 64;", "lane-varying"),
        ("mul.lo.s32 %r2, %r8, 3; shr.u32 %r1, %r2, 5;", "lane-varying"),
        ("shl.b32 %r3, %r9, 5; rem.u32 %r2, %r8, %r3; shr.u32 %r1, %r2, 5;", "uniform"),
        ("shl.b32 %r3, %r9, 5; div.u32 %r1, %r8, %r3;", "uniform"),
        ("div.u32 %r1, %r8, %r9;", "lane-varying"),
        ("div.u32 %r1, %r9, %r8;", "lane-varying"),
        ("rem.u32 %r1, %r9, %r8;", "lane-varying"),
        ("shl.b32 %r1, 1, %r8;", "lane-varying"),
        ("shr.u32 %r1, %r9, %r8;", "lane-varying"),
        ("bfe.u32 %r1, %r9, %r8, 4;", "lane-varying"),
        ("and.b32 %r1, %r9, %r8;", "lane-varying"),
        ("setp.le.s32 %p2, %r9, %r8; selp.b32 %r1, 1, 2, %p2;", "lane-varying"),
        ("setp.lt.s32 %p2, %r9, %r8; selp.b32 %r1, 1, 2, %p2;", "lane-varying"),
        ("setp.lt.u32 %p2, %r8, 64; selp.b32 %r1, 1, 2, %p2;", "uniform"),
        ("setp.gt.u32 %p2, %r8, 63; selp.b32 %r1, 1, 2, %p2;", "uniform"),
        ("setp.gt.u32 %p2, %r8, 64; selp.b32 %r1, 1, 2, %p2;", "lane-varying"),
        ("setp.lt.u32 %p2, %r8, %r9; selp.b32 %r1, 1, 2, %p2;", "lane-varying"),
    ],
)
def test_what_drops_the_place_in_the_warp_is_one_value(computed: str, expected: str) -> None:
    assert level(f"{computed} USE;") == expected


def test_where_warps_are_no_rows_nothing_is_dropped() -> None:
    body = "add.s32 %r2, %r8, 64; shr.u32 %r1, %r2, 5; USE;"
    assert level(body, shape=(48,)) == "uniform"
    assert level(body, shape=(48, 2)) == "lane-varying"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((256,), "uniform"), ((32,), "uniform"), ((48,), "lane-varying"), (None, "lane-varying")],
)
def test_a_number_in_the_grid_keeps_the_place_where_blocks_are_whole_warps(
    shape: Extents | None, expected: str
) -> None:
    number = """
    mov.u32 %r20, %ntid.x;
    mov.u32 %r21, %ctaid.x;
    mov.u32 %r22, %nctaid.x;
    mad.lo.s32 %r10, %r21, %r20, %r8;
    mul.lo.s32 %r23, %r20, %r22;
    """
    assert level(f"{number} shr.u32 %r1, %r10, 5; USE;", shape=shape) == expected
    assert level(number + counted("add.s32 %r2, %r2, %r23;", USED, "%r10"), shape=shape) == expected
    assert level("mov.u32 %r20, %ntid.x; div.u32 %r1, %r8, %r20; USE;", shape=shape) == expected


@pytest.mark.parametrize(
    ("shape", "by", "expected"),
    [
        ((16, 16), 5, "uniform"),
        ((16, 16), 4, "lane-varying"),
        ((16, 4, 4), 5, "uniform"),
        ((16, 5), 5, "uniform"),
        ((8, 8), 5, "lane-varying"),  # The sum is no thread's number: rows overlap.
        ((24, 8), 5, "lane-varying"),
        (None, 5, "lane-varying"),
    ],
)
def test_the_number_of_a_thread_is_known_where_the_row_is_a_constant(
    shape: Extents | None, by: int, expected: str
) -> None:
    row = "mov.u32 %r20, %tid.y; shl.b32 %r21, %r20, 4;"
    assert level(f"{row} add.s32 %r2, %r21, %r8; shr.u32 %r1, %r2, {by}; USE;", shape=shape) == (
        expected
    )


@pytest.mark.parametrize(
    ("register", "shape", "expected"),
    [
        ("%tid.x", (1, 32), "uniform"),
        ("%tid.y", (1, 32), "lane-varying"),
        ("%tid.y", (16, 1, 4), "uniform"),
        ("%tid.z", (16, 1, 4), "lane-varying"),
        ("%tid.z", (16, 2, 4), "uniform"),
    ],
)
def test_lanes_differ_where_a_warp_of_the_shape_does(
    register: str, shape: Extents, expected: str
) -> None:
    assert level(f"mov.u32 %r1, {register}; USE;", shape=shape) == expected


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("add.s32 %r2, %r2, 256;", "uniform"),
        ("add.s32 %r2, %r2, -256;", "uniform"),
        ("add.s32 %r2, %r2, 48;", "lane-varying"),
        ("add.s32 %r2, %r2, %r9;", "lane-varying"),
        ("shl.b32 %r3, %r9, 8; add.s32 %r2, %r2, %r3;", "uniform"),
        ("shl.b32 %r3, %r7, 8; add.s32 %r2, %r2, %r3;", "data-dependent"),
        ("setp.lt.s32 %p2, %r9, 0; selp.b32 %r3, 32, 64, %p2; add.s32 %r2, %r2, %r3;", "uniform"),
        (
            "setp.lt.s32 %p2, %r7, 0; selp.b32 %r3, 32, 64, %p2; add.s32 %r2, %r2, %r3;",
            "data-dependent",
        ),
        ("shl.b32 %r2, %r2, 1;", "lane-varying"),
    ],
)
def test_a_counter_keeps_the_place_where_its_step_does(step: str, expected: str) -> None:
    assert level(counted(step, USED)) == expected


def test_signed_division_is_even_where_the_counter_is_not_negative() -> None:
    divided = """
    shr.s32 %r4, %r2, 31;
    shr.u32 %r5, %r4, 24;
    add.s32 %r6, %r2, %r5;
    shr.s32 %r1, %r6, 8;
    USE;
    """
    assert level(counted("add.s32 %r2, %r2, 256;", divided)) == "uniform"
    below = f"add.s32 %r10, %r8, -512;{counted('add.s32 %r2, %r2, 256;', divided, '%r10')}"
    assert level(below) == "lane-varying"


def test_lanes_that_leave_a_loop_apart_come_out_with_other_counters() -> None:
    step = "add.s32 %r2, %r2, 256;"
    assert level(counted(step, "") + USED) == "lane-varying"
    together = counted(step, "", end="setp.lt.s32 %p1, %r2, 1024")
    assert level(together + USED) == "uniform"


def test_an_inner_loop_that_lanes_leave_apart_sets_its_counter_apart() -> None:
    inner = """
    ld.global.u32 %r11, [%rd5];
    setp.lt.s32 %p2, %r11, %r2;
    @%p2 bra $INNER;
    """
    step = f"$INNER: add.s32 %r2, %r2, 32; {inner}"
    assert level(counted(step, USED)) == "data-dependent"


def test_nested_counters_keep_it_together() -> None:
    nested = """
    mov.u32 %r20, 0;
$OUTER:
    add.s32 %r2, %r20, %r8;
    mov.u32 %r21, 0;
$LOOP:
    shr.u32 %r1, %r2, 5;
    USE;
    add.s32 %r2, %r2, 32;
    add.s32 %r21, %r21, 1;
    setp.lt.s32 %p1, %r21, %r9;
    @%p1 bra $LOOP;
    add.s32 %r20, %r20, 128;
    setp.lt.s32 %p2, %r20, %r9;
    @%p2 bra $OUTER;
    """
    assert level(nested) == "uniform"
    assert level(nested.replace("%r20, 128", "%r20, 16")) == "lane-varying"
