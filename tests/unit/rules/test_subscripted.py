"""Which array an object is by the statements that subscript it: only where nothing else may be."""

from __future__ import annotations

import re

import pytest

from lmemscope.analysis.subscripts import Definition, Subscripted, Subscripts
from lmemscope.model import InlineFrame, SourceLocation
from lmemscope.rules.subscripted import variables_in_sight
from tests.support.builders import source_text

FILE = "k.cu"
HEAD = "__global__ void k(const float *in, float *out, int n) {\n"


def seen(
    text: str,
    size: int = 64,
    inside: str = "_Z1kPKfPfi",
    function: str = "_Z1kPKfPfi",
    handed: tuple[tuple[str, int, int], ...] = (),
) -> list[tuple[str, str, int]] | None:
    """Name, type and line of each array that is told; what is indexed is marked in the text.

    ``//<`` ends a line on which the object is loaded by an index, ``//>`` one on which it is
    stored, ``//=`` one on which it is accessed at a constant place. It is accessed at one, too, on
    the lines of inlined functions in ``handed``: each with its function, and the line of the call.
    """
    marks = {"<": set[int](), ">": set[int](), "=": set[int]()}
    for number, line in enumerate(text.splitlines(), 1):
        for mark in re.findall(r"//([<>=])", line):
            marks[mark].add(number)
    indexed = {
        (SourceLocation(FILE, number), mark == ">") for mark in "<>" for number in marks[mark]
    }
    constant = {(InlineFrame(FILE, number, inside),) for number in marks["="]}
    constant |= {
        (InlineFrame(FILE, inner, callee), InlineFrame(FILE, outer, inside))
        for callee, inner, outer in handed
    }
    one = Subscripted(function, inside, size, frozenset(indexed), frozenset(constant))
    asked = Subscripts((one,), {function: Definition(FILE, 3)})
    found = variables_in_sight(asked, source_text({FILE: text}))
    if found is None:
        return None
    return [(v.name, v.type, v.line) for v in found if not v.is_parameter]


PLAIN = HEAD + (
    "  float w[16];\n"
    "  for (int i = 0; i < n; ++i) w[i * n % 16] = in[i]; //>\n"
    "  out[threadIdx.x] = w[threadIdx.x % 16]; //<\n"
    "}\n"
)


def test_the_only_array_that_the_statements_subscript_is_it() -> None:
    assert seen(PLAIN) == [("w", "float[16]", 2)]


def test_its_functions_parameters_come_with_it() -> None:
    indexed = frozenset({(SourceLocation(FILE, 4), False)})
    one = Subscripted("_Z1kPKfPfi", "_Z1kPKfPfi", 64, indexed, frozenset())
    asked = Subscripts((one,), {"_Z1kPKfPfi": Definition(FILE, 3)})
    found = variables_in_sight(asked, source_text({FILE: PLAIN}))
    assert found is not None
    assert [v.name for v in found if v.is_parameter] == ["in", "out", "n"]


@pytest.mark.parametrize("size", [60, 80, 128])
def test_an_object_of_another_size_is_something_else(size: int) -> None:
    assert seen(PLAIN, size) is None


def test_padding_may_follow_it() -> None:
    assert seen(PLAIN.replace("float w[16]", "float w[15]")) == [("w", "float[15]", 2)]


@pytest.mark.parametrize(
    "written",
    [
        "float v[16], w[16]; out[n] = w[n & 15] + v[n & 15]; //<",  # either
        "float v[15]; float w[16]; out[n] = w[n & 15] + v[n % 15]; //<",  # either, with padding
        "float w[16]; float *p = w; out[n] = p[n & 15]; //<",
        "float w[16]; auto p = w; out[n] = p[n & 15] + w[n & 7]; //<",
        "float w[16]; const float *p = q(); out[n] = *p + w[n & 15]; //<",
        "float w[16]; const float *p = q(); out[n] = (n) * *p * w[n & 15]; //<",
        "float w[16]; const float *p = q(); out[n] = *(p) + w[n & 15]; //<",
        "float w[16]; const float *p = q(); out[n] = (int)*(p) + w[n & 15]; //<",
        "float w[16]; const S *p = q(); out[n] = p->x + w[n & 15]; //<",
        "float w[16]; const float &r = q(); out[n] = r + w[n & 15]; //<",
        "float w[16]; auto &[a, b] = q();\n out[n] = b + w[n & 15]; //<",
        "float w[16]; decltype(auto) r = q();\n out[n] = r + w[n & 15]; //<",
        "float w[16]; out[n] = unknown[n] + w[n & 15]; //<",
        "float w[16]; S s; out[n] = s.f[n] + w[n & 15]; //<",
        "T w[16]; out[n] = w[n & 15]; //<",
        "float w[SIZE]; out[n] = w[n & 15]; //<",
        "float *w[16]; out[n] = *w[n & 15]; //<",
        "float x, *p = q(), w[16]; out[n] = w[n & 15]; //<",
        "float v[16]; float x, w[16]; out[n] = w[n & 15] + v[n & 15]; //<",  # either
        "__shared__ float w[16]; out[n] = w[n & 15]; //<",
        "float w[16]; out[n] = q(w); //<",
        "float w[16]; w[n & 15] = 1; //<",  # nothing is loaded there
        "float w[16]; out[n] = w[n & 15]; //>",  # nothing of the thread's own is stored there
    ],
)
def test_what_may_be_another_is_not_told(written: str) -> None:
    assert seen(f"{HEAD}  {written}\n}}\n") is None


@pytest.mark.parametrize(
    "written",
    [
        "__shared__ float s[16]; float w[16]; out[n] = w[n & 15] + s[n & 15]; //<",
        "float v[64], other; float w[16]; out[n] = w[n & 15] + v[n & 63]; //<",
        "const int m = 4; float w[m * 4]; out[n] = w[n & 15]; //<",
        "float v[64], w[16]; out[n] = w[n & 15] + v[n & 63]; //<",
        "float a = 2, w[16], b; out[n] = w[n & 15] + a; //<",
        "float w[16]; w[n & 15] = in[n]; //>",
        "float w[16]; int a = n; out[n] = (a) * w[n & 15]; //<",
        "float w[16]; out[n] = w[n & 15] * n + n * w[n & 7] * (n + 1); //<",
        "float w[4][4]; out[n] = w[n & 3][n & 1]; //<",
        "float w[16] = {}; //=\n out[n] = w[n & 15]; //<",
    ],
)
def test_what_is_something_else_for_sure_is_left_aside(written: str) -> None:
    found = seen(f"{HEAD}  {written}\n}}\n")
    assert found is not None
    assert [name for name, _, _ in found] == ["w"]


def test_a_table_of_constants_is_told() -> None:
    text = HEAD + "  const float w[16] = {1, 2}; //=\n  out[n] = w[n & 15]; //<\n}\n"
    assert seen(text) == [("w", "const float[16]", 2)]


def test_two_arrays_in_turn_are_not_told() -> None:
    blocks = [f"  {{ float {name}[16]; out[n] = {name}[n & 15]; }} //<\n" for name in "vw"]
    assert seen(HEAD + "".join(blocks) + "}\n") is None


def test_of_one_name_the_inner_one_is_meant() -> None:
    text = HEAD + "  float w[16];\n  {\n    float w[16];\n    out[n] = w[n & 15]; //<\n  }\n}\n"
    assert seen(text) == [("w", "float[16]", 4)]


def test_branches_of_an_if_directive_leave_it_open() -> None:
    text = HEAD + (
        "#if A\n  float w[16];\n#else\n  int w[16];\n#endif\n  out[n] = w[n & 15]; //<\n}\n"
    )
    assert seen(text) is None


def test_a_macro_that_subscripts_something_is_no_statement_of_sight() -> None:
    macro = "#define GET(i) v[i]\n"
    text = macro + HEAD + "  float v[16], w[16];\n  out[n] = w[n & 15] + GET(n); //<\n}\n"
    assert seen(text) is None


def test_a_constant_place_on_a_line_that_does_not_name_it_leaves_it_open() -> None:
    text = HEAD + "  float w[16];\n  out[n] = w[n & 15]; //<\n  q(); //=\n}\n"
    assert seen(text) is None


def test_a_pointer_that_is_no_kernels_parameter_may_point_to_it() -> None:
    text = (
        "__device__ void f(float *a, float *out, int n) {\n"
        "  float w[16];\n  out[n] = w[n & 15] + a[n]; //<\n}\n"
    )
    assert seen(text, function="_Z1fPfS_i", inside="_Z1fPfS_i") is None


def test_what_a_lambda_has_may_be_a_copy() -> None:
    inside = "_ZZ1kPKfPfiENKUlvE_clEv"
    assert seen(PLAIN, inside=inside) is None


def test_a_definition_that_is_not_seen_leaves_it_open() -> None:
    assert seen(PLAIN.replace("void k(", "void OTHER(")) is None
    twice = PLAIN + "template <class T>" + PLAIN.replace("//<", "").replace("//>", "")
    assert seen(twice) is None


WIDE = "_Z1kILi16ELi3EEvPKfPfi"


@pytest.mark.parametrize(
    ("head", "extent", "expected"),
    [
        ("template <int N, int M>", "N", "float[16]"),
        ("template <int M, int N>", "N * 5 + 1", "float[16]"),
        ("template <int N, int M = 3>", "N", "float[16]"),
        ("template <template <int> class C, int M>", "M * 5", "float[15]"),
        ("template <int N>", "N", None),  # of another function
        ("template <int... N>", "N", None),
        ("template <int M, int, int N>", "N", None),
        ("template <PAIR, int N>", "N", None),
        ("template <int N, int M>\ntemplate <int M, int N>", "N", None),  # a class's, or another's
        ("#if A\ntemplate <int M, int N>\n#else\ntemplate <int N, int M>\n#endif", "N", None),
    ],
)
def test_an_extent_may_be_what_the_instance_is_made_for(
    head: str, extent: str, expected: str | None
) -> None:
    text = f"{head}\n{HEAD}  float w[{extent}];\n  out[n] = w[n % 5]; //<\n}}\n"
    found = seen(text, inside=WIDE, function=WIDE)
    assert (found and found[0][:2]) == (expected and ("w", expected))


def test_a_constant_of_the_file_has_nothing_of_the_instance() -> None:
    text = (
        "constexpr int N = 8;\nconstexpr int TWICE = 2 * N;\n"
        f"template <int N, int M>\n{HEAD}  float w[TWICE];\n  out[n] = w[n % 5]; //<\n}}\n"
    )
    assert seen(text, inside=WIDE, function=WIDE) == [("w", "float[16]", 5)]


def test_another_definition_for_some_arguments_leaves_the_parameters_open() -> None:
    text = f"template <int N, int M>\n{PLAIN}"
    assert seen(text, inside=WIDE, function=WIDE) is not None
    text += "template <> " + HEAD.replace("k(", "k<16, 3>(") + "}\n"
    assert seen(text, inside=WIDE, function=WIDE) is None


HELPERS = (
    "__device__ void mad(float &acc, float v) {\n  acc += v;\n}\n"
    "__device__ void mad(float *all, float v) {\n  float *p = all;\n  p[1] += v;\n}\n"
)


@pytest.mark.parametrize(
    ("call", "line", "is_told"),
    [
        ("mad(w[1], in[n]);", 2, True),
        ("mad(x, w[1]);", 2, False),  # handed to something else
        ("mad(w, in[n]);", 6, False),  # what the inner line names is not what it was handed as
        ("other();", 2, False),
        ("mad(w[1], in[n]);", 9, False),  # in none of the definitions
    ],
)
def test_where_an_inlined_function_has_it_the_text_shows_the_way(
    call: str, line: int, is_told: bool
) -> None:
    text = f"{HELPERS}{HEAD}  float w[16];\n  {call}\n  out[n] = w[n & 15]; //<\n}}\n"
    handed = (("_Z3madRff", line, 10),)
    assert (seen(text, handed=handed) == [("w", "float[16]", 9)]) is is_told
