"""Stack objects on hand-made PTX: where they begin, who touches them, where their addresses go."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.points_to import Pointee
from lmemscope.analysis.ptx.transfers import access_width
from tests.support.builders import call, depot, objects_of, program

TWO = f"""{depot(96)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SPL, 64;
"""


def sizes(body: str) -> dict[int, int]:
    return {found.offset: found.size for found in objects_of(body).objects.values()}


def test_the_offsets_taken_delimit_the_objects() -> None:
    assert sizes(f"{TWO}\nret;") == {0: 64, 64: 32}


def test_the_generic_base_delimits_like_the_local_one() -> None:
    assert sizes(f"{depot(96)}\nadd.u64 %rd1, %SP, 0;\nadd.u64 %rd2, %SP, 48;\nret;") == {
        0: 48,
        48: 48,
    }


def test_an_offset_behind_the_depot_begins_no_object() -> None:
    assert sizes(f"{TWO}\nadd.u64 %rd3, %SPL, 96;\nret;") == {0: 64, 64: 32}


def test_a_depot_that_is_used_whole_is_one_object() -> None:
    assert sizes(f"{depot(40)}\nst.local.u32 [%SPL+4], 1;\nret;") == {0: 40}


def test_without_a_depot_there_is_nothing() -> None:
    assert objects_of("ld.global.u32 %r1, [%rd1];\nret;").objects == {}


def test_accesses_belong_to_the_object_that_their_address_points_into() -> None:
    found = objects_of(
        f"{TWO}\nst.local.u32 [%rd1+8], 1;\nadd.s64 %rd3, %rd2, 4;\nld.local.u32 %r1, [%rd3];\nret;"
    ).objects
    (store,), (load,) = found[0].accesses, found[64].accesses
    assert (store.is_store, store.width, store.offset) == (True, 4, 8)
    assert (load.is_store, load.width, load.offset) == (False, 4, 68)


def test_a_base_with_a_displacement_lies_in_the_object_before_it() -> None:
    found = objects_of(f"{TWO}\nld.local.u32 %r1, [%SPL+60];\nld.local.u32 %r2, [%SPL+64];\nret;")
    assert [access.offset for access in found.objects[0].accesses] == [60]
    assert [access.offset for access in found.objects[64].accesses] == [64]


def test_a_computed_index_has_leaves_and_no_constant_place() -> None:
    body = f"""{TWO}
ld.param.u32 %r1, [k_param_1];
mul.wide.s32 %rd3, %r1, 4;
add.s64 %rd4, %rd1, %rd3;
ld.local.u32 %r2, [%rd4];
ret;"""
    (access,) = objects_of(body).objects[0].accesses
    assert access.offset is None
    assert {(leaf.kind, leaf.name) for leaf in access.leaves} == {("parameter", "k_param_1")}


def test_a_selected_address_may_point_into_both_objects() -> None:
    found = objects_of(f"{TWO}\nselp.b64 %rd3, %rd1, %rd2, %p1;\nld.local.u32 %r1, [%rd3];\nret;")
    (access,) = found.accesses
    assert access.pointees == {Pointee("depot", 0), Pointee("depot", 64)}
    assert access.offset is None
    assert all(len(one.accesses) == 1 for one in found.objects.values())


def test_an_address_that_a_loop_advances_points_where_it_began() -> None:
    body = f"""{TWO}
mov.u64 %rd3, %rd2;
$L1:
ld.local.u32 %r1, [%rd3];
add.s64 %rd3, %rd3, 4;
bra $L1;"""
    (access,) = objects_of(body).accesses
    assert access.pointees == {Pointee("depot", 64)}


def test_a_register_points_where_its_value_at_the_access_does() -> None:
    found = objects_of(
        f"{TWO}\nmov.u64 %rd3, %rd1;\nst.local.u32 [%rd3], 1;\nmov.u64 %rd3, %rd2;\n"
        "st.local.u32 [%rd3], 2;\nret;"
    ).objects
    assert [len(found[at].accesses) for at in (0, 64)] == [1, 1]


POINTERS = f"""{depot(96)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SP, 64;
add.u64 %rd3, %SP, 80;
st.local.u64 [%rd1], %rd2;
st.local.u64 [%rd1+8], {{stored}};
ld.param.u32 %r1, [k_param_1];
mul.wide.s32 %rd4, %r1, 8;
add.s64 %rd5, %rd1, %rd4;
ld.local.u64 %rd6, [%rd5];
ld.f32 %f1, [%rd6+8];
"""


def test_an_address_may_come_out_of_an_array_of_addresses() -> None:
    objects = objects_of(f"{POINTERS.format(stored='%rd3')}\nret;")
    last = objects.accesses[-1]
    assert {one.offset for one in last.pointees} == {64, 80}
    assert last.leaves == frozenset(), "which of the pointers is no index"
    assert objects.is_local(last.index)
    assert not objects.is_chosen(last.index)


@pytest.mark.parametrize(("stored", "after"), [("%rd9", ""), ("%rd3", call("f", "%rd1"))])
def test_an_array_that_may_hold_other_pointers_says_nothing_for_sure(
    stored: str, after: str
) -> None:
    objects = objects_of(f"{POINTERS.format(stored=stored)}\n{after}\nret;", f="ret;")
    index = next(n for n, one in enumerate(objects.body.instructions) if one.opcode == "ld.f32")
    assert not objects.is_local(index)


@pytest.mark.parametrize(("passed", "local"), [("%rd2", True), ("%rd7", False)])
def test_a_parameter_is_local_if_every_call_passes_a_local_address(
    passed: str, local: bool
) -> None:
    body = f"{TWO}\nld.param.u64 %rd7, [k_param_0];\n{call('f', '%rd1')}\n{call('f', passed)}\nret;"
    inside = "ld.param.u64 %rd1, [f_param_0];\nld.f32 %f1, [%rd1+4];\nret;"
    flow = ModuleFlow(program(body, f=inside))
    assert flow.is_local("k", "f", 1) is local
    assert not flow.is_local("k", "f", 0)


def test_memory_of_others_is_no_access() -> None:
    body = f"{TWO}\nld.param.u64 %rd5, [k_param_0];\nld.u32 %r1, [%rd5];\nst.shared.u32 [%r2], 1;"
    assert objects_of(f"{body}\nret;").accesses == []


def test_alloca_is_a_pointee_of_its_own() -> None:
    found = objects_of("alloca.u64 %rd1, %r1;\nst.local.u32 [%rd1], 1;\nret;")
    (access,) = found.accesses
    assert {pointee.kind for pointee in access.pointees} == {"alloca"}


def test_addresses_passed_and_stored_are_seen() -> None:
    body = f"""{TWO}
{call("leaf", "%rd1")}
st.global.u64 [%rd9], %rd2;
ret;"""
    found = objects_of(body).objects
    ((passed, position),) = found[0].passed_to
    assert (passed.callee, position) == ("leaf", 0)
    assert found[0].stored_at == []
    assert len(found[64].stored_at) == 1
    assert found[64].passed_to == []


@pytest.mark.parametrize(
    ("line", "escapes"),
    [
        ("st.global.u64 [%rd9], %rd1;", True),
        ("atom.global.exch.b64 %rd3, [%rd9], %rd1;", True),
        ("mystery.b64 %rd3, %rd1;", True),
        ("st.local.u32 [%rd1], %r1;", False),
        ("setp.eq.u64 %p1, %rd1, 0;", False),
        ("add.u64 %rd3, %rd1, 8;", False),
    ],
)
def test_which_uses_let_an_address_escape(line: str, escapes: bool) -> None:
    assert bool(objects_of(f"{TWO}\n{line}\nret;").objects[0].stored_at) == escapes


def test_a_pointer_parameter_stands_for_the_callers_object() -> None:
    body = f"{TWO}\n{call('leaf', '%rd2')}\nret;"
    leaf = "ld.param.u64 %rd1, [leaf_param_0];\nld.u32 %r1, [%rd1+4];\nret;"
    flow = ModuleFlow(program(body, leaf=leaf))
    objects = flow.objects("leaf")
    assert objects is not None
    (access,) = objects.accesses
    assert access.pointees == {Pointee("parameter", 0, "leaf_param_0")}
    assert flow.owners("k", "leaf", access.pointees) == {("k", 64)}


def test_a_parameter_is_followed_through_functions_and_recursion() -> None:
    leaf = f"ld.param.u64 %rd1, [leaf_param_0];\n{call('leaf', '%rd1')}\nld.u32 %r1, [%rd1];\nret;"
    between = f"ld.param.u64 %rd1, [between_param_0];\n{call('leaf', '%rd1')}\nret;"
    flow = ModuleFlow(
        program(f"{TWO}\n{call('between', '%rd1')}\nret;", leaf=leaf, between=between)
    )
    assert flow.pointed_at("k", "leaf", "leaf_param_0") == {("k", 0)}
    assert flow.calls("k").recursive == ("leaf",)
    assert flow.calls("k").reached == ("between", "leaf")


def test_only_calls_that_the_kernel_reaches_count() -> None:
    leaf = "ld.param.u64 %rd1, [leaf_param_0];\nld.u32 %r1, [%rd1];\nret;"
    other = f"{depot(16)}\nadd.u64 %rd1, %SPL, 0;\n{call('leaf', '%rd1')}\nret;"
    flow = ModuleFlow(program("ret;", leaf=leaf, other=other))
    assert flow.pointed_at("k", "leaf", "leaf_param_0") == frozenset()
    assert flow.pointed_at("other", "leaf", "leaf_param_0") == {("other", 0)}


def test_an_address_is_local_only_on_every_path() -> None:
    body = f"""{TWO}
add.u64 %rd3, %SP, 0;
ld.param.u64 %rd4, [k_param_0];
selp.b64 %rd5, %rd3, %rd4, %p1;
ld.u32 %r1, [%rd3];
ld.u32 %r2, [%rd5];
ret;"""
    found = objects_of(body)
    first, second = (access.index for access in found.accesses)
    assert found.is_local(first)
    assert not found.is_local(second)


def test_generic_accesses_count_only_where_the_address_is_provably_local() -> None:
    body = f"""{depot(32)}
add.u64 %rd1, %SP, 16;
ld.param.u64 %rd9, [k_param_0];
st.f32 [%rd1], %f1;
mov.u64 %rd2, %rd1;
$L1:
ld.f32 %f2, [%rd2+4];
add.s64 %rd2, %rd2, 4;
@%p2 bra $L1;
selp.b64 %rd3, %rd1, %rd9, %p1;
ld.f32 %f3, [%rd3];
ld.global.f32 %f4, [%rd1];
ret;"""
    assert objects_of(body).generic_local == 2


@pytest.mark.parametrize(
    ("computed", "is_local"),
    [
        ("mad.lo.s64 %rd1, %rd8, 12, %SPL;", True),
        ("mad.lo.s64 %rd1, %SPL, 12, %rd8;", False),
        ("sub.s64 %rd1, %SPL, %rd8;", True),
        ("sub.s64 %rd1, %rd8, %SPL;", False),
        ("min.u64 %rd1, %SPL, %SP;", True),
        ("min.u64 %rd1, %SPL, %rd8;", False),
        ("selp.b64 %rd1, %SPL, %rd8, %p1;", False),
        ("selp.b64 %rd1, %SPL, 0, %p1;", False),
        ("mul.lo.s64 %rd1, %SPL, 2;", False),
        # Where the predicate is false the register keeps what it had.
        ("mov.u64 %rd1, %rd8;\n@%p1 mov.u64 %rd1, %SPL;", False),
        ("mov.u64 %rd1, %rd8;\nadd.s64 %rd1, %SPL, 8;", True),
    ],
)
def test_what_keeps_an_address_local(computed: str, is_local: bool) -> None:
    body = f"{depot(32)}\nld.param.u64 %rd8, [k_param_0];\n{computed}\nld.u32 %r1, [%rd1];\nret;"
    assert (objects_of(body).generic_local == 1) is is_local


def test_an_address_that_is_made_of_itself_comes_to_an_end() -> None:
    """What is subtracted from an address is an address or not, by what that makes of it."""
    body = f"""{TWO}
mov.u64 %rd3, 8;
$L1:
sub.s64 %rd4, %rd1, %rd3;
mov.u64 %rd3, %rd4;
ld.u32 %r1, [%rd4];
@%p1 bra $L1;
ret;"""
    assert objects_of(body).generic_local == 0


@pytest.mark.parametrize(
    ("between", "is_known"),
    [("", True), (call("f", "%rd2"), False), ("st.u64 [%rd2+8], %rd9;", False)],
)
def test_a_pointer_kept_in_a_structure_leads_where_it_was_set_to(
    between: str, is_known: bool
) -> None:
    """Beside other members, which hold numbers; not once another function may set it."""
    body = f"""{TWO}
ld.param.u64 %rd9, [k_param_0];
st.local.u32 [%rd2], 7;
st.local.u64 [%rd2+8], %rd1;
{between}
ld.local.u64 %rd3, [%rd2+8];
ld.u32 %r1, [%rd3+4];
ret;"""
    objects = objects_of(body, f="ret;")
    access = objects.accesses[-1]
    assert access.pointees == {Pointee("depot", 0)}
    assert objects.is_local(access.index) is is_known
    assert objects.is_chosen(access.index) is not is_known


@pytest.mark.parametrize(
    ("line", "width"),
    [
        ("ld.local.u8 %rs1, [%SPL];", 1),
        ("ld.local.v4.f32 {%f1, %f2, %f3, %f4}, [%SPL];", 16),
        ("st.volatile.local.v2.u64 [%SPL], {%rd3, %rd4};", 16),
        ("ld.local.b16 %rs1, [%SPL];", 2),
        ("ld.local.v2.b128 {%rq1, %rq2}, [%SPL];", 32),
    ],
)
def test_widths(line: str, width: int) -> None:
    body = program(f"{depot(64)}\n{line}\nret;").functions[-1].body
    assert access_width(body.instructions[-2]) == width
