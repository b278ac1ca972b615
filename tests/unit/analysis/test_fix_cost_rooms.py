"""What a kernel's arrays show of how often its loops run, for the modelled cost."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.rooms import Walks
from lmemscope.analysis.ptx.trips import UNKNOWN
from lmemscope.analysis.work import work_of, works_of
from lmemscope.formats.kernel_names import stable_name
from lmemscope.model import PIPES, LoopCounts, LoopTurns, Work
from tests.support.builders import attributed, depot, layers, program

WALK = """{depot}
ld.param.u32 %n, [k_param_1];
mov.u32 %i, {begin};
$L1:
mul.wide.s32 %o, %i, {width};
add.s64 %a, %SPL, %o;
{access}
fma.rn.f32 %f, %f, %f, %f;
$L2:
add.s32 %i, %i, {step};
setp.{test} %p, %i, {bound};
@%p bra $L1;
ret;
"""


def walk(
    size: int = 24,
    *,
    begin: object = 0,
    width: int = 4,
    step: int = 1,
    test: str = "lt.s32",
    bound: str = "%n",
    access: str = "st.local.f32 [%a], %f;",
) -> str:
    return WALK.format(
        depot=depot(size),
        begin=begin,
        width=width,
        access=access,
        step=step,
        test=test,
        bound=bound,
    )


def work(body: str, largest: dict[str, int] | None = None) -> Work:
    given = layers(program(body), frame=80)
    told = LoopCounts("k", tuple(largest.items())) if largest is not None else None
    found = work_of(given, attributed(given), told)
    assert found is not None
    return found


def turns(body: str, largest: dict[str, int] | None = None) -> float:
    return work(body, largest).pipes[PIPES.index("fp32")]


def test_a_loop_over_an_array_up_to_a_parameter_runs_as_often_as_that_has_elements() -> None:
    assert work(walk()).largest == (("k_param_1", 6),)
    assert turns(walk()) == 6
    assert turns(walk(width=8)) == 3


def test_an_array_larger_than_what_is_guessed_shows_nothing() -> None:
    assert work(walk(4096)).largest == ()
    assert turns(walk(4096)) == UNKNOWN


def test_the_end_of_the_condition_counts() -> None:
    """``i <= n`` over 6 elements has n at 5; the loop turns 6 times either way."""
    assert work(walk(test="le.s32")).largest == (("k_param_1", 5),)
    assert turns(walk(test="le.s32")) == 6


def test_a_loop_unrolled_four_times_takes_four_elements_a_turn() -> None:
    """Its end is rounded down to whole steps of four: 7 is rounded to 4."""
    body = walk(step=4, test="ne.s32", bound="%m").replace(
        "mov.u32 %i, 0;", "and.b32 %m, %n, 2147483644;\nmov.u32 %i, 0;"
    )
    assert turns(body) == 2  # 6 elements are two turns, of which the second is cut short
    assert dict(work(body).largest)["k_param_1"] == 11


def test_a_loop_that_counts_down_is_bounded_by_what_it_begins_with() -> None:
    body = walk(begin="%n", step=-1, test="gt.s32", bound="0")
    assert turns(body) == 6


def test_a_condition_around_the_access_shows_nothing_of_the_loop() -> None:
    """``if (i < 6) a[i]`` in a loop that may run further."""
    guarded = "setp.gt.s32 %q, %i, 5;\n@%q bra $L2;\nst.local.f32 [%a], %f;"
    assert work(walk(access=guarded)).largest == ()


@pytest.mark.parametrize(
    "index",
    ["and.b32 %x, %i, 3;", "rem.s32 %x, %i, 6;", "ld.local.u32 %x, [%SPL];"],
    ids=["mask", "remainder", "data"],
)
def test_an_index_that_begins_anew_shows_nothing(index: str) -> None:
    body = walk().replace("mul.wide.s32 %o, %i", f"{index}\nmul.wide.s32 %o, %x")
    assert work(body).largest == ()


def test_what_the_original_shows_holds_for_a_version_without_the_array() -> None:
    without = walk(access="")
    assert turns(without) == UNKNOWN
    assert turns(without, dict(work(walk()).largest)) == 6


def test_a_bound_that_is_loaded_is_no_parameter() -> None:
    body = walk(bound="%m").replace(
        "mov.u32 %i, 0;", "ld.param.u64 %d, [k_param_0];\nld.u32 %m, [%d];\nmov.u32 %i, 0;"
    )
    assert work(body).largest == ()
    assert turns(body) == 6  # The array has no more.
    assert turns(body.replace("depot0[24]", "depot0[4096]")) == UNKNOWN


def lined(body: str, line: int) -> str:
    """A program whose loop ends on a line of the source."""
    return body.replace("@%p bra $L1;", f".loc 1 {line} 5\n@%p bra $L1;")


def test_a_loop_of_a_rewriting_runs_as_often_as_that_of_the_line_in_the_original() -> None:
    """By the text of the line: a rewriting moves lines, and takes away the array that tells."""
    head = "for (int i = 0; i < *d; ++i) {"
    loaded = "ld.param.u64 %d, [k_param_0];\nld.u32 %m, [%d];\nmov.u32 %i, 0;"
    original = walk(bound="%m").replace("mov.u32 %i, 0;", loaded)
    given = layers(program(lined(original, 2)), frame=80)
    own = work_of(given, attributed(given), None, (), lambda file: ["", head])
    assert own is not None
    assert own.loops == (LoopTurns(6.0, 1, 0),)
    assert own.heads == ("for(inti=0;i<*d;++i)",)
    told = LoopCounts("k", own.largest, own.loops, own.heads)
    without = walk(bound="%m", access="").replace("mov.u32 %i, 0;", loaded)
    moved = ["for (;;) {", "", "  for (int  i = 0; i<*d; ++i) f(i);"]
    for source, line, expected in ((moved, 3, 6), (moved, 1, UNKNOWN), ([head, head], 2, UNKNOWN)):
        changed = layers(program(lined(without, line)), frame=80)
        found = work_of(changed, attributed(changed), told, (), lambda file, own=source: own)  # type: ignore[misc]
        assert found is not None
        assert found.pipes[PIPES.index("fp32")] == expected


def looped(label: str, line: int, body: str) -> str:
    """A loop whose iterations nothing tells, with its end on a line."""
    ends = f"ld.u32 %m, [%d];\nsetp.ne.s32 %p, %m, 0;\n.loc 1 {line} 5\n@%p bra {label};\n"
    return f"{label}:\n{body}\n{ends}"


def test_what_a_body_does_in_all_is_the_same_whatever_is_around_it() -> None:
    """Two loops in a row, as of a loop that is written out, are one in another in the rewriting."""
    start, fma = "ld.param.u64 %d, [k_param_0];\n", "fma.rn.f32 %f, %f, %f, %f;"
    source = ["for (gap = 9; gap; gap /= 3)", "  while (next())", ""]
    row = looped("$L1", 2, fma) + looped("$L2", 2, fma)
    given = layers(program(f"{start}{row}ret;"))
    own = work_of(given, attributed(given), None, (), lambda file: source)
    assert own is not None
    assert own.loops == (LoopTurns(2 * UNKNOWN, 1, 1),)
    nested = layers(program(f"{start}{looped('$L1', 1, looped('$L2', 2, fma))}ret;"))
    told = LoopCounts("k", own.largest, own.loops, own.heads)
    found = work_of(nested, attributed(nested), told, (), lambda file: source)
    assert found is not None
    assert found.pipes[PIPES.index("fp32")] == 2 * UNKNOWN


def test_of_loops_that_exclude_each_other_one_counts() -> None:
    start, fma = "ld.param.u64 %d, [k_param_0];\n", "fma.rn.f32 %f, %f, %f, %f;"
    chosen = "ld.u32 %n, [%d];\nsetp.ne.s32 %q, %n, 0;\n@%q bra $L5;\n"
    ways = f"{chosen}{looped('$L1', 1, fma)}bra $L9;\n$L5:\n{looped('$L2', 1, fma)}$L9:\nret;"
    given = layers(program(start + ways))
    own = work_of(given, attributed(given), None, (), lambda file: ["while (next())"])
    assert own is not None
    assert own.loops == (LoopTurns(UNKNOWN, 1, 0),)


def test_a_rewriting_whose_loop_is_unrolled_with_its_ways_out_runs_it_less_often() -> None:
    """As ``#pragma unroll 4`` of ``for (; i < n; i += blockDim.x)``: each copy asks again."""
    asked = "add.s32 %i, %i, %s;\n.loc 1 1 5\nsetp.ge.s32 %p, %i, %n;\n@%p bra $L9;\n.loc 1 2 5\n"
    body = "fma.rn.f32 %f, %f, %f, %f;\n"
    back = "add.s32 %i, %i, %s;\n.loc 1 1 5\nsetp.lt.s32 %q, %i, %n;\n@%q bra $L1;\n$L9:\nret;"
    start = "ld.param.u32 %n, [k_param_1];\nmov.u32 %s, %ntid.x;\nmov.u32 %i, %tid.x;\n$L1:\n"
    source = ["for (int i = t; i < n; i += s)"]
    told, found = None, list[float]()
    for copies in (0, 3):
        given = layers(program(f"{start}{(body + asked) * copies}{body}{back}"))
        own = work_of(given, attributed(given), told, (), lambda file: source)
        assert own is not None
        told = told or LoopCounts("k", own.largest, own.loops, own.heads)
        found.append(own.pipes[PIPES.index("fp32")])
    assert found == [UNKNOWN, UNKNOWN]


def test_a_row_of_a_matrix_is_what_its_outer_loop_moves_by() -> None:
    """``a[i][j]`` of 6 × 6: both loops end at the parameter."""
    body = f"""{depot(144)}
ld.param.u32 %n, [k_param_1];
mov.u32 %i, 0;
$L1:
mul.wide.s32 %o, %i, 24;
add.s64 %row, %SPL, %o;
mov.u32 %j, 0;
$L2:
mul.wide.s32 %c, %j, 4;
add.s64 %a, %row, %c;
st.local.f32 [%a], %f;
fma.rn.f32 %f, %f, %f, %f;
add.s32 %j, %j, 1;
setp.lt.s32 %p, %j, %n;
@%p bra $L2;
add.s32 %i, %i, 1;
setp.lt.s32 %q, %i, %n;
@%q bra $L1;
ret;
"""
    assert work(body).largest == (("k_param_1", 6),)
    assert turns(body) == 36


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("setp.gt.s32 %q, %n, 0; selp.b32 %m, %n, 0, %q;", 5),
        ("setp.gt.s32 %q, %n, 7; selp.b32 %m, %n, 7, %q;", 7),
        ("setp.lt.s32 %q, %n, 7; selp.b32 %m, %n, 7, %q;", 5),
        ("not.b32 %l, %n; max.s32 %l, %l, -3; sub.s32 %m, 0, %l;", 3),
        ("xor.b32 %m, %n, 3;", 6),
        ("or.b32 %m, %n, 3;", 7),
        # Neither what it compares nor what it chooses is known.
        ("setp.gt.s32 %q, %x, 0; selp.b32 %m, %n, 0, %q;", UNKNOWN),
        ("setp.gt.s32 %q, %n, 0; selp.b32 %m, %x, 0, %q;", UNKNOWN),
        ("and.pred %q, %y, %z; selp.b32 %m, %n, 0, %q;", UNKNOWN),
    ],
)
def test_a_bound_that_a_parameter_makes_is_known_with_it(bound: str, expected: float) -> None:
    body = walk(4096, bound="%m").replace(
        "mov.u32 %i", f"ld.global.u32 %x, [%g];\n{bound}\nmov.u32 %i"
    )
    assert turns(body, {"k_param_1": 5}) == expected


def test_a_loop_over_a_row_ends_with_the_row() -> None:
    """Of ``float w[3][6]`` at ``w[1][i]``: 6 turns, where the array's 12 behind it are known."""
    body = walk(72, begin=0).replace("[%a]", "[%a+24]")
    objects = ModuleFlow(program(body)).objects("k")
    assert objects is not None
    assert Walks(objects, {}).largest_parameters() == {"k_param_1": 12}
    assert Walks(objects, {0: (3, 6)}).largest_parameters() == {"k_param_1": 6}
    assert Walks(objects, {0: (6, 3)}).largest_parameters() == {"k_param_1": 3}
    assert Walks(objects, {0: (5, 5)}).largest_parameters() == {"k_param_1": 12}  # of another size


def test_a_loop_down_an_array_begins_where_it_does() -> None:
    """``for (i = 3; i >= n; --i) a[i]`` takes 4 elements of 6 at most; a row, 1 of its 3."""
    body = walk(24, begin=3, step=-1, test="ge.s32")
    objects = ModuleFlow(program(body)).objects("k")
    assert objects is not None
    walks = Walks(objects, {})
    assert list(walks.turns.values()) == [4]
    assert list(Walks(objects, {0: (2, 3)}).turns.values()) == [1]


def test_a_place_behind_branches_that_agree_is_known() -> None:
    """Each of 20 conditions brings together what both of its ways have: 88 bytes in the end."""
    ways = "".join(
        f"setp.lt.s32 %p{n}, %n, {n};\n@%p{n} bra $E{n};\nadd.s64 %v, %v, 4;\nbra.uni $J{n};\n"
        f"$E{n}:\nadd.s64 %v, %v, 4;\n$J{n}:\n"
        for n in range(20)
    )
    begin, address = "mov.u32 %i, 0;", "add.s64 %a, %SPL, %o;"
    body = walk(4080).replace(begin, f"mov.u64 %v, 8;\n{ways}{begin}").replace("[%a]", "[%b]")
    body = body.replace(address, f"{address}\nadd.s64 %b, %a, %v;")
    for changed, turns_ in (
        (body, (4080 - 88) // 4),
        (body.replace("%v, 8;", "%v, %n;"), 4080 // 4),
    ):
        objects = ModuleFlow(program(changed)).objects("k")
        assert objects is not None
        assert list(Walks(objects, {}).turns.values()) == [turns_]


@pytest.mark.parametrize("bits", ["-1", "99999999999"])
@pytest.mark.parametrize("operation", ["shl.b64", "shr.u64"])
def test_no_shift_is_wider_than_a_register(operation: str, bits: str) -> None:
    """What no compiler writes is read without an error, and in no time."""
    body = walk().replace(
        "add.s64 %a, %SPL, %o;", f"{operation} %o, %o, {bits};\nadd.s64 %a, %SPL, %o;"
    )
    assert work(body) is not None


def test_a_column_is_what_a_loop_over_rows_takes() -> None:
    body = walk(72, width=24).replace("[%a]", "[%a+8]")
    objects = ModuleFlow(program(body)).objects("k")
    assert objects is not None
    assert Walks(objects, {0: (3, 6)}).largest_parameters() == {"k_param_1": 3}


def test_a_member_of_a_parameter_is_told_from_others() -> None:
    """The address of a large parameter is in a register: its name, and the place, tell which."""
    by_register = walk().replace(
        "ld.param.u32 %n, [k_param_1];",
        "mov.b64 %rd8, k_param_1;\nmov.u64 %rd9, %rd8;\nld.param.u32 %n, [%rd9+{}];",
    )
    for place, name in ((0, "k_param_1"), (8, "k_param_1+8")):
        body = by_register.replace("{}", str(place))
        assert work(body).largest == ((name, 6),)
        assert turns(body.replace("depot0[24]", "depot0[4096]"), {name: 6}) == 6


def test_a_copy_of_a_static_kernel_has_the_numbers_of_the_original() -> None:
    """Its name, and those of its parameters, hold a hash of the path that it is compiled at."""
    own, copy = (f"__nv_static_34__{one}_12_raytracer_cu_44e9dcbb_k" for one in ("b337", "2901"))
    given = layers(program(walk(4096)))
    facts = [attributed(given)]
    for name, told, expected in (("k", "k", 6), ("k", "other", UNKNOWN)):
        (work_,) = works_of(
            given, facts, facts, [LoopCounts(told, ((f"{told}_param_1", 6),))], lambda file: ()
        ).values()
        assert work_ is not None
        assert work_.pipes[PIPES.index("fp32")] == expected, name
    assert stable_name(own) == stable_name(copy)
