"""What an expression may do by operators, conversions and constructors that no call shows."""

from __future__ import annotations

import pytest

from lmemscope.rewrites import proposals
from tests.support.rewriting import kernel, target

CONVERTS = "struct C { int n; __device__ operator int() { return n = n * 5 + 3; } };\n"
READS = "struct C { int n; __device__ operator int() const { return n & 7; } };\n"
TWICE = (
    "struct C { int n; __device__ operator int() const { return n & 7; } "
    "__device__ operator long() const { return n & 3; } };\n"
)
TO_ALL = "struct C { int n; template <class T> __device__ operator T() const { return n; } };\n"
FOLLOWS = "struct C { int n; __device__ int operator*() { return n++; } };\n"
MOVES = "struct C { int &n; __device__ int operator+(int k) { n += k; return k; } };\n"
MADE = (
    "struct C { int v; __device__ C(int &i) { v = ++i; } __device__ C(int i, int k) : v(i) {} };\n"
)
ADDS = (
    "struct C { int v; };\n__device__ C operator+(C a, const C &b) "
    "{ C r = a; r.v += b.v; for (int i = 0; i < 2; ++i) r.v += i; return r; }\n"
)
HALVES = (
    "struct C { half2 v; };\n__device__ C operator+(C a, C b) "
    "{ C r; r.v = __hadd2(a.v, __floats2half2_rn(1.f, 2.f)); return r; }\n"
)
OUTSIDE = "struct C { int n; __device__ int operator*(); };\n"
CALLS = (
    "__device__ int next(int *p) { return ++*p; }\n"
    "struct C { int n; __device__ int operator*() { return next(&n); } };\n"
)
STEPS = "#define NEXT (++n)\n#define AGAIN (NEXT + 1)\n"


def is_selected(*body: str, before: str = "") -> bool:
    found, _ = proposals(
        target(kernel("int a[8];", *body, "out[0] = a[p[0]];", before=before), "a", "int[8]")
    )
    return "select" in {one.rewrite for one in found}


@pytest.mark.parametrize(
    ("before", "use", "is_same"),
    [
        (CONVERTS, "C c{n}; a[c] += 1;", False),
        (CONVERTS, "C c{n}; ++a[c];", False),
        (CONVERTS, "auto c = C{n}; a[c] += 1;", False),
        (CONVERTS, "C c[2] = {}; a[c[1]] += 1;", False),
        (CONVERTS, "a[C{n}] += 1;", False),
        (CONVERTS, "C c{n}; a[c] = c + 1;", False),
        (CONVERTS, "C c{n}; a[n] += c;", False),
        (CONVERTS, "C c{n}; a[n] += c.n;", True),
        (CONVERTS, "int c = n; a[c] += p[c] + 1;", True),
        (READS, "C c{n}; a[c] += 1;", True),
        (READS, "C c{n}; a[c] = c + 1;", True),
        (TWICE, "C c{n}; a[c] += 1;", False),
        (TWICE, "C c{n}; out[0] = a[c];", False),
        (TWICE, "C c{n}; a[c.n & 7] += 1;", True),
        (TO_ALL, "C c{n}; out[0] = a[c];", False),
        (TO_ALL, "int c = n; out[0] = a[c];", True),
        (FOLLOWS, "C c{n}; a[*c] += 1;", False),
        (FOLLOWS, "const int *c = p; a[*c] += 1;", True),
        (OUTSIDE, "C c{n}; a[*c] += 1;", False),
        (CALLS, "C c{n}; a[*c] += 1;", False),
        (MOVES, "C c{n}; a[n] = c + 1;", False),
        (MOVES, "a[n] = C{n} + 1;", False),
        (MOVES, "a[n] = n + 1;", True),
        (MADE, "a[n] = C{n}.v;", False),
        (MADE, "a[n] = ((C)n).v;", False),
        (ADDS, "C c{n}, d = c; a[(c + d).v] += 1;", True),
        (ADDS, "C c{n}, d = c; a[n] = (c + d).v;", True),
        (HALVES, "C c{}, d = c; a[n] = __low2float((c + d).v);", True),
        (STEPS, "a[NEXT & 7] = n;", False),
        (STEPS, "a[n & 7] = NEXT;", False),
        (STEPS, "a[n++ & (NEXT, 7)] = 1;", False),
        (STEPS, "a[AGAIN & 7] = n;", False),
        ("#define LANE (min(threadIdx.x, 7))\n", "a[LANE] += n;", True),
        ("#define LANE far()\n", "a[LANE] = n;", False),
        ("", "a[min(n, 7)] += 1;", True),
        ("", "a[f(n)] += 1;", False),
        ("", "Far c; a[c] += 1;", False),
        ("", "volatile int c = n; a[c] += 1;", False),
        ("", "uint2 c; a[c.x] += threadIdx.x + c.y;", True),
        ("struct P { int k; float *q; };\n", "P c; P *d = &c; a[c.k] += d->k + c.q[1];", True),
    ],
)
def test_an_index_that_may_act_is_not_asked_twice(before: str, use: str, is_same: bool) -> None:
    assert is_selected(use, before=before) is is_same


@pytest.mark.parametrize(("before", "is_same"), [(CONVERTS, False), (READS, True)])
def test_a_bound_that_counts_is_asked_as_often(before: str, is_same: bool) -> None:
    loop = "for (int i = 0; i < c; ++i) { a[i] = p[i]; }"
    text = kernel("int a[8];", "C c{n};", loop, "out[0] = a[0];", before=before)
    found, _ = proposals(target(text, "a", "int[8]"))
    assert ("bounded-loop" in {one.rewrite for one in found}) is is_same


@pytest.mark.parametrize(
    ("index", "is_same"),
    [("p[0] % 8u", False), ("(p[0] % 8)", False), ("p[0] % 4u", True), ("p[0] & 7", False)],
)
def test_an_index_that_leaves_its_row_by_what_it_says(index: str, is_same: bool) -> None:
    text = kernel("int m[2][4];", "m[n & 1][n & 3] = n;", f"out[0] = m[0][{index}];")
    found, _ = proposals(target(text, "m", "int[2][4]"))
    assert ("select" in {one.rewrite for one in found}) is is_same
