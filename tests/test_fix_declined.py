"""What rewrites leave alone, because it would mean something else: found by running both."""

from __future__ import annotations

import pytest

from lmemscope.rewrites import proposals
from tests.rewriting import kernel, target


def offered(text: str, type_: str, **how: object) -> set[str]:
    """The rewrites that are proposed for the array ``a``."""
    return {one.rewrite for one in proposals(target(text, "a", type_, **how))[0]}  # type: ignore[arg-type]


_SWAP = "__device__ void swap(int &x, int &y) { int t = x; x = y; y = t; }\n"
_FIRST = "__device__ int sum(const int &first) { const int *p = &first; return p[0] + p[1]; }\n"
_ADDRESS = (
    "template <class T> __device__ T *at(T &x) { return (T *)&reinterpret_cast<char &>(x); }\n"
)
_VIEW = "struct View { int *p; __device__ View(int &x) : p(&x) {} };\n"
_NODE = "struct Node { int v; __device__ Node *next() { return this + 1; } };\n"


@pytest.mark.parametrize(
    ("before", "use"),
    [
        (_FIRST, "out[0] = sum(a[n]);"),
        (_FIRST, "int &r = a[n]; out[0] = sum(r);"),
        ("__device__ int two(int &x) { return sum(x); }\n" + _FIRST, "out[0] = two(a[n]);"),
        (_ADDRESS, "int *q = at(a[n]); out[0] = q[1];"),
        (_VIEW, "View v(a[n]); out[0] = v.p[1];"),
        (_VIEW, "View v{a[n]}; out[0] = v.p[1];"),
        ("#define AT(x) (&(x))\n", "int *q = AT(a[0]); out[0] = q[n];"),
        ("", "auto at = [&](int i) -> int & { return a[i]; }; int *q = &at(n); out[0] = q[1];"),
        ("", "int *q = &(n ? a[n] : a[2]); out[0] = q[1];"),
        ("", "int *q = &(a[n] = 3); out[0] = q[1];"),
        ("", "int *q = &++a[n]; out[0] = q[1];"),
        ("", "int &r = a[n]; auto &s = r; int *q = &s; out[0] = q[1];"),
        ("using ref = int &;\n", "ref r = a[n]; int *q = &r; out[0] = q[1];"),
        ("", "out[0] = reinterpret_cast<long long &>(a[n]);"),
        ("", "out[0] = (const long long &)a[n];"),
        ("typedef long long &wide;\n", "out[0] = (wide)a[n];"),
    ],
)
def test_a_column_is_not_tried_where_the_next_element_may_be_reached(before: str, use: str) -> None:
    text = kernel("int a[32];", "a[n] = 1;", use, before=before)
    assert "shared-memory" not in offered(text, "int[32]")


@pytest.mark.parametrize(
    ("before", "use"),
    [
        (_SWAP, "swap(a[n], a[0]);"),
        ("", "int &r = a[n]; r += 3;"),
        ("", "int &r = a[n]; out[0] = p[r & 3] & r;"),
        ("struct Pair { int x, y; };\n", "Pair q = {a[n], a[1]}; out[0] = q.x;"),
        ("", "out[0] = min(a[n], (int)a[0]);"),
        ("", "out[0] = n ? a[n] : a[0];"),
    ],
)
def test_a_column_is_tried_where_an_element_stays_alone(before: str, use: str) -> None:
    text = kernel("int a[32];", "a[n] = 1;", use, before=before)
    assert "shared-memory" in offered(text, "int[32]")


def test_a_class_that_steps_through_an_array_has_no_column() -> None:
    text = kernel("Node a[32] = {};", "out[0] = a[n].next()->v;", before=_NODE)
    assert "shared-memory" not in offered(text, "Node[32]")
    alone = text.replace("this + 1", "this->v ? this : nullptr")
    assert "shared-memory" in offered(alone, "Node[32]")


def test_elements_that_assign_in_their_own_way_are_not_filled_one_by_one() -> None:
    text = kernel("S a[4] = {1, 2};", "out[0] = a[n].x;")
    own = "struct S { int x, y; __device__ S &operator=(int v) { x = y = v; return *this; } };\n"
    assert "shared-memory" in offered("struct S { int x, y; };\n" + text, "S[4]")
    assert "shared-memory" not in offered(own + text, "S[4]")


def test_a_list_by_two_macros_is_not_one_value() -> None:
    macros = "#define PAIR(x) x, x + 1\n#define TABLE PAIR(5)\n"
    text = kernel("int a[4] = {TABLE, n};", "out[0] = a[n];", before=macros)
    assert not {"shared-memory", "packed"} & offered(text, "int[4]")
    assert "shared-memory" in offered(text.replace("x, x + 1", "(x + 1)"), "int[4]")


def test_a_list_with_directives_is_not_taken_apart() -> None:
    branches = ("#if WIDE", "2, 3,", "#else", "4,", "#endif")
    text = kernel("int a[4] = {n,", *branches, "7};", "out[0] = a[n];")
    assert not {"shared-memory", "packed"} & offered(text, "int[4]")


@pytest.mark.parametrize(
    ("before", "loop"),
    [
        ("#define TWICE(x) x; x\n", ["for (i = 0; i < n; ++i) TWICE(a[i] += p[i]);"]),
        ("#define limit (calls++ * 0 + n)\n", ["for (i = 0; i < limit; ++i) { a[i] = i; }"]),
        ("", ["{", "const int N = 4;", "for (i = 0; i < n; ++i) { a[i] = N; }", "}"]),
        ("", ["auto f = [&](int N) {", "for (int i = 0; i < n; ++i) { a[i] = N; } };", "f(4);"]),
    ],
)
def test_a_loop_is_not_bounded_where_its_words_mean_another_thing(
    before: str, loop: list[str]
) -> None:
    text = kernel(
        "const int N = 16;", "int a[N];", "int i;", *loop, "out[0] = a[n];", before=before
    )
    assert "bounded-loop" not in offered(text, "int[16]")
    plain = text.replace("TWICE(x) x; x", "TWICE(x) (x, x)").replace("calls++", "p[0]")
    plain = plain.replace("const int N = 4;", "const int M = 4;").replace("int N)", "int M)")
    assert "bounded-loop" in offered(plain, "int[16]")


def test_a_macro_may_leave_out_the_use_that_a_turn_begins_with() -> None:
    loop = "for (int i = 0; i < n; ++i) { EARLY x = a[i]; out[i] = x; }"
    text = kernel("int a[16], x = 0;", loop, "a[n] = x;")
    for macro, applicability in (("if (i < 16)", "unsafe"), ("int", "safe")):
        one = target(f"#define EARLY {macro}\n{text}", "a", "int[16]")
        bounded = next(one for one in proposals(one)[0] if one.rewrite == "bounded-loop")
        assert bounded.applicability == applicability


@pytest.mark.parametrize("rewrite", ["sort", "shift"])
def test_an_extent_that_is_declared_again_is_not_taken(rewrite: str) -> None:
    loops = {
        "sort": [
            "int i = N - 1;",
            "while (i > 0 && a[i - 1] > n) { a[i] = a[i - 1]; --i; }",
            "a[i] = n;",
        ],
        "shift": ["a[h] = n;", "h = (h + 1) % N;", "out[0] = a[(h + 3) % N];"],
    }[rewrite]
    text = kernel("const int N = 16;", "int a[N] = {}, h = 0;", "for (;;) {", *loops, "}")
    assert rewrite in offered(text, "int[16]")
    again = text.replace("for (;;) {", "for (int N = 8;;) {")
    assert rewrite not in offered(again, "int[16]")


def test_what_asks_whether_a_use_may_throw_is_left_alone() -> None:
    text = kernel("int a[16];", "a[n] = 1;", "out[0] = noexcept(a[n]);")
    assert not {"select", "shared-memory"} & offered(text, "int[16]")
