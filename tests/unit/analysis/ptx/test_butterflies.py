"""Values that a warp's lanes combine pairwise until all hold one, on hand-made PTX."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lmemscope.analysis.ptx.slicing import Dataflow
from tests.support.builders import ptx_module as module

PARAMETERS = ".visible .entry k(.param .u64 k_param_0)"
START = """
    ld.param.u64 %rd1, [k_param_0];
    mov.u32 %r8, %tid.x;
    mul.wide.u32 %rd4, %r8, 4;
    add.s64 %rd5, %rd1, %rd4;
    ld.global.u32 %r0, [%rd5];
    ld.global.u64 %rd10, [%rd5];
"""
ALL = (16, 8, 4, 2, 1)


def level(body: str, register: str) -> str:
    """Uniformity of a register at the end."""
    text = f"{START}{body}\nst.global.u32 [%rd1], {register};\nret;"
    flow = Dataflow(module(text, PARAMETERS).functions[0])
    return flow.uniformity(register, len(flow.body.instructions) - 2)


def stages(
    combine: str, masks: Sequence[int] = ALL, bounds: int | str = 31, register: str = "%r0"
) -> str:
    """Stages of ``combine``, which says what becomes of ``{v}`` and the other lane's ``{o}``."""
    return "\n".join(
        f"shfl.sync.bfly.b32 %r20|%p20, {register}, {mask}, {bounds}, -1;\n"
        + combine.format(v=register, o="%r20")
        for mask in masks
    )


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("add.f32", "uniform"),
        ("add.s32", "uniform"),
        ("mul.lo.s32", "uniform"),
        ("max.f32", "uniform"),
        ("min.u32", "uniform"),
        ("and.b32", "uniform"),
        ("xor.b32", "uniform"),
        ("sub.s32", "data-dependent"),
        ("shl.b32", "data-dependent"),
    ],
)
def test_an_operation_that_commutes_makes_one_value(operation: str, expected: str) -> None:
    assert level(stages(operation + " {v}, {v}, {o};"), "%r0") == expected
    assert level(stages(operation + " {v}, {o}, {v};"), "%r0") == expected


@pytest.mark.parametrize(
    ("masks", "expected"),
    [
        ((1, 2, 4, 8, 16), "uniform"),
        ((31, 15, 7, 3, 1), "uniform"),
        ((16, 8, 4, 2), "data-dependent"),
        ((16, 8, 4, 2, 2), "data-dependent"),
        ((16, 8, 24, 2, 1), "data-dependent"),
    ],
)
def test_masks_have_to_span_the_number_of_a_lane(masks: Sequence[int], expected: str) -> None:
    assert level(stages("add.s32 {v}, {v}, {o};", masks), "%r0") == expected


def test_segments_have_to_hold_both_lanes() -> None:
    add = "add.s32 {v}, {v}, {o};"
    assert level(stages(add, bounds=4127), "%r0") == "data-dependent"  # halves of a warp
    halves = stages(add, (8, 4, 2, 1), bounds=4127)
    assert level(stages(add, (16,)) + "\n" + halves, "%r0") == "uniform"
    # As the headers of half precision compute them.
    computed = "mov.u32 %r30, WARP_SZ;\nshl.b32 %r31, %r30, 8;\nadd.s32 %r32, %r31, -8192;\n"
    computed += "or.b32 %r33, %r32, 31;\n"
    assert level(computed + stages(add, bounds="%r33"), "%r0") == "uniform"


def test_what_comes_between_two_stages_ends_the_first() -> None:
    add = "add.s32 {v}, {v}, {o};"
    body = f"{stages(add, (16, 8))}\nadd.s32 %r0, %r0, %r8;\n{stages(add, (4, 2, 1))}"
    assert level(body, "%r0") == "data-dependent"


@pytest.mark.parametrize(
    ("split", "join"),
    [
        ("mov.b64 {{%r1, %r2}}, %rd10;", "mov.b64 %rd11, {{%r3, %r4}};"),
        (
            "cvt.u32.u64 %r1, %rd10;\nshr.u64 %rd12, %rd10, 32;\ncvt.u32.u64 %r2, %rd12;",
            "cvt.u64.u32 %rd13, %r4;\ncvt.u64.u32 %rd14, %r3;\n"
            "bfi.b64 %rd11, %rd13, %rd14, 32, 32;",
        ),
        (
            "cvt.u32.u64 %r1, %rd10;\nshr.u64 %rd12, %rd10, 32;\ncvt.u32.u64 %r2, %rd12;",
            "cvt.u64.u32 %rd13, %r4;\nshl.b64 %rd13, %rd13, 32;\ncvt.u64.u32 %rd14, %r3;\n"
            "or.b64 %rd11, %rd13, %rd14;",
        ),
    ],
)
def test_values_of_64_bits_are_shuffled_in_halves(split: str, join: str) -> None:
    def body(low: str, high: str) -> str:
        return "\n".join(
            f"{split.format()}\nshfl.sync.bfly.b32 %r3|%p1, {low}, {mask}, 31, -1;\n"
            f"shfl.sync.bfly.b32 %r4|%p2, {high}, {mask}, 31, -1;\n{join.format()}\n"
            "max.u64 %rd10, %rd10, %rd11;"
            for mask in ALL
        )

    assert level(body("%r1", "%r2"), "%rd10") == "uniform"
    assert level(body("%r2", "%r1"), "%rd10") == "data-dependent"


@pytest.mark.parametrize(
    ("compare", "expected"),
    [
        ("setp.gt.s32 %p1, {o}, {v};", "uniform"),
        ("setp.le.u32 %p1, {v}, {o};", "uniform"),
        ("setp.gt.s32 %p2, {o}, {v};\nnot.pred %p1, %p2;", "uniform"),
        ("setp.gt.f32 %p1, {o}, {v};", "data-dependent"),  # a NaN compares as nothing
        ("setp.ne.s32 %p1, {o}, {v};", "data-dependent"),
        ("setp.gt.s32 %p1, {o}, %r8;", "data-dependent"),
    ],
)
def test_a_choice_that_both_lanes_make_alike(compare: str, expected: str) -> None:
    assert level(stages(compare + "\nselp.b32 {v}, {o}, {v}, %p1;"), "%r0") == expected


@pytest.mark.parametrize(
    ("tie", "expected"),
    [
        ("setp.lt.s32 %p3, %r21, %r9;\nand.pred %p4, %p2, %p3;\nor.pred %p5, %p1, %p4;", "uniform"),
        ("setp.lt.s32 %p3, %r21, %r9;\nand.pred %p4, %p6, %p3;\nor.pred %p5, %p1, %p4;", "uniform"),
        ("mov.pred %p5, %p1;", "data-dependent"),  # of equal keys each lane keeps its own
    ],
)
def test_the_place_of_a_maximum_needs_something_to_break_ties(tie: str, expected: str) -> None:
    body = "mov.u32 %r9, %r8;\n" + stages(
        "shfl.sync.bfly.b32 %r21|%p21, %r9, MASK, 31, -1;\n"
        f"setp.gt.s32 %p1, {{o}}, {{v}};\nsetp.eq.s32 %p2, {{o}}, {{v}};\n"
        f"setp.eq.b32 %p6, {{o}}, {{v}};\n{tie}\n"
        "selp.b32 {v}, {o}, {v}, %p5;\nselp.b32 %r9, %r21, %r9, %p5;"
    )
    for mask in ALL:
        body = body.replace("MASK", str(mask), 1)
    assert level(body, "%r9") == expected
    assert level(body, "%r0") == "uniform"


def test_choices_may_be_nested() -> None:
    body = "mov.u32 %r9, %r8;\n" + stages(
        "shfl.sync.bfly.b32 %r21|%p21, %r9, MASK, 31, -1;\nsetp.gt.s32 %p1, {o}, {v};\n"
        "setp.eq.b32 %p2, {o}, {v};\nsetp.lt.s32 %p3, %r21, %r9;\nselp.b32 %r22, %r21, %r9, %p3;\n"
        "selp.b32 %r23, %r22, %r9, %p2;\nmax.s32 {v}, {v}, {o};\nselp.b32 %r9, %r21, %r23, %p1;"
    )
    for mask in ALL:
        body = body.replace("MASK", str(mask), 1)
    assert level(body, "%r9") == "uniform"
    assert level(body.replace("%r22, %r9, %p2", "%r22, %r9, !%p2"), "%r9") == "data-dependent"
