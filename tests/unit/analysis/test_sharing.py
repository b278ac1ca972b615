"""Variables in one place of the frame, and names that several variables have."""

from __future__ import annotations

import pytest

from lmemscope.analysis.members import split
from lmemscope.analysis.names import NamedObject, Names
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.objects import FunctionObjects
from lmemscope.model import Variable
from tests.support.builders import attributed, depot, layers, ldl, program, source_text, variable

SOURCE = """{
  {
    float head[12];
    head[i] = x;
    y = head[i];
  }
  {
    float tail[16];
    tail[i] = x;
    y = tail[i];
  }
}
"""
HEAD = variable("head", "float[12]", 48, 3)
TAIL = variable("tail", "float[16]", 64, 8)
ALWAYS = variable("head", "float[16]", 64, 1)


TOGETHER = SOURCE.replace("  }\n  {\n", "\n\n")
"""Both are known on the lines of the second one."""


def found(
    source: str, lines: str, *variables: Variable
) -> tuple[Names, FunctionObjects, NamedObject]:
    """An object of 64 bytes with an indexed access on each line, such as ``s4 l5``.

    What stands between ``(`` and ``)`` is a loop.
    """
    body = [depot(64), "add.u64 %rd1, %SPL, 0;", "ld.param.u32 %r2, [k_param_0];"]
    body += ["mul.wide.s32 %rd2, %r2, 4;", "add.s64 %rd3, %rd1, %rd2;"]
    for line in lines.split():
        if line in ("(", ")"):
            body.append("$L:" if line == "(" else "@%p1 bra $L;")
            continue
        body.append(f".loc 1 {line[1:]} 0")
        stored = "st.local.f32 [%rd3], %f1;"
        body.append(stored if line[0] == "s" else "ld.local.f32 %f2, [%rd3];")
    ptx = program("\n".join([*body, "ret;"]))
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    names = Names(variables, ptx, source_text({"a.cu": source}))
    (one,) = names.of_objects(objects, objects.objects.values())
    return names, objects, one


def turns(source: str, lines: str, *variables: Variable) -> list[tuple[str, int, int]]:
    """Name, size and number of accesses of what an object becomes."""
    names, objects, one = found(source, lines, *variables)
    return [
        (member.name.name, member.size, len(member.found.accesses))
        for member in split(names, objects, one)
        if member.name is not None
    ]


def test_variables_of_scopes_that_do_not_meet_share_a_place() -> None:
    found = turns(SOURCE, "s4 l5 s9 l10 l10", HEAD, TAIL)
    assert found == [("tail", 64, 3), ("head", 48, 2)]


@pytest.mark.parametrize(
    "lines", ["s4 l5 s9 l10 l10", "( s4 l5 ) s9 ( l10 l10 )", "s9 ( l10 l10 ) s4 l5"]
)
def test_a_place_is_free_once_its_variable_is_over_though_its_scope_goes_on(lines: str) -> None:
    assert turns(TOGETHER, lines, HEAD, TAIL) == [("tail", 64, 3), ("head", 48, 2)]


def test_a_place_in_turn_is_not_guessed_between_variables_that_fit_alike() -> None:
    both = SOURCE.replace("tail[i] = x;", "tail[i] = x; tale[i] = x;")
    both = both.replace("y = tail[i]", "y = tail[i] + tale[i]")
    like = variable("tale", "float[16]", 64, 8, order=1)
    assert turns(both, "s4 l5 s9 l10 l10", HEAD, TAIL) == [("tail", 64, 3), ("head", 48, 2)]
    assert found(both, "s4 l5 s9 l10 l10", HEAD, TAIL, like)[2].turns == ()


def test_what_has_no_line_is_the_next_ones() -> None:
    assert turns(SOURCE, "s4 l5 s0 s9 l10", HEAD, TAIL) == [("tail", 64, 3), ("head", 48, 2)]


@pytest.mark.parametrize(
    ("source", "lines", "variables"),
    [
        (SOURCE, "s9 l10 l10", (HEAD, TAIL)),
        (SOURCE.replace("head[i]", "f(tail, head[i])"), "s9 l10", (TAIL,)),
        # Both are in use at once: one place cannot be both.
        (TOGETHER, "s4 s9 l5 l10 l10", (HEAD, TAIL)),
        (TOGETHER, "( s4 l5 s9 l10 l10 )", (HEAD, TAIL)),
        # The second has its values from somewhere: it is another name of the first.
        (TOGETHER, "s4 l5 l10 s9 l10", (HEAD, TAIL)),
    ],
)
def test_one_variable_has_the_place_alone(
    source: str, lines: str, variables: tuple[Variable, ...]
) -> None:
    assert found(source, lines, *variables)[2].turns == ()


def test_the_scope_decides_between_variables_of_one_name() -> None:
    source = SOURCE.replace("tail", "head")
    inner = variable("head", "float[16]", 64, 8)
    _, _, one = found(source, "s9 l10", variable("head", "float[16]", 64, 3), inner)
    assert one.name is not None
    assert (one.name.declared.line, one.name.confidence) == (8, "certain")


def test_a_users_variable_comes_before_a_librarys_parameter() -> None:
    librarys = variable("made", "int *", 8, 4, file="/usr/local/cuda/include/api.h")
    users = variable("made", "int *", 8, 2, order=9)
    body = [depot(8), "add.u64 %rd1, %SPL, 0;", ".loc 1 3 0", "ld.local.u64 %rd2, [%rd1];", "ret;"]
    ptx = program("\n".join(body))
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    names = Names((librarys, users), ptx, source_text({"a.cu": "{\nint *made;\nf(&made);\n}"}))
    (one,) = names.of_objects(objects, objects.objects.values())
    assert one.name is not None
    assert one.name.declared.line == 2


def test_each_variable_of_a_place_has_its_own_cause() -> None:
    """One is a table of constants, the other is not: the place gets both their stores."""
    source = "{\n {\n int head[12];\n head[0] = 3;\n y = head[i];\n }\n {\n int tail[16];\n"
    source += "tail[0] = x;\n y = tail[i];\n }\n}\n"
    body = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
ld.param.u32 %r2, [k_param_1];
mul.wide.s32 %rd2, %r2, 4;
add.s64 %rd3, %rd1, %rd2;
.loc 1 4 0
st.local.u32 [%rd1], 3;
st.local.u32 [%rd1+4], 5;
.loc 1 5 0
ld.local.u32 %r3, [%rd3];
.loc 1 9 0
st.local.u32 [%rd1], %r3;
.loc 1 10 0
ld.local.u32 %r4, [%rd3];
ret;"""
    given = layers(program(body), ldl("ld.local.u32 %r3"), ldl("ld.local.u32 %r4"), frame=64)
    head, tail = variable("head", "int[12]", 48, 3), variable("tail", "int[16]", 64, 8)
    objects = attributed(given, [head, tail], {"a.cu": source}).objects
    assert {one.name: one.cause for one in objects} == {
        "head": "const-table",
        "tail": "dynamic-index",
    }


PASSED = """{
  {
    int head[16];
    head[i] = x;
    y = head[i];
  }
  {
    int tail[12];
    tail[0] = x;
    f(tail);
    y = tail[0];
  }
}
"""


def one_passed(*variables: Variable) -> list[tuple[str | None, str, tuple[str, ...], str | None]]:
    """What becomes of a place whose first user indexes it and whose second one passes it on."""
    body = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
ld.param.u32 %r2, [k_param_1];
mul.wide.s32 %rd2, %r2, 4;
add.s64 %rd3, %rd1, %rd2;
.loc 1 4 0
st.local.u32 [%rd3], %r1;
.loc 1 5 0
ld.local.u32 %r3, [%rd3];
.loc 1 9 0
st.local.u32 [%rd1], %r3;
.loc 1 10 0
st.param.b64 [param0+0], %rd1;
call.uni f, (param0);
.loc 1 11 0
ld.local.u16 %r4, [%rd1];
ret;"""
    given = layers(program(body), ldl("ld.local.u32 %r3"), ldl("ld.local.u16 %r4"), frame=64)
    objects = attributed(given, list(variables), {"a.cu": PASSED}).objects
    return [(one.name, one.cause, one.also, one.confidence) for one in objects]


def test_an_address_is_that_variables_which_is_in_scope_where_it_is_passed() -> None:
    """The last load is of half an element: no more of it is read."""
    head, tail = variable("head", "int[16]", 64, 3), variable("tail", "int[12]", 48, 8)
    assert one_passed(head, tail) == [
        ("head", "dynamic-index", (), "certain"),
        ("tail", "address-taken", (), "likely"),
    ]


def test_a_name_is_doubted_where_it_is_not_in_scope_where_its_place_is_passed() -> None:
    head = variable("head", "int[16]", 64, 3)
    ((name, cause, _, confidence),) = one_passed(head)
    assert (name, cause, confidence) == ("head", "address-taken", "possible")
