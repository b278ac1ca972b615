"""What may tell another type, or another place, of a variable: rewrites that change it decline."""

from __future__ import annotations

import pytest

from lmemscope.rewrites.shift import REWRITE as SHIFT
from lmemscope.rewrites.sort import REWRITE as SORT
from tests.support.local_arrays import declined
from tests.support.rewriting import kernel, rewritten

KIND = (
    "template <class T> struct Kind { static constexpr int value = 1; };\n"
    "template <class T> struct Kind<const T> { static constexpr int value = 2; };\n"
)
OVERLOADS = "char (&wide(int *))[4];\nchar (&wide(const int *))[8];\n"
SMALL = (
    "struct Big { double d[2]; };\nstruct Small { char c; };\n"
    "Big operator*(const int &, Small);\nSmall operator*(int &, Small);\n"
)
MADE = (
    "struct From { From(int &); From(const int &, int = 0); };\n"
    "struct Small { char c; };\nSmall operator*(From, Small);\n"
)
TOLD = "template <class T> constexpr int told(T *) { return Kind<T>::value; }\n"
TELL = "int tell(int &);\nlong tell(const int &);\n"

TABLE = "int t[4] = {3, 1, 4, 1};"
READ = "out[n] = t[p[n] & 3];"


def is_shared(*uses: str, before: str = "", first: str = TABLE) -> bool:
    """Whether a table of constants is made one for all threads."""
    text = kernel(first, READ, *uses, before=before)
    how = {"cause": "const-table", "line": " t["}
    return rewritten(text, "t", "int[4]", "static-table", **how) is not None


@pytest.mark.parametrize(
    ("use", "before"),
    [
        ("out[0] = sizeof(wide(t));", OVERLOADS),
        ("out[0] = sizeof(t[0] * Small{});", SMALL),
        ("out[0] = sizeof(t[0] * Small{});", MADE),
        ("out[0] = sizeof(int[told(t)]);", KIND + TOLD),
        ("out[0] = sizeof(tell(t[0]));", TELL),
        ("out[0] = Kind<__typeof__(t[0])>::value;", KIND),
        ("out[0] = Kind<__typeof(t[0])>::value;", KIND),
        ("__typeof__(t[0]) z = 1;", ""),
        ("out[0] = Kind<decltype((t[0]))>::value;", KIND),
        ("out[0] = KIND(t[0]);", KIND + "#define KIND(x) Kind<__typeof__(x)>::value\n"),
        ("out[0] = TELL(t[0]);", TELL + "#define TELL(x) tell(x)\n"),
        (
            "out[0] = t[3] | Tag{};",
            "struct Tag {};\ntemplate <class T> int operator|(T &, Tag) { return 1; }\n",
        ),
        ("out[0] = ((const int4 *)t)[0].x + alignof(t);", ""),
        ("Box b(t);", "template <class T> struct Box { T *p; Box(T *q) : p(q) {} };\n"),
    ],
)
def test_a_table_that_can_be_told_to_be_const_stays(use: str, before: str) -> None:
    assert not is_shared(use, before=before)


@pytest.mark.parametrize(
    "use",
    [
        "out[0] = sizeof(t) / sizeof(t[0]);",
        "out[0] = sizeof t / sizeof *t;",
        "out[0] = sizeof(t[0] + t[1]);",
        "out[0] = __popc(t[n]) + std::max(t[n], 2);",
        "out[0] = SQUARE(t[n & 3]);",
    ],
)
def test_a_table_whose_values_alone_are_used_is_one_for_all(use: str) -> None:
    assert is_shared(use, before="#define SQUARE(x) ((x) * (x))\n")


LOCAL_READ = (
    "__device__ int read(const int *p) { int v;\n"
    ' asm("{ .reg .u64 a; cvta.to.local.u64 a, %1; ld.local.u32 %0, [a]; }" : "=r"(v) : "l"(p));\n'
    " return v; }\n"
)


@pytest.mark.parametrize("use", ["read(t + n)", "read(&t[n])", "Reader(t).v"])
def test_a_const_table_whose_place_may_be_asked_for_stays(use: str) -> None:
    const = "const " + TABLE
    assert not is_shared(f"out[0] = {use};", before=LOCAL_READ, first=const)
    assert is_shared(f"out[0] = {use};", first=const)
    assert is_shared(before=LOCAL_READ, first=const)


def test_a_row_of_a_const_table_is_a_pointer() -> None:
    rows = "const int t[2][2] = {{3, 1}, {4, 1}};"
    text = kernel(rows, "out[n] = t[p[n] & 1][0];", "out[0] = read(t[n & 1]);", before=LOCAL_READ)
    how = {"cause": "const-table", "line": " t["}
    assert rewritten(text, "t", "int[2][2]", "static-table", **how) is None
    text = text.replace("read(t[n & 1])", "t[n & 1][1]")
    assert rewritten(text, "t", "int[2][2]", "static-table", **how) is not None


VOLATILE = "int tell(volatile int &x);\nint tell(int &x);\nstruct Ref { volatile int &x; };\n"


@pytest.mark.parametrize(
    ("use", "is_offered"),
    [
        ("for (auto &e : v) out[0] += tell(e);", False),
        ("auto &f = v[n]; out[0] = tell(f);", False),
        ("auto *q = &v[n]; out[0] = *q;", False),
        ("auto *q = v + n; out[0] = *q;", False),
        ("Box b{v[n]};", False),
        ("Box b(v[n]);", False),
        ("Ref r = {v[n]};", False),
        ("decltype(auto) f = (v[n]);", False),
        ("auto get = [&]() -> auto & { return v[n]; };", False),
        ("auto get = [v] { return v[0]; };", False),
        ("out[0] = tell(n ? v[0] : v[1]);", False),
        ("out[0] = tell(v[0] = n);", False),
        ("out[0] = tell(++v[0]);", False),
        ("out[0] = sizeof(tell(v[0]));", False),
        ("out[0] = Kind<__typeof__(v[0])>::value;", False),
        ("out[0] = TELL(v[0]);", False),
        ("int x = v[n], y[2] = {v[0], 3}; out[x] = y[0];", True),
        ("auto x = v[n]; out[0] = x + (float)v[0];", True),
        ("v[n] += 3; v[0]++; ++v[1]; out[0] = v[n] > 3 ? -v[0] : v[1] << 2;", True),
        ("out[v[0]] = sqrtf(v[n]) + min(v[0], 3); atomicAdd(out, v[n]);", True),
        ("out[0] = taken(v[n]) + sizeof(v) / sizeof(v[0]);", True),
    ],
)
def test_volatile_goes_where_values_alone_are_used(use: str, is_offered: bool) -> None:
    before = VOLATILE + "#define TELL(x) tell(x)\nint taken(int x) { return x; }\n"
    text = kernel("volatile int v[4];", "v[n] = 1;", use, before=before)
    found = rewritten(text, "v", "int[4]", "drop-volatile", cause="volatile")
    assert (found is not None) == is_offered


RING = """\
{before}__global__ void k(const int *in, int *out, int n) {{
  int ring[16] = {{}};
  int head = 0, other = 5;
  {first}
  for (int t = 0; t < n; t++) {{
    ring[head] = in[t];
    head = (head + 1) % 16;
    {use}
    out[t] = ring[(head + 15) % 16] + ring[(head + 2) % 16];
  }}
}}
"""


@pytest.mark.parametrize(
    ("use", "first", "before"),
    [
        ("r.x = 3;", "Ref r{head};", "struct Ref { int &x; };\n"),
        ("r.x = 3;", "Ref r = {head};", "struct Ref { int &x; };\n"),
        ("r.set();", "Ref r = head;", "struct Ref { int *x; Ref(int &y) : x(&y) {} void set(); };"),
        ("h = 3;", "decltype(auto) h = (head);", ""),
        ("h = 3;", "auto &&h = (head);", ""),
        ("h = 3;", "auto &[h] = *(int (*)[1])&head;", ""),
        ("(n ? head : other) = 3;", "", ""),
        ("(head) = 3;", "", ""),
        ("(head = head) = 3;", "", ""),
        ("(n, head) = 3;", "", ""),
        ("(int &)head = 3;", "", ""),
        ("static_cast<Int>(head) = 3;", "", "using Int = int &;\n"),
        ("(Int)head = 3;", "", "using Int = int &;\n"),
        ("reset((head));", "", "void reset(int &h) { h = 3; }\n"),
        ("reset(n ? head : other);", "", "void reset(int &h) { h = 3; }\n"),
        ("reset(head);", "", "typedef int &Int;\nvoid reset(Int h) { h = 3; }\n"),
        ("reset(head);", "void (*reset)(int &) = set;", "void set(int &h) { h = 3; }\n"),
        ("head << 3;", "", "void operator<<(int &h, Ref) { h = 3; }\n"),
        ("make_room(head);", "", "int make_room(int &h) { h = 3; return h; }\n"),
        ("make_room(head);", "", "int make_room(int &h);\n"),
        ("::make_room(head);", "", "int make_room(int &h);\n"),
        (
            "make_room(head);",
            "int (*make_room)(int &) = set;",
            "int set(int &h) { return h = 3; }\n",
        ),
        ("floor(head);", "Set floor;", "struct Set { void operator()(int &h) { h = 3; } };\n"),
        ("atomicReset(head);", "", "int atomicReset(int &h);\n"),
    ],
)
def test_a_head_that_something_else_may_change_is_none(use: str, first: str, before: str) -> None:
    text = RING.format(use=use, first=first, before=before)
    assert declined(SHIFT, text, "ring", "int[16]") is not None


@pytest.mark.parametrize(
    "use",
    [
        "",
        "int x = head; auto y = head + x; out[y] = x;",
        "out[0] = (float)head + taken(head) + min(head, 3) + make_int2(head, 1).x;",
        'if (head > 3) printf("%d", head); while (head < 0) other = head;',
        "atomicAdd(out + head, head);",
        "{ int head = n; set(head); }",
    ],
)
def test_a_head_whose_value_is_used_is_one(use: str) -> None:
    before = "int taken(int x) { return x; }\nvoid set(int &x) { x = 3; }\n"
    text = RING.format(use=use, first="", before=before)
    assert declined(SHIFT, text, "ring", "int[16]") is None


@pytest.mark.parametrize("use", ["head += other++;", "head += in[3];"])
def test_a_line_that_changes_a_head_by_more_is_said(use: str) -> None:
    more = RING.format(use=use, first="", before="")
    assert "does not step `head` round it by one" in (
        declined(SHIFT, more, "ring", "int[16]") or ""
    )


@pytest.mark.parametrize(
    ("use", "is_offered"),
    [("", True), ("Ref r{j}; r.x = 0;", False), ("(n ? j : n) = 0;", False)],
)
def test_a_counter_of_a_sorted_insertion_is_changed_by_its_name_alone(
    use: str, is_offered: bool
) -> None:
    text = (
        "struct Ref { int &x; };\n"
        "__global__ void k(const float *in, float *out, int n) {\n"
        "  float w[8] = {};\n"
        "  for (int k = 0; k < n; ++k) {\n"
        "    float x = in[k];\n"
        f"    int j = 7;\n    {use}\n"
        "    while (j > 0 && w[j - 1] > x) { w[j] = w[j - 1]; --j; }\n"
        "    w[j] = x;\n"
        "  }\n"
        "  for (int j = 0; j < 8; ++j) out[j] = w[j];\n"
        "}\n"
    )
    assert (declined(SORT, text, "w", "float[8]") is None) == is_offered
