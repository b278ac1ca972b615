"""Why an object is in memory, on hand-made PTX: each question with a yes and a near miss."""

from __future__ import annotations

import pytest

from lmemscope.analysis.causes import object_cause
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.model import Cause, Evidence
from tests.builders import call, depot, line_of, program

ADDRESS = f"{depot(64)}\nadd.u64 %rd1, %SPL, 0;"
INDEX = "ld.param.u32 %r1, [k_param_1];\nmul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;"
READ = f"{INDEX}\nld.local.u32 %r2, [%rd3];"


def proven(body: str, offset: int = 0, **functions: str) -> tuple[Cause, Evidence | None]:
    """Cause of the kernel's object at an offset, with its first piece of evidence."""
    flow = ModuleFlow(program(body, **functions))
    objects = flow.objects("k")
    assert objects is not None
    found = object_cause(flow, "k", objects, objects.objects[offset])
    return found.cause, found.evidence[0] if found.evidence else None


def cause(body: str, **functions: str) -> Cause:
    return proven(body, **functions)[0]


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


def test_a_counter_of_a_constant_loop_only_needs_unrolling() -> None:
    assert cause(counted("16")) == "rolled-loop"
    assert cause(counted("%r9")) == "dynamic-index"


def test_what_no_registers_can_hold_is_large_whatever_its_index() -> None:
    size = Evidence("object-size", bytes=1024, limit=1020)
    assert proven(counted("16", size=1024)) == ("large-array", size)
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


def test_the_table_of_two_over_pi_is_the_librarys() -> None:
    def reduction(table: str) -> str:
        return (
            f"{ADDRESS}\nmov.u64 %rd8, {table};\nld.const.u32 %r8, [%rd8];\n"
            f"st.local.u32 [%rd1], %r8;\n{READ}\nret;"
        )

    shown = Evidence("library-table", "__cudart_i2opi_f")
    assert proven(reduction("__cudart_i2opi_f")) == ("math-slow-path", shown)
    assert cause(reduction("my_i2opi_f")) == "dynamic-index"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("__internal_trig_reduction_slowpathd", "math-slow-path"),
        ("__internal_mine", "dynamic-index"),
    ],
)
def test_only_the_librarys_own_functions_are_a_slow_path(function: str, expected: Cause) -> None:
    """An author may call a function anything, ``__internal_`` included."""
    body = f"{ADDRESS}\nld.param.u64 %rd5, [{function}_param_0];\ncvt.u32.u64 %r1, %rd5;\n"
    body += "mul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.local.u32 %r2, [%rd3];\nret;"
    flow = ModuleFlow(program("ret;", **{function: body}))
    objects = flow.objects(function)
    assert objects is not None
    assert object_cause(flow, function, objects, objects.objects[0]).cause == expected


def test_a_parameter_is_copied_where_distances_agree() -> None:
    def copied(first: int, second: int) -> Cause:
        body = (
            f"{ADDRESS}\nld.param.u32 %r5, [k_param_0];\nld.param.u32 %r6, [k_param_0+4];\n"
            f"st.local.u32 [%rd1+{first}], %r5;\nst.local.u32 [%rd1+{second}], %r6;\n{READ}\nret;"
        )
        return cause(body, parameters=".param .align 4 .b8 k_param_0[64], .param .u32 k_param_1")

    assert copied(0, 4) == "param-copy"
    assert copied(4, 0) == "dynamic-index"


def test_an_index_in_a_called_function_counts_for_the_callers_object() -> None:
    body = f"{ADDRESS}\n{call('leaf', '%rd1')}\nret;"
    leaf = "ld.param.u64 %rd1, [leaf_param_0];\nld.u32 %r1, [%rd1];\nret;"
    # The call is the proof; the index explains nothing more.
    assert cause(body, leaf=leaf) == "address-taken"


def test_the_first_question_that_has_proof_answers() -> None:
    body = f"{ADDRESS}\nld.volatile.local.u32 %r7, [%rd1];\n{call('vprintf', '%rd1')}\nret;"
    assert cause(body) == "volatile"
    both = f"{ADDRESS}\n{call('leaf', '%rd1')}\n{call('vprintf', '%rd1')}\nret;"
    assert cause(both) == "printf-args"
