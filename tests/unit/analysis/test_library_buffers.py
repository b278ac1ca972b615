"""Buffers of libraries in the place of a variable."""

from __future__ import annotations

import pytest

from lmemscope.analysis.library_buffers import apart
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.trig import Reductions
from tests.support.builders import call, depot, program
from tests.support.reductions import WORDS, unrolled

PRINT = call("vprintf", "%rd1")
PRINTED = f"st.local.u32 [%rd1], %r9;\n{PRINT}"
FILLED = "st.local.v2.u32 [%rd1], {5, 7};\nst.local.v2.u32 [%rd1+8], {2, 3};"
READ = (
    "ld.param.u32 %r1, [k_param_0];\nmul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
    "ld.local.u32 %r2, [%rd3];"
)
PASSED = call("leaf", "%rd1")
IN_LOOP = f"$L1:\n{PRINTED}\nadd.s32 %r4, %r4, 1;\nsetp.lt.s32 %p1, %r4, 8;\n@%p1 bra $L1;"


def stored(body: str) -> tuple[list[str], list[str]] | None:
    """Stores of the variable and of the buffer; None where they are one."""
    objects = ModuleFlow(program(f"{depot(16)}\nadd.u64 %rd1, %SPL, 0;\n{body}\nret;")).objects("k")
    assert objects is not None
    shared = apart(objects, objects.objects[0], Reductions(objects))
    if shared is None:
        return None
    text = objects.body.instructions
    variable, buffer = (
        [text[one.index].operation for one in part.accesses]
        for part in (shared.variable, *shared.buffers)
    )
    assert [one.callee for one, _ in shared.buffers[0].passed_to] == ["vprintf"]
    assert all(one.callee != "vprintf" for one, _ in shared.variable.passed_to)
    return variable, buffer


@pytest.mark.parametrize(
    "body",
    [
        f"{PRINTED}\n{FILLED}\n{READ}",
        f"{FILLED}\n{READ}\n{PRINTED}",
        f"{IN_LOOP}\n{FILLED}\n{READ}",
        f"{FILLED}\n{READ}\n{IN_LOOP}",
        f"@%p2 bra $L2;\n{PRINTED}\n$L2:\n{FILLED}\n{READ}",
    ],
)
def test_what_only_a_print_sees_is_a_buffer(body: str) -> None:
    assert stored(body) == (["st", "st", "ld"], ["st"])


@pytest.mark.parametrize(
    ("body", "variable"),
    [
        (f"{PRINTED}\n@%p2 bra $L2;\n{FILLED}\n$L2:\n{READ}", ["st", "st", "ld"]),
        (f"{PRINTED}\n@%p2 st.local.u32 [%rd1], 5;\n{READ}", ["st", "ld"]),
        (f"{PRINTED}\nst.local.u16 [%rd1], 5;\n{READ}", ["st", "ld"]),
        (f"{PRINTED}\n{PASSED}\n{READ}", ["ld"]),
        (f"$L2:\n{FILLED.splitlines()[1]}\n{READ}\n{PRINTED}\n@%p1 bra $L2;", ["st", "ld"]),
        (
            f"$L2:\n{FILLED.splitlines()[1]}\n{PASSED}\n{READ}\n{PRINTED}\n@%p1 bra $L2;",
            ["st", "ld"],
        ),
    ],
)
def test_what_is_printed_is_over(body: str, variable: list[str]) -> None:
    """Each print stores its arguments again, and a variable that lives on has another place."""
    assert stored(body) == (variable, ["st"])


def test_a_variable_is_as_large_as_its_own_accesses_where_a_buffer_fills_the_place() -> None:
    body = (
        "st.local.u32 [%rd1], 7;\n" + PASSED + "\nld.local.u32 %r2, [%rd1];\n"
        "st.local.v2.u64 [%rd1], {%rd5, %rd6};\n" + PRINT
    )
    objects = ModuleFlow(program(f"{depot(16)}\nadd.u64 %rd1, %SPL, 0;\n{body}\nret;")).objects("k")
    assert objects is not None
    shared = apart(objects, objects.objects[0], Reductions(objects))
    assert shared is not None
    assert (shared.variable.size, shared.buffers[0].size) == (4, 16)


@pytest.mark.parametrize(
    "body",
    [
        # It is read before it is printed, on some path.
        f"st.local.u32 [%rd1], %r9;\n@%p2 bra $L2;\n{READ}\n$L2:\n{PRINT}",
        f"st.local.u32 [%rd1], %r9;\n@%p2 bra $L2;\n{PASSED}\n$L2:\n{PRINT}\n{READ}",
        # Whoever reads memory gets it.
        f"st.global.u64 [%rd9], %rd1;\n{PRINTED}\n{FILLED}\n{READ}",
        # Nothing else is in the place; nothing is printed.
        PRINTED,
        f"{FILLED}\n{READ}\n{PASSED}",
    ],
)
def test_what_something_else_may_see_is_no_buffer(body: str) -> None:
    assert stored(body) is None


def test_a_function_gets_the_variable_and_not_the_buffer() -> None:
    assert stored(f"{PRINTED}\n{FILLED}\n{PASSED}\n{READ}") == (["st", "st", "ld"], ["st"])


def halves(body: str) -> tuple[int, int] | None:
    """Accesses of the variable and of the library's reduction; None where they are one."""
    text = f"{depot(28)}\nadd.u64 %rd1, %SPL, 0;\nld.param.u32 %r1, [k_param_0];\n"
    text += "mul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
    objects = ModuleFlow(program(f"{text}{body}\nret;")).objects("k")
    assert objects is not None
    shared = apart(objects, objects.objects[0], Reductions(objects))
    if shared is None:
        return None
    (reduction,) = shared.buffers
    return len(shared.variable.accesses), len(reduction.accesses)


REDUCED = f".loc 1 4 0\n{unrolled(WORDS)}\nld.local.u32 %r40, [%rd3];"
OWN = ".loc 1 9 0\nst.local.f32 [%rd1], %f1;\nld.local.f32 %f2, [%rd3];"


def test_a_reduction_has_its_stores_and_the_loads_of_its_line() -> None:
    assert halves(f"{OWN}\n{REDUCED}") == (2, 8)
    # On the call's own line a variable of another type is not it.
    assert halves(f"{REDUCED}\nst.local.f32 [%rd1], %f1;\nld.local.f32 %f2, [%rd3];") == (2, 8)


@pytest.mark.parametrize(
    "body",
    [
        REDUCED,
        OWN,
        # Nothing is stored that would be loaded elsewhere, or the reverse.
        f"{REDUCED}\n.loc 1 9 0\nld.local.u32 %r41, [%rd1];",
        f"{REDUCED}\n.loc 1 9 0\nst.local.u32 [%rd1], %r7;",
        f"{OWN}\n{REDUCED}\n{PASSED}",
        # A word of the user's on the line of the call.
        f"{REDUCED}\nst.local.u32 [%rd3], %r7;\n{OWN}",
        # Accesses without lines are nobody's.
        f"{REDUCED.replace('.loc 1 4', '.loc 1 0')}\n.loc 1 0 0\nld.local.u32 %r7, [%rd1];",
    ],
)
def test_what_may_be_the_reductions_own_stays_with_it(body: str) -> None:
    assert halves(body) is None
