"""Slices on hand-made PTX: what an index is made of."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.graph import ControlFlow
from lmemscope.analysis.ptx.leaves import Leaf
from lmemscope.analysis.ptx.slicing import Dataflow
from tests.support.builders import ptx_module as module

PARAMETERS = ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)"


def dataflow(body: str) -> Dataflow:
    return Dataflow(module(body, PARAMETERS).functions[0])


def kinds(leaves: frozenset[Leaf]) -> set[tuple[str, str | None]]:
    return {(leaf.kind, leaf.name) for leaf in leaves}


def loop(bound: str, step: str = "add.s32 %r1, %r1, 1;", body: str = "") -> str:
    return f"""
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u32 %r9, [k_param_1];
    mov.u32 %r1, 0;
$L1:
    {body}
    {step}
    setp.lt.s32 %p1, %r1, {bound};
    @%p1 bra $L1;
    ret;
    """


def test_constants_have_no_leaves() -> None:
    flow = dataflow("mov.u32 %r1, 5;\nadd.s32 %r2, %r1, 3;\nret;")
    assert flow.leaves("%r2") == frozenset()


def test_parameters_thread_ids_and_block_ids() -> None:
    flow = dataflow(
        "ld.param.u32 %r1, [k_param_1];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.y;\n"
        "mad.lo.s32 %r4, %r1, %r2, %r3;\nret;"
    )
    assert kinds(flow.leaves("%r4")) == {
        ("parameter", "k_param_1"),
        ("thread-id", "%tid.x"),
        ("block-id", "%ctaid.y"),
    }
    assert flow.uniformity("%r1") == flow.uniformity("%r3") == "uniform"
    assert flow.uniformity("%r4") == "lane-varying"


def test_a_counter_knows_whether_its_trip_count_is_constant() -> None:
    (constant,) = dataflow(loop("40")).leaves("%r1")
    assert (constant.kind, constant.constant_trip) == ("loop-counter", True)
    (run_time,) = dataflow(loop("%r9")).leaves("%r1")
    assert (run_time.kind, run_time.constant_trip) == ("loop-counter", False)


def test_a_comparison_inside_the_loop_is_no_trip_count() -> None:
    skipped = "setp.gt.s32 %p2, %r1, 5;\n@%p2 bra $L2;\nmov.u32 %r7, 1;\n$L2:"
    (counter,) = dataflow(loop("%r9", body=skipped)).leaves("%r1")
    assert not counter.constant_trip


def test_what_advances_in_both_of_two_loops_counts_for_the_outer_one() -> None:
    flow = dataflow(loop("%r9", body="mov.u32 %r7, 1;\n$L2:\nadd.s32 %r1, %r1, 2;\n@%p5 bra $L2;"))
    (counter,) = flow.leaves("%r1")
    outer = max(flow.flow.loops, key=lambda found: len(found.members))
    assert counter.header == outer.header
    assert len(flow.flow.loops) == 2


@pytest.mark.parametrize(("inner", "outer"), [("8", "%r9"), ("%r9", "8")])
def test_a_counter_that_an_outer_loop_restarts_is_the_inner_loops(inner: str, outer: str) -> None:
    nested = f"mov.u32 %r2, 0;\n$L2:\nadd.s32 %r2, %r2, 1;\nsetp.lt.s32 %p2, %r2, {inner};"
    flow = dataflow(loop(outer, body=f"{nested}\n@%p2 bra $L2;"))
    (counter,) = flow.leaves("%r2")
    assert counter.constant_trip == (inner == "8")


def test_a_counter_that_starts_at_a_thread_id_is_lane_varying() -> None:
    leaves = dataflow(loop("40").replace("mov.u32 %r1, 0;", "mov.u32 %r1, %tid.x;")).leaves("%r1")
    assert {leaf.kind for leaf in leaves} == {"loop-counter", "thread-id"}


def test_a_counter_that_advances_under_a_condition_depends_on_it() -> None:
    selected = loop(
        "40",
        body="ld.global.u32 %r5, [%rd1];\nsetp.gt.s32 %p2, %r5, 0;\n"
        "add.s32 %r6, %r2, 1;\nselp.b32 %r2, %r6, %r2, %p2;",
    )
    assert "memory" in {leaf.kind for leaf in dataflow(selected).leaves("%r2")}
    branched = loop(
        "40",
        body="ld.global.u32 %r5, [%rd1];\nsetp.gt.s32 %p2, %r5, 0;\n@%p2 bra $L2;\n"
        "add.s32 %r2, %r2, 1;\n$L2:",
    )
    flow = dataflow(branched.replace("mov.u32 %r1, 0;", "mov.u32 %r1, 0;\nmov.u32 %r2, 0;"))
    assert "memory" in {leaf.kind for leaf in flow.leaves("%r2")}
    predicated = loop(
        "40",
        body="ld.global.u32 %r5, [%rd1];\nsetp.gt.s32 %p2, %r5, 0;\n@%p2 add.s32 %r2, %r2, 1;",
    )
    assert "memory" in {leaf.kind for leaf in dataflow(predicated).leaves("%r2")}


def test_loads_are_as_uniform_as_their_addresses() -> None:
    flow = dataflow(
        "ld.param.u64 %rd1, [k_param_0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
        "add.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r2, [%rd3];\nld.global.u32 %r3, [%rd1+8];\nret;"
    )
    assert kinds(flow.leaves("%r2")) == kinds(flow.leaves("%r3")) == {("memory", "k_param_0")}
    assert (flow.uniformity("%r2"), flow.uniformity("%r3")) == ("data-dependent", "uniform")


@pytest.mark.parametrize("start", ["uniform", "data-dependent"])
def test_pointer_chasing_is_as_uniform_as_where_it_starts(start: str) -> None:
    chase = loop("40", body="ld.global.u64 %rd1, [%rd1];\ncvt.u32.u64 %r7, %rd1;")
    if start != "uniform":
        chase = f"mov.u32 %r8, %tid.x;\nmul.wide.u32 %rd2, %r8, 8;\n{chase}"
        chase = chase.replace("$L1:", "add.s64 %rd1, %rd1, %rd2;\n$L1:")
    flow = dataflow(chase)
    assert ("memory", None) in kinds(flow.leaves("%r7"))
    assert flow.uniformity("%r7") == start


def test_long_chains_need_no_stack() -> None:
    steps = "\n".join(
        f"mul.wide.s32 %rd{i + 2}, %r{i}, 4;\nadd.s64 %rd{i + 2}, %rd{i + 2}, %rd1;\n"
        f"ld.global.u32 %r{i + 1}, [%rd{i + 2}];"
        for i in range(1, 4000)
    )
    flow = dataflow(
        f"ld.param.u64 %rd1, [k_param_0];\nld.param.u32 %r1, [k_param_1];\n{steps}\nret;"
    )
    assert {leaf.kind for leaf in flow.leaves("%r4000")} == {"memory"}


def test_loops_and_dominators() -> None:
    body = (
        module(
            """
        mov.u32 %r1, 0;
$OUTER:
        mov.u32 %r2, 0;
$INNER:
        add.s32 %r2, %r2, 1;
        setp.lt.s32 %p1, %r2, 8;
        @%p1 bra $INNER;
        add.s32 %r1, %r1, 1;
        setp.lt.s32 %p2, %r1, 4;
        @%p2 bra $OUTER;
        ret;
        """
        )
        .functions[0]
        .body
    )
    flow = ControlFlow(body)
    assert [flow.depth(index) for index in range(9)] == [0, 1, 2, 2, 2, 1, 1, 1, 0]
    assert len(flow.loops) == 2
    assert flow.dominates(0, 8)
    assert not flow.dominates(8, 0)
    inner = flow.innermost(frozenset({2}))
    assert inner is not None
    assert inner.members == {2, 3, 4}


def test_calls_have_their_arguments() -> None:
    body = (
        module(
            """
        { .param .b64 param0;
        st.param.b64 [param0+0], %rd1;
        .param .b32 param1;
        st.param.b32 [param1+0], %r2;
        .param .b32 retval0;
        call.uni (retval0), leaf, (param0, param1);
        ld.param.b32 %r3, [retval0+0]; }
        call %rd9, (), proto;
        ret;
        """
        )
        .functions[0]
        .body
    )
    first, second = ControlFlow(body).calls
    assert (first.callee, first.arguments, first.results) == (
        "leaf",
        [["%rd1"], ["%r2"]],
        ("retval0",),
    )
    assert second.callee is None


def test_a_function_without_instructions_has_no_blocks() -> None:
    body = module("").functions[0].body
    assert body is not None
    assert not body.instructions
    assert ControlFlow(body).blocks == []


LOADED = "ld.param.u64 %rd2, [k_param_0];\nmov.u32 %r4, %tid.x;\nmul.wide.u32 %rd3, %r4, 4;\n"
LOADED += "add.s64 %rd4, %rd2, %rd3;\nld.global.u32 %r5, [%rd4];\n"


@pytest.mark.parametrize(
    ("bound", "found"),
    [
        ("8", set()),
        ("%r9", set()),
        ("%ntid.x", set()),
        ("%r4", {("thread-id", "%tid.x")}),
        ("%r5", {("memory", "k_param_0")}),
    ],
)
def test_what_parts_lanes(bound: str, found: set[tuple[str, str | None]]) -> None:
    flow = dataflow(LOADED + loop(bound))
    (counted,) = flow.flow.loops
    assert kinds(flow.parting(counted)) == found


def test_a_break_on_data_parts_lanes() -> None:
    flow = dataflow(
        LOADED + loop("8", body="setp.eq.s32 %p2, %r5, %r1;\n@%p2 bra $L9;\n") + "$L9:\nret;"
    )
    (counted,) = flow.flow.loops
    assert kinds(flow.parting(counted)) == {("memory", "k_param_0")}
