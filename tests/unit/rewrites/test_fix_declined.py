"""What rewrites leave alone, because it would mean something else: found by running both."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.model import LaunchBounds, SourceLocation
from lmemscope.rewrites import proposals
from tests.support.rewriting import kernel, target


def offered(text: str, type_: str, **how: object) -> set[str]:
    """The rewrites that are proposed for the array ``a``."""
    return {one.rewrite for one in proposals(target(text, "a", type_, **how))[0]}  # type: ignore[arg-type]


_SWAP = "__device__ void swap(int &x, int &y) { int t = x; x = y; y = t; }\n"
_FIRST = "__device__ int sum(const int &first) { const int *p = &first; return p[0] + p[1]; }\n"
_LOCAL = "__device__ int look(int x) { int y = x, *q = &y; return *q; }\n"
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
        (_LOCAL, "out[0] = look(a[n]);"),
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


@pytest.mark.parametrize(("row", "applicability"), [("0", "unsafe"), ("2", "safe")])
def test_a_loop_over_the_first_row_may_go_on_through_all(row: str, applicability: str) -> None:
    """The rows follow each other, and the loop's end says nothing of one row."""
    loop = f"for (int i = 0; i < n; ++i) a[{row}][i] = i;"
    one = target(kernel("int a[4][8];", loop, "out[0] = a[n & 3][n & 7];"), "a", "int[4][8]")
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
    assert "select" not in offered(text, "int[16]"), "its functions are not noexcept"


_HOLDER = "struct Holder { const int &r; __device__ Holder(const int &x) : r(x) {} };\n"
_PAIR = "struct Pair { const int &r; int w; };\n"
_KEEP = "struct Keep { const int *q; __device__ void operator()(const int &x) { q = &x; } };\n"
_PICK = "typedef const int &cref;\n__device__ cref pick(const int *q, int i) { return q[i]; }\n"


@pytest.mark.parametrize(
    ("before", "use"),
    [
        ("", "auto f = [&](const int &x) { a[0] = 7; return x; }; out[0] = f(a[n]);"),
        ("", "auto f = [&](const int &x) { a[0] = 7; return x; }; out[0] = f((a[n]));"),
        ("", "auto f = [&](const int &x) { a[0] = 7; return x; }; out[0] = f(n ? a[n] : a[1]);"),
        (_PAIR, "auto h = Pair{a[n], 3}; a[n] = 3; out[0] = h.r;"),
        (_PAIR, "auto h = Pair({a[n], 3}); a[n] = 3; out[0] = h.r;"),
        (_HOLDER, "Holder h{a[n]}; a[n] = 3; out[0] = h.r;"),
        (_HOLDER, "Holder h(a[p[n] & 7]); a[n] = 3; out[0] = h.r;"),
        (_PAIR, "Pair h = {a[n], 3}; a[n] = 3; out[0] = h.r;"),
        (_KEEP, "Keep keep; keep(a[n]); a[n] = 3; out[0] = *keep.q;"),
        ("using cref = const int &;\n", "cref x = a[n]; a[n] = 3; out[0] = x;"),
        (_PICK, "out[0] = pick(a, n);"),
        ("", "const int &m = p[0]; decltype(m) x = a[n]; a[n] = 3; out[0] = x;"),
    ],
)
def test_a_reference_is_not_bound_to_a_copy_of_an_element(before: str, use: str) -> None:
    text = kernel("int a[32];", "a[n] = 1;", use, before=before)
    assert "select" not in offered(text, "int[32]")


@pytest.mark.parametrize(
    ("before", "use"),
    [
        ("", "auto f = [&](int x) { return x; }; out[0] = f(a[n]);"),
        ("struct Pair { int r; int w; };\n", "Pair h = {a[n], 3}; out[0] = h.r;"),
        ("using value = const int;\n", "value x = a[n]; a[n] = 3; out[0] = x;"),
        ("", "float2 v = {(float)a[n], 1.f}; out[0] = v.x;"),
    ],
)
def test_a_copy_of_an_element_is_as_good_as_the_element(before: str, use: str) -> None:
    text = kernel("int a[32];", "a[n] = 1;", use, before=before)
    assert "select" in offered(text, "int[32]")


@pytest.mark.parametrize(
    ("members", "use"),
    [
        ("mutable int hits; __device__ operator int() const { return hits++; }", "out[0] = a[n];"),
        ("__device__ operator int() { return v; }", "out[0] = a[n];"),
        ("__device__ int operator[](int i) { return i; }", "out[0] = a[n][1];"),
        ("__device__ int operator+(int i) { return i; }", "out[0] = a[n] + 1;"),
        ("__device__ Cell &operator=(const Cell &o) { v += o.v; return *this; }", "a[n] = a[0];"),
        ("__device__ Cell(const Cell &o) : v(o.v + 1) {} Cell() = default;", "a[n] = c;"),
        ("__device__ Cell &twice() { v *= 2; return *this; }", "(a[n] = c).twice();"),
    ],
)
def test_elements_that_tell_a_copy_are_not_selected(members: str, use: str) -> None:
    text = kernel("Cell a[32];", "Cell c = {};", use)
    assert "select" not in offered(f"struct Cell {{ int v; {members} }};\n" + text, "Cell[32]")


def test_elements_that_do_not_tell_a_copy_are_selected() -> None:
    members = "int v; __device__ operator int() const { return v; }"
    text = kernel("Cell a[32];", "Cell c = {};", "a[n] = c;", "out[0] = a[n] + 1;")
    assert "select" in offered(f"struct Cell {{ {members} }};\n" + text, "Cell[32]")


@pytest.mark.parametrize(
    ("use", "is_offered"),
    [
        ("out[0] = a[n].v + a[n].w[1];", True),
        ("out[a[n].v] = 1;", True),
        ("a[n].v = 3;", False),
        ("a[n].w[1] += 2;", False),
        ("++a[n].v;", False),
        ("(a[n].v)--;", False),
    ],
)
def test_a_member_is_not_changed_in_a_copy(use: str, is_offered: bool) -> None:
    text = kernel("Cell a[32];", "Cell c = {};", "a[n] = c;", use, "out[1] = a[n + 1].v;")
    found = offered("struct Cell { int v; int w[2]; };\n" + text, "Cell[32]")
    assert ("select" in found) == is_offered


def test_a_part_that_is_an_array_by_its_types_name_is_not_reached_in_a_copy() -> None:
    cell = "struct Cell { row v; int w; };\n"
    text = kernel("Cell a[32];", "const int *q = a[n].v;", "out[0] = q[1] + a[n].w;")
    assert "select" not in offered("typedef int row[3];\n" + cell + text, "Cell[32]")
    assert "select" not in offered("using row = int[3];\n" + cell + text, "Cell[32]")
    assert "select" in offered("using row = const int *;\n" + cell + text, "Cell[32]")


def test_a_row_is_not_made_where_it_is_copied_or_aligned_otherwise() -> None:
    copied = "struct S { int a[9]; S() = default; __device__ S(const S &o) { a[0] = o.a[1]; } };\n"
    text = kernel("S a[1], *z = a;", "S b = z[0];", "S *q = &b;", "out[0] = q->a[n];")
    how = {"line": " b = ", "name": "b"}

    def rows(before: str) -> bool:
        one = target(before + text, "b", "S", line=how["line"])
        return "shared-row" in {each.rewrite for each in proposals(one)[0]}

    assert rows("struct S { int a[9]; };\n")
    assert not rows(copied)
    wide = kernel("char a[64];", "double *q = reinterpret_cast<double *>(a + 8);", "out[n] = q[n];")
    assert "shared-row" not in offered(wide, "char[64]")
    assert "shared-row" in offered(wide.replace("double *", "float *"), "char[64]")
    got = kernel("char a[64];", "g(a);", "out[n] = a[n];")
    body = "void g(char *p) { auto q = (const WIDE *)p; out(q[0]); }\n"
    for wide_type, is_made in (("unsigned long long", False), ("double", False), ("int", True)):
        function = f"__device__ {body}".replace("WIDE", wide_type)
        assert ("shared-row" in offered(function + got, "char[64]")) == is_made
    aligned = kernel("__align__(16) int a[8];", "int *q = a, **r = &q;", "out[n] = r[0][n];")
    assert "shared-row" not in offered(aligned, "int[8]")
    assert "shared-row" in offered(aligned.replace("__align__(16) ", ""), "int[8]")


def test_a_thread_whose_index_is_another_variable_has_no_shared_memory() -> None:
    text = kernel("dim3 threadIdx = {1, 2, 3};", "int a[8];", "out[0] = a[threadIdx.x];")
    assert "shared-memory" not in offered(text, "int[8]")
    plain = "// A block has blockDim threads, and so on.\n" + text
    assert "shared-memory" in offered(plain.replace("dim3 threadIdx =", "dim3 own ="), "int[8]")
    assert "shared-memory" not in offered("#define blockDim other\n" + text, "int[8]")


_GET = "__device__ int get() { return v; } __device__ int get() const { return v + 9; }"
_TRAIT = "template <class T> struct fixed { static constexpr int value = 0; };\n"


@pytest.mark.parametrize(
    ("before", "type_", "use"),
    [
        (f"struct P {{ int v; {_GET} }};\n", "P", "out[0] = a[n].get();"),
        (f"struct P {{ int v; {_GET} }};\n", "P", "auto &x = a[n]; out[0] = x.get();"),
        ("", "int", "auto &x = a[n]; out[0] = pick(x);"),
        ("using ref = const int &;\n", "int", "ref x = a[n]; out[0] = pick(x);"),
        (_TRAIT, "int", "out[0] = a[n] + fixed<decltype((a[0]))>::value;"),
        ("struct P { int v; __device__ operator int() { return v; } };\n", "P", "out[0] = a[n];"),
        ("struct P { mutable int v; int w; };\n", "const P", "out[0] = a[n].touch();"),
    ],
)
def test_a_table_does_not_become_const_where_that_is_told(
    before: str, type_: str, use: str
) -> None:
    text = kernel(f"{type_} a[4] = {{{{1}}, {{2}}}};", use, before=before)
    assert "static-table" not in offered(text, f"{type_.split()[-1]}[4]")


@pytest.mark.parametrize(
    ("type_", "use"),
    [
        ("int", "out[0] = a[n];"),
        ("const int", "auto &x = a[n]; out[0] = x;"),
        ("P", "out[0] = a[n].v;"),
        ("const P", "out[0] = a[n].get();"),
    ],
)
def test_a_table_becomes_const_where_nothing_tells(type_: str, use: str) -> None:
    before = f"struct P {{ int v; {_GET} }};\n"
    text = kernel(f"{type_} a[4] = {{{{1}}, {{2}}}};", use, before=before)
    assert "static-table" in offered(text, f"{type_.split()[-1]}[4]")


@pytest.mark.parametrize(
    ("member", "use", "applicability"),
    [
        ("int get(int i) const { return i; }", "out[0] = s.inner.v[n];", "safe"),
        ("int get(int i) const { return i; }", "auto &q = s.inner; out[0] = q.get(n);", "unsafe"),
        ("int get(int i) const { return i; }", "for (auto &x : s.inner.v) out[0] = x;", "unsafe"),
        ("int operator[](int i) { return i; }", "out[0] = s.inner[n];", "unsafe"),
        (
            "operator int() { return v[0]; }",
            "int x = s.inner; out[0] = x + s.inner.v[n];",
            "unsafe",
        ),
    ],
)
def test_a_parameter_is_const_safely_where_nothing_tells(
    member: str, use: str, applicability: str
) -> None:
    classes = f"struct Inner {{ int v[24]; __device__ {member} }};\nstruct P {{ Inner inner; }};\n"
    text = classes + kernel(use).replace("int n)", "int n, P s)")
    at = SourceLocation("/p/a.cu", 3)
    one = target(text, "s.inner.v", "int[24]", "param-copy", line="out[0]", location=at)
    found = [each for each in proposals(one)[0] if each.rewrite == "grid-constant"]
    assert [each.applicability for each in found] == [applicability]


@pytest.mark.parametrize(
    "loop",
    ["while (--a[n] > 3) ;", "for (int i = 0; a[i] > n; ++i) ;", "while (n--) { ; return; }"],
)
def test_an_empty_statement_is_one(loop: str) -> None:
    text = kernel("int a[32] = {};", loop, "out[0] = a[n];")
    assert "shared-memory" in offered(text, "int[32]")


@pytest.mark.parametrize(
    ("threads", "calls", "applicability"),
    [(64, True, "safe"), (256, True, "unsafe"), (None, True, "unsafe"), (256, False, "safe")],
)
def test_a_kernel_without_a_finding_may_have_larger_blocks(
    threads: int | None, calls: bool, applicability: str
) -> None:
    """The array may be in registers there today."""
    text = (
        "__device__ int work(const int *p, int n) {\n  int a[24];\n"
        "  a[n] = 1;\n  return a[p[0]];\n}\n"
        "#define WORK(n) work(p, n)\n"
        "__global__ void __launch_bounds__(64) k(const int *p, int n) { WORK(n); }\n"
        f"__global__ void __launch_bounds__({threads}) other(const int *p)"
        f" {{ {'WORK(0)' if calls else 'p[0]'}; }}\n"
    )
    bounds = LaunchBounds(64, None)
    one = target(text, "a", "int[24]", block=None, launch_bounds=bounds, demangled="k")
    (hit,) = one.hits
    bounds = None if threads is None else LaunchBounds(threads, None)
    other = replace(hit.facts, name="other", demangled="other", objects=(), launch_bounds=bounds)
    one = replace(one, kernels=(hit.facts, other))
    (shared,) = (each for each in proposals(one)[0] if each.rewrite == "shared-memory")
    assert shared.applicability == applicability
    header = replace(one, kernels=(hit.facts,), path="/p/a.cuh")
    (shared,) = (each for each in proposals(header)[0] if each.rewrite == "shared-memory")
    assert shared.applicability == "unsafe", "other sources include it"


_STATE = "struct State { int top; };\n__device__ int pop(State *s) { return s->top++; }\n"
_BUMP = "__device__ int bump(int *q) { *q += 1; return *q; }\n"
_CURSOR = "__device__ int cursor;\n__device__ int step() { return cursor = (cursor + 3) & 7; }\n"
_GEN = "struct Gen { int i; __device__ int operator()() { return i++; } };\n"


@pytest.mark.parametrize(
    ("before", "use"),
    [
        ("", "int i = n; auto next = [&] { return i += 3; }; a[i] = next();"),
        (
            "",
            "int i = n; auto up = [&] { return i++; }; auto f = [&] { return up(); }; a[i] = f();",
        ),
        ("", "auto touch = [&](int j) { a[j] = 7; return j; }; a[n] += touch(p[0]);"),
        ("", "int i = n, *q = &i; a[i++] = *q;"),
        ("", "int i = n; int &q = i; a[i++] = q + p[0];"),
        (_BUMP, "int i = n, *q = &i; a[i] = bump(q);"),
        (_BUMP, "int i = n, *q = &i; a[*q] = bump(q);"),
        (_STATE, "State t = {n}, *s = &t; a[s->top] = pop(s);"),
        (_CURSOR, "a[cursor] = step();"),
        (_GEN, "Gen g = {n}; a[g.i] = g();"),
    ],
)
def test_what_moves_the_index_on_the_right_comes_first(before: str, use: str) -> None:
    """In C++17, but not in a call: nvcc evaluates a call's first argument first."""
    text = kernel("int a[32] = {};", use, "out[0] = a[p[1]];", before=before)
    assert "select" not in offered(text, "int[32]")


@pytest.mark.parametrize(
    ("before", "use"),
    [
        (
            "__device__ int sum(int n) { int i = 0; i += n; return i; }\n",
            "int i = n; a[i] = sum(i);",
        ),
        ("__device__ int load(const int *q) { return *q; }\n", "a[n] = load(p);"),
        ("", "int i = n; a[i++] = p[3];"),
        ("", "a[p[n] & 31] += min(n, 3) + int(1.5f);"),
    ],
)
def test_what_leaves_the_index_alone_may_be_called(before: str, use: str) -> None:
    text = kernel("int a[32] = {};", use, "out[0] = a[p[1]];", before=before)
    assert "select" in offered(text, "int[32]")


def test_a_function_with_a_variable_that_calls_share_is_not_copied() -> None:
    before = (
        "#define KEPT SPACE\n#define SPACE __shared__\n"
        "__device__ int sum(int *q, int n) {\n KEPT int box[64];\n return box[n] + q[n];\n}\n"
    )
    text = kernel("int a[32] = {};", "out[0] = sum(a, n);", before=before)
    assert not {"select", "shared-memory"} & offered(text, "int[32]", line=" a[")
    assert "select" in offered(text.replace("__shared__", "const"), "int[32]", line=" a[")


@pytest.mark.parametrize(
    ("before", "use", "is_offered"),
    [
        ("int pick(int &x);\nint pick(volatile int &x);\n", "out[0] = pick(a[n]);", False),
        ("int pick(int x) { return x; }\n", "out[0] = pick(a[n]);", True),
        ("", "while (a[0]) { }", False),
        ("", "while (a[0]) { out[n] = 1; }", False),
        ("", "for (a[0] = 0; a[0] < 99; a[0] = a[0] + 1);", False),
        ("", "if (a[0]) out[n] = 1;", True),
    ],
)
def test_volatile_stays_where_it_is_told_or_waited_for(
    before: str, use: str, is_offered: bool
) -> None:
    text = kernel("volatile int a[4];", "a[n] = 1;", use, before=before)
    assert ("drop-volatile" in offered(text, "int[4]", cause="volatile")) == is_offered


def test_a_template_that_tells_volatile_keeps_it() -> None:
    text = kernel("volatile int a[4];", "a[n] = 1;", "out[0] = tell(a[n]);")
    trait = (
        "template <class T> struct kind { static constexpr int v = 1; };\n"
        "template <class T> struct kind<MARK T> { static constexpr int v = 2; };\n"
        "template <class T> __device__ int tell(T x) { return kind<T>::v; }\n"
    )
    how = {"cause": "volatile"}
    assert "drop-volatile" not in offered(trait.replace("MARK", "volatile") + text, "int[4]", **how)
    cast = "__device__ int w(int *p) { return *reinterpret_cast<volatile int *>(p); }\n"
    assert "drop-volatile" in offered(trait.replace("MARK", "const") + cast + text, "int[4]", **how)


def test_a_class_that_tells_volatile_keeps_it() -> None:
    text = kernel("volatile V a[1];", "out[0] = a[0].v;")
    member = "struct V { int v; __device__ int get() MARK { return v; } };\n"
    called = member.replace("MARK", "") + text.replace(".v;", ".get();")
    assert "drop-volatile" not in offered(called, "V[1]", cause="volatile")
    told = member.replace("MARK", "volatile") + text
    assert "drop-volatile" not in offered(told, "V[1]", cause="volatile")
    assert "drop-volatile" in offered(member.replace("MARK", "") + text, "V[1]", cause="volatile")


def test_an_expression_that_is_not_read_completely_is_not_rewritten() -> None:
    text = kernel("int a[32] = {};", "n += (a[n] += 3, a[1]);", "out[0] = a[p[0]];")
    assert not {"select", "shared-memory"} & offered(text, "int[32]")
    assert "select" in offered(text.replace("(a[n] += 3, a[1])", "(a[n] += 3)"), "int[32]")


@pytest.mark.parametrize(
    ("classes", "use"),
    [
        # A member is called, or a function that gets the parameter may call it.
        ("struct P {\nint v[24];\n{0}int get(int i) { return 1; }\n{0}int get(int i) const;\n};\n",
         "out[0] = s.get(n);"),
        ("struct P {\nint v[24];\n{0}int get(int i) { return 1; }\n{0}int get(int i) const;\n};\n"
         "template <class T> {0}int via(T &p) { return p.get(1); }\n", "out[0] = via(s);"),
        ("struct P { int v[24]; };\n{0}int of(P &p);\n{0}int of(const P &p);\n", "out[0] = of(s);"),
    ],
)  # fmt: skip
def test_a_parameter_that_a_function_gets_is_made_const_by_a_promise(
    classes: str, use: str
) -> None:
    text = classes.replace("{0}", "__device__ ") + kernel(use).replace("int n)", "int n, P s)")
    at = SourceLocation("/p/a.cu", classes.count("\n") + 1)
    found, _ = proposals(target(text, "s.v", "int[24]", "param-copy", line="out[0]", location=at))
    (one,) = (each for each in found if each.rewrite == "grid-constant")
    assert one.applicability == "unsafe"
    assert "another overload" in (one.caveat or "")


@pytest.mark.parametrize("block", ["c->block", "c[0].block"])
def test_a_launch_of_more_than_the_bounds_needs_no_room(block: str) -> None:
    text = kernel("int a[40];", "a[n] = 1;", "out[0] = a[p[0]];")
    text += (
        f"void go(C *c) {{ k<<<1, {block}>>>(p, o, 4); }}\nvoid f() {{ C d; d.block = 1024; }}\n"
    )
    one = target(
        text, "a", "int[40]", block=None, launch_bounds=LaunchBounds(256, None), demangled="k"
    )
    found, reasons = proposals(one)
    assert "shared-memory" in {each.rewrite for each in found}, reasons
