"""Names of stack objects: hand-made variables against hand-made PTX with source lines."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from lmemscope.analysis.candidates import Shape
from lmemscope.analysis.declared_type import declared_type
from lmemscope.analysis.layout import parts_of
from lmemscope.analysis.members import split
from lmemscope.analysis.names import Names
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.places import Place
from lmemscope.formats.demangle import variable_name
from lmemscope.model import Member, Variable
from tests.support.builders import depot, program, source_text, variable


def named(
    size: int,
    accesses: Mapping[int, int],
    source: str,
    *variables: Variable,
    index: bool = False,
) -> dict[int, tuple[str, str]]:
    """Name and confidence by depot offset.

    Args:
        size: of the depot.
        accesses: source line by depot offset: an object with one access on that line.
        source: text of ``a.cu``.
        variables: what the debug compilation knows.
        index: whether the accesses have a run-time index.
    """
    lines = [depot(size)]
    for at, line in accesses.items():
        lines.append(f".loc 1 {line} 0\nadd.u64 %rd{at + 1}, %SPL, {at};")
        address = f"%rd{at + 1}"
        if index:
            lines.append(f"ld.param.u64 %rd900, [k_param_0];\nadd.s64 %rd901, {address}, %rd900;")
            address = "%rd901"
        lines.append(f"ld.local.u32 %r1, [{address}];")
    ptx = program("\n".join([*lines, "ret;"]))
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    found = Names(variables, ptx, source_text({"a.cu": source})).of_objects(
        objects, objects.objects.values()
    )
    return {
        one.found.offset: (one.name.name, one.name.confidence)
        for one in found
        if one.name is not None
    }


ARRAY = variable("bins", "float[16]", 64)


def test_an_array_that_fits_and_is_mentioned_is_certain() -> None:
    assert named(64, {0: 2}, "\nx = bins[i];\n", ARRAY) == {0: ("bins", "certain")}


@pytest.mark.parametrize(
    ("size", "expected"),
    [(64, "certain"), (79, "certain"), (80, None), (63, "likely")],
)
def test_an_object_may_be_padded_and_shrunk_but_not_much_larger(
    size: int, expected: str | None
) -> None:
    found = named(size, {0: 2}, "\nx = bins[i];\n", ARRAY)
    assert found.get(0, (None, None))[1] == expected


def test_the_line_decides_between_arrays_of_one_size() -> None:
    other = variable("sums", "float[16]", 64, 1)
    found = named(64, {0: 2}, "\nx = bins[i];\n", ARRAY, other)
    assert found == {0: ("bins", "certain")}


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        ("float bins[16] = {\n  x,\n  y};", "bins"),
        ("float bins[16];\n  f(x,\n  y);", None),
        ("for (int bins = 0; x;) {\n  f(x);\n}", None),
    ],
)
def test_each_line_of_an_initialiser_is_its_variables(declared: str, name: str | None) -> None:
    bins = replace(ARRAY, line=1)
    other = variable("sums", "float[16]", 64, 9)
    found = named(64, {0: 2}, f"{declared}\n", bins, other)
    assert found.get(0, (None,))[0] == name


def test_a_name_inside_another_word_is_no_mention() -> None:
    assert named(64, {0: 2}, "\nx = mybins[i] + bins2;\n", ARRAY) == {0: ("bins", "possible")}


def test_without_any_mention_the_only_fit_is_possible_and_two_are_none() -> None:
    assert named(64, {0: 2}, "\nx = 1;\n", ARRAY) == {0: ("bins", "possible")}
    assert named(64, {0: 2}, "\nx = 1;\n", ARRAY, variable("sums", "float[16]", 64)) == {}


def test_a_scalar_that_fits_is_never_certain() -> None:
    assert named(4, {0: 2}, "\nx = n;\n", variable("n", "int", 4)) == {0: ("n", "likely")}


@pytest.mark.parametrize(
    ("indexed", "name"),
    [("own[j] = x;", "own"), ("own[j] = far[j];", "own"), ("own[j] = 1; far[j] = 2;", None)],
)
def test_lines_with_the_index_count_where_others_were_moved(indexed: str, name: str | None) -> None:
    # Loads at constant places have the line of a loop's head, of which no array is named.
    body = f"{depot(16)}\nadd.u64 %rd1, %SPL, 0;\nld.param.u64 %rd9, [k_param_0];\n"
    body += "shl.b64 %rd8, %rd9, 2;\nadd.s64 %rd2, %rd1, %rd8;\n.loc 1 2 0\n"
    body += "st.local.u32 [%rd2], %r1;\n.loc 1 3 0\n"
    body += "".join(f"ld.local.u32 %r{n + 2}, [%rd1+{4 * n}];\n" for n in range(3))
    objects = ModuleFlow(ptx := program(f"{body}ret;")).objects("k")
    assert objects is not None
    equals = [variable(one, "int[3]", 12, 1) for one in ("own", "far")]
    sources = source_text({"a.cu": f"\n{indexed}\nfor (;;) {{\n"})
    (found,) = Names(equals, ptx, sources).of_objects(objects, objects.objects.values())
    assert (found.name.name if found.name is not None else None) == name


def test_an_array_is_preferred_to_a_structureless_value_of_its_size() -> None:
    wide = variable("wide", "double", 8)
    pair = variable("pair", "float[2]", 8)
    found = named(8, {0: 2}, "\nx = pair[i] + wide;\n", wide, pair)
    assert found[0][0] == "pair"


def test_equals_take_the_order_of_their_declarations() -> None:
    first, second = variable("a", "int[8]", 32, 1), variable("b", "int[8]", 32, 2)
    found = named(64, {0: 3, 32: 3}, "\n\nx = a[i] + b[i];\n", second, first)
    assert found == {0: ("a", "likely"), 32: ("b", "likely")}


def test_variables_of_an_inlined_function_are_found_through_the_inline_chain() -> None:
    inlined = ", function_name $L__info_string0, inlined_at 1 9 0"
    body = f"""{depot(64)}
.loc 1 9 0
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SPL, 32;
.loc 1 3 0{inlined}
ld.local.u32 %r1, [%rd1];
ld.local.u32 %r2, [%rd2];
ret;"""
    ptx = program(body, inlined=("leaf",))
    variables = [variable(name, "int[8]", 32, n, function="leaf") for n, name in enumerate("ab")]
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    names = Names(variables, ptx, source_text({"a.cu": "\n\nx = a[i] + b[i];\n"}))
    found = names.of_objects(objects, objects.objects.values())
    assert [(one.name.name, one.name.confidence) for one in found if one.name is not None] == [
        ("a", "likely"),
        ("b", "likely"),
    ]


def test_a_variable_of_the_kernel_itself_exists_once() -> None:
    found = named(128, {0: 2, 64: 3}, "\nx = bins[i];\nx = bins[i] + more[i];\n",
                  ARRAY, variable("more", "float[16]", 64, 2))  # fmt: skip
    assert [name for name, _ in found.values()] == ["bins", "more"]
    assert found[64][1] != "certain"


def test_what_two_objects_fit_as_well_is_no_certain_name_of_either() -> None:
    found = named(128, {0: 2, 64: 3}, "\nx = bins[i];\nx = bins[i];\n", ARRAY)
    assert found == {0: ("bins", "likely")}


@pytest.mark.parametrize(
    ("line", "name"), [("f(body, normal);", "normal"), ("f(body.scale, normal);", "scale")]
)
def test_a_member_that_no_line_names_comes_behind_what_lines_name(line: str, name: str) -> None:
    inner = (Member("x", 0, 16, "float[4]"),)
    body = variable(
        "body", "Body", 64, 1, members=(Member("scale", 0, 16, "Four", inner, "a.cu", 1),)
    )
    normal = variable("normal", "float[3]", 12, 2)
    assert named(16, {0: 3}, f"\n\n{line}\n", body, normal)[0][0].endswith(name)


def test_variables_of_other_functions_are_no_candidates() -> None:
    assert (
        named(64, {0: 2}, "\nx = bins[i];\n", variable("bins", "float[16]", 64, function="f")) == {}
    )


def test_parameters_are_named_by_position() -> None:
    names = Names(
        [
            variable("local", "int", 4),
            variable("x", "float *", 8, is_parameter=True),
            variable("n", "int", 4, is_parameter=True),
        ],
        program("ret;"),
        source_text(),
    )
    assert names.parameter("k", "k_param_1") == "n"
    assert names.parameter("k", "k_param_2") is None
    assert names.parameter("other", "other_param_0") is None


def test_the_same_variable_told_twice_is_one() -> None:
    assert named(64, {0: 2}, "\nx = bins[i];\n", ARRAY, ARRAY) == {0: ("bins", "certain")}
    assert not Names((), program("ret;"), source_text())


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("array<int, 24>", "  cuda::std::array<int, 24> x = {};", "cuda::std::array<int, 24>"),
        ("array<int, 24>", "  cuda::std::array<T, N> x;", "cuda::std::array<int, 24>"),
        ("Temp<Plain, 3>[2]", "a::Temp<a::b::Plain, 3> x[2]", "a::Temp<a::b::Plain, 3>[2]"),
        ("unsigned char[64]", "cuda::std::byte head[4], x[64];", "cuda::std::byte[64]"),
        ("const unsigned char", "const std::byte x{1};", "const std::byte"),
        ("float[4]", "T x[4];", "float[4]"),
        ("float[4]", "typename ns::Of<T>::type x[4];", "float[4]"),
        ("float[4]", "float y = ns::value, x[4];", "float[4]"),
        ("array<int, 24>", "auto x = cuda::std::array<int, 24>{};", "array<int, 24>"),
        ("float[4]", "ns::call(x);", "float[4]"),
    ],
)
def test_a_type_has_the_namespaces_of_its_declaration(kind: str, text: str, expected: str) -> None:
    assert declared_type(kind, "x", text) == expected


def test_what_reaches_behind_a_variable_is_not_that_variable() -> None:
    pair, five = variable("pair", "int[2]", 8), variable("five", "int[5]", 20, 2)
    places = dict.fromkeys((0, 4, 8, 12, 16), 2)
    source = "\nx = pair[i];\nx = five[i];\n"
    assert Shape(20, (Place(16, 0, 4), Place(12, 0, 4), Place(0, 0, 4))).ends_behind(8)
    assert not Shape(20, (Place(8, 0, 4), Place(4, 0, 4), Place(0, 0, 4))).ends_behind(8)
    assert not Shape(20, tuple(Place(at, 0, 4) for at in (0, 24, 28, 32))).ends_behind(8)
    body = "\n".join(
        [
            depot(20),
            "add.u64 %rd1, %SPL, 0;",
            *(f".loc 1 {line} 0\nld.local.u32 %r1, [%rd1+{at}];" for at, line in places.items()),
            ".loc 1 3 0\nld.local.u32 %r1, [%rd1];\nret;",
        ]
    )
    ptx = program(body)
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    names = Names([pair, five], ptx, source_text({"a.cu": source}))
    (found,) = names.of_objects(objects, objects.objects.values())
    # Most lines name the other one: the compiler moved the accesses there.
    assert found.name is not None
    assert (found.name.name, found.name.confidence) == ("five", "possible")


def captured(body: str) -> tuple[str, int]:
    """Name and line of an object of 32 bytes, where a lambda copies ``levels`` of that size."""
    text = """
float levels[8];
for (i...) levels[i] = x[i];
const auto level = [levels](int at) {
  return levels[at];
};
y = level(n);
"""
    ptx = program(
        f"{depot(32)}\nadd.u64 %rd1, %SPL, 0;\n{body}\nret;", inlined=("_ZZ1kvENKUliE_clEi",)
    )
    variables = [
        variable("levels", "float[8]", 32, 2),
        variable(
            "level",
            "const (lambda)",
            32,
            4,
            members=(Member("levels", 0, 32, "float[8]", (), "a.cu", 4),),
        ),
    ]
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    names = Names(variables, ptx, source_text({"a.cu": text}))
    (found,) = names.of_objects(objects, objects.objects.values())
    (member, *_) = split(names, objects, found)
    assert member.name is not None
    return member.name.name, member.name.declared.line


INSIDE = """.loc 1 7 0
.loc 1 5 0, function_name $L__info_string0, inlined_at 1 7 0
ld.param.u32 %r9, [k_param_1];
mul.wide.s32 %rd8, %r9, 4;
add.s64 %rd9, %rd1, %rd8;
ld.local.u32 %r3, [%rd9];"""


def test_a_copy_that_a_lambda_holds_is_declared_where_it_captures() -> None:
    assert captured(f".loc 1 4 0\nst.local.u32 [%rd1], %r2;\n{INSIDE}") == ("levels", 4)


def test_a_copy_that_the_compiler_left_out_is_the_variable_itself() -> None:
    assert captured(f".loc 1 3 0\nst.local.u32 [%rd1], %r2;\n{INSIDE}") == ("levels", 2)


def test_a_member_of_an_anonymous_union_is_declared_on_its_own_line() -> None:
    union = variable(
        "__T1",
        "(unnamed union)",
        64,
        4,
        members=(
            Member("numbers", 0, 64, "float[16]", (), "a.cu", 2),
            Member("bits", 0, 64, "unsigned int[16]", (), "a.cu", 3),
        ),
    )
    names = Names([union], program("ret;"), source_text())
    bits = next(part for part in parts_of(union) if part.path == ".bits")
    found = names.name(union, bits, "certain")
    assert (found.name, found.declared.line, found.type) == ("bits", 3, "unsigned int[16]")


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZZ4statPiE6primes", "primes"),
        ("_ZZ4statPiE6primes_$_0", "primes"),
        ("_ZN2ns6primesE_$_12", "ns::primes"),
    ],
)
def test_a_variable_of_which_parts_are_left_keeps_its_name(symbol: str, name: str) -> None:
    assert variable_name(symbol) == name
