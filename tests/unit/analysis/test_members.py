"""Type structure against accesses: members, unions, scalars, pieces; all from hand-made facts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lmemscope.analysis.layout import arrays_at, fits, parts_of
from lmemscope.analysis.ptx.places import Place, Places
from lmemscope.model import KernelFacts, LocalObject, Member, Variable
from tests.support.builders import (
    attributed,
    depot,
    layers,
    ldl,
    objects_of,
    program,
    stl,
    variable,
)

INNER = (Member("tag", 0, 4, "int"), Member("b", 4, 48, "float[12]"), Member("tail", 52, 4, "int"))
OUTER = variable(
    "s",
    "Outer",
    104,
    members=(
        Member("head", 0, 8, "double"),
        Member("a", 8, 56, "Inner", INNER),
        Member("order", 64, 40, "short[20]"),
    ),
)
UNION = variable(
    "pun",
    "(unnamed union)",
    64,
    members=(Member("f", 0, 64, "float[16]"), Member("bytes", 0, 64, "unsigned char[64]")),
)


def element(at: int, step: int, width: int, line: int = 4, *, number: int = 1) -> str:
    """A load of ``[depot + at + step * n]`` of so many bytes, on a line."""
    kind = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[width]
    return f""".loc 1 {line} 0
ld.param.u32 %r{number}0, [k_param_1];
mul.wide.s32 %rd{number}1, %r{number}0, {step};
add.s64 %rd{number}2, %rd1, %rd{number}1;
ld.local.{kind} %r{number}3, [%rd{number}2+{at}];"""


def kernel(
    size: int, body: Sequence[str], line: str, *variables: Variable, frame: int | None = None
) -> KernelFacts:
    """A kernel with a depot of one object, all accesses of which have a machine instruction."""
    lines = [depot(size), "add.u64 %rd1, %SPL, 0;", "st.local.u32 [%rd1], %r9;", *body, "ret;"]
    ptx = program("\n".join(lines))
    loads = [
        text.split(" ")[0] + " " + text.split(" ")[1]
        for part in body
        for text in part.splitlines()
        if text.startswith("ld.local")
    ]
    code = [stl("st.local.u32"), *(ldl(load, base=4) for load in loads)]
    given = layers(ptx, *code, frame=size if frame is None else frame)
    return attributed(given, variables, {"a.cu": f"\n\n\n{line}\n"})


def shown(objects: Sequence[LocalObject]) -> list[tuple[str | None, int, int, str | None]]:
    return [(one.name, one.offset, one.size, one.extent) for one in objects]


# Places.


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ld.local.u32 %r1, [%rd1+8];", Place(8, 0, 4)),
        (element(24, 4, 4), Place(24, 4, 4)),
        ("shl.b64 %rd7, %rd6, 3;\nadd.s64 %rd8, %rd1, %rd7;\nld.local.u64 %rd9, [%rd8];",
         Place(0, 8, 8)),
        ("and.b64 %rd7, %rd6, 60;\nadd.s64 %rd8, %rd1, %rd7;\nld.local.u32 %r1, [%rd8];",
         Place(0, 4, 4)),
        # What is added to an index is no part of where the array begins.
        ("add.s32 %r7, %r6, -2;\nmul.wide.s32 %rd7, %r7, 4;\nadd.s64 %rd8, %rd1, %rd7;\n"
         "ld.local.u32 %r1, [%rd8+8];", Place(8, 4, 4)),
        ("mad.wide.s32 %rd8, %r6, 12, %rd1;\nld.local.u32 %r1, [%rd8+4];", Place(4, 12, 4)),
        ("add.s64 %rd8, %rd1, %rd6;\nld.local.u8 %r1, [%rd8];", Place(0, 1, 1)),
    ],
)  # fmt: skip
def test_a_place_is_where_an_index_begins_and_what_it_steps_by(body: str, expected: Place) -> None:
    found = objects_of(f"{depot(64)}\nadd.u64 %rd1, %SPL, 0;\nld.param.u64 %rd6, [k_param_0];\n"
                       f"ld.param.u32 %r6, [k_param_1];\n{body}\nret;")  # fmt: skip
    assert Places(found).of(found.accesses[-1], found.objects[0]) == expected


def test_a_pointer_that_a_loop_advances_steps_by_what_it_adds() -> None:
    body = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
add.s64 %rd2, %rd1, 16;
$L1:
ld.local.u32 %r1, [%rd2];
add.s64 %rd2, %rd2, 8;
setp.lt.s32 %p1, %r1, 9;
@%p1 bra $L1;
ret;"""
    found = objects_of(body)
    assert Places(found).of(found.accesses[0], found.objects[0]) == Place(16, 8, 4)


CHOSEN = f"""{depot(96)}
add.u64 %rd1, %SPL, 0;
add.s64 %rd2, %rd1, 32;
add.s64 %rd3, %rd1, 64;
ld.param.u32 %r6, [k_param_1];
setp.eq.s32 %p1, %r6, 0;
mul.wide.s32 %rd8, %r6, 4;
"""


@pytest.mark.parametrize(
    ("body", "starts"),
    [
        ("selp.b64 %rd4, %rd2, %rd3, %p1;", [32, 64]),
        ("selp.b64 %rd5, %rd2, %rd3, %p1;\nselp.b64 %rd4, %rd1, %rd5, %p1;", [0, 32, 64]),
        ("selp.b64 %rd5, %rd1, %rd2, %p1;\nadd.s64 %rd4, %rd5, 4;", [4, 36]),
        ("mov.u64 %rd4, %rd1;\n@%p1 bra $L1;\nmov.u64 %rd4, %rd3;\n$L1:", [0, 64]),
        # Two pointers that change places in each turn of a loop.
        (
            "mov.u64 %rd4, %rd1;\nmov.u64 %rd5, %rd3;\n$L1:\nmov.u64 %rd6, %rd4;\n"
            "mov.u64 %rd4, %rd5;\nmov.u64 %rd5, %rd6;\n@%p1 bra $L1;",
            [0, 64],
        ),
        # What a loop adds moves a pointer within what it begins in.
        ("selp.b64 %rd4, %rd2, %rd3, %p1;\n$L1:\nadd.s64 %rd4, %rd4, 8;\n@%p1 bra $L1;", [32, 64]),
    ],
)
def test_a_chosen_pointer_has_the_places_of_what_it_is_chosen_from(
    body: str, starts: list[int]
) -> None:
    access = "add.s64 %rd9, %rd4, %rd8;\nld.local.u32 %r1, [%rd9];\nret;"
    found = objects_of(f"{CHOSEN}{body}\n{access}")
    places = Places(found)
    each = places.each(found.accesses[-1], found.objects[0])
    assert [(place.start, place.step) for place in each] == [(start, 4) for start in starts]
    assert places.of(found.accesses[-1], found.objects[0]).start is None


def test_what_only_a_choice_decides_is_no_index() -> None:
    chosen = "selp.b64 %rd4, %rd2, %rd3, %p1;\nld.local.u32 %r1, [%rd4+8];\nret;"
    found = objects_of(f"{CHOSEN}{chosen}")
    each = Places(found).each(found.accesses[-1], found.objects[0])
    assert each == (Place(40, 0, 4), Place(72, 0, 4))


def test_a_pointer_out_of_memory_has_no_known_place() -> None:
    body = "st.local.u64 [%rd1], %rd2;\nld.local.u64 %rd4, [%rd1];"
    found = objects_of(f"{CHOSEN}{body}\nld.local.u32 %r1, [%rd4];\nret;")
    assert Places(found).of(found.accesses[-1], found.objects[0]) == Place(None, 4, 4)


# Types.


@pytest.mark.parametrize(
    ("place", "path"),
    [
        (Place(12, 4, 4), ".a.b"),
        (Place(8, 4, 4), ".a.b"),
        (Place(56, 4, 4), ".a.b"),
        (Place(64, 2, 2), ".order"),
        (Place(102, 2, 2), ".order"),
        (Place(None, 4, 4), None),
    ],
)
def test_the_array_is_the_one_that_the_index_begins_in_or_next_to(
    place: Place, path: str | None
) -> None:
    found = arrays_at(parts_of(OUTER), place)
    assert (found[0].path if found else None) == path


def test_of_a_union_the_member_whose_elements_are_as_wide() -> None:
    paths = [arrays_at(parts_of(UNION), Place(0, width, width))[0].path for width in (1, 4)]
    assert paths == [".bytes", ".f"]


@pytest.mark.parametrize(
    ("kind", "size", "place", "expected"),
    [
        ("int", 4, Place(0, 4, 4), False),
        ("float[2]", 8, Place(0, 4, 4), True),
        ("double[2]", 16, Place(0, 4, 4), False),
        ("double", 8, Place(0, 0, 8), True),
        ("double", 8, Place(0, 0, 4), False),
        ("float[3][4]", 48, Place(0, 16, 4), True),
    ],
)
def test_a_scalar_has_no_place_for_an_index(
    kind: str, size: int, place: Place, expected: bool
) -> None:
    assert fits(parts_of(variable("v", kind, size)), place) is expected


# Objects.


def test_an_indexed_member_is_an_object_and_the_rest_another() -> None:
    fact = kernel(104, [element(12, 4, 4)], "x = s.a.b[i];", OUTER)
    assert shown(fact.objects) == [("s.a.b", 12, 48, "whole"), ("s", 0, 56, "rest")]
    assert fact.objects[0].type == "float[12]"
    assert [(r.offset, r.size, r.object_index) for r in fact.frame] == [
        (0, 12, 1),
        (12, 48, 0),
        (60, 44, 1),
    ]
    assert [(a.is_store, a.object) for a in fact.accesses] == [(True, 1), (False, 0)]


def test_two_indexed_members_are_two_objects() -> None:
    body = [element(12, 4, 4), element(64, 2, 2, number=2)]
    fact = kernel(104, body, "x = s.a.b[i] + s.order[j];", OUTER)
    assert [one.name for one in fact.objects] == ["s.a.b", "s.order", "s"]
    assert [access.object for access in fact.accesses] == [2, 0, 1]


def test_an_anonymous_unions_array_has_its_own_name() -> None:
    members = (Member("f", 0, 64, "float[16]"), Member("u", 0, 64, "unsigned int[16]"))
    union = variable("__T0", "(unnamed union)", 64, members=members)
    fact = kernel(64, [element(0, 4, 4)], "u[i] ^= 1;", union)
    assert shown(fact.objects) == [("u", 0, 64, "whole")]


def test_an_index_is_loaded_from_the_member_that_holds_it() -> None:
    body = (
        element(64, 2, 2)
        + """
mul.wide.s32 %rd41, %r13, 4;
add.s64 %rd42, %rd1, %rd41;
ld.local.u32 %r43, [%rd42+12];"""
    )
    facts = kernel(104, [body], "x = s.a.b[s.order[k]];", OUTER)
    sources = {one.name: one.index.sources for one in facts.objects if one.index is not None}
    assert [(one.kind, one.name) for one in sources["s.a.b"]] == [("memory", "s.order")]


def test_a_scalar_is_never_the_indexed_object() -> None:
    sizes = variable("nwarps", "const int", 4), variable("KQ_max", "float[1]", 4, 2)
    fact = kernel(4, [element(0, 4, 4)], "KQ_max[i] += nwarps;", *sizes)
    assert [one.name for one in fact.objects] == ["KQ_max"]
    alone = kernel(4, [element(0, 4, 4)], "x += nwarps;", sizes[0])
    assert [one.name for one in alone.objects] == [None]


def test_elements_of_another_size_are_not_certain() -> None:
    table = variable("table", "double[8]", 64)
    (found,) = kernel(64, [element(0, 4, 4)], "x = table[i];", table).objects
    assert (found.name, found.confidence) != ("table", "certain")


def test_a_part_of_an_array_says_so() -> None:
    (found,) = kernel(8, [], "x = v[0];", variable("v", "int[4]", 16)).objects
    assert found.name is None
    fact = kernel(8, [".loc 1 4 0\nld.local.u32 %r3, [%rd1+4];"], "x = v[1];",
                  variable("v", "volatile int[4]", 16))  # fmt: skip
    assert shown(fact.objects) == [("v", 0, 8, "part")]
    assert fact.objects[0].type_size == 16


def test_references_and_pointers_to_it_speak_for_a_variable() -> None:
    storage = variable("storage", "float[16]", 64, 2)
    view = variable("view", "float[16] &", 8, 3)
    ptx = program(f"{depot(64)}\nadd.u64 %rd1, %SPL, 0;\n{element(0, 4, 4)}\nret;")
    text = "\nfloat storage[16];\nfloat (&view)[16] = storage;\nx = view[i];\n"
    fact = attributed(
        layers(ptx, ldl("ld.local", base=4), frame=64), [storage, view], {"a.cu": text}
    )
    assert [(one.name, one.confidence) for one in fact.objects] == [("storage", "certain")]


def test_a_variable_of_the_kernel_is_not_two_objects() -> None:
    body = f"""{depot(8)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SPL, 4;
.loc 1 4 0
ld.local.u32 %r1, [%rd1];
ld.local.u32 %r2, [%rd2];
ret;"""
    pair = variable("whole", "float", 4, 2), variable("rest", "float", 4, 3)
    given = layers(program(body), ldl("ld.local.u32 %r1"), ldl("ld.local.u32 %r2", at=4), frame=8)
    fact = attributed(given, pair, {"a.cu": "\n\n\nf(&whole, &rest);\n"})
    assert [one.name for one in fact.objects] == ["whole", "rest"]


# Lines.


def test_a_calls_arguments_tell_which_of_two_a_line_inside_it_means() -> None:
    inlined = ", function_name $L__info_string0, inlined_at 1 4 0"
    body = f"""{depot(128)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SPL, 64;
.loc 1 2 0{inlined}
ld.local.u32 %r1, [%rd1];
.loc 1 3 0{inlined}
ld.local.u32 %r2, [%rd2];
ret;"""
    source = "void step(float *a, float *b) {\n x = a[0];\n x = b[0]; }\nstep(first,\n other);\n"
    pair = variable("other", "float[16]", 64, 2), variable("first", "float[16]", 64, 3)
    inner = [
        variable(name, "float *", 8, function="step", is_parameter=True, order=n)
        for n, name in enumerate("ab")
    ]
    ptx = program(body, inlined=("step",))
    given = layers(ptx, ldl("ld.local.u32 %r1"), ldl("ld.local.u32 %r2", at=64), frame=128)
    fact = attributed(given, [*pair, *inner], {"a.cu": source})
    assert [(one.name, one.confidence) for one in fact.objects] == [
        ("first", "certain"),
        ("other", "certain"),
    ]


def test_a_static_functions_name_differs_from_one_compilation_to_the_next() -> None:
    one, other = (
        f"_ZN41_GLOBAL__N__00000000_4_r_cu_2429f4fc_556{process}4stepEPf" for process in "48"
    )
    body = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
.loc 1 2 0, function_name $L__info_string0, inlined_at 1 4 0
ld.local.u32 %r1, [%rd1];
ret;"""
    given = layers(program(body, inlined=(one,)), ldl("ld.local.u32"), frame=64)
    inner = variable("sums", "float[16]", 64, function=other)
    fact = attributed(given, [inner], {"a.cu": "\nsums[i] = 1;\n\nstep(y);\n"})
    assert [found.name for found in fact.objects] == ["sums"]


# What lanes differ in.

HASH = variable(
    "h",
    "Hash",
    100,
    members=(
        Member("data", 0, 64, "unsigned char[64]"),
        Member("len", 64, 4, "unsigned int"),
        Member("state", 68, 32, "unsigned int[8]"),
    ),
)


START = f"""{depot(100)}
add.u64 %rd1, %SPL, 0;
.loc 1 5 0
mov.u32 %r50, %tid.x;
ld.param.u32 %r51, [k_param_1];
setp.gt.s32 %p7, %r50, 9;
"""
APPENDED = """
ld.local.u32 %r52, [%rd1+64];
cvt.u64.u32 %rd50, %r52;
add.s64 %rd51, %rd1, %rd50;
.loc 1 4 0
st.local.u8 [%rd51], %r50;
st.local.u32 [%rd1+68], %r50;
.loc 1 5 0
"""
READ = """
ld.local.u32 %r54, [%rd1+64];
cvt.u64.u32 %rd53, %r54;
add.s64 %rd54, %rd1, %rd53;
.loc 1 4 0
ld.local.u8 %r55, [%rd54];
$OUT:
ret;"""
MERGED = ".loc 1 0 0\nst.local.u8 [%rd51], %r50;"
COPY = """.loc 1 0 0
mov.u32 %r60, 0;
$L1:
cvt.u64.u32 %rd60, %r60;
add.s64 %rd61, %rd1, %rd60;
st.local.u8 [%rd61], %r50;
add.s32 %r60, %r60, 1;
setp.lt.u32 %p6, %r60, %r51;
@%p6 bra $L1;
"""


@pytest.mark.parametrize(
    ("before", "after", "line", "level"),
    [
        ("st.local.u32 [%rd1+64], %r51;", "", "x = h.data[h.len];", "uniform"),
        ("st.local.u32 [%rd1+64], %r50;", "", "x = h.data[h.len];", "lane-varying"),
        # Nothing says that the store stays in `data`, and `len` lies behind it.
        ("st.local.u32 [%rd1+64], %r51;", "", "put(&h);", "lane-varying"),
        ("st.local.u32 [%rd1+64], %r51;", "", "data[i] = x;", "lane-varying"),
        # Whoever leaves for good reads nothing any more; whoever comes later does.
        ("@%p7 bra $OUT;\nst.local.u32 [%rd1+64], %r51;", "", "x = h.data[h.len];", "uniform"),
        (
            "st.local.u32 [%rd1+64], 0;\n@%p7 bra $ON;\nst.local.u32 [%rd1+64], %r51;\n$ON:",
            "",
            "x = h.data[h.len];",
            "lane-varying",
        ),
        # What has no line is the array's, but for a copy into all of the structure.
        ("st.local.u32 [%rd1+64], %r51;", MERGED, "x = h.data[h.len];", "uniform"),
        ("st.local.u32 [%rd1+64], %r51;", COPY, "x = h.data[h.len];", "lane-varying"),
    ],
)
def test_what_is_stored_in_an_array_does_not_change_the_member_behind_it(
    before: str, after: str, line: str, level: str
) -> None:
    ptx = program(f"{START}{before}{APPENDED}{after}{READ}")
    given = layers(ptx, ldl("ld.local.u8 %r55", base=4), frame=100)
    # A pointer to all of it may be called as the member is.
    bytes_of_it = variable("data", "unsigned char *", 8, 2, is_parameter=True)
    fact = attributed(given, [HASH, bytes_of_it], {"a.cu": f"\n\n\n{line}\n"})
    assert [access.uniformity for access in fact.accesses] == [level]
    (index,) = [one.index for one in fact.objects if one.index is not None]
    assert index.least_uniform == level
