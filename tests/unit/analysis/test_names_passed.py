"""What calls get that the source makes for them: it is no variable of the call's line."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.graph import Call, Passed
from lmemscope.analysis.ptx.objects import StackObject
from lmemscope.analysis.taken import may_be_taken
from lmemscope.formats.operators import is_computed
from lmemscope.model import Member, Variable
from tests.support.builders import call, depot, program, source_text, variable

SIDE = variable("side", "Vector", 12, 1)
WAY = variable("way", "const Vector &", 8, 2, function="_ZN1S7supportERK1V", is_parameter=True)
BOUND = variable("way", "Vector", 12, 2, function="_ZN1S7supportERK1V")


def named(argument: str, *, call: str = "support(way, data)") -> str | None:
    """What an object is called that is stored for a call, and given to one inside of it."""
    body = f"""{depot(12)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SP, 0;
.loc 1 4 0
st.local.u32 [%rd1], %r1;
.loc 1 2 0, function_name $L__info_string0, inlined_at 1 4 0
{{
.param .b64 param0;
st.param.b64 [param0+0], %rd2;
.param .b64 param1;
st.param.b64 [param1+0], %rd9;
call.uni target, (param0, param1);
}}
ret;"""
    ptx = program(body, inlined=(WAY.function,))
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    text = (
        f"Vector side;\n  return target{call[call.index('(') :]};\n\nx = s.support({argument});\n"
    )
    variables = [SIDE, replace(WAY, referent=BOUND)]
    names = Names(variables, ptx, source_text({"a.cu": text}))
    (one,) = names.of_objects(objects, objects.objects.values())
    return None if one.name is None else one.name.name


@pytest.mark.parametrize(
    "argument", ["-side", "side + b", "Vector(side.x, 0, 1)", "{side.x}", "pose.rotated(side)"]
)
def test_a_value_made_in_a_call_is_known_by_the_reference_to_it(argument: str) -> None:
    assert named(argument) == "way"


@pytest.mark.parametrize("argument", ["side", "(side)", "c ? side : b", "side.scaled(2)"])
def test_what_may_be_a_variable_keeps_its_name(argument: str) -> None:
    assert named(argument) == "side"


def test_without_a_reference_it_has_no_name() -> None:
    assert named("side", call="(-way, data)") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-a", True),
        ("!a", True),
        ("a + b", True),
        ("a*b", True),
        ("(a + b)", True),
        ("(a) + (b)", True),
        ("(a)", False),
        ("(a).b", False),
        ("f(a) - g(b)", True),
        ("a.b[i - 1]", False),
        ("p->a", False),
        ("*p", False),
        ("&a", False),
        ("--a", False),
        ("a += b", False),
        ("c ? a : b + 1", False),
        ("f(a - b)", False),
        ("a", False),
    ],
)
def test_operators_make_values(text: str, expected: bool) -> None:
    assert is_computed(text) is expected


def operated(function: str, left: str, right: str) -> str:
    """An operator's call with both operands' addresses."""
    return f"""{{
.param .b64 param0;
st.param.b64 [param0+0], {left};
.param .b64 param1;
st.param.b64 [param1+0], {right};
call.uni {function}, (param0, param1);
}}"""


def shared(first: str, second: str) -> tuple[str | None, list[str | None]]:
    """The name of an object in whose place two operators get something, and those that get it."""
    body = f"""{depot(12)}
add.u64 %rd1, %SP, 0;
.loc 1 2 0
{operated("_ZNK6VectormiERKS_", "%rd1", "%rd9")}
.loc 1 3 0
{operated("_ZN6VectorpLERKS_", "%rd9", "%rd1")}
ret;"""
    ptx = program(body)
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    text = f"Vector side;\n{first}\n{second}\n"
    vector = replace(SIDE, members=(Member("x", 0, 4, "float"),))
    names = Names([vector], ptx, source_text({"a.cu": text}))
    (one,) = names.of_objects(objects, objects.objects.values())
    return None if one.name is None else one.name.name, [
        made.callee for made, _ in one.found.passed_to
    ]


def test_an_operator_gets_no_variable_where_its_operand_is_computed() -> None:
    minus, plus = "_ZNK6VectormiERKS_", "_ZN6VectorpLERKS_"
    assert shared("x = side - b;", "sum += side;") == ("side", [minus, plus])
    assert shared("x = side - b;", "sum += side * 2;") == ("side", [minus])
    assert shared("x = (side * 2) - b;", "sum += side;") == ("side", [plus])
    assert shared("x = (side * 2) - b;", "sum += side * 2;") == (None, [minus, plus])


FIRST = variable("first", "uint64_t", 8, 1)
SECOND = variable("second", "uint64_t", 8, 2)
POINTER = variable("pointer", "uint64_t *", 8, 2)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("target(first - 64, second);", "second"),
        ("target(first, &second);", "second"),
        ("target(second, first);", "first"),
        ("target(second - 64, rows[first]);", None),
        ("target(first, pointer);", None),
        ("target(1, first); target(2, second);", None),
    ],
)
def test_an_object_is_the_argument_that_stands_in_its_place(
    call: str, expected: str | None
) -> None:
    body = f"""{depot(8)}
add.u64 %rd2, %SP, 0;
.loc 1 4 0
{{
.param .b64 param0;
st.param.b64 [param0+0], %rd9;
.param .b64 param1;
st.param.b64 [param1+0], %rd2;
call.uni target, (param0, param1);
}}
ret;"""
    ptx = program(body)
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    text = f"uint64_t first;\nuint64_t second;\n\n{call}\n"
    names = Names([FIRST, SECOND, POINTER], ptx, source_text({"a.cu": text}))
    (one,) = names.of_objects(objects, objects.objects.values())
    if expected is None:
        assert one.name is None or one.name.confidence != "certain"
    else:
        assert one.name is not None
        assert one.name.name == expected


def test_a_pointer_to_one_of_two_names_neither() -> None:
    access = ".loc 1 {line} 0\nld.local.u32 %r2, [%rd4];\n"
    body = f"""{depot(8)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SPL, 4;
.loc 1 1 0
st.local.u32 [%rd1], %r7;
.loc 1 2 0
st.local.u32 [%rd2], %r8;
ld.param.u32 %r9, [k_param_0];
setp.eq.s32 %p1, %r9, 0;
selp.b64 %rd4, %rd1, %rd2, %p1;
{"".join(access.format(line=line) for line in (4, 5, 6, 7))}
ret;"""
    ptx = program(body)
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    text = "int black = 3;\nint white = 4;\nint *p = n ? &black : &white;\n" + "*p;\n" * 4
    names = Names(
        [variable("black", "int", 4, 1), variable("white", "int", 4, 2), variable("n", "int", 4)],
        ptx,
        source_text({"a.cu": text}),
    )
    found = names.of_objects(objects, objects.objects.values())
    assert [one.name and one.name.name for one in found] == ["black", "white"]


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("uint32_t *a = (uint32_t *)v;", "rows"),
        ("auto *a = reinterpret_cast<uint32_t *>(v) + 1;", "rows"),
        ("uint32_t *a = n ? v : r;", None),
        ("uint32_t *a = (uint32_t *)r + v[0];", "t"),
    ],
)
def test_a_pointer_that_an_inlined_function_makes_of_its_parameter_is_the_variable(
    pointer: str, expected: str | None
) -> None:
    body = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
ld.param.u32 %r2, [k_param_0];
mul.wide.s32 %rd2, %r2, 4;
add.s64 %rd3, %rd1, %rd2;
.loc 1 3 0, function_name $L__info_string0, inlined_at 1 6 0
ld.local.u32 %r3, [%rd3];
ret;"""
    called = "_Z3mulPiPmi"
    ptx = program(body, inlined=(called,))
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    text = (
        f"void mul(int *r, uint64_t *v, int i) {{\n{pointer}\nr[0] = a[i];\n}}\n"
        "uint64_t rows[8];\nmul(t, rows, 2);\n"
    )
    of_call = {"function": called, "is_parameter": True}
    variables = [
        variable("rows", "uint64_t[8]", 64, 5),
        variable("t", "uint32_t[16]", 64, 5),
        variable("r", "int *", 8, 1, **of_call),
        variable("v", "uint64_t *", 8, 1, **of_call),
        variable("i", "int", 4, 1, **of_call),
        variable("a", "uint32_t *", 8, 2, function=called),
    ]
    names = Names(variables, ptx, source_text({"a.cu": text}))
    (one,) = names.of_objects(objects, objects.objects.values())
    assert (
        one.name.name if one.name is not None and one.name.confidence != "possible" else None
    ) == expected


BY_VALUE = ".param .u64 k_param_0, .param .f64 k_param_1, .param .f64 k_param_2"
PARAMETERS = [
    variable("table", "const int *", 8, 1, is_parameter=True),
    variable("rate", "const double", 8, 1, is_parameter=True),
    variable("heat", "const double", 8, 1, is_parameter=True),
]


def handed_on(load: str, variables: list[Variable]) -> ObjectName | None:
    """What an object is that a call through a pointer gets, after a load is stored in it."""
    body = f"""{depot(8)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SP, 0;
.loc 1 1 0
{load}
st.local.f64 [%rd1], %fd1;
{{
.param .b64 param0;
st.param.b64 [param0+0], %rd2;
call %rd7, (param0), prototype_0;
}}
ret;"""
    ptx = program(body, parameters=BY_VALUE)
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    text = "__global__ void k(const int *table, const double rate, const double heat) {\n"
    names = Names(variables, ptx, source_text({"a.cu": text}))
    (one,) = names.of_objects(objects, objects.objects.values())
    return one.name


@pytest.mark.parametrize(("number", "name"), [(1, "rate"), (2, "heat")])
def test_what_is_filled_with_a_parameter_is_that_parameter(number: int, name: str) -> None:
    """A call through a pointer gets addresses, and the parameters stand on one line."""
    found = handed_on(f"ld.param.f64 %fd1, [k_param_{number}];", PARAMETERS)
    assert found is not None
    assert found.name == name
    assert found.confidence == "likely"


def test_a_pointer_is_not_what_a_float_is_stored_in() -> None:
    assert handed_on("ld.global.f64 %fd1, [%rd5];", PARAMETERS[:1]) is None


@pytest.mark.parametrize(
    ("callee", "position", "fits"),
    [
        # The object of a member function; before it, the place of a result.
        ("_ZN6VectorplEf", 0, ("side", "a", "q")),
        ("_ZNK6VectorplEf", 0, ("side", "a", "q")),
        ("_Z3addRK6Vector", 0, ("side", "a", "q")),
        ("_Z4stepRK4PairIifEi", 0, ("side", "a", "q")),
        # An array's elements are handed over, or several as a vector.
        ("_Z4stepRKdi", 0, ("side", "t", "n", "a")),
        ("_Z4stepPPdi", 0, ("side", "p", "q")),
        ("_Z4readPvi", 0, ("side", "t", "n", "p", "a", "q")),
        ("_Z4stepPKdi$3", 0, ("side", "t", "n", "a")),
        # Neither its name nor its arguments tell.
        ("step", 0, ("side", "t", "n", "p", "a", "q")),
        ("_Z4stepv", 0, ("side", "t", "n", "p", "a", "q")),
    ],
)
def test_a_number_is_not_what_takes_an_object(
    callee: str, position: int, fits: tuple[str, ...]
) -> None:
    given = ((Passed(0, 0, "%rd1"),), (Passed(0, 0, "%r2"),))
    arguments = () if callee in ("step", "_Z4stepv") else given
    if callee == "_Z3addRK6Vector":
        arguments = arguments[:1]
    found = StackObject(0, 12)
    found.passed_to.append((Call(1, callee, arguments, ()), position))
    variables = [
        replace(SIDE, members=(Member("x", 0, 4, "float"),)),
        variable("t", "const double", 8),
        variable("n", "size_t", 8),
        variable("p", "double *", 8),
        variable("a", "int[3]", 12),
        variable("q", "float *[2]", 16),
    ]
    assert tuple(one.name for one in variables if may_be_taken(one, found)) == fits


def test_a_member_that_is_passed_in_place_of_its_object_is_what_it_points_to() -> None:
    """``Add::run(int)`` gets `depth`, the address in `sum`, and `v`, and no ``Add``."""
    number, address = Passed(0, 0, "%r1", may_be_address=False), Passed(0, 0, "%rd1")
    found = StackObject(0, 16)
    found.passed_to.append((Call(1, "_ZN3Add3runEi", ((number,), (address,), (number,)), ()), 1))
    assert may_be_taken(variable("total", "int", 4), found)


@pytest.mark.parametrize(("behind", "name"), [(8, "n"), (12, None)])
def test_what_alignment_cannot_have_added_is_another_object(behind: int, name: str | None) -> None:
    """The next object is at 12, a multiple of 4 and not of 8: nothing was added for it."""
    body = f"""{depot(behind + 12)}
add.u64 %rd1, %SP, 0;
add.u64 %rd2, %SP, {behind};
.loc 1 2 0
{call("step", "%rd1")}
{call("step", "%rd2")}
ret;"""
    ptx = program(body)
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    names = Names([variable("n", "long", 8, 1)], ptx, source_text({"a.cu": "long n;\nstep(&n);\n"}))
    first, _ = names.of_objects(objects, objects.objects.values())
    assert (None if first.name is None else first.name.name) == name
