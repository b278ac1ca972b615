"""Addresses and indices as linear forms."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.forms import Form, Given, Iteration
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.ptx.trips import UNKNOWN
from tests.support.builders import depot, program

LOOP = """\
mov.u32 %i, {begin};
$L1:
{inside}
add.s32 %i, %i, {step};
setp.lt.s32 %p, %i, %n;
@%p bra $L1;
ret;
"""
NUMBER = "ld.param.u32 %n, [k_param_1];\n"


def flow_of(body: str, size: int = 80) -> Dataflow:
    dataflow = ModuleFlow(program(f"{depot(size)}\n{NUMBER}{body}")).dataflow("k")
    assert dataflow is not None
    return dataflow


def accessed(body: str) -> Form:
    """The address of the only store."""
    dataflow = flow_of(body)
    (index,) = (i for i, one in enumerate(dataflow.body.instructions) if one.operation == "st")
    form = dataflow.affine.address(index)
    assert form is not None
    return form


def looped(inside: str, begin: object = 0, step: object = 1) -> str:
    return LOOP.format(begin=begin, inside=inside, step=step)


def by_kind(form: Form) -> dict[str, int]:
    """Factors: of the memory, of iterations, of parameters, and of what is not known further."""
    names = {str: "memory", Iteration: "iteration", Given: "parameter", int: "other"}
    return {names[type(term)]: factor for term, factor in form.terms.items()}


ELEMENT = "mul.wide.s32 %o, {}, 4;\nadd.s64 %a, %SPL, %o;\nst.local.u32 [%a+8], %n;"


def test_an_element_is_its_array_and_a_multiple_of_what_counts() -> None:
    form = accessed(looped(ELEMENT.format("%i"), begin=3, step=2))
    assert by_kind(form) == {"memory": 1, "iteration": 8}
    # It begins at the third element of the array at 8.
    assert form.constant == 20


def test_a_pointer_that_moves_on_is_as_good_as_an_index() -> None:
    walked = looped("st.local.u32 [%a], %n;\nadd.s64 %a, %a, 12;")
    form = accessed("add.u64 %a, %SPL, 16;\n" + walked)
    assert by_kind(form) == {"memory": 1, "iteration": 12}
    assert form.constant == 16


@pytest.mark.parametrize(
    ("made", "factors", "constant"),
    [
        ("shl.b32 %j, %n, 2;", {"parameter": 16}, 8),
        ("mad.lo.s32 %j, %n, 3, 5;", {"parameter": 12}, 28),
        ("not.b32 %j, %n;", {"parameter": -4}, 4),
        ("sub.s32 %m, %n, 7; sub.s32 %j, %m, %n;", {}, -20),
        ("and.b32 %j, %n, 12;", {"other": 16}, 8),
        ("and.b32 %m, %n, 12; or.b32 %j, %m, 3;", {"other": 16}, 20),
        ("and.b32 %m, %n, 12; or.b32 %j, %m, 4;", {"other": 16}, 8),
        ("xor.b32 %j, %n, 1;", {"other": 4}, 8),
        ("mul.lo.s32 %j, %n, %n;", {"other": 4}, 8),
        # A register of 8 bits drops what an extension cannot bring back.
        ("add.s32 %m, %n, 1; cvt.u8.u32 %b, %m; cvt.u32.u8 %j, %b;", {"other": 4}, 8),
        # The same number, written without a sign.
        ("mov.u32 %j, 4294967293;", {}, -4),
        ("rem.s32 %j, WARP_SZ, 5;", {}, 16),
    ],
)
def test_arithmetic_is_linear_or_a_multiple_of_something(
    made: str, factors: dict[str, int], constant: int
) -> None:
    form = accessed(f"{made}\n{ELEMENT.format('%j')}")
    assert by_kind(form) == {"memory": 1, **factors}
    assert form.constant == constant


CHOSEN = """setp.lt.s32 %p, %n, 5;
@%p bra $E;
{first}
bra.uni $J;
$E:
{second}
$J:
st.local.u32 [%a], %n;
ret;
"""


@pytest.mark.parametrize(
    ("first", "second", "divisor"),
    [
        ("add.s64 %a, %SPL, 16;", "mov.u64 %b, %SPL; add.s64 %a, %b, 16;", 0),
        ("add.s64 %a, %SPL, 40;", "add.s64 %a, %SPL, 16;", 24),
    ],
)
def test_where_paths_meet_an_address_is_the_first_place_and_multiples_of_the_distance(
    first: str, second: str, divisor: int
) -> None:
    form = accessed(CHOSEN.format(first=first, second=second))
    assert form.constant == 16
    assert [factor for term, factor in form.terms.items() if isinstance(term, int)] == (
        [divisor] if divisor else []
    )


def test_of_an_address_that_may_be_another_memory_s_nothing_is_known() -> None:
    form = accessed(CHOSEN.format(first="add.s64 %a, %SPL, 8;", second="ld.u64 %a, [%g];"))
    assert by_kind(form) == {"other": 1}


def test_each_loop_around_changes_an_address_by_its_own_step() -> None:
    """``a[i][j]`` of rows of 24 bytes."""
    inner = """mul.wide.s32 %r, %i, 24;
add.s64 %row, %SPL, %r;
mov.u32 %j, 0;
$L2:
mul.wide.s32 %o, %j, 4;
add.s64 %a, %row, %o;
st.local.u32 [%a], %n;
add.s32 %j, %j, 1;
setp.lt.s32 %q, %j, 6;
@%q bra $L2;"""
    dataflow = flow_of(looped(inner))
    (index,) = (i for i, one in enumerate(dataflow.body.instructions) if one.operation == "st")
    form, loops = dataflow.affine.address(index), dataflow.flow.loops
    assert form is not None
    assert [dataflow.affine.change(form, loop, loops) for loop in loops] == [24, 4]
    # Where the inner one has ended is another place each time.
    assert dataflow.affine.change(form, loops[0]) is None


def test_a_value_of_the_iteration_s_own_changes_by_no_constant() -> None:
    dataflow = flow_of(looped("ld.global.u32 %x, [%g];\n" + ELEMENT.format("%x")))
    (index,) = (i for i, one in enumerate(dataflow.body.instructions) if one.operation == "st")
    form = dataflow.affine.address(index)
    assert form is not None
    assert dataflow.affine.change(form, dataflow.flow.loops[0]) is None


def test_a_counter_may_lag_behind_another_one() -> None:
    """``own`` has what ``next`` had an iteration ago, from one step before its first."""
    lagging = looped("mov.u32 %own, %at;\nmov.u32 %at, %next;\nadd.s32 %next, %at, 2;\n{}")
    begin = "mov.u32 %at, {};\nmov.u32 %next, 5;\n"
    inside = ELEMENT.format("%own")
    form = accessed(begin.format(3) + lagging.format(inside))
    assert by_kind(form) == {"memory": 1, "iteration": 8}
    assert form.constant == 20
    # From elsewhere its first step is another one.
    assert "iteration" not in by_kind(accessed(begin.format(0) + lagging.format(inside)))


def test_blocks_that_lead_into_each_other_without_a_header_count_nothing() -> None:
    body = f"""setp.lt.s32 %p, %n, 5;
mov.u32 %i, 0;
@%p bra $B;
$A:
add.s32 %i, %i, 1;
setp.gt.s32 %q, %i, %n;
@%q bra $E;
$B:
add.s32 %i, %i, 2;
bra.uni $A;
$E:
{ELEMENT.format("%i")}
ret;"""
    assert by_kind(accessed(body)) == {"memory": 1, "other": 4}


def test_a_register_that_is_read_before_it_is_written_is_anything() -> None:
    assert by_kind(accessed(f"add.s32 %x, %x, 1;\n{ELEMENT.format('%x')}")) == {
        "memory": 1,
        "other": 4,
    }


@pytest.mark.parametrize(
    ("kind", "begin", "step", "test", "count"),
    [
        ("s32", 0, 1, "lt.s32 %p, %i, 10", 10),
        # A byte counts to 255 and begins anew: the comparison is never false.
        ("u32", 0, 1, "lt.u32 %p, %c, 300", None),
        # Below 0 a number without a sign is large.
        ("u32", 5, -1, "lt.u32 %p, %i, 10", 6),
        ("u32", 0, 1, "ne.u32 %p, %i, 4294967295", None),
        ("u32", -3, 1, "ne.s32 %p, %i, 4", 7),
    ],
)
def test_registers_wrap_where_loops_count(
    kind: str, begin: int, step: int, test: str, count: int | None
) -> None:
    body = f"""mov.{kind} %i, {begin};
$L1:
add.{kind} %i, %i, {step};
cvt.u8.u32 %b, %i;
cvt.u32.u8 %c, %b;
setp.{test};
@%p bra $L1;
ret;"""
    dataflow = flow_of(body)
    assert dataflow.trips.constant_count(dataflow.flow.loops[0]) == count


@pytest.mark.parametrize(
    ("begin", "end", "count"),
    [
        # A form has the minimum of two even numbers as twice a term.
        ("mov.u32 %i, 0;", "shl.b32 %m, %n, 1;\nmin.s32 %e, %m, 12;", 12),
        ("mov.u32 %i, %n;", "add.s32 %e, %n, 5;", 5),
        ("add.s32 %i, %n, 3;", "add.s32 %e, %n, 5;", 2),
        # More than are counted one by one are not few.
        ("mov.u32 %i, 0;", "mov.u32 %e, 150000;", UNKNOWN),
        ("mov.u32 %i, %n;", "mov.u32 %e, %k;", UNKNOWN),
    ],
)
def test_loops_are_weighted_by_the_distance_of_their_ends(
    begin: str, end: str, count: float
) -> None:
    body = f"""ld.param.u32 %k, [k_param_2];
{begin}
{end}
$L1:
add.s32 %i, %i, 1;
setp.lt.u32 %p, %i, %e;
@%p bra $L1;
ret;"""
    dataflow = flow_of(body)
    assert dataflow.trips.count(dataflow.flow.loops[0]) == count


def test_two_indices_meet_in_half_the_iterations() -> None:
    body = """mov.u32 %i, %n;
mov.u32 %j, 12;
$L1:
add.s32 %i, %i, 1;
setp.lt.s32 %p, %i, %j;
add.s32 %j, %j, -1;
@%p bra $L1;
ret;"""
    dataflow = flow_of(body)
    assert dataflow.trips.count(dataflow.flow.loops[0]) == 12 / 2 / 2


def test_the_low_bits_of_a_counter_are_half_of_their_mask_on_average() -> None:
    body = """mov.u32 %i, 0;
$L1:
and.b32 %j, %i, 3;
$L2:
add.s32 %j, %j, 1;
setp.lt.s32 %q, %j, 8;
@%q bra $L2;
add.s32 %i, %i, 1;
setp.lt.s32 %p, %i, 15;
@%p bra $L1;
ret;"""
    dataflow = flow_of(body)
    outer, inner = sorted(dataflow.flow.loops, key=lambda loop: loop.header)
    assert dataflow.trips.exact_count(outer) == 15
    assert dataflow.trips.exact_count(inner) == 8 - 3 / 2


def test_a_loop_whose_end_it_goes_away_from_has_no_constant_count() -> None:
    body = (
        "mov.u32 %i, 44;\n$L1:\nadd.s32 %i, %i, -64;\nsetp.ne.s32 %p, %i, 44;\n@%p bra $L1;\nret;"
    )
    dataflow = flow_of(body)
    assert not dataflow.trips.is_constant(dataflow.flow.loops[0])


def test_no_answer_depends_on_what_was_asked_before() -> None:
    """Of loops that count what others count."""
    body = """mov.u32 %i, 0;
$L1:
mov.u32 %j, %i;
$L2:
mov.u32 %m, 8;
$L3:
shr.u32 %m, %m, 1;
setp.gt.u32 %r, %m, %i;
@%r bra $L3;
add.s32 %j, %j, 1;
setp.lt.s32 %q, %j, 10;
@%q bra $L2;
add.s32 %i, %i, 1;
setp.lt.s32 %p, %i, 10;
@%p bra $L1;
ret;"""
    answers = []
    for order in (1, -1):
        trips = (dataflow := flow_of(body)).trips
        found = {
            loop.header: (trips.is_constant(loop), trips.exact_count(loop), trips.count(loop))
            for loop in dataflow.flow.loops[::order]
        }
        answers.append(found)
    assert answers[0] == answers[1]
    assert [constant for constant, _, _ in answers[0].values()] == [True, True, True]
