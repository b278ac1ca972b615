"""The line to look at, and the index that stands there: on hand-made texts and PTX."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from lmemscope.formats.statements import Statement, leading, statement_at
from lmemscope.model import (
    IndexFacts,
    InlineFrame,
    Member,
    SourceLocation,
    Variable,
    is_library,
    reader_line,
)
from lmemscope.rules.verdict import judge
from tests.support.builders import (
    access,
    attributed,
    call,
    depot,
    find,
    kernel_with,
    layers,
    ldl,
    program,
    stl,
    variable,
)


def at(file: str, line: int) -> InlineFrame:
    return InlineFrame(file, line, None)


GUESSED = """{depot}
add.u64 %rd1, %SPL, 0;
ld.param.u32 %r2, [k_param_0];
$L:
mul.wide.s32 %rd2, %r2, 4;
add.s64 %rd3, %rd1, %rd2;
.loc 1 3 0
ld.global.f32 %f1, [%rd9];
{store}
.loc 1 {load} 0
ld.local.f32 %f2, [%rd3];
add.s32 %r2, %r2, 1;
setp.lt.s32 %p1, %r2, 99;
@%p1 bra $L;
ret;"""


@pytest.mark.parametrize(("load", "line"), [(0, 3), (5, 5)])
def test_an_access_without_a_line_shows_one_only_where_no_other_has_one(
    load: int, line: int
) -> None:
    source = "void k(int i) {\nfloat a[16];\na[i] = x;\n\ny = a[i];\n}\n"
    store = "st.local.f32 [%rd3], %f1;"
    for stored, expected in ((store, line), ("", 5)):
        body = GUESSED.format(depot=depot(64), store=stored, load=load)
        code = [ldl("ld.local"), *([stl("st.local")] if stored else [])]
        facts = attributed(
            layers(program(body), *code, frame=64),
            [variable("a", "float[16]", 64, 2)],
            {"a.cu": source},
        )
        (found,) = facts.objects
        assert found.index is not None
        assert found.index.location is not None
        assert found.index.location.line == expected


CUB = "/opt/cuda/include/cub/block.cuh"


@pytest.mark.parametrize(
    ("chain", "home", "expected"),
    [
        ([at("a.cu", 5), at("a.cu", 9)], "a.cu", ("a.cu", 5)),
        ([at("h.cuh", 2), at("a.cu", 9)], "a.cu", ("a.cu", 9)),
        ([at("h.cuh", 2), at("g.cuh", 9)], "a.cu", ("g.cuh", 9)),
        ([at("a.cu", 0), at("a.cu", 9)], "a.cu", ("a.cu", 9)),
        ([at("a.cu", 0)], "a.cu", None),
        ([at(CUB, 4), at("a.cu", 9)], None, ("a.cu", 9)),
        # A library's kernel that calls what a user wrote, and one that does not.
        ([at(CUB, 4), at("a.cu", 3), at("a.cu", 7), at(CUB, 9)], CUB, ("a.cu", 3)),
        ([at(CUB, 4), at(CUB, 9)], CUB, (CUB, 9)),
        ([], "a.cu", None),
    ],
)
def test_the_line_to_look_at(
    chain: Sequence[InlineFrame], home: str | None, expected: tuple[str, int] | None
) -> None:
    found = reader_line(chain, home)
    assert (None if found is None else (found.file, found.line)) == expected


@pytest.mark.parametrize(
    ("file", "library"),
    [
        (CUB, True),
        ("third_party/cub/cub/block/block_scan.cuh", True),
        ("/usr/include/c++/13/cmath", True),
        ("/home/u/venv/lib/python3.12/site-packages/torch/include/ATen/Context.h", True),
        ("/home/u/conda/targets/x86_64-linux/include/cuda_fp16.hpp", True),
        ("/opt/cuda-12.9/include/crt/math_functions.hpp", True),
        ("/opt/cuda-project/src/scan.cu", False),
        ("src/crt/garner.cu", False),
        ("include/scan.cuh", False),
    ],
)
def test_whose_code_a_file_is(file: str, library: bool) -> None:
    assert is_library(file) is library


def test_a_slow_path_is_at_the_users_call_wherever_that_stands() -> None:
    fact = kernel_with("math-slow-path")
    library, call, outer = at("/usr/include/m.h", 9), at("ring.cuh", 5), at("a.cu", 7)
    inlined = access("math-slow-path", chain=(library, call, outer), object=0)
    (finding,) = find(replace(fact, accesses=(inlined,)))
    assert finding.location == SourceLocation("ring.cuh", 5)


def test_lines_of_number_zero_are_no_place_of_a_finding() -> None:
    fact = kernel_with("address-taken")
    nowhere = access("address-taken", chain=(at("a.cu", 0),), loop_depth=3)
    (finding,) = find(replace(fact, accesses=(*fact.accesses, nowhere)))
    assert finding.location == SourceLocation("a.cu", 7)


@pytest.mark.parametrize(
    ("cause", "line"), [("dynamic-index", 40), ("math-slow-path", 7), ("address-taken", 7)]
)
def test_a_finding_is_at_the_access_that_decides(cause: str, line: int) -> None:
    index = IndexFacts("i", (), "uniform", None, SourceLocation("a.cu", 40))
    (finding,) = find(kernel_with(cause, index=index))  # type: ignore[arg-type]
    assert finding.location == SourceLocation("a.cu", line)


@pytest.mark.parametrize(
    ("used", "line"),
    [("  x[i] = table[0];", 9), ("  x[i] = tables;", 3), ("", 3)],
)
def test_a_volatile_parameter_is_where_its_name_is(used: str, line: int) -> None:
    source = "\n__global__ void k(\n  float* volatile table) {\n\n\n\n\n\n" + used
    fact = kernel_with("volatile")
    stored = access("volatile", chain=(at("a.cu", 2),), is_store=True, width=8)
    loaded = access("volatile", chain=(at("a.cu", 9),))
    (finding,) = find(replace(fact, accesses=(stored, loaded)), {"a.cu": source})
    assert finding.location == SourceLocation("a.cu", line)


def test_a_finding_shows_the_index_that_would_do_too() -> None:
    index = IndexFacts("i", (), "uniform", None, SourceLocation("a.cu", 40))
    fact = kernel_with("address-taken", index=index)
    (finding,) = find(fact)
    assert finding.index is None
    also = replace(fact.objects[0], also=("dynamic-index",))
    (finding,) = find(replace(fact, objects=(also,)))
    assert finding.index == index


@pytest.mark.parametrize(
    ("file", "said"), [("a.cu", "(line 5)"), ("lib/h.cuh", "(line 5 of h.cuh)")]
)
def test_a_loop_in_another_file_is_named_with_it(file: str, said: str) -> None:
    index = IndexFacts("i", (), "uniform", SourceLocation(file, 5))
    (finding,) = find(kernel_with("rolled-loop", index=index))
    assert finding.message.endswith(said)
    assert finding.location == SourceLocation(file, 5)


def test_a_verdict_names_the_file_of_lines_elsewhere() -> None:
    inside = access(chain=(at("a.cu", 9),))
    outside = access(chain=(at("lib/h.cuh", 2),))
    fact = kernel_with("dynamic-index")
    assert judge(replace(fact, accesses=(outside, inside))).text.endswith(", lines 9, h.cuh:2")
    assert judge(replace(fact, accesses=(outside,))).text.endswith(", h.cuh:2")


# Statements.


def subscripts(text: str) -> list[tuple[str, str, bool, bool]]:
    """Path, index, and whether the element is read and written."""
    return [
        (".".join(one.path), one.text, one.reads, one.writes)
        for one in Statement(text, [0], 1).subscripts
        if not one.is_constant
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i] = b[j + 1];", [("a", "i", False, True), ("b", "j + 1", True, False)]),
        ("a[i] += 1;", [("a", "i", True, True)]),
        ("++a[i];", [("a", "i", True, True)]),
        ("if (a[i] == 3)", [("a", "i", True, False)]),
        ("x = a[b[q % 4]];", [("a", "b[q % 4]", True, False), ("b", "q % 4", True, False)]),
        ("s.a->b[i] = 1;", [("s.a.b", "i", False, True)]),
        ("m[r] [c] = 1;", [("m", "[r][c]", False, True)]),
        ("x = p[i].v[j];", [("p.v", "[i].v[j]", True, False)]),
        ("x = a[3] + a[0x10u];", []),
        ("float w[N];", []),
        ("return w[n];", [("w", "n", True, False)]),
        ("x = reinterpret_cast<int4*>(buf)[k];", [("buf", "k", True, False)]),
        ("x = ((float*)buf)[k];", [("float", "k", True, False), ("buf", "k", True, False)]),
        ("x = *(p + i % 4) * (q + j);", [("p", "i % 4", True, False)]),
        ("*(p + k[i]) = 1;", [("k", "i", True, False), ("p", "k[i]", False, True)]),
        ("return *(s->v + i);", [("s.v", "i", True, False), ("i", "s->v", True, False)]),
        ("x = *(p + 3);", []),
        ("x = f(buf)[k];", [("f.()", "k", True, False)]),
        ('say("a[i]", c);', []),
        ("x = a[s[j]-'0'-1];", [("a", "s[j]-'0'-1", True, False), ("s", "j", True, False)]),
        ("x = m['[' ^ c]['\\''];", [("m", "['[' ^ c]['\\'']", True, False)]),
        ("x = *(p + (c - 'a'));", [("p", "(c - 'a')", True, False)]),
        ("x = a[", []),
    ],
)
def test_subscripts_of_a_statement(text: str, expected: list[tuple[str, str, bool, bool]]) -> None:
    assert subscripts(text) == expected


LINES = """
acc +=
    w[i]
    * v[
        k];
for (int i = 0; i < n; ++i)
  h[i] = a[i];
""".splitlines()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (2, [("w", "i", 3), ("v", "k", 4)]),
        (5, [("w", "i", 3), ("v", "k", 4)]),
        (7, [("h", "i", 7), ("a", "i", 7)]),
        (6, []),
    ],
)
def test_a_statement_goes_on_over_lines(line: int, expected: list[tuple[str, str, int]]) -> None:
    found = statement_at(lambda n: LINES[n - 1] if 0 < n <= len(LINES) else "", line)
    assert [(one.path[0], one.text, one.line) for one in found.subscripts] == expected


@pytest.mark.parametrize(
    ("line", "names"), [(1, ["a"]), (2, ["b"]), (3, ["c"]), (4, ["d", "e"]), (5, ["d", "e"])]
)
def test_uses_of_macros_end_before_a_word(line: int, names: list[str]) -> None:
    lines = ["MAKE(one, a[i])", "MAKE(two, b[j])", "__global__ void f() { c[k] = 1; }"]
    lines += ["CALL(d[i])", "  + e[i];"]
    found = statement_at(lambda n: lines[n - 1] if 0 < n <= len(lines) else "", line)
    assert [one.path[0] for one in found.subscripts] == names


def test_a_negative_number_is_a_constant_index() -> None:
    found = Statement("x = p[-1] + (&a[i])[-2];", [0], 1).subscripts
    assert {one.text for one in found if not one.is_constant} == {"i"}


def test_calls_tell_what_they_pass_on() -> None:
    statement = Statement("r.push<3>(a[i], &b.c, f(d)) + push(e);", [0], 1)
    assert [(c.receiver, c.arguments) for c in statement.calls("push")] == [
        (("r",), ("a[i]", " &b.c", " f(d)")),
        (None, ("e",)),
    ]


@pytest.mark.parametrize(
    "text",
    ["n = &nodes[s.own.pop()];", "f(x, s.own.pop());", "n = s.own.pop().left;", "a[s->own.pop()]"],
)
def test_a_call_is_of_the_innermost_object_that_it_stands_behind(text: str) -> None:
    assert [call.receiver for call in Statement(text, [0], 1).calls("pop")] == [("s", "own")]


# Accesses.

ADDRESS = """add.u64 %rd1, %SPL, 0;
ld.param.u32 %r1, [k_param_1];
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;"""
INLINED = ", function_name $L__info_string0, inlined_at 1 9 0"


def indexed(
    accesses: str, text: Sequence[tuple[int, str]], *more: object, inlined: str = "_Z4pickPii"
) -> tuple[int | None, str | None]:
    """Line and expression of the index of ``int list[16]``, declared on line 1 of ``a.cu``."""
    lines = dict(text)
    source = "\n".join(lines.get(number, "") for number in range(1, max(lines) + 1))
    body = f"{depot(64)}\n{ADDRESS}\n{accesses}\nret;"
    names = [variable("list", "int[16]", 64, 1), *more]
    given = layers(program(body, inlined=[inlined]), frame=64)
    (found,) = attributed(given, names, {"a.cu": source}).objects  # type: ignore[arg-type]
    assert found.index is not None
    place = found.index.location
    return (place.line if place is not None else None), found.index.expression


LOAD = "ld.local.u32 %r2, [%rd3];"
STORE = "st.local.u32 [%rd3], %r1;"


def test_the_index_of_a_helper_is_that_of_its_parameter() -> None:
    parameters = [
        variable(name, kind, 8, 2, function="_Z4pickPii", is_parameter=True)
        for name, kind in (("other", "int*"), ("p", "int*"), ("where", "int"))
    ]
    text = [(1, "int list[16];"), (3, "return other[0] + p[where];"), (9, "x = pick(y, list, n);")]
    assert indexed(f".loc 1 3 0{INLINED}\n{LOAD}", text, *parameters) == (3, "where")
    # Nothing says that it is this one.
    text[1] = (3, "return other[where];")
    assert indexed(f".loc 1 3 0{INLINED}\n{LOAD}", text, *parameters) == (3, None)


def test_machine_code_without_its_calls_gets_those_that_ptx_tells() -> None:
    body = f"""{depot(64)}
.loc 1 1 0
{ADDRESS}
.loc 1 3 0, function_name $L__info_string0, inlined_at 1 8 0
add.u32 %r6, %r1, 2;
.loc 1 0 0
add.u32 %r7, %r1, 3;
.loc 1 3 0
ld.global.f32 %f1, [%rd9];
{LOAD}
ret;"""
    ptx = program(body, inlined=("_Z3cosf",))
    for line, called in ((3, [3, 8]), (4, [4])):
        given = layers(ptx, ldl("ld.local", base=4, source=line), frame=64)
        (one,) = attributed(given).accesses
        assert [frame.location.line for frame in one.chain] == called


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # The call has the file of the function that is inlined there.
        ([("b.h", 3), ("b.h", 8)], [("b.h", 3), ("a.cu", 8)]),
        # The row of another call of the function goes on: its line has the same number.
        ([("b.h", 3), ("a.cu", 7)], [("b.h", 3), ("a.cu", 8)]),
        # The row of another file goes on.
        ([("a.cu", 3)], [("b.h", 3), ("a.cu", 8)]),
        ([("c.h", 3), ("a.cu", 9)], [("b.h", 3), ("a.cu", 8)]),
        # Another number is another row.
        ([("a.cu", 4)], [("a.cu", 4)]),
    ],
)
def test_lines_of_one_number_are_told_apart_by_ptx(
    table: list[tuple[str, int]], expected: list[tuple[str, int]]
) -> None:
    """Ptxas tells rows apart by the number of the line, not by its file or the calls around it."""
    body = f"""{depot(64)}
.loc 1 1 0
{ADDRESS}
.loc 2 3 0, function_name $L__info_string0, inlined_at 1 8 0
{LOAD}
ret;"""
    ptx = program(body, inlined=("_Z3cosf",), variables=('.file 2 "b.h"',))
    mistaken = tuple(SourceLocation(*place) for place in table)
    given = layers(ptx, ldl("ld.local", base=4, source=mistaken), frame=64)
    (one,) = attributed(given).accesses
    assert [frame.location for frame in one.chain] == [SourceLocation(*at) for at in expected]


def test_a_name_of_a_helpers_own_is_not_the_variable() -> None:
    theirs = variable("list", "float*", 8, 2, function="_Z4pickPii", is_parameter=True)
    text = [(1, "int list[16];"), (3, "return list[q];"), (9, "x = pick(other) + list[n];")]
    assert indexed(f".loc 1 3 0{INLINED}\n{LOAD}", text, theirs) == (9, "n")


def test_a_lambda_knows_what_it_captures() -> None:
    text = [(1, "int list[16];"), (3, "auto f = [&](int k) { return list[k % 7]; };"), (9, "f(i)")]
    lambda_ = "_ZZ1kPiiENKUliE_clEi"
    assert indexed(f".loc 1 3 0{INLINED}\n{LOAD}", text, inlined=lambda_) == (3, "k % 7")


def test_a_reference_stands_for_the_variable() -> None:
    text = [(1, "int list[16];"), (2, "int (&al)[16] = list;"), (4, "x = al[q];")]
    reference = variable("al", "int[16]&", 8, 2)
    assert indexed(f".loc 1 4 0\n{LOAD}", text, reference) == (4, "q")


@pytest.mark.parametrize(
    ("declared", "used", "expected"),
    [
        (variable("e", "Record &", 8, 2), ("Record &e = list[q % 4];", "x = e.v;"), (2, "q % 4")),
        (variable("e", "Record *", 8, 2), ("Record *e = &list[q];", "x = e->v;"), (2, "q")),
        (variable("e", "int *", 8, 2), ("int *e = list + (q & 1);", "x = *e;"), (2, "(q & 1)")),
        # It has moved on; it is a value; the index that is said is another one.
        (variable("e", "int *", 8, 2), ("int *e = list + q;", "x = *e; ++e;"), (4, None)),
        (variable("e", "int *", 8, 2), ("int *e = list[q];", "x = *e;"), (4, None)),
        (variable("e", "Record *", 8, 2), ("Record *e = &list[q];", "x = e[w].v;"), (4, "w")),
    ],
)
def test_a_handle_of_an_element_has_the_elements_index(
    declared: Variable, used: tuple[str, str], expected: tuple[int, str | None]
) -> None:
    text = [(1, "int list[16];"), (2, used[0]), (4, used[1])]
    assert indexed(f".loc 1 4 0\n{LOAD}", text, declared) == expected


VIEW = (Member("data", 0, 8, "int *"), Member("count", 8, 4, "int"))


@pytest.mark.parametrize(
    ("made", "used", "expected"),
    [
        ("View v{list, 16};", "x = v[q];", "q"),
        ("View v = {list, 16};", "x = v.data[q];", "q"),
        ("View v = {list[3], 16};", "x = v.data[q];", None),
        ("View v(list);", "x = v[q] + list[w];", "w"),
    ],
)
def test_a_view_of_the_variable_stands_for_it(made: str, used: str, expected: str | None) -> None:
    text = [(1, "int list[16];"), (2, made), (4, used)]
    view = variable("v", "View", 16, 2, members=VIEW)
    assert indexed(f".loc 1 4 0\n{LOAD}", text, view) == (4, expected)


def test_a_structured_binding_stands_for_the_member() -> None:
    members = (Member("low", 0, 32, "int[8]"), Member("high", 32, 32, "int[8]"))
    names = [
        variable("pair", "Pair", 64, 1, members=members),
        variable("__T1", "Pair &", 8, 2),
    ]
    text = {"a.cu": "Pair pair;\nauto &[a, b] = pair;\n\nx = a[3] + b[q];\n"}
    body = f"{depot(64)}\n{ADDRESS}\n.loc 1 4 0\nld.local.u32 %r2, [%rd3+32];\nret;"
    facts = attributed(layers(program(body), frame=64), names, text)
    found = {one.name: one.index for one in facts.objects}
    assert found["pair.high"] is not None
    assert found["pair.high"].expression == "q"


def test_direction_tells_the_subscripts_of_a_line_apart() -> None:
    text = [(1, "int list[16];"), (4, "list[j] = list[j - 1];")]
    assert indexed(f".loc 1 4 0\n{LOAD}", text) == (4, "j - 1")
    assert indexed(f".loc 1 4 0\n{STORE}", text) == (4, "j")


FILL = f"""mov.u32 %r5, 0;
$L1:
$L2:
.loc 1 2 0
mul.wide.s32 %rd4, %r5, 4;
add.s64 %rd5, %rd1, %rd4;
st.local.u32 [%rd5], VALUE;
add.s32 %r5, %r5, 1;
setp.lt.s32 %p1, %r5, %r1;
@%p1 bra $L1;
.loc 1 4 0
{LOAD}"""


@pytest.mark.parametrize(("value", "line"), [("0", 4), ("%r1", 2)])
def test_the_loop_that_fills_with_a_constant_is_not_the_place(value: str, line: int) -> None:
    text = [(1, "int list[16];"), (2, "list[i] = v;"), (4, "x = list[q];")]
    expression = {4: "q", 2: "i"}[line]
    assert indexed(FILL.replace("VALUE", value), text) == (line, expression)


def test_a_loops_line_is_that_of_its_branch_back() -> None:
    body = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
mov.u32 %r1, 0;
$L1:
.loc 1 6 0{INLINED}
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.local.u32 %r2, [%rd3];
add.s32 %r1, %r1, 1;
.loc 1 0 0
setp.lt.s32 %p1, %r1, 16;
.loc 1 5 0
@%p1 bra $L1;
ret;"""
    given = layers(program(body, inlined=["_Z3getPii"]), ldl("ld.local"), frame=64)
    files = {"a.cu": "\n\n\n\nfor (int i = 0; i < 16; ++i)\nreturn p[i];\n"}
    (found,) = attributed(given, [], files).objects
    assert found.index is not None
    assert found.index.loop == SourceLocation("a.cu", 5)


def test_a_loop_without_a_line_of_its_own_is_where_the_text_has_it() -> None:
    body = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
mov.u32 %r1, 0;
$L1:
.loc 1 5 0
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.local.u32 %r2, [%rd3];
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, 16;
@%p1 bra $L1;
ret;"""
    given = layers(program(body), ldl("ld.local"), frame=64)
    for inside, line in (
        ("for (int i = 0; i < 16; ++i) {\nfor (;;) { }\nif (i > 3) { y(); }\nx = p[i];\n}\n", 2),
        ("for (int i = 0; i < 16; ++i) {\nint q;\n\nTIMES(16) {\nx = p[i];\n}\n", 5),
    ):
        (found,) = attributed(given, [], {"a.cu": f"\n{inside}"}).objects
        assert found.index is not None
        assert found.index.loop == SourceLocation("a.cu", line)


def test_a_function_without_lines_is_where_it_is_called() -> None:
    leaf = f"{depot(40)}\nadd.u64 %rd1, %SPL, 0;\n.loc 1 33 0\nst.local.u8 [%rd1], 1;\nret;"
    body = f".loc 1 7 0\n{call('slow', '%rd9')}\n.loc 1 9 0\nret;"

    def lines(text: str) -> list[int]:
        code = {"slow": [ldl("st.local", store=True, source=9)]}
        given = layers(program(body, slow=text), ldl(None, source=8), callees=code, frame=40)
        fact = attributed(given)
        assert [one.chain[0].location.line for one in fact.accesses][1:] == [
            use.location.line for use in fact.lines if use.location.line != 8
        ]
        return [use.location.line for use in fact.lines]

    assert lines(leaf) == [8, 9]
    # The table's last line before it, a closing brace as a rule, is not to blame.
    assert lines(leaf.replace(".loc 1 33 0\n", "")) == [7, 8]


def test_an_access_without_a_line_is_not_blamed_on_the_one_before() -> None:
    body = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
.loc 1 0 5
st.local.u32 [%rd1], 0;
.loc 1 0 5{INLINED}
st.local.u16 [%rd1+4], 0;
ret;"""
    code = [ldl(f"st.local.u{width}", store=True, source=4) for width in (32, 16)]
    fact = attributed(layers(program(body, inlined=["_Z5clearPi"]), *code, frame=64))
    assert [[f.location.line for f in one.chain] for one in fact.accesses] == [[], [9]]
    assert [use.location.line for use in fact.lines] == [9]


def test_a_place_that_is_not_said_again_to_be_inlined_still_is() -> None:
    body = f".loc 1 3 5{INLINED}\nmov.u32 %r1, 1;\n.loc 1 0 5\n.loc 1 3 5\nmov.u32 %r2, 1;\nret;"
    module = program(body, inlined=["_Z4pickPii"])
    first, second, *_ = module.functions[-1].body.instructions
    assert module.chain(second) == module.chain(first)
    assert [frame.location.line for frame in module.chain(second)] == [3, 9]


def test_a_taken_address_is_where_it_is_handed_on() -> None:
    body = f"""{depot(64)}
add.u64 %rd1, %SP, 0;
.loc 1 4 0
st.local.u32 [%rd1], 1;
.loc 1 6 0
{call("leaf", "%rd1")}
ret;"""
    leaf = "ld.param.u64 %rd1, [leaf_param_0];\n.loc 1 2 0\nst.u32 [%rd1], 2;\nret;"
    code = ldl("st.local", store=True, source=4)
    fact = attributed(layers(program(body, leaf=leaf), code, frame=64))
    assert [found.escape for found in fact.objects] == [SourceLocation("a.cu", 6)]
    (finding,) = find(fact)
    assert (finding.cause, finding.location) == ("address-taken", SourceLocation("a.cu", 6))


@pytest.mark.parametrize(
    ("text", "dimensions", "kept"),
    [
        ("[i][j * n]", 1, "i"),
        ("[a[i]][j]", 1, "a[i]"),
        ("[i][j][k]", 2, "[i][j]"),
        ("[i][j]", 2, "[i][j]"),
        ("i + 1", 1, "i + 1"),
    ],
)
def test_an_array_of_pointers_has_its_own_subscripts(text: str, dimensions: int, kept: str) -> None:
    assert leading(text, dimensions) == kept


@pytest.mark.parametrize("first", ["leaf", "other", "third"])
def test_functions_without_lines_that_call_each_other_are_where_one_is_called(first: str) -> None:
    """Whoever is asked for first."""
    ptx = program(
        f".loc 1 7 0\n{call('leaf', '%rd1')}\nret;",
        leaf=f"{call('other', '%rd1')}\nret;",
        other=f"{call('leaf', '%rd1')}\n{call('third', '%rd1')}\nret;",
        third=f"{call('third', '%rd1')}\nret;",
    )
    lines = layers(ptx).lines
    for name in (first, "leaf", "other", "third"):
        assert lines.of_callers("k", name) == (at("a.cu", 7),)
    assert lines.of_callers("k", "k") is None
