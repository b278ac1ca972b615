"""Uniformity, control dependence and trip counts on hand-made PTX."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.points_to import Told
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.ptx_body import Loc
from tests.support.builders import ptx_module as module

PARAMETERS = (
    ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1, .param .u64 k_param_2)"
)
START = """
    .local .align 16 .b8 __local_depot0[128];
    mov.u64 %SPL, __local_depot0;
    add.u64 %rd90, %SPL, 0;
    add.u64 %rd91, %SPL, 64;
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u32 %r9, [k_param_1];
    ld.param.u64 %rd2, [k_param_2];
    cvta.to.global.u64 %rd3, %rd1;
    mov.u32 %r8, %tid.x;
    mul.wide.u32 %rd4, %r8, 4;
    add.s64 %rd5, %rd3, %rd4;
    ld.global.u32 %r7, [%rd5];
"""
"""Uniform: ``%r9``. Lane-varying: ``%r8``. Data-dependent: ``%r7``, loaded through parameter 0."""


def dataflow(body: str) -> Dataflow:
    return Dataflow(module(f"{START}{body}\nret;", PARAMETERS).functions[0])


def read_last(body: str, register: str = "%r1") -> tuple[set[str], str]:
    """Sources and uniformity of a register as the last instruction reads it."""
    flow = dataflow(f"{body}\nst.global.u32 [%rd3], {register};")
    at = len(flow.body.instructions) - 2
    leaves = flow.leaves(register, at)
    return {leaf.name or leaf.kind for leaf in leaves}, flow.uniformity(register, at)


def chosen_by(register: str) -> str:
    return f"""
    setp.lt.s32 %p1, {register}, 5;
    @%p1 bra $ELSE;
    mov.u32 %r1, 1;
    bra $END;
$ELSE:
    mov.u32 %r1, 2;
$END:
    """


@pytest.mark.parametrize(
    ("register", "source", "level"),
    [
        ("%r9", "k_param_1", "uniform"),
        ("%r8", "%tid.x", "lane-varying"),
        ("%r7", "k_param_0", "data-dependent"),
    ],
)
def test_a_join_is_as_uniform_as_what_chose_it(register: str, source: str, level: str) -> None:
    assert read_last(chosen_by(register)) == ({source}, level)


def test_a_branch_above_that_chooses_nothing_is_no_source() -> None:
    unrelated = chosen_by("%r8").replace("%r1,", "%r6,").replace("$E", "$U")
    assert read_last(unrelated + chosen_by("%r9")) == ({"k_param_1"}, "uniform")
    unchanged = "mov.u32 %r1, 3;" + chosen_by("%r8").replace("%r1,", "%r6,")
    assert read_last(unchanged) == (set(), "uniform")


def test_a_branch_that_decides_which_branch_runs_is_a_source_too() -> None:
    nested = f"""
    setp.lt.s32 %p3, %r8, 9;
    mov.u32 %r1, 0;
    @%p3 bra $OUT;
    {chosen_by("%r9")}
$OUT:
    """
    assert read_last(nested) == ({"%tid.x", "k_param_1"}, "lane-varying")


def test_a_predicated_move_keeps_what_was_there() -> None:
    body = "mov.u32 %r1, %ctaid.x;\nsetp.lt.s32 %p1, %r9, 5;\n@%p1 mov.u32 %r1, %r8;"
    assert read_last(body) == ({"%ctaid.x", "%tid.x", "k_param_1"}, "lane-varying")


def counted(bound: str, inside: str = "", *, start: str = "0") -> str:
    return f"""
    mov.u32 %r1, {start};
$L1:
    {inside}
    add.s32 %r1, %r1, 1;
    setp.lt.s32 %p1, %r1, {bound};
    @%p1 bra $L1;
    """


@pytest.mark.parametrize(
    ("bound", "source", "behind"),
    [
        ("%r9", "k_param_1", "uniform"),
        ("%r8", "%tid.x", "lane-varying"),
        ("%r7", "k_param_0", "data-dependent"),
    ],
)
def test_a_counter_depends_on_its_bound_behind_its_loop(
    bound: str, source: str, behind: str
) -> None:
    body = counted(bound, "mul.lo.s32 %r2, %r1, 3;")
    flow = dataflow(body)
    at = next(i for i, one in enumerate(flow.body.instructions) if one.opcode == "mul.lo.s32")
    assert flow.uniformity("%r1", at) == "uniform"
    assert {leaf.kind for leaf in flow.leaves("%r1", at)} == {"loop-counter"}
    assert read_last(body) == ({"loop-counter", source}, behind)
    # What never changes in the loop leaves it unchanged.
    assert read_last(counted(bound, "mov.u32 %r2, 7;"), "%r2") == (set(), "uniform")


def test_what_data_ends_depends_on_it() -> None:
    search = counted("%r2", "mul.wide.s32 %rd6, %r1, 4;\nadd.s64 %rd7, %rd2, %rd6;\n"
                     "ld.global.u32 %r2, [%rd7];")  # fmt: skip
    assert read_last(search) == ({"loop-counter", "k_param_2"}, "uniform")
    assert read_last(search.replace("mov.u32 %r1, 0;", "mov.u32 %r1, %r8;")) == (
        {"loop-counter", "k_param_2", "%tid.x"},
        "data-dependent",
    )


UNROLLED = """
    mov.u32 %r1, 0;
    setp.lt.s32 %p9, %r7, 1;
    @%p9 bra $END;
    and.b32 %r3, %r7, 3;
    setp.lt.u32 %p2, %r7, 4;
    @%p2 bra $REST;
    and.b32 %r4, %r7, 2147483644;
$MAIN:
    add.s32 %r1, %r1, 4;
    setp.ne.s32 %p1, %r1, %r4;
    @%p1 bra $MAIN;
$REST:
    setp.eq.s32 %p3, %r3, 0;
    @%p3 bra $END;
    mov.u32 %r5, %r3;
$LEFT:
    mul.lo.s32 %r2, %r1, 3;
    add.s32 %r1, %r1, 1;
    add.s32 %r5, %r5, -1;
    setp.ne.s32 %p4, %r5, 0;
    @%p4 bra $LEFT;
$END:
"""
"""A loop over ``%r7``, unrolled four times, with its remainder behind it."""
LEAVES_EARLY = UNROLLED.replace("$REST:", "").replace("mov.u32 %r5", "$REST:\nmov.u32 %r5")
ROUNDED = UNROLLED.replace("%r1, %r1, 4", "%r6, %r6, 4").replace("%p1, %r1", "%p1, %r6").replace(
    "$REST:", "mov.u32 %r1, %r4;\n$REST:"
)  # fmt: skip
NEGATED = UNROLLED.replace(
    "%p3, %r3, 0;", "%p5, %r3, 0;\nxor.pred %p6, %p5, -1;\nnot.pred %p3, %p6;"
)


@pytest.mark.parametrize("body", [UNROLLED, LEAVES_EARLY, ROUNDED, NEGATED])
def test_the_remainder_of_an_unrolled_loop_goes_on_with_its_counter(body: str) -> None:
    def in_remainder(text: str) -> tuple[set[str], str]:
        flow = dataflow(text)
        at = next(i for i, one in enumerate(flow.body.instructions) if one.opcode == "mul.lo.s32")
        leaves = flow.leaves("%r1", at)
        return {leaf.name or leaf.kind for leaf in leaves}, flow.uniformity("%r1", at)

    # Lanes that leave at different trips come with other counters, though made of no limit.
    assert in_remainder(body) == ({"loop-counter"}, "data-dependent")
    assert in_remainder(body.replace("%r7", "%r8")) == ({"loop-counter"}, "lane-varying")
    assert in_remainder(body.replace("%r7", "%r9")) == ({"loop-counter"}, "uniform")
    assert read_last(body) == ({"loop-counter", "k_param_0"}, "data-dependent")
    # What runs as often as another count leaves over goes on behind the loop.
    other = body.replace("and.b32 %r3, %r7, 3", "and.b32 %r3, %r9, 3")
    assert in_remainder(other) == ({"loop-counter", "k_param_0"}, "data-dependent")


def test_a_count_that_a_loop_before_made_has_a_remainder() -> None:
    made = counted("%r7").replace("%r1,", "%r10,").replace("$L1", "$L9")
    body = made + UNROLLED.replace("%r7", "%r10")
    flow = dataflow(body)
    at = next(i for i, one in enumerate(flow.body.instructions) if one.opcode == "mul.lo.s32")
    assert {leaf.kind for leaf in flow.leaves("%r1", at)} == {"loop-counter"}
    assert flow.uniformity("%r1", at) == "data-dependent"


def test_a_rounded_count_without_a_remainder_is_no_counter() -> None:
    rest = "and.b32 %r3, %r9, 3;\nand.b32 %r1, %r9, 2147483644;"
    assert read_last(rest) == ({"k_param_1"}, "uniform")
    looped = counted("%r9").replace("%r1,", "%r4,")
    assert read_last(f"{looped}\n{rest}") == ({"k_param_1"}, "uniform")


@pytest.mark.parametrize(("constant", "sources"), [("1", set()), ("2", {"k_param_2", "k_param_1"})])
def test_a_condition_between_equal_constants_chooses_nothing(
    constant: str, sources: set[str]
) -> None:
    search = f"""
    mov.u32 %r2, 0;
$L1:
    add.s64 %rd2, %rd2, 4;
    ld.global.u32 %r3, [%rd2];
    setp.eq.s32 %p1, %r3, 7;
    mov.u32 %r1, 1;
    @%p1 bra $END;
    add.s32 %r2, %r2, 1;
    setp.lt.s32 %p2, %r2, %r9;
    @%p2 bra $L1;
    mov.u32 %r1, {constant};
$END:
    """
    assert read_last(search)[0] - {"loop-counter"} == sources


def test_a_condition_between_copies_of_one_value_chooses_nothing() -> None:
    copied = chosen_by("%r7").replace("%r1, 1", "%r1, %r8").replace("%r1, 2", "%r1, %r8")
    assert read_last(copied) == ({"%tid.x"}, "lane-varying")
    other = chosen_by("%r7").replace("%r1, 1", "%r1, %r8").replace("%r1, 2", "%r1, %r9")
    assert read_last(other) == ({"%tid.x", "k_param_1", "k_param_0"}, "data-dependent")
    changed = copied.replace("$ELSE:", "$ELSE:\nadd.s32 %r8, %r8, 1;")
    assert read_last(changed) == ({"%tid.x", "k_param_0"}, "data-dependent")


def test_an_exit_that_leads_past_a_use_says_nothing_of_it() -> None:
    search = """
    mov.u32 %r1, 0;
$L1:
    add.s64 %rd2, %rd2, 4;
    ld.global.u32 %r3, [%rd2];
    setp.eq.s32 %p1, %r3, 7;
    @%p1 bra $FOUND;
    add.s32 %r1, %r1, 1;
    setp.lt.s32 %p2, %r1, %r9;
    @%p2 bra $L1;
    BEHIND
$FOUND:
    """
    assert read_last(search.replace("BEHIND", "ret;"))[0] == {"loop-counter", "k_param_2"}
    both = {"loop-counter", "k_param_2", "k_param_1"}
    assert read_last(search.replace("BEHIND", ""))[0] == both


AHEAD = """
    and.b32 %r3, %r9, 3;
    setp.eq.s32 %p2, %r3, 0;
    mov.u32 %r1, %r8;
    @%p2 bra $L2;
    add.s32 %r1, %r8, 1;
    setp.eq.s32 %p3, %r3, 1;
    @%p3 bra $L2;
    add.s32 %r1, %r8, STEP;
$L2:
"""
"""Up to two iterations of a loop over ``%r9`` that is unrolled four times, from ``%r8`` on."""


def test_iterations_ahead_of_an_unrolled_loop_are_its_counter() -> None:
    loop = """
    mov.u32 %r4, %r1;
$L1:
    add.s32 %r4, %r4, 4;
    setp.lt.s32 %p1, %r4, LIMIT;
    @%p1 bra $L1;
    """
    ahead = AHEAD.replace("STEP", "2") + loop
    assert read_last(ahead.replace("LIMIT", "%r9")) == ({"%tid.x"}, "lane-varying")
    # What no loop that follows is limited by, and values that are no steps, are chosen by it.
    assert read_last(ahead.replace("LIMIT", "%r8"))[0] == {"%tid.x", "k_param_1"}
    other = AHEAD.replace("STEP", "%r7") + loop.replace("LIMIT", "%r9")
    assert read_last(other)[0] == {"%tid.x", "k_param_0", "k_param_1"}


def test_a_limit_that_is_loaded_again_is_one_limit() -> None:
    body = UNROLLED.replace(
        "and.b32 %r4, %r7", "ld.global.u32 %r10, [%rd3+OFFSET];\nand.b32 %r4, %r10"
    ).replace("%r7", "%r11")
    again = f"ld.global.u32 %r11, [%rd3+4];\n{body}"
    for offset, sources in ("4", set()), ("8", {"k_param_0"}):
        flow = dataflow(again.replace("OFFSET", offset))
        at = next(i for i, one in enumerate(flow.body.instructions) if one.opcode == "mul.lo.s32")
        named = {leaf.name for leaf in flow.leaves("%r1", at) if leaf.name is not None}
        assert named == sources


@pytest.mark.parametrize(
    ("stored", "at", "level"),
    [
        ("%r9", "%rd90+4", "uniform"),
        ("%r8", "%rd90+4", "lane-varying"),
        ("%r7", "%rd90+4", "data-dependent"),
        ("%r8", "%rd90+1", "lane-varying"),
        ("%r8", "%rd90+7", "lane-varying"),
        # Other bytes of it, and another array.
        ("%r8", "%rd90", "uniform"),
        ("%r8", "%rd90+8", "uniform"),
        ("%r8", "%rd91+4", "uniform"),
    ],
)
def test_a_lanes_own_array_holds_what_was_stored_in_it(stored: str, at: str, level: str) -> None:
    body = f"st.local.u32 [%rd90+4], 0;\nst.local.u32 [{at}], {stored};"
    names, found = read_last(f"{body}\nld.local.u32 %r1, [%rd90+4];")
    assert (names, found) == ({"memory"}, level)


def test_stores_that_only_some_lanes_make_tell_lanes_apart() -> None:
    first, store = "st.local.u32 [%rd90], 2;", "st.local.u32 [%rd90], 1;"
    some = chosen_by("%r8").replace("mov.u32 %r1, 1;", store)
    load = "ld.local.u32 %r1, [%rd90];"
    assert read_last(first + some + load)[1] == "lane-varying"
    assert read_last((first + some + load).replace("%r8", "%r9"))[1] == "uniform"
    # What a lane has stored nothing in it does not read: all others have one value.
    assert read_last(some + load)[1] == "uniform"
    # Filled anew by all, in whole or in part.
    assert read_last(f"{first}{some}st.local.u64 [%rd90], 7;{load}")[1] == "uniform"
    assert read_last(f"{first}{some}st.local.u16 [%rd90], 7;{load}")[1] == "lane-varying"
    assert read_last(f"{first}{some}@%p9 st.local.u32 [%rd90], 7;{load}")[1] == "lane-varying"
    escaping = "st.global.u64 [%rd3], %rd90;\nld.local.u32 %r1, [%rd90];"
    assert read_last(escaping)[1] == "unknown"


def at(register: str) -> str:
    """The address of an element of the first array."""
    return f"mul.wide.u32 %rd6, {register}, 4;\nadd.s64 %rd7, %rd90, %rd6;\n"


@pytest.mark.parametrize(
    ("bound", "inside", "behind"),
    [("%r9", "uniform", "uniform"), ("%r8", "uniform", "lane-varying")],
)
def test_what_a_loop_leaves_in_an_array_differs_if_lanes_leave_it_apart(
    bound: str, inside: str, behind: str
) -> None:
    fill = counted(bound, f"and.b32 %r2, %r1, 7;\n{at('%r2')}st.local.u32 [%rd7], %r1;\n"
                   f"{at('%r9')}ld.local.u32 %r3, [%rd7];\nmul.lo.s32 %r4, %r3, 3;")  # fmt: skip
    flow = dataflow(fill)
    index = next(i for i, one in enumerate(flow.body.instructions) if one.opcode == "mul.lo.s32")
    assert flow.uniformity("%r3", index) == inside
    assert read_last(f"{fill}\n{at('%r9')}ld.local.u32 %r1, [%rd7];")[1] == behind


@pytest.mark.parametrize(
    ("lifetimes", "level"),
    [
        ((None, None), "lane-varying"),
        ((1, 1), "lane-varying"),
        ((None, 1), "lane-varying"),
        ((1, 2), "uniform"),
        ((1, 2, 3), "lane-varying"),  # the last call stores nothing: it is no variable of its own
    ],
)
def test_nothing_outlives_the_call_that_brings_its_variable_into_being(
    lifetimes: tuple[int | None, ...], level: str
) -> None:
    """Lanes leave a loop apart that calls; behind it another call fills its own array."""
    inside = f"{at('%r1')}st.local.u32 [%rd7], %r1;"
    text = f"{START}{counted('%r8', inside)}\nst.local.u32 [%rd90], 3;\n{at('%r9')}"
    text += "ld.local.u32 %r1, [%rd7];\nst.global.u32 [%rd3], %r1;\nret;"
    function = module(text, PARAMETERS).functions[0]
    is_own = [one.address is not None and "local" in one.modifiers
              for one in function.body.instructions]  # fmt: skip
    accesses = [index for index, own in enumerate(is_own) if own]
    calls = [None if one is None else Loc(1, one, 1) for one in (*lifetimes, lifetimes[-1])]
    told = {at: Told(None, call) for at, call in zip(accesses, calls, strict=False)}
    flow = Dataflow(function, told=told)
    last = len(function.body.instructions) - 2
    assert flow.uniformity("%r1", last) == level


def test_a_variable_of_a_call_in_a_loop_begins_anew_with_each_call() -> None:
    """Only some lanes call in each iteration: what the call's array held before is no content."""
    call = f"""
    .loc 1 5 3, function_name $N, inlined_at 1 20 7
    st.local.u32 [%rd90], 3;
    {at("%r9")}st.local.u32 [%rd7], %r2;
    ld.local.u32 %r1, [%rd7];
    mul.lo.s32 %r4, %r1, 3;"""
    body = f"""
    mov.u32 %r2, 0;
$L1:
    .loc 1 19 3
    setp.lt.s32 %p3, %r7, %r2;
    @%p3 bra $L2;{call}
$L2:
    .loc 1 18 3
    add.s32 %r2, %r2, 1;
    setp.lt.s32 %p1, %r2, %r9;
    @%p1 bra $L1;"""
    function = module(f"{START}{body}\nret;", PARAMETERS).functions[0]
    instructions = function.body.instructions
    own = [index for index, one in enumerate(instructions) if "local" in one.modifiers]
    index = next(i for i, one in enumerate(instructions) if one.opcode == "mul.lo.s32")
    inlined = instructions[own[0]].loc
    assert inlined is not None
    for lifetime, level in (None, "data-dependent"), (inlined.inlined_at, "uniform"):
        flow = Dataflow(function, told=dict.fromkeys(own, Told(None, lifetime)))
        assert flow.uniformity("%r1", index) == level


GRID_STRIDE = """
    mov.u32 %r20, %ntid.x;
    mov.u32 %r21, %ctaid.x;
    mad.lo.s32 %r22, %r21, %r20, FIRST;
    mov.u32 %r10, 0;
    setp.ge.s32 %p7, %r22, LIMIT;
    @%p7 bra $BEHIND;
    mov.u32 %r23, %nctaid.x;
    mul.lo.s32 %r24, %r23, STEP;
    mov.u32 %r25, 0;
$WALK:
    add.s32 %r10, %r25, 1;
    add.s32 %r22, %r22, %r24;
    setp.lt.s32 %p8, %r22, LIMIT;
    mov.u32 %r25, %r10;
    @%p8 bra $WALK;
$BEHIND:
"""
"""How often a lane walks the grid, in ``%r10``."""


@pytest.mark.parametrize(
    ("first", "step", "limit", "level"),
    [
        ("%r8", "%r20", "%r9", "uniform"),
        ("%r8", "%r9", "%r9", "lane-varying"),  # may be shorter than a warp
        ("%r8", "%r20", "%r7", "data-dependent"),
        ("%r7", "%r20", "%r9", "data-dependent"),
    ],
)
def test_lanes_that_walk_the_grid_have_as_many_elements_but_for_one(
    first: str, step: str, limit: str, level: str
) -> None:
    walk = GRID_STRIDE.replace("FIRST", first).replace("STEP", step).replace("LIMIT", limit)
    flow = dataflow(walk + UNROLLED.replace("%r7", "%r10"))
    index = next(i for i, one in enumerate(flow.body.instructions) if one.opcode == "mul.lo.s32"
                 and one.operands[0] == "%r2")  # fmt: skip
    assert flow.uniformity("%r1", index) == level
    # Behind the loop the counts themselves differ.
    assert read_last(walk, "%r10")[1] != "uniform"


def test_a_grid_that_lanes_stop_walking_by_their_data_gives_them_other_counts() -> None:
    walk = GRID_STRIDE.replace("FIRST", "%r8").replace("STEP", "%r20").replace("LIMIT", "%r9")
    stops = "ld.global.u32 %r26, [%rd5];\nsetp.eq.s32 %p6, %r26, %r25;\n@%p6 bra $BEHIND;"
    flow = dataflow(walk.replace("$WALK:", f"$WALK:\n{stops}") + UNROLLED.replace("%r7", "%r10"))
    index = next(i for i, one in enumerate(flow.body.instructions) if one.opcode == "mul.lo.s32"
                 and one.operands[0] == "%r2")  # fmt: skip
    assert flow.uniformity("%r1", index) == "data-dependent"


@pytest.mark.parametrize(
    ("register", "kind", "level"),
    [
        ("%laneid", "thread-id", "lane-varying"),
        ("%lanemask_lt", "thread-id", "lane-varying"),
        # In a block of unknown shape, the lanes of a warp may be in one row or in several.
        ("%tid.z", "thread-id", "unknown"),
        *(
            (name, "other", "uniform")
            for name in ("%clock", "%clock64", "%smid", "%warpid", "%globaltimer", "%ntid.x")
        ),
        ("%ctaid.x", "block-id", "uniform"),
        ("%clusterid.x", "block-id", "uniform"),
    ],
)
def test_special_registers_are_known_in_every_spelling(
    register: str, kind: str, level: str
) -> None:
    flow = dataflow(f"mov.u32 %r1, {register};\nadd.s32 %r2, %r1, 1;")
    (leaf,) = flow.leaves("%r2")
    assert (leaf.kind, leaf.name, flow.uniformity("%r2")) == (kind, register, level)


@pytest.mark.parametrize(
    ("instruction", "level"),
    [
        ("shfl.sync.idx.b32 %r1|%p1, %r7, 0, 31, -1", "uniform"),
        ("shfl.sync.idx.b32 %r1, %r7, %r9, 31, -1", "uniform"),
        ("shfl.sync.idx.b32 %r1, %r7, %r8, 31, -1", "data-dependent"),
        ("shfl.sync.idx.b32 %r1, %r7, 0, 4127, -1", "data-dependent"),
        ("shfl.sync.bfly.b32 %r1, %r7, 1, 31, -1", "data-dependent"),
        ("shfl.sync.bfly.b32 %r1, %r9, 1, 31, -1", "uniform"),
        ("redux.sync.add.s32 %r1, %r7, -1", "uniform"),
        ("match.any.sync.b32 %r1, %r7, -1", "data-dependent"),
        ("match.all.sync.b32 %r1|%p1, %r7, -1", "uniform"),
        ("clz.b32 %r1, %r7", "data-dependent"),
        ("dp4a.s32.s32 %r1, %r7, %r9, 0", "data-dependent"),
        ("atom.global.add.u32 %r1, [%rd3], 1", "data-dependent"),
    ],
)
def test_operations_between_lanes(instruction: str, level: str) -> None:
    names, found = read_last(f"{instruction};")
    assert found == level
    assert names <= {"k_param_0", "k_param_1", "%tid.x"}
    assert names


def test_a_ballot_is_uniform_and_keeps_its_sources() -> None:
    vote = "setp.gt.s32 %p1, %r7, 0;\nvote.sync.ballot.b32 %r1, %p1, -1;\npopc.b32 %r1, %r1;"
    assert read_last(vote) == ({"k_param_0"}, "uniform")


@pytest.mark.parametrize(
    ("operations", "level"),
    [
        ("shr.u32 %r1, %r8, 5;", "uniform"),
        ("shr.u32 %r1, %r8, 4;", "lane-varying"),
        ("and.b32 %r1, %r8, 992;", "uniform"),
        ("shr.u32 %r2, %r8, 3;\nand.b32 %r1, %r2, 124;", "uniform"),
        ("shl.b32 %r2, %r8, 2;\nand.b32 %r1, %r2, 1020;", "lane-varying"),
        ("bfe.u32 %r1, %r8, 5, 3;", "uniform"),
        ("div.u32 %r1, %r8, 96;", "uniform"),
        (
            "shr.s32 %r5, %r8, 31;\nshr.u32 %r6, %r5, 27;\n"
            "add.s32 %r7, %r8, %r6;\nshr.s32 %r1, %r7, 5;",
            "uniform",
        ),
        (
            "shr.s32 %r5, %r8, 31;\nshr.u32 %r6, %r5, 28;\n"
            "add.s32 %r7, %r8, %r6;\nshr.s32 %r1, %r7, 4;",
            "lane-varying",
        ),
        (
            "shr.s32 %r5, %r8, 3;\nshr.u32 %r6, %r5, 1;\n"
            "add.s32 %r7, %r8, %r6;\nshr.s32 %r1, %r7, 5;",
            "lane-varying",
        ),
        ("add.s32 %r2, %r8, 1;\nshr.u32 %r1, %r2, 5;", "lane-varying"),
        ("add.s32 %r2, %r8, %r9;\nshr.u32 %r1, %r2, 5;", "lane-varying"),
    ],
)
def test_the_number_of_a_warp_in_its_block_is_uniform(operations: str, level: str) -> None:
    names, found = read_last(operations)
    assert found == level
    assert "%tid.x" in names


@pytest.mark.parametrize(
    ("exit_test", "constant"),
    [
        ("setp.ge.s32 %p1, %r1, 16;\nsetp.gt.s32 %p2, %r7, 5;\nor.pred %p1, %p1, %p2;", True),
        ("setp.ge.s32 %p1, %r1, 16;\nsetp.gt.s32 %p2, %r7, 5;\nand.pred %p1, %p1, %p2;", False),
        ("min.s32 %r3, %r9, 16;\nsetp.ge.s32 %p1, %r1, %r3;", True),
        ("and.b32 %r3, %r9, 7;\nsetp.ge.s32 %p1, %r1, %r3;", True),
        ("and.b32 %r3, %r9, 2147483644;\nsetp.ge.s32 %p1, %r1, %r3;", False),
        ("setp.ge.s32 %p1, %r1, %r9;", False),
        ("setp.ge.s32 %p1, %r7, 5;", False),
    ],
)
def test_trip_counts_with_a_constant_maximum(exit_test: str, constant: bool) -> None:
    flow = dataflow(f"mov.u32 %r1, 0;\n$L1:\nadd.s32 %r1, %r1, 1;\n{exit_test}\n@!%p1 bra $L1;")
    (counter,) = {leaf for leaf in flow.leaves("%r1") if leaf.kind == "loop-counter"}
    assert counter.constant_trip == constant


@pytest.mark.parametrize(
    ("exit_test", "size"),
    [
        ("setp.ge.s32 %p1, %r1, 16;", 16 * 3),
        ("setp.ge.s32 %p1, %r1, 16;\nadd.s32 %r8, %r7, 1;", 16 * 4),
        ("setp.ge.s32 %p1, %r1, %r9;", None),
        ("min.s32 %r3, %r9, 16;\nsetp.ge.s32 %p1, %r1, %r3;", 16 * 4),
    ],
)
def test_what_a_loop_is_written_out(exit_test: str, size: int | None) -> None:
    flow = dataflow(f"mov.u32 %r1, 0;\n$L1:\nadd.s32 %r1, %r1, 1;\n{exit_test}\n@!%p1 bra $L1;")
    (loop,) = flow.flow.loops
    assert flow.written_out(loop.header) == size
    assert flow.written_out(loop.header + 1) is None


def test_an_exit_that_some_iterations_skip_is_no_maximum() -> None:
    guarded = "setp.gt.s32 %p3, %r7, 3;\n@%p3 bra $SKIP;\nsetp.gt.s32 %p4, %r1, 8;\n"
    body = counted("%r9", f"{guarded}@%p4 bra $OUT;\n$SKIP:") + "$OUT:"
    flow = dataflow(body)
    (counter,) = {leaf for leaf in flow.leaves("%r1") if leaf.kind == "loop-counter"}
    assert not counter.constant_trip
    early = counted("40", f"{guarded}@%p4 bra $OUT;\n$SKIP:") + "$OUT:"
    (counter,) = {leaf for leaf in dataflow(early).leaves("%r1") if leaf.kind == "loop-counter"}
    assert counter.constant_trip


@pytest.mark.parametrize(("bound", "constant"), [("40", True), ("2147483647", False)])
def test_a_limit_of_the_type_is_no_trip_count(bound: str, constant: bool) -> None:
    body = counted(bound, "setp.gt.s32 %p4, %r7, 8;\n@%p4 bra $OUT;\n") + "$OUT:"
    (counter,) = {leaf for leaf in dataflow(body).leaves("%r1") if leaf.kind == "loop-counter"}
    assert counter.constant_trip is constant


def test_straight_line_code_has_no_counter() -> None:
    steps = "\n".join("add.s32 %r2, %r1, 1;\nmov.u32 %r1, %r2;" for _ in range(3))
    assert read_last(f"mov.u32 %r1, %r9;\n{steps}") == ({"k_param_1"}, "uniform")


def test_a_load_comes_from_the_pointer_that_is_dereferenced() -> None:
    through = "mul.wide.s32 %rd6, %r7, 4;\nadd.s64 %rd7, %rd2, %rd6;\nld.global.u32 %r1, [%rd7];"
    assert read_last(through)[0] == {"k_param_2"}
    plus = "add.s64 %rd7, %rd2, %rd3;\nld.global.u32 %r1, [%rd7];"
    assert read_last(plus)[0] == {"k_param_0"}  # made an address of global memory: the pointer
    stored = "ld.global.u64 %rd7, [%rd3];\nadd.s64 %rd8, %rd7, %rd4;\nld.global.u32 %r1, [%rd8];"
    assert read_last(stored)[0] == {"memory"}


def called_with(argument: str, header: str = ".func leaf(.param .b64 leaf_param_0)") -> str:
    """Uniformity of a load through what a kernel gives to a function that is not inlined."""
    leaf = f"""{header}
{{
    ld.param.u64 %rd1, [leaf_param_0];
    ld.u32 %r1, [%rd1];
    ret;
}}"""
    call = f"""{{
    .param .b64 param0;
    st.param.b64 [param0+0], {argument};
    call.uni leaf, (param0);
    }}"""
    text = f"{leaf}\n{PARAMETERS}\n{{\n{START}{call}\nret;\n}}\n"
    flow = ModuleFlow(PtxModule(f".version 9.0\n.target sm_90\n.address_size 64\n{text}".encode()))
    dataflow = flow.dataflow("leaf")
    assert dataflow is not None
    return dataflow.uniformity("%rd1")


def test_parameters_of_functions_are_what_their_callers_give() -> None:
    assert called_with("%rd3") == "uniform"
    assert called_with("%rd5") == "lane-varying"
    assert called_with("%rd90") == "uniform"  # each lane's own array, at one place of its frame
    assert called_with("%rd3", ".visible .func leaf(.param .b64 leaf_param_0)") == "unknown"
    assert called_with("%rd3;\nmov.u64 %rd30, leaf") == "unknown"


def test_hundreds_of_shuffles_may_each_name_the_lane_that_the_next_one_takes() -> None:
    def chain(first: str) -> str:
        shuffles = "shfl.sync.idx.b32 %r1, %r8, %r1, 31, -1;\n" * 600
        return read_last(f"mov.u32 %r1, {first};\n{shuffles}")[1]

    assert chain("%r9") == "uniform"
    assert chain("%r8") == "lane-varying"


@pytest.mark.parametrize("first", ["one", "two"])
def test_parameters_of_functions_that_call_each_other_are_the_same_whoever_asks(first: str) -> None:
    def function(name: str, other: str) -> str:
        return f"""
.func {name}(.param .b64 {name}_param_0)
{{
    ld.param.u64 %rd1, [{name}_param_0];
    ld.u32 %r1, [%rd1];
    {{
    .param .b64 param0;
    st.param.b64 [param0+0], %rd1;
    call.uni {other}, (param0);
    }}
    ret;
}}"""

    call = "{\n.param .b64 param0;\nst.param.b64 [param0+0], %rd5;\ncall.uni one, (param0);\n}"
    text = (
        f"{function('one', 'two')}{function('two', 'one')}\n{PARAMETERS}\n{{\n{START}{call}\nret;}}"
    )
    flow = ModuleFlow(PtxModule(f".version 9.0\n.target sm_90\n.address_size 64\n{text}".encode()))
    found: dict[str, str] = {}
    for name in (first, "two" if first == "one" else "one"):
        dataflow = flow.dataflow(name)
        assert dataflow is not None
        found[name] = dataflow.uniformity("%rd1")
    assert found == {"one": "lane-varying", "two": "unknown"}


def test_a_loop_that_computed_values_end_does_not_count() -> None:
    """An escape-time loop: how often it runs is part of what it leaves behind."""
    escape = """
    mov.u32 %r1, 0;
    mov.u32 %r2, %r7;
$L1:
    mul.lo.s32 %r2, %r2, %r2;
    add.s32 %r1, %r1, 1;
    setp.lt.s32 %p1, %r2, 400;
    @%p1 bra $L1;
    """
    assert read_last(escape) == ({"loop-counter", "k_param_0"}, "data-dependent")


def test_a_short_circuit_test_has_the_limit_of_its_counter() -> None:
    body = """
    mov.u32 %r1, 9;
$L1:
    setp.lt.s32 %p1, %r1, 1;
    mov.pred %p2, 0;
    @%p1 bra $L2;
    ld.global.u32 %r2, [%rd3];
    setp.gt.s32 %p2, %r2, %r9;
$L2:
    @!%p2 bra $OUT;
    add.s32 %r1, %r1, -1;
    bra $L1;
$OUT:
    """
    (counter,) = {leaf for leaf in dataflow(body).leaves("%r1") if leaf.kind == "loop-counter"}
    assert counter.constant_trip
    (counter,) = {
        leaf
        for leaf in dataflow(body.replace("%r1, 1;", "%r7, 1;")).leaves("%r1")
        if leaf.kind == "loop-counter"
    }
    assert not counter.constant_trip


@pytest.mark.parametrize(
    ("index", "level"),
    [
        ("sub.s32 %r3, %r2, %r7;", "uniform"),
        ("sub.s32 %r3, %r2, %r7;\nadd.s32 %r3, %r3, 1;", "uniform"),
        ("sub.s32 %r3, %r2, %r8;", "data-dependent"),
        ("add.s32 %r3, %r2, %r7;", "data-dependent"),
    ],
)
def test_how_far_a_loop_has_counted_is_the_same_in_all_lanes(index: str, level: str) -> None:
    """Wherever each lane begins: ``for (x = first; x < n; ++x) a[x - first]``."""
    text = f"""
    mov.u32 %r2, %r7;
$L1:
    {index}
    st.global.u32 [%rd3], %r3;
    add.s32 %r2, %r2, 1;
    setp.lt.s32 %p1, %r2, %r9;
    @%p1 bra $L1;
    """
    flow = dataflow(text)
    store = next(n for n, one in enumerate(flow.body.instructions) if one.operation == "st")
    assert flow.uniformity("%r3", store) == level
