"""Small numbers in shared memory, in fewer bytes than their type has."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lmemscope.model import Rewriting
from lmemscope.rewrites import proposals
from lmemscope.sources.edits import patched
from tests.support.host_programs import EACH_TURN, outputs
from tests.support.rewriting import kernel, target

READ = "out[0] = a[n & 15];"


def proposed(text: str, type_: str = "int[16]", size: int = 64, **how: object) -> Rewriting | None:
    """What is proposed for the array `a`."""
    given = target(text, "a", type_, **how)  # type: ignore[arg-type]
    found = proposals(given)[0]
    return next((one for one in found if one.rewrite == "narrow"), None)


def kept(*body: str, before: str = "", type_: str = "int[16]") -> tuple[str, str | None] | None:
    """The type that elements are kept as, and what is promised; None where it is declined."""
    element = type_.partition("[")[0]
    text = kernel(f"{element} a[16];", *body, READ, before=before)
    one = proposed(text, type_)
    if one is None:
        return None
    made = patched(text.encode(), one.edits).decode()
    inside = made.partition("const lmem_fields<")[2].partition(">")[0]
    assert f"__shared__ __align__(4) {inside.split(', ')[1]} a_lmem[" in made
    return inside.split(", ")[1], one.caveat


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        (("a[n] = 255;",), "unsigned char"),
        (("a[n] = 256;",), "unsigned short"),
        (("a[n] = 65535;",), "unsigned short"),
        (("a[n] = 0xff;",), "unsigned char"),
        (("a[n] = 3 - 5;",), "signed char"),
        (("a[n] = 3 - 500;",), "short"),
        (("a[n] = n & 15;",), "unsigned char"),
        (("a[n] = 15 & (n + 3);",), "unsigned char"),
        (("a[n] = (n & 1023) >> 2;",), "unsigned char"),
        (("a[n] = (n & 1023) % 7;",), "unsigned char"),
        (("a[n] = (n & 7) + (n & 3);",), "unsigned char"),
        (("a[n] = n > 3 ? 7 : 300;",), "unsigned short"),
        (("for (int i = 0; i < 16; ++i) a[i] = i;",), "unsigned char"),
        (("for (int i = 0; i <= 256; i++) a[i & 15] = i;",), "unsigned short"),
        (("for (int i = 3; i < 10; i += 1) a[i] = i - 5;",), "signed char"),
        (("int v = n & 31;", "a[n] = v;"), "unsigned char"),
        (("const int v = 7;", "a[n] = v + 1;"), "unsigned char"),
        (("a[n] = 3;", "a[0] = a[n];"), "unsigned char"),
        (("a[n] = 3;", "int held = a[n];", "a[n] = a[0];", "a[0] = held;"), "unsigned char"),
        (("int at = 0;", "for (int i = 0; i < 9; ++i) a[at++] = i;"), "unsigned char"),
    ],
)
def test_elements_are_as_narrow_as_what_is_put_into_them(body: tuple[str, ...], type_: str) -> None:
    assert kept(*body) == (type_, None)


def test_a_variable_bound_is_promised() -> None:
    wanted = "unsigned short", "`n` never exceeds 65535"
    assert kept("for (int i = 0; i < n; ++i) a[i & 15] = i;") == wanted
    assert kept("for (int i = 0; i <= n; ++i) a[i & 15] = i;") == wanted
    assert kept("for (int i = 0; i <= n; ++i) a[i & 15] = i + 1;") is None
    text = kernel("int a[16];", "for (int i = 0; i < n; ++i) a[i & 15] = i;", READ)
    for given, is_made in (("65535", True), ("70000", False)):
        host = f"void host() {{ k<<<1, 32>>>(p, out, {given}); }}\n"
        assert (proposed(text + host) is not None) is is_made


@pytest.mark.parametrize(
    "body",
    [
        ("a[n] = n;",),
        ("a[n] = p[n];",),
        ("a[n] = 65536;",),
        ("a[n] = 010;",),
        ("a[n] = 3.0f;",),
        ("a[n] = 'x' * 1000;",),
        ("a[n] = n % 7;",),
        ("a[n] = n & -2;",),
        ("a[n] = n >> 30;",),
        ("a[n] = (n & 15u) - 16;",),
        ("a[n] = 65535 * 3;",),
        ("a[n] = 3;", "++a[n];"),
        ("a[n] = 3;", "a[n] += 1;"),
        ("a[n] = 3;", "a[0] = a[n] + 1;"),
        ("a[n] = a[0] = 7;",),
        ("a[n] = 3;", "int *q = a;", "q[n] = 1000000;"),
        ("a[n] = 3;", "int &r = a[n];", "r = 1000000;"),
        ("a[n] = 3;", "atomicAdd(&a[n], 1000000);"),
        ("a[n] = sizeof(a);",),
        ("int v = n & 31;", "v = n;", "a[n] = v;"),
        ("int v = 3;", "int &r = v;", "r = n;", "a[n] = v;"),
        ("int v = 3;", "int *r = &v;", "*r = n;", "a[n] = v;"),
        ("int v = 3;", "auto f = [&] { v = n; };", "f();", "a[n] = v;"),
        ("volatile int v = 3;", "a[n] = v;"),
        ("float v = 3;", "a[n] = v;"),
        ("char v = 300;", "a[n] = v;"),
        ("int v;", "a[n] = v;"),
        ("auto v = 70000;", "a[n] = v;"),
        ("for (int i = 0; i < 16; ++i) { i = n; a[i & 15] = i; }",),
        ("for (int i = 0; i < 16; ++i) { if (n) i += n; a[i & 15] = i; }",),
        ("for (int i = n; i < 16; ++i) a[i & 15] = i;",),
        ("for (int i = 0; i < 16; i += n) a[i & 15] = i;",),
        ("for (int i = 0; i != n; ++i) a[i & 15] = i;",),
        ("for (int i = 9; i > n; --i) a[i & 15] = i;",),
        ("for (int i = 0; i < 16 || n; ++i) a[i & 15] = i;",),
        ("for (int i = 0; ; ++i) a[i & 15] = i;",),
        ("for (int i = 0; i < p[0]; ++i) a[i & 15] = i;",),
        ("for (unsigned i = 0; i < n; ++i) a[i & 15] = i;",),
        ("for (unsigned char i = 0; i < 300; ++i) a[i & 15] = i;",),
        ("for (long i = 0; i < 16; ++i) a[i & 15] = i;",),
        ("int i;", "for (i = 0; i < 16; ++i) ;", "a[n] = i;"),
        ("for (int i = 0, j = n; i < 16; ++i) a[i & 15] = j;",),
        ("{ int v = 3; }", "int v = n;", "a[n] = v;"),
        ("int v = 3;", "{ int v = n; a[n] = v; }"),
    ],
)
def test_what_is_not_known_to_fit_is_declined(body: tuple[str, ...]) -> None:
    assert kept(*body) is None


@pytest.mark.parametrize("before", ["#define v n\n", "#define v 3\n#undef v\n#define v n\n"])
def test_macros_are_not_taken_for_variables(before: str) -> None:
    assert kept("int v = 3;", "a[n] = v;", before=before) is None
    loop = "for (int i = 0; i < 16; ++i) { LOOP a[i & 15] = i; }"
    assert kept(loop, before="#define LOOP i = n;\n") is None


BOUNDED = "for (int i = 0; i < m; ++i) a[i & 15] = i;"
PROMISED = "unsigned short", "`m` never exceeds 65535"


@pytest.mark.parametrize(
    ("body", "before"),
    [
        (("int m = 8;", "grow(m);"), "__device__ void grow(int &m) { m = 1000; }\n"),
        (("int m = 8;", "int &r = m;", "r = n;"), ""),
        (("int m = 8;", "SET(m, n);"), "#define SET(v, x) v = x\n"),
        (("int m = 8;", "auto f = [&] { m = n; };", "f();"), ""),
    ],
)
def test_a_bound_that_something_else_changes_is_promised(
    body: tuple[str, ...], before: str
) -> None:
    assert kept(*body, BOUNDED, before=before) == PROMISED


@pytest.mark.parametrize(
    "before",
    [
        "constexpr int m = 300;\n__device__ int g() { const int m = 8; return m; }\n",
        "constexpr int m = 300;\nstruct A { static constexpr int m = 8; };\n",
        "#ifdef BIG\nconstexpr int m = 300;\n#else\nconstexpr int m = 8;\n#endif\n",
        "#ifndef SMALL\n#include <large.h>\n#else\nconstexpr int m = 8;\n#endif\n",
        "__device__ int g() { const int m = 8; return m; }\n",
        "#ifdef BIG\n#define m 300\n#else\n#define m 8\n#endif\n",
        "#ifndef m\n#define m 8\n#endif\n",
        "#if __CUDA_ARCH__ < 900\n#include <large.h>\n#else\n#define m 8\n#endif\n",
    ],
)
def test_a_constant_that_is_defined_twice_is_none(before: str) -> None:
    assert kept(BOUNDED, before=before) is None


@pytest.mark.parametrize(
    "before",
    [
        "constexpr int m = 8;\n",
        "#define m 8\n",
        "#define H 2\n#define m (H * 4)\n",
        "enum { m = 8 };\n",
        "constexpr int h = 4;\nconst int m = 2 * h;\n",
    ],
)
def test_a_constant_that_is_defined_once_bounds(before: str) -> None:
    assert kept(BOUNDED, before=before) == ("unsigned char", None)


def test_a_macro_is_made_of_what_its_names_mean_where_it_is_used() -> None:
    before = "constexpr int h = 4;\n#define m (h * 2)\n"
    assert kept(BOUNDED, before=before) == ("unsigned char", None)
    assert kept("const int h = 200;", BOUNDED, before=before) is None


def test_default_arguments_are_no_bounds() -> None:
    loop = "{ for (int i = 0; i < m; ++i) to[i] = i; }\n"
    default = "__device__ void fill(int *to, int m = 8, int by = 1) "
    assert kept("fill(a, n);", before=default + loop) in (PROMISED, None)
    template = "template <int m = 8, int by = 1> __device__ void fill(int *to) "
    assert kept("fill<300, 1>(a);", before=template + loop) is None


def test_a_branch_of_the_preprocessor_may_hide_a_constant() -> None:
    hidden = ("{", "#if 1", "const int v = n;", "a[n] = v;", "#endif", "}")
    assert kept("const int v = 5;", *hidden) is None


@pytest.mark.parametrize(
    "declaration",
    [
        "volatile int a[16];",
        "const int a[16] = {};",
        "int a[16] = {1, 2};",
        "static int a[16];",
        "__shared__ int a[16];",
        "long long a[16];",
        "float a[16];",
        "int a[16][4][2];",
        "signed char a[16];",
    ],
)
def test_other_arrays_are_declined(declaration: str) -> None:
    type_ = declaration.rstrip(";").partition(" = ")[0].replace(" a[", "[").replace("static ", "")
    use = "a[n][0][1] = 3;" if "][" in declaration else "a[n] = -3;"
    assert proposed(kernel("int b[2];", declaration, use), type_, line=" a[") is None


FILL = "__device__ void fill(int *to, int n) { for (int i = 0; i < %s; ++i) to[i] = i; }\n"


def test_functions_that_get_it_are_looked_through() -> None:
    assert kept("fill(a, n);", before=FILL % "16") == ("unsigned char", None)
    assert kept("fill(a, n);", "a[3] = 1000;", before=FILL % "16") == ("unsigned short", None)
    assert kept("fill(a, n);", before=FILL % "n") == (
        "unsigned short",
        "`n` never exceeds 65535",
    )


@pytest.mark.parametrize(
    "before",
    [
        "__device__ void fill(int *to, int n) { to[n] = n; }\n",
        "__device__ void fill(int *to, int n) { to += 1; to[0] = 3; }\n",
        "__device__ void fill(unsigned *to, int n) { to[0] = 3; }\n",
        "__device__ void fill(int *to, int n) { if (n) fill(to, n - 1); to[n] = 3; }\n",
        "__device__ void fill(int *to, int n);\n",
        "template <class T> __device__ void fill(T to, int n) { to[n] = 3; }\n",
    ],
)
def test_functions_that_put_other_numbers_into_it_decline_it(before: str) -> None:
    assert kept("fill(a, n);", "a[0] = 3;", before=before) is None


def test_it_is_promised_what_shared_memory_promises() -> None:
    text = kernel("int a[16];", "a[n] = 3;", READ)
    safe, unsafe = proposed(text, block=64), proposed(text, block=None)
    assert safe is not None
    assert safe.applicability == "safe"
    assert unsafe is None or unsafe.applicability == "unsafe"


def swapped(element: str, put: str) -> tuple[str, str]:
    """A kernel that moves elements about, and what is made of it."""
    text = kernel(
        f"{element} a[16];",
        "for (int i = 0; i < 16; ++i) { int v = p[i]; a[i] = " + put.replace("p[i]", "v") + "; }",
        "for (int i = 0; i < n; ++i) {",
        "  int x = p[i] & 15, y = p[i + 1] & 15;",
        f"  {'int' if 'short' in element else element} held = a[x];",
        "  a[x] = a[y];",
        "  a[y] = held;",
        "  if (a[x] - 1 < a[y]) a[x] = 7;",
        "  out[i] = a[x] / 3 + (a[y] > a[(x + y) & 15]) + float(a[(x + 1) & 15]);",
        "}",
    )
    given = target(text, "a", f"{element}[16]")
    one = next(one for one in proposals(given)[0] if one.rewrite == "narrow")
    return text, patched(text.encode(), one.edits).decode()


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a host compiler")
def test_the_program_is_the_same(tmp_path: Path) -> None:
    cases = (
        ("int", "(p[i] & 255)"),
        ("int", "(p[i] & 255) - 128"),
        ("int", "(p[i] & 65535) - 32768"),
        ("unsigned", "(p[i] & 65535) - 32768"),
        ("unsigned", "i"),
        ("short", "(p[i] & 255) - 128"),
        ("unsigned short", "(p[i] & 255)"),
    )
    programs = [(text, EACH_TURN) for case in cases for text in swapped(*case)]
    printed = outputs(tmp_path, programs, turns=300)
    pairs = list(zip(cases, printed[::2], printed[1::2], strict=True))
    assert [case for case, before, after in pairs if before != after] == []
    assert [case for case, before, _ in pairs if len(set(before.splitlines())) <= 100] == []
