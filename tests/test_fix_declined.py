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
