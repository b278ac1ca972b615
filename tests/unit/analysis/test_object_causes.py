"""Why an object is in memory, on hand-made PTX: each question with a yes and a near miss."""

from __future__ import annotations

import pytest

from lmemscope.analysis.causes import ProvenCause, object_causes
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.formats.ptx import PtxModule
from lmemscope.model import Cause, Evidence
from tests.support.builders import call, depot, line_of, program

ADDRESS = f"{depot(64)}\nadd.u64 %rd1, %SPL, 0;"
INDEX = "ld.param.u32 %r1, [k_param_1];\nmul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;"
READ = f"{INDEX}\nld.local.u32 %r2, [%rd3];"


def proven(body: str, offset: int = 0, **functions: str) -> tuple[Cause, Evidence | None]:
    """Cause of the kernel's object at an offset, with its first piece of evidence."""
    found = reasons(body, offset, **functions)
    return found.cause, found.evidence[0] if found.evidence else None


def reasons(body: str, offset: int = 0, **functions: str) -> ProvenCause:
    flow = ModuleFlow(program(body, **functions))
    objects = flow.objects("k")
    assert objects is not None
    return object_causes(flow, "k", objects, objects.objects.values())[offset]


def cause(body: str, offset: int = 0, **functions: str) -> Cause:
    return proven(body, offset, **functions)[0]


def counted(bound: str, size: int = 64) -> str:
    return f"""{depot(size)}
add.u64 %rd1, %SPL, 0;
ld.param.u32 %r9, [k_param_1];
mov.u32 %r1, 0;
$L1:
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.local.u32 %r2, [%rd3];
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, {bound};
@%p1 bra $L1;
ret;"""


def test_a_run_time_index_is_dynamic_and_shown_by_its_access() -> None:
    body = f"{ADDRESS}\n{READ}\nret;"
    line = line_of(program(body), "ld.local.u32")
    shown = Evidence("ptx-instruction", ptx_line=line, opcode="ld.local.u32")
    assert proven(body) == ("dynamic-index", shown)


def test_an_address_that_a_function_returns_is_needed() -> None:
    """Its caller reads what is no more; the stores are there all the same."""
    stored = f"{depot(64)}\nadd.u64 %rd1, %SP, 0;\nadd.u64 %rd2, %SPL, 0;\nst.local.u32 [%rd2], 3;"
    text = f"""
.version 9.0
.target sm_90
.address_size 64
.visible .func (.param .b64 func_retval0) f(.param .b32 f_param_0)
{{
{stored}
RETURNED
ret;
}}
"""
    for register, expected in (("%rd1", "address-taken"), ("%rd9", "unattributed")):
        returned = f"st.param.b64 [func_retval0+0], {register};"
        flow = ModuleFlow(PtxModule(text.replace("RETURNED", returned).encode()))
        objects = flow.objects("f")
        assert objects is not None
        found = object_causes(flow, "f", objects, objects.objects.values())[0]
        assert found.cause == expected
        if expected == "address-taken":
            assert found.evidence[0].opcode == "st.param.b64"


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("4", "rolled-loop"),
        ("255", "rolled-loop"),
        ("256", "large-array"),
        ("%r9", "dynamic-index"),
    ],
)
def test_of_a_large_array_what_is_used_has_to_be_large(bound: str, expected: Cause) -> None:
    assert cause(counted(bound, size=4080)) == expected


def test_a_triangle_of_a_large_array_is_counted_as_its_largest_row() -> None:
    """``for i < 30: for j < i: a[i * 30 + j]``: what the inner loop ends at has no largest value
    that its count tells, so nothing less than all of the array is known to be used."""
    body = counted("%i", size=3600).replace(
        "mov.u32 %r1, 0;", "mov.u32 %i, 0;\n$L0:\nmov.u32 %r1, 0;"
    )
    body = body.replace("ret;", "add.s32 %i, %i, 1;\nsetp.lt.s32 %q, %i, 30;\n@%q bra $L0;\nret;")
    assert cause(body) == "large-array"


CHOSEN = """
ld.param.u32 %r20, [k_param_0];
setp.eq.s32 %p8, %r20, 7;
add.s64 %rd20, %rd1, 40;
@%p8 bra $L8;
add.s64 %rd20, %rd1, 8;
$L8:
ld.local.u32 %r21, [%rd20];"""


@pytest.mark.parametrize("chooses", ["", "mov.u32 %r20, %tid.x;"])
def test_what_chooses_between_constant_places_is_no_index_beside_one(chooses: str) -> None:
    choice = CHOSEN.replace("setp.eq", f"{chooses}\nsetp.eq")
    loop = counted("16").removesuffix("ret;")
    assert cause(f"{loop}{choice}\nret;") == "rolled-loop"
    assert cause(f"{counted('%r9').removesuffix('ret;')}{choice}\nret;") == "dynamic-index"
    # Alone it is all that there is to say.
    assert cause(f"{depot(64)}\nadd.u64 %rd1, %SPL, 0;{choice}\nret;") == "dynamic-index"
    # So is a place that is stored to, and a number that is counted under conditions.
    stored = choice.replace("ld.local.u32 %r21, [%rd20];", "st.local.u32 [%rd20], %r20;")
    assert cause(f"{loop}{stored}\nret;") == "dynamic-index"
    twice = choice.replace(
        "ld.local.u32", "@%p9 bra $L9;\nadd.s64 %rd20, %rd20, 4;\n$L9:\nld.local.u32"
    )
    assert cause(f"{loop}{twice}\nret;") == "dynamic-index"
    # What is added to a choice is an index.
    added = "cvt.u64.u32 %rd21, %r20;\nadd.s64 %rd20, %rd20, %rd21;\nld.local.u32"
    moved = choice.replace("ld.local.u32", added)
    assert cause(f"{loop}{moved}\nret;") == "dynamic-index"


def test_a_counter_of_a_constant_loop_only_needs_unrolling() -> None:
    assert cause(counted("16")) == "rolled-loop"
    assert cause(counted("%r9")) == "dynamic-index"


@pytest.mark.parametrize(("second", "expected"), [("32", "rolled-loop"), ("", "unattributed")])
def test_a_loop_may_have_constants_in_place_of_a_counter(second: str, expected: Cause) -> None:
    body = f"""{ADDRESS}
mov.b64 %rd21, 0;
mov.pred %p5, -1;
$L1:
mov.pred %p1, %p5;
add.s64 %rd16, %rd1, %rd21;
st.local.b64 [%rd16], %rd19;
{f"mov.b64 %rd21, {second};" if second else ""}
mov.pred %p5, 0;
@%p1 bra $L1;
ret;"""
    assert cause(body) == expected


@pytest.mark.parametrize(
    ("taken_back", "expected"),
    [("0", "rolled-loop"), ("%p4", "dynamic-index"), ("-1", "dynamic-index")],
)
def test_a_flag_may_end_a_loop_after_two_turns(taken_back: str, expected: Cause) -> None:
    body = f"""{ADDRESS}
ld.param.u32 %r9, [k_param_1];
setp.ne.u32 %p4, %r9, 7;
mov.b64 %rd21, 0;
mov.pred %p5, -1;
$L1:
mov.pred %p1, %p5;
add.s64 %rd16, %rd1, %rd21;
st.local.b64 [%rd16], %rd19;
add.s64 %rd21, %rd21, 16;
mov.pred %p5, {taken_back};
@%p1 bra $L1;
ret;"""
    assert cause(body) == expected


def test_a_large_table_of_constants_needs_no_registers() -> None:
    table = "add.u64 %rd1, %SPL, 0;\nst.local.u32 [%rd1], 3;\nst.local.u32 [%rd1+4], 5;\n"
    body = counted("256", size=1024).replace("add.u64 %rd1, %SPL, 0;\n", table)
    assert proven(body) == ("const-table", Evidence("constant-stores"))
    assert cause(body.replace("], 5", "], 3")) == "large-array"


def test_what_no_registers_can_hold_is_large_whatever_its_index() -> None:
    size = Evidence("object-size", bytes=1024, limit=1020)
    assert proven(counted("256", size=1024)) == ("large-array", size)
    assert cause(counted("16", size=1020)) == "rolled-loop"
    assert cause(counted("%r9", size=1024)) == "dynamic-index"


def test_constant_indices_alone_explain_nothing() -> None:
    assert cause(f"{ADDRESS}\nst.local.u32 [%rd1+4], 7;\nret;") == "unattributed"


@pytest.mark.parametrize("opcode", ["ld.volatile.local.u32 %r7,", "ld.local.u32 %r7,"])
def test_volatile_is_said_by_the_access(opcode: str) -> None:
    found = cause(f"{ADDRESS}\n{READ}\n{opcode} [%rd1];\nret;")
    assert found == ("volatile" if "volatile" in opcode else "dynamic-index")


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("vprintf", "printf-args"),
        ("__assertfail", "printf-args"),
        ("cudaGetParameterBufferV2", "device-launch"),
        ("cudaLaunchDeviceV2", "device-launch"),
        ("my_vprintf", "address-taken"),
    ],
)
def test_who_gets_the_address_decides(function: str, expected: Cause) -> None:
    shown = Evidence("address-passed", function)
    assert proven(f"{ADDRESS}\n{call(function, '%rd1')}\nret;") == (expected, shown)


def test_an_address_that_goes_through_a_pointer_has_no_subject() -> None:
    body = f"{ADDRESS}\nst.param.b64 [param0+0], %rd1;\ncall %rd9, (param0), proto;\nret;"
    assert proven(body) == ("address-taken", Evidence("address-passed"))


def test_an_address_in_memory_is_taken() -> None:
    found, shown = proven(f"{ADDRESS}\n{READ}\nst.global.u64 [%rd9], %rd1;\nret;")
    assert found == "address-taken"
    assert shown is not None
    assert shown.opcode == "st.global.u64"


def test_a_table_holds_different_constants_that_never_change() -> None:
    table = f"{ADDRESS}\nst.local.u32 [%rd1], 3;\nst.local.u32 [%rd1+4], 5;\n"
    assert proven(f"{table}{READ}\nret;") == ("const-table", Evidence("constant-stores"))
    zeros = table.replace("], 5", "], 3")
    assert cause(f"{zeros}{READ}\nret;") == "dynamic-index"
    filled = table.replace("], 5", "], %r8").replace(ADDRESS, f"{ADDRESS}\nmov.u32 %r8, %tid.x;")
    assert cause(f"{filled}{READ}\nret;") == "dynamic-index"
    updated = f"{table}{READ}\nst.local.u32 [%rd3], 9;\nret;"
    assert cause(updated) == "dynamic-index"


def test_a_value_that_hangs_on_a_condition_makes_no_table() -> None:
    table = f"{ADDRESS}\nst.local.u32 [%rd1], 3;\nst.local.u32 [%rd1+4], 5;\n"
    sometimes = "setp.ne.s32 %p1, %r1, 0;\n@%p1 bra $L1;\nst.local.u32 [%rd1+8], 9;\n$L1:\n"
    assert cause(f"{table}{sometimes}{READ}\nret;") == "dynamic-index"
    assert cause(f"{table}st.local.u32 [%rd1+8], 9;\n{READ}\nret;") == "const-table"
    later = f"{table}{READ}\nst.local.u32 [%rd1+8], 9;\nret;"
    assert cause(later) == "dynamic-index"
    own = "ld.local.u32 %r8, [%rd1];\nst.local.u32 [%rd1+8], %r8;\n"
    assert cause(f"{table}{own}{READ}\nret;") == "dynamic-index"


def test_a_register_that_is_written_again_later_was_a_constant_before() -> None:
    """A zero may be stored from the register that a loop's sum begins with."""
    begin = f"{ADDRESS}\nmov.u32 %r8, 0;\nst.local.u32 [%rd1], %r8;\nst.local.u32 [%rd1+4], 5;\n"
    summed = f"{begin}$L1:\n{READ}\nadd.s32 %r8, %r8, %r2;\nsetp.lt.s32 %p1, %r8, 9;\n"
    assert cause(f"{summed}@%p1 bra $L1;\nret;") == "const-table"
    moved = summed.replace("st.local.u32 [%rd1], %r8;\n", "").replace(
        "$L1:\n", "$L1:\nst.local.u32 [%rd1], %r8;\n"
    )
    assert cause(f"{moved}@%p1 bra $L1;\nret;") == "dynamic-index"


STRUCTURE = ".param .align 4 .b8 k_param_0[80], .param .u32 k_param_1"


def copied(body: str) -> Cause:
    return cause(f"{ADDRESS}\n{body}\n{READ}\nret;", parameters=STRUCTURE)


def word(number: int, into: int) -> str:
    load = f"ld.param.u32 %r{number + 20}, [k_param_0+{4 * number}];\n"
    return f"{load}st.local.u32 [%rd1+{into}], %r{number + 20};\n"


def test_a_parameter_is_copied_where_distances_agree() -> None:
    assert copied("".join(word(n, 4 * n) for n in range(16))) == "param-copy"
    assert copied("".join(word(n + 4, 4 * n) for n in range(16))) == "param-copy"
    assert copied("".join(word(n, 60 - 4 * n) for n in range(16))) == "dynamic-index"
    # What begins before the parameter does is an array of its own, partly filled from it.
    assert copied("".join(word(n, 4 * n + 4) for n in range(15))) == "dynamic-index"


def test_most_bytes_must_be_the_parameters() -> None:
    assert copied("".join(word(n, 4 * n) for n in range(9))) == "param-copy"
    assert copied("".join(word(n, 4 * n) for n in range(8))) == "dynamic-index"
    vector = "ld.param.v4.u32 {{%r5, %r6, %r7, %r8}}, [k_param_0+{0}];\n"
    vector += "st.local.v4.u32 [%rd1+{0}], {{%r5, %r6, %r7, %r8}};\n"
    other = vector.replace("%r5", "%r15").replace("%r6", "%r16")
    other = other.replace("%r7", "%r17").replace("%r8", "%r18")
    third = other.replace("%r1", "%r2")
    assert copied(vector.format(0) + other.format(16) + third.format(32)) == "param-copy"
    swapped = third[: third.index("st.")] + third[third.index("st.") :].replace(
        "%r25, %r26, %r27, %r28", "%r28, %r27, %r26, %r25"
    )
    assert copied(vector.format(0) + other.format(16) + swapped.format(32)) == "dynamic-index"


def test_words_may_be_packed_of_a_parameters_bytes() -> None:
    halves = """ld.param.u16 %r5, [k_param_0+{0}];
ld.param.u16 %r6, [k_param_0+{1}];
shl.b32 %r7, %r6, 16;
or.b32 %r8, %r7, %r5;
st.local.u32 [%rd1+{0}], %r8;
"""

    def packed(second: int) -> str:
        text = ""
        for at in range(0, 64, 4):
            own = halves
            for number in (5, 6, 7, 8):
                own = own.replace(f"%r{number}", f"%r{at}_{number}")
            text += own.format(at, at + second)
        return text

    assert copied(packed(2)) == "param-copy"
    assert copied(packed(4)) == "dynamic-index"


@pytest.mark.parametrize(("step", "expected"), [(4, "param-copy"), (8, "dynamic-index")])
def test_a_loop_copies_a_parameter_where_both_addresses_advance_alike(
    step: int, expected: Cause
) -> None:
    body = f"""mov.b64 %rd7, k_param_0;
mov.u64 %rd8, %rd1;
mov.u32 %r8, 0;
$L1:
ld.param.u32 %r9, [%rd7];
st.local.u32 [%rd8], %r9;
add.s64 %rd7, %rd7, {step};
add.s64 %rd8, %rd8, 4;
add.s32 %r8, %r8, 1;
setp.lt.u32 %p1, %r8, 16;
@%p1 bra $L1;"""
    assert copied(body) == expected


def test_an_array_of_addresses_is_no_table() -> None:
    addresses = (
        f"{depot(64)}\nadd.u64 %rd1, %SPL, 0;\nadd.u64 %rd5, %SPL, 32;\nadd.u64 %rd6, %SPL, 48;\n"
        "st.local.u64 [%rd1], %rd5;\nst.local.u64 [%rd1+8], %rd6;\n"
    )
    found = reasons(f"{addresses}{READ}\nret;")
    assert (found.cause, found.also) == ("address-taken", ("dynamic-index",))
    assert found.evidence[0].kind == "holds-addresses"
    assert cause(f"{addresses}{READ}\nret;", offset=32) == "address-taken"
    walked = counted("4").replace(f"{depot(64)}\nadd.u64 %rd1, %SPL, 0;\n", addresses)
    assert (reasons(walked).cause, reasons(walked).also) == ("rolled-loop", ())
    assert cause(walked, offset=32) == "address-taken"
    mixed = addresses.replace("st.local.u64 [%rd1+8], %rd6;", "st.local.u64 [%rd1+8], 7;")
    assert cause(f"{mixed}{READ}\nret;") == "dynamic-index"


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("selp.b64 %rd6, %rd4, %rd5, %p1;", "address-taken"),
        ("mov.u64 %rd6, %rd5;\n@%p1 bra $L1;\nmov.u64 %rd6, %rd4;\n$L1:", "address-taken"),
        ("mul.wide.s32 %rd7, %r1, 4;\nadd.s64 %rd6, %rd4, %rd7;", "dynamic-index"),
        ("selp.b64 %rd6, 0, %rd4, %p1;", "address-taken"),
        ("mov.u64 %rd6, 0;\n@%p1 bra $L1;\nmov.u64 %rd6, %rd4;\n$L1:", "address-taken"),
    ],
)
def test_an_address_that_is_chosen_against_another_is_taken(choice: str, expected: Cause) -> None:
    """Of ``flag ? data[i] : zero`` C++ chooses the address."""
    body = f"""{depot(16)}
add.u64 %rd4, %SP, 0;
ld.param.u64 %rd5, [k_param_0];
ld.param.u32 %r1, [k_param_1];
setp.ne.s32 %p1, %r1, 0;
st.u32 [%rd4], 0;
{choice}
ld.u32 %r2, [%rd6];
ret;"""
    found = reasons(body)
    assert found.cause == expected
    assert (found.evidence[0].kind == "chosen-address") == (expected == "address-taken")
    assert (found.evidence[0].subject == "null") == ("%rd6, 0" in choice)


@pytest.mark.parametrize("offset", [0, 16])
def test_objects_that_one_pointer_may_lead_to_have_their_addresses_taken(offset: int) -> None:
    """Direct accesses, too: which of two objects they reach is not known before."""
    body = f"""{depot(32)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SPL, 16;
ld.param.u32 %r1, [k_param_1];
setp.ne.s32 %p1, %r1, 0;
st.local.u32 [%rd1], 0;
st.local.u32 [%rd2], 1;
selp.b64 %rd6, %rd1, %rd2, %p1;
ld.local.u32 %r2, [%rd6];
ret;"""
    found = reasons(body, offset=offset)
    assert (found.cause, found.evidence[0].kind) == ("address-taken", "chosen-address")
    # Neither path has null.
    assert found.evidence[0].subject is None
    starts = "add.u64 %rd3, %SP, 0;\nadd.u64 %rd4, %SP, 16;\n"
    choice = "selp.b64 %rd5, %rd3, %rd4, %p1;\ncvta.to.local.u64 %rd6, %rd5;"
    generic = body.replace("selp.b64 %rd6, %rd1, %rd2, %p1;", starts + choice)
    assert reasons(generic, offset=offset).evidence[0].subject is None


@pytest.mark.parametrize("chosen", ["%rd1", "%rd1, 0", "%rd1, %rd2"])
def test_a_pointer_is_null_on_other_paths_only_if_one_sets_it_so(chosen: str) -> None:
    """Null, too, is chosen before the address is converted to one of local memory."""
    first, _, second = chosen.partition(", ")
    body = f"""{depot(32)}
add.u64 %rd1, %SP, 0;
add.u64 %rd2, %SP, 16;
ld.param.u32 %r1, [k_param_1];
setp.ne.s32 %p1, %r1, 0;
st.u32 [%rd2], 1;
selp.b64 %rd6, {first}, {second or first}, %p1;
cvta.to.local.u64 %rd7, %rd6;
ld.local.u32 %r2, [%rd7];
ret;"""
    flow = ModuleFlow(program(body))
    objects = flow.objects("k")
    assert objects is not None
    at = objects.accesses[-1].index
    assert objects.is_it_or_null(at) == (second == "0")


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("selp.b64 %rd6, 0, %rd1, %p1;", "chosen-address"),
        ("selp.b64 %rd6, %rd2, %rd1, %p1;", "chosen-place"),
        ("selp.b64 %rd5, %rd2, %rd1, %p1;\nadd.s64 %rd6, %rd5, 4;", "chosen-place"),
        ("selp.b64 %rd5, 8, 0, %p1;\nadd.s64 %rd6, %rd1, %rd5;", "ptx-instruction"),
        ("mul.wide.s32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd1, %rd5;", "ptx-instruction"),
    ],
)
def test_a_choice_of_addresses_is_no_index(choice: str, expected: str) -> None:
    """``flag ? &value : nullptr`` and ``flag ? one.a : one.b`` choose addresses, and ``a[flag ? 2
    : 0]`` a number: so NVRTC compiles them."""
    body = f"""{depot(16)}
add.u64 %rd1, %SPL, 0;
add.s64 %rd2, %rd1, 8;
ld.param.u32 %r1, [k_param_1];
setp.ne.s32 %p1, %r1, 0;
{choice}
st.local.v4.u32 [%rd1], {{%r1, %r1, %r1, %r1}};
@%p1 bra $L1;
ld.local.u32 %r2, [%rd6];
$L1:
ret;"""
    found = reasons(body)
    is_index = expected == "ptx-instruction"
    assert found.cause == ("dynamic-index" if is_index else "address-taken")
    assert found.evidence[0].kind == expected


def test_an_index_beside_a_choice_of_addresses_is_the_cause() -> None:
    body = f"""{depot(16)}
add.u64 %rd1, %SPL, 0;
add.s64 %rd2, %rd1, 8;
ld.param.u32 %r1, [k_param_1];
setp.ne.s32 %p1, %r1, 0;
selp.b64 %rd6, %rd2, %rd1, %p1;
mul.wide.s32 %rd5, %r1, 4;
add.s64 %rd7, %rd1, %rd5;
st.local.u32 [%rd6], 0;
ld.local.u32 %r2, [%rd7];
ret;"""
    assert cause(body) == "dynamic-index"


def test_what_alone_would_keep_it_stands_beside_the_cause() -> None:
    passed = call("leaf", "%rd1")
    leaf = "ld.param.u64 %rd1, [leaf_param_0];\nld.u32 %r1, [%rd1];\nret;"
    assert reasons(f"{ADDRESS}\n{passed}\nret;", leaf=leaf).also == ()
    assert reasons(f"{ADDRESS}\n{READ}\n{passed}\nret;", leaf=leaf).also == ("dynamic-index",)
    rolled = counted("16").replace("mov.u32 %r1, 0;", f"{passed}\nmov.u32 %r1, 0;")
    assert reasons(rolled, leaf=leaf).also == ("rolled-loop",)
    # A loop over all of it would need them all; with constant indices few elements are left.
    large = reasons(counted("%r9", size=1024))
    assert (large.cause, large.also) == ("dynamic-index", ())
    read = "ld.param.u32 %r7, [k_param_1];\nmul.wide.s32 %rd6, %r7, 4;\nadd.s64 %rd7, %rd1, %rd6;"
    walked = reasons(
        counted("256", size=1024).replace("ret;", f"{read}\nld.local.u32 %r8, [%rd7];\nret;")
    )
    assert (walked.cause, walked.also) == ("dynamic-index", ("large-array",))


def test_what_is_read_through_a_generic_address_alone_has_it_taken() -> None:
    """As inline assembly does: at constant places alone it would be in registers."""
    body = f"{depot(16)}\nadd.u64 %rd1, %SP, 0;\nst.u32 [%rd1], 0;\nld.u32 %r2, [%rd1];\nret;"
    assert proven(body)[0] == "address-taken"
    direct = body.replace("%SP,", "%SPL,").replace("st.u", "st.local.u")
    assert proven(direct.replace("ld.u", "ld.local.u"))[0] == "unattributed"


@pytest.mark.parametrize(
    ("bound", "argument", "expected"),
    [
        ("ld.param.u32 %r9, [leaf_param_1];", "16", ()),
        ("ld.param.u32 %r9, [leaf_param_1];", "%r4", ("dynamic-index",)),
        ("ld.global.u32 %r9, [table];", "16", ("dynamic-index",)),
    ],
)
def test_a_loop_of_a_callees_may_become_constant_where_it_is_inlined(
    bound: str, argument: str, expected: tuple[Cause, ...]
) -> None:
    leaf = f"""{bound}
ld.param.u64 %rd1, [leaf_param_0];
mov.u32 %r1, 0;
$L1:
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.u32 %r2, [%rd3];
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, %r9;
@%p1 bra $L1;
ret;"""
    body = f"""{ADDRESS}
ld.param.u32 %r4, [k_param_1];
st.param.b64 [param0], %rd1;
st.param.b32 [param1], {argument};
call.uni leaf, (param0, param1);
ret;"""
    assert reasons(body, leaf=leaf).also == expected


def test_an_index_in_a_called_function_counts_for_the_callers_object() -> None:
    body = f"{ADDRESS}\n{call('leaf', '%rd1')}\nret;"
    leaf = "ld.param.u64 %rd1, [leaf_param_0];\nld.u32 %r1, [%rd1];\nret;"
    # The call is the proof; the index explains nothing more.
    assert cause(body, leaf=leaf) == "address-taken"


def test_the_first_question_that_has_proof_answers() -> None:
    body = f"{ADDRESS}\nld.volatile.local.u32 %r7, [%rd1];\n{call('vprintf', '%rd1')}\nret;"
    assert cause(body) == "volatile"
    volatile = f"{ADDRESS}\n{call('leaf', '%rd1')}\nst.volatile.local.u32 [%rd1], 7;\nret;"
    assert cause(volatile) == "volatile"


def test_a_buffer_of_arguments_in_the_place_of_a_variable_explains_nothing_of_it() -> None:
    printed = call("vprintf", "%rd1")
    both = f"{ADDRESS}\n{call('leaf', '%rd1')}\n{printed}\nret;"
    assert proven(both) == ("address-taken", Evidence("address-passed", "leaf"))
    assert cause(f"{ADDRESS}\n{READ}\n{printed}\nret;") == "dynamic-index"
    assert cause(f"{ADDRESS}\nst.local.u32 [%rd1], 7;\n{printed}\nret;") == "printf-args"


def test_what_is_behind_the_arguments_of_a_print_is_padding() -> None:
    printed = call("vprintf", "%rd1")
    store = "st.local.v2.u64 [%rd1], {%rd5, %rd5};\nst.local.u32 [%rd1+16], 7;"
    assert reasons(f"{ADDRESS}\n{store}\n{printed}\nret;").size == 20
    assert reasons(f"{ADDRESS}\n{printed}\nret;").size is None
    second = f"{depot(64)}\nadd.u64 %rd1, %SPL, 32;"
    assert reasons(f"{second}\n{store}\n{printed}\nret;", offset=32).size == 20


@pytest.mark.parametrize(
    ("passed", "also"),
    [
        ("mul.wide.s32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd4, %rd5;", ("dynamic-index",)),
        ("add.s64 %rd6, %rd4, 8;", ()),
        ("selp.b64 %rd5, 8, 0, %p1;\nadd.s64 %rd6, %rd4, %rd5;", ()),
    ],
)
def test_an_element_whose_address_is_passed_has_an_index(
    passed: str, also: tuple[Cause, ...]
) -> None:
    """``f(&a[i])`` is an index at run time once ``f`` is inlined."""
    body = f"""{depot(16)}
add.u64 %rd4, %SP, 0;
ld.param.u32 %r1, [k_param_1];
setp.ne.s32 %p1, %r1, 0;
{passed}
{call("leaf", "%rd6")}
ret;"""
    found = reasons(body, leaf="ret;")
    assert found.cause == "address-taken"
    assert found.also == also
