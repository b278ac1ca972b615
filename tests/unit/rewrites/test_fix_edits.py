"""What rewrites do to a text, and what they leave alone; nothing is compiled."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.exporters.proven import advice_text, sentence
from lmemscope.fixing.edits import merged, pairs
from lmemscope.fixing.grids import grid_of
from lmemscope.fixing.patch import diff
from lmemscope.fixing.program import is_same
from lmemscope.model import (
    Advice,
    Edit,
    Figures,
    IndexFacts,
    LaunchBounds,
    ProvenFix,
    PtxasFacts,
    Rewriting,
    SourceLocation,
    TrialVerdict,
    Verified,
)
from lmemscope.rewrites import proposals, second_thoughts
from lmemscope.sources.edits import patched
from lmemscope.sources.python_literals import masked
from tests.support.builders import facts
from tests.support.rewriting import kernel, rewritten, target


def test_reading_stays_and_writing_becomes_a_call() -> None:
    text = kernel(
        "float a[8] = {};", "a[n & 7] = 1.f;", "a[p[0]] += out[a[1] > 0];", "out[0] = a[n];"
    )
    assert rewritten(text, "a", "float[8]", "select") == kernel(
        "lmem_select<float, 8> a = {{}};",
        "a.set(n & 7, 1.f);",
        "a.set(p[0], a[p[0]] + out[a[1] > 0]);",
        "out[0] = a[n];",
    )


def test_an_attribute_for_warnings_goes() -> None:
    text = kernel("[[maybe_unused]] float a[8];", "a[n] = 1.f;", "out[0] = a[n];")
    made = rewritten(text, "a", "float[8]", "select")
    assert made is not None
    assert "  lmem_select<float, 8> a;" in made


def test_two_dimensions_have_one_call_each() -> None:
    text = kernel("float a[4][3];", "a[n][2] = a[2][n] * 2.f;", "out[0] = a[n][p[0]];")
    assert rewritten(text, "a", "float[4][3]", "select") == kernel(
        "lmem_select2<float, 4, 3> a;",
        "a.set(n, 2, a.get(2, n) * 2.f);",
        "out[0] = a.get(n, p[0]);",
    )


def test_an_assignment_in_an_assignment_closes_twice() -> None:
    text = kernel("float a[8];", "a[n] = a[0] = 1.f;", "out[0] = a[n];")
    assert rewritten(text, "a", "float[8]", "select") == kernel(
        "lmem_select<float, 8> a;", "a.set(n, a.set(0, 1.f));", "out[0] = a[n];"
    )


def test_the_shared_view_changes_the_declaration_alone() -> None:
    text = kernel("float a[3] = {1.f, 2.f};", "a[n] *= 2.f;", "out[0] = a[1];")
    made = rewritten(text, "a", "float[3]", "shared-memory")
    assert made is not None
    assert "__shared__ float a_lmem[3][64];" in made
    assert "  a[0] = 1.f;\n  a[1] = 2.f;\n" in made
    assert "  for (int lmem_k = 2; lmem_k < 3; ++lmem_k) a[lmem_k] = {};\n" in made
    assert "  a[n] *= 2.f;\n" in made


@pytest.mark.parametrize(
    ("use", "why"),
    [
        ("(float)*(&a[0].x + 1)", "address of an element"),
        ("sum(&(a[n]))", "not defined in sight"),
        ("0; float &r = a[0]; use(&r)", "address of an element"),
        ("0; Ptr r = (Ptr) & a[n]; out[1] = r[1]", "address of an element"),
        ("__builtin_addressof(a[n])[1]", "address of an element"),
        ("0; const float &r = std::max(a[n], a[0]); out[1] = (&r)[1]", "address of an element"),
        ("(&same(a[n]))[1]", "address of an element"),
        (
            "0; auto f = [](float &x) -> float & { return x; }; out[1] = (&f(a[n]))[1]",
            "address of an element",
        ),
    ],
)
def test_a_column_has_no_neighbours(use: str, why: str) -> None:
    before = "typedef float *Ptr;\n__device__ decltype(auto) same(float &x) { return (x); }\n"
    text = kernel("float a[3];", "a[n] = 2.f;", f"out[0] = {use};", before=before)
    found, reasons = proposals(target(text, "a", "float[3]"))
    assert "shared-memory" not in {one.rewrite for one in found}
    assert any(why in one.reason for one in reasons), reasons


@pytest.mark.parametrize("use", ["*(a + 1)", "(&a[0])[1]", "*&a[n]"])
def test_a_pointer_to_an_element_steps_through_the_column(use: str) -> None:
    text = kernel("float a[3];", "a[n] = 2.f;", f"out[0] = {use};")
    made = rewritten(text, "a", "float[3]", "shared-memory")
    assert made is not None
    assert "  const auto a = lmem_pointer<float, 64>::of(a_lmem[0] + " in made


def test_a_macro_in_an_initialiser_may_be_a_list() -> None:
    before = "#define LIST 1, 2, 3\n#define ONE f(1, 2)\n"
    listed = kernel("int a[4] = {LIST};", "out[0] = a[n];", before=before)
    assert rewritten(listed, "a", "int[4]", "shared-memory") is None
    assert rewritten(listed.replace("LIST}", "ONE}"), "a", "int[4]", "shared-memory") is not None


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("__device__ const int &mx(const int &, const int &);\n", "const int &m = mx(a[n], a[0]);"),
        ("#define RND (s = s * 5 + 1)\n", "a[RND & 7] += 2;"),
        ("#define NEXT step(n)\n", "++a[NEXT & 7];"),
        ("__device__ void touch(int &);\n__device__ void touch(const int &);\n", "touch(a[n]);"),
        ("__device__ const int *ptr(const int &);\n", "const int *m = ptr(a[n]);"),
        ("struct S { int at; int get(); };\n", "S s{3}; a[s.at] = s.get();"),
    ],
)
def test_what_only_looks_the_same_is_declined(before: str, body: str) -> None:
    text = kernel("int a[8];", body, "out[0] = a[n];", before=before)
    found, _ = proposals(target(text, "a", "int[8]", block=None))
    assert "select" not in {one.rewrite for one in found}


def test_operators_of_a_class_are_its_own() -> None:
    text = kernel("Sum a[8];", "a[n] += n;", "out[0] = a[n];")
    assert rewritten(text, "a", "Sum[8]", "select") is None
    text = "typedef double Sum;\n" + text
    assert rewritten(text, "a", "double[8]", "select") is not None, "a typedef of the language's"


def test_small_integers_are_packed() -> None:
    text = kernel("bool a[20];", "a[n] = p[0] > 2;", "out[0] = a[n + 1];")
    assert rewritten(text, "a", "bool[20]", "packed") == kernel(
        "lmem_packed<bool, 1, 20> a = {0};", "a.set(n, p[0] > 2);", "out[0] = a[n + 1];"
    )
    wide = kernel("int a[3];", "a[n] = p[0];", "out[0] = a[n + 1];")
    assert rewritten(wide, "a", "int[3]", "packed") is None


def test_one_of_several_declarators_gets_a_statement_of_its_own() -> None:
    text = kernel("float a[8], b, c[2];", "a[n] = 1.f;", "out[0] = a[n] + b + c[0];")
    made = rewritten(text, "a", "float[8]", "select")
    assert made == kernel(
        "lmem_select<float, 8> a;", "float b, c[2];", "a.set(n, 1.f);", "out[0] = a[n] + b + c[0];"
    )
    last = rewritten(text.replace(", c[2]", "").replace("b, ", ""), "a", "float[8]", "select")
    assert last is not None
    assert "float b;" in last


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            ["float a[8];", "float *q = a + n;", "out[0] = *q;"],
            "in another way than by one element",
        ),
        (["float a[8];", "const float &r = a[n];", "a[n] = 2.f;", "out[0] = r;"], "a reference"),
        (["float a[8];", "decltype(a[0]) r = a[n];", "out[0] = r;"], "a reference"),
        (["float a[8];", "auto &&r = a[n];", "out[0] = r;"], "a reference"),
        (["float a[8];", "for (float &x : a) x = n;", "out[0] = a[n];"], "in another way"),
        (["float a[8];", "a[n++] = n;", "out[0] = a[n];"], "in a form that is not rewritten"),
        (["float a[8];", "a[n++] += 1.f;", "out[0] = a[n];"], "in a form that is not rewritten"),
        (["float a[8];", "a[n] = n++;", "out[0] = a[n];"], "in a form that is not rewritten"),
        (["float a[8];", "a[n] = (n = 2);", "out[0] = a[n];"], "in a form that is not rewritten"),
        (["float a[8];", "a[n] = next(&n);", "out[0] = a[n];"], "in a form that is not rewritten"),
        (
            ["float a[8];", "a[n] += a[0] = 1.f;", "out[0] = a[n];"],
            "in a form that is not rewritten",
        ),
        (["float a[8];", "out[0] = a[n]++;"], "in a form that is not rewritten"),
        (["float a[8];", "SET(a, n);", "out[0] = a[n];"], "`SET`"),
        (["static float a[8];", "out[0] = a[n];"], "not of automatic storage"),
        (["float a[8];", "{ float a[2]; a[n] = 1.f; }", "out[0] = a[n];"], "another meaning"),
        (
            ["float a[8];", "auto f = [](float a) { return a; };", "out[0] = a[n];"],
            "another meaning",
        ),
        (["float a[500];", "out[0] = a[n];"], "too many"),
        (["alignas(16) float a[8];", "out[0] = a[n];"], "a form that is not rewritten"),
    ],
)
def test_what_may_mean_something_else_is_declined(body: list[str], why: str) -> None:
    text = kernel(*body)
    size = body[0].partition("[")[2].partition("]")[0]
    found, reasons = proposals(target(text, "a", f"float[{size}]", block=None))
    assert "select" not in {one.rewrite for one in found}
    assert any(why in one.reason for one in reasons), reasons


def test_a_macro_that_uses_the_variable_is_seen() -> None:
    text = "#define PUT(i) a[i] = 1\n" + kernel("float a[8];", "PUT(n);", "out[0] = a[n];")
    found, reasons = proposals(target(text, "a", "float[8]"))
    assert [one.rewrite for one in found] == ["shared-row"]
    assert any("a macro may use it" in one.reason for one in reasons), reasons


LANE = "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"


@pytest.mark.parametrize(
    ("body", "made"),
    [
        (
            ("float a[8];", "float *p = a + n;", "out[0] = *p;"),
            f"__shared__ lmem_row<float[8]> a_lmem[64];\n  float (&a)[8] = a_lmem[{LANE}].own;\n"
            "  float *p = a + n;",
        ),
        (
            ("int b = 1, a[4][2];", "int *p = a[n];", "out[0] = *p + b;"),
            "int b = 1;\n  __shared__ lmem_row<int[4][2]> a_lmem[64];\n"
            f"  int (&a)[4][2] = a_lmem[{LANE}].own;\n",
        ),
        (
            ("float a[8] = {};", "float *p = a + n;", "out[0] = *p;"),
            f"  float (&a)[8] = a_lmem[{LANE}].own;\n"
            "  for (int lmem_k = 0; lmem_k < 8; ++lmem_k) a[lmem_k] = {};\n",
        ),
    ],
)
def test_an_array_with_pointers_into_it_has_a_row(body: tuple[str, ...], made: str) -> None:
    found = rewritten(kernel(*body), "a", "float[8]", "shared-row")
    assert found is not None
    assert made in found


def test_a_row_is_tried_where_a_column_does_not_compile() -> None:
    one = target(kernel("float a[8];", "a[n] = 1.f;", "out[0] = a[n];"), "a", "float[8]")
    found, _ = proposals(one)
    assert "shared-row" not in {each.rewrite for each in found}
    assert second_thoughts(one, {"select"}) == ()
    (row,) = second_thoughts(one, {"select", "shared-memory"})
    assert row.rewrite == "shared-row"
    assert second_thoughts(replace(one, cause="param-copy"), {"shared-memory"}) == ()


def test_a_declaration_in_a_branch_of_an_if_has_room() -> None:
    text = kernel("#ifdef X", "float a[8];", "a[n] = 1.f;", "out[0] = a[n];", "#endif")
    found, reasons = proposals(target(text, "a", "float[8]"))
    assert "shared-memory" in {one.rewrite for one in found}, reasons


@pytest.mark.parametrize(
    ("members", "is_offered"),
    [
        ("int n;", True),
        ("int n; __device__ int get() const { return n; }", True),
        ("int n; S() = default; __device__ S(int m) : n(m) {}", True),
        ("int n = 0;", False),
        ("int n; __device__ S() : n(0) {}", False),
        ("int n; __device__ S(int m);", False),
        ("int n; __device__ ~S() { n = 0; }", False),
    ],
)
def test_what_runs_where_an_object_is_made_has_no_row(members: str, is_offered: bool) -> None:
    before = f"template <int N> struct S {{ int a[N]; {members} }};\n"
    text = kernel("S<8> s;", "s.a[n] = p[0];", "out[0] = s.a[p[1]];", before=before)
    found, reasons = proposals(target(text, "s.a", "int[8]", line="S<8> s"))
    assert bool(found) == is_offered, reasons
    assert is_offered or any("where an object of it is made" in one.reason for one in reasons)


@pytest.mark.parametrize("sign", [" = ", ""])
def test_a_structure_has_a_row_for_its_member(sign: str) -> None:
    before = "struct S { int a[8]; int n; };\n"
    text = kernel(f"S s{sign}{{{{}}, n}};", "s.a[n] = p[0];", "out[0] = s.a[p[1]];", before=before)
    one = target(text, "s.a", "int[8]", line="S s")
    found, _ = proposals(one)
    assert [each.rewrite for each in found] == ["shared-row"]
    made = patched(text.encode(), found[0].edits).decode()
    assert f"  S &s = s_lmem[{LANE}].own;\n  s = {{{{}}, n}};\n  s.a[n] = p[0];" in made


@pytest.mark.parametrize(
    ("body", "before", "why"),
    [
        (("S s;", "decltype(s) t;", "out[0] = s.a[n] + t.n;"), "", "its type is asked for"),
        (("S s(n);", "out[0] = s.a[n];"), "", "form that is not read"),
        (("const S s = {};", "out[0] = s.a[n];"), "", "it is const"),
        (("static S s;", "out[0] = s.a[n];"), "", "automatic storage"),
        (('S s; asm("cvta.to.local.u64 %0, %0;");', "out[0] = s.a[n];"), "", "local memory"),
        (
            ("S s = *reinterpret_cast<const S *>(p);", "out[0] = s.a[n];"),
            "struct Other { void operator=(const Other &) { } };\n",
            "its initializer",
        ),
        (("if (S s = S(); n) out[0] = s.a[n];",), "", "in no block"),
        (("S s; auto f = [=] { return s; };", "out[0] = s.a[n]; return f().n;"), "", "asked for"),
    ],
)
def test_a_structure_whose_meaning_may_change_has_no_row(
    body: tuple[str, ...], before: str, why: str
) -> None:
    before += "struct S { int a[8]; int n; };\n"
    text = kernel(*body, before=before)
    found, reasons = proposals(target(text, "s.a", "int[8]", line="S s"))
    assert not found
    assert any(why in one.reason for one in reasons), reasons


def with_frame(size: int) -> PtxasFacts:
    return PtxasFacts(32, size, 0, 0, None, None, None)


def test_launches_are_bounded_where_nothing_says_how_large_they_are() -> None:
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = a[n];")
    found, _ = proposals(target(text, "a", "float[8]", block=None, ptxas=with_frame(300)))
    one = next(one for one in found if one.rewrite == "shared-memory")
    made = patched(text.encode(), one.edits).decode()
    assert "void __launch_bounds__(128, 1) k(" in made, "as many as the frame leaves"
    assert "__shared__ float a_lmem[8][128];" in made
    assert one.applicability == "unsafe"
    assert one.caveat == "no launch has more than 128 threads in a block (a larger one fails)"
    large = target(text, "a", "float[8]", block=None, ptxas=with_frame(9000))
    one = next(one for one in proposals(large)[0] if one.rewrite == "shared-memory")
    assert b"__launch_bounds__(256, 1) " in {edit.text for edit in one.edits}, "alone it has room"


SHARING = """\
__device__ float get(const float *p, int n) {{
  float a[8];
  a[n] = p[1];
  return a[n + 1];
}}
__global__ void k(const float *p, float *out, int n) {{ out[0] = get(p, n); }}
__global__ void {bounds}wider(const float *p, float *out, int n) {{ out[1] = get(p, n); }}
__global__ void away(const float *p, float *out, int n) {{ /* not what get does */ out[2] = n; }}
void launch() {{ wider<<<1, n>>>(p, out, n); away<<<1, n>>>(p, out, n); }}
"""


@pytest.mark.parametrize(
    ("bounds", "limit", "threads", "bounded"),
    [
        ("", None, 128, {"k", "wider"}),
        ("__launch_bounds__(64) ", 64, 128, {"k"}),
        ("__launch_bounds__(512) ", 512, None, set()),
    ],
)
def test_every_kernel_that_gets_an_array_of_a_function_is_bounded(
    bounds: str, limit: int | None, threads: int | None, bounded: set[str]
) -> None:
    """Also one that keeps it in registers, or was not asked for."""
    text = SHARING.format(bounds=bounds)
    place = SourceLocation("/p/a.cu", 6)
    named: dict[str, object] = {"demangled": "k(float const*, float*, int)", "location": place}
    given = target(text, "a", "float[8]", block=None, ptxas=with_frame(300), **named)
    wider = facts(
        "wider",
        location=SourceLocation("/p/a.cu", 7),
        launch_bounds=None if limit is None else LaunchBounds(limit, None),
    )
    away = facts("away", location=SourceLocation("/p/a.cu", 8))
    given = replace(given, kernels=(given.hits[0].facts, wider, away))
    found = [one for one in proposals(given)[0] if one.rewrite == "shared-memory"]
    if threads is None:
        assert not found
        return
    made = patched(text.encode(), found[0].edits).decode()
    for name in ("k", "wider"):
        assert (f"__launch_bounds__({threads}, 1) {name}(" in made) == (name in bounded)
    assert "void away(" in made, "a comment runs nothing"


@pytest.mark.parametrize(("body", "is_bounded"), [("out[2] = n;", False), ("get(out, n);", True)])
def test_an_overload_is_bounded_only_where_it_runs_the_function_too(
    body: str, is_bounded: bool
) -> None:
    text = SHARING.format(bounds="") + f"__global__ void k(double *out, int n) {{ {body} }}\n"
    named: dict[str, object] = {"demangled": "k(float const*, float*, int)"}
    here = SourceLocation("/p/a.cu", 6)
    given = target(text, "a", "float[8]", block=None, location=here, **named)
    overload = facts("k(double*, int)", location=SourceLocation("/p/a.cu", 10))
    given = replace(given, kernels=(given.hits[0].facts, overload))
    one = next(one for one in proposals(given)[0] if one.rewrite == "shared-memory")
    made = patched(text.encode(), one.edits).decode()
    assert "1) k(const float" in made
    assert ("1) k(double" in made) == is_bounded


@pytest.mark.parametrize(("limit", "threads"), [(32, 64), (256, 256)])
def test_the_widest_kernel_that_runs_a_function_says_how_many_copies_there_are(
    limit: int, threads: int
) -> None:
    text = SHARING.format(bounds=f"__launch_bounds__({limit}) ").replace(
        "void k", "void __launch_bounds__(64) k"
    )
    place = SourceLocation("/p/a.cu", 6)
    named: dict[str, object] = {"demangled": "k(float const*, float*, int)", "location": place}
    bounds = LaunchBounds(64, None)
    given = target(text, "a", "float[8]", block=None, launch_bounds=bounds, **named)
    wider = facts(
        "wider", location=SourceLocation("/p/a.cu", 7), launch_bounds=LaunchBounds(limit, None)
    )
    given = replace(given, kernels=(given.hits[0].facts, wider))
    one = next(one for one in proposals(given)[0] if one.rewrite == "shared-memory")
    assert f"a_lmem[8][{threads}]" in patched(text.encode(), one.edits).decode()


def test_a_kernel_in_another_file_is_not_bounded() -> None:
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = a[n];")
    elsewhere = target(text, "a", "float[8]", block=None, location=SourceLocation("/p/b.cu", 1))
    found, reasons = proposals(elsewhere)
    assert "shared-memory" not in {one.rewrite for one in found}
    assert any("--block" in one.reason for one in reasons)


def test_a_stack_is_pushed_to() -> None:
    text = kernel("int a[8];", "int top = 0;", "a[top++] = p[0];", "out[0] = a[--top];")
    made = rewritten(text, "a", "int[8]", "select")
    assert made is not None
    assert "a.set(top++, p[0]);" in made


def test_a_function_that_binds_anything_is_seen() -> None:
    before = "template <class T> __device__ void take(T &&x) { x = T(); }\n"
    text = kernel("float a[8];", "take(a[n]);", "out[0] = a[n];", before=before)
    found, reasons = proposals(target(text, "a", "float[8]", block=None))
    assert "select" not in {one.rewrite for one in found}
    assert any("a reference" in one.reason for one in reasons)


CALLEE = "__device__ __noinline__ float sum(const float *v, int n) { return v[n] + v[0]; }\n"


def test_a_function_gets_a_copy_that_takes_the_class() -> None:
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = sum(a, n);", before=CALLEE)
    found, _ = proposals(target(text, "a", "float[8]"))
    one = next(one for one in found if one.rewrite == "select")
    made = patched(text.encode(), one.edits).decode()
    assert (
        "__device__ __forceinline__ float sum(const lmem_select<float, 8> &v, int n) "
        "{ return v[n] + v[0]; }" in made
    )
    assert CALLEE not in made, "nothing calls it any more"


def test_a_copy_writes_by_calls_and_passes_on() -> None:
    before = (
        "__device__ void put(float w[], int i) { w[i] = 1.f; }\n"
        "__device__ void fill(float *v, int n) { put(v, n); v[0] -= 2.f; }\n"
    )
    text = kernel("float a[8];", "fill(a, n);", "out[0] = a[n];", before=before)
    found, _ = proposals(target(text, "a", "float[8]"))
    made = patched(text.encode(), next(o for o in found if o.rewrite == "select").edits).decode()
    assert "void put(lmem_select<float, 8> &w, int i) { w.set(i, 1.f); }" in made
    assert "void fill(lmem_select<float, 8> &v, int n) { put(v, n); v.set(0, v[0] - 2.f); }" in made


@pytest.mark.parametrize(
    ("callee", "copy"),
    [
        (
            "__device__ float sum(const float *v, int n) { return v[n] + v[0]; }\n",
            "template <int lmem_count> __device__ __forceinline__ float sum("
            "const lmem_select<float, lmem_count> &v, int n) {",
        ),
        (
            "template <class T> __device__ T sum(const T *v, int n) { return v[n] + v[0]; }\n",
            "template <class T, int lmem_count> __device__ __forceinline__ T sum("
            "const lmem_select<T, lmem_count> &v, int n) {",
        ),
    ],
)
def test_a_copy_deduces_an_extent_that_has_a_name(callee: str, copy: str) -> None:
    before = callee + "constexpr int N = 8;\n"
    text = kernel("float a[N];", "a[n] = 1.f;", "out[0] = sum(a, n);", before=before)
    found, _ = proposals(target(text, "a", "float[8]"))
    made = patched(text.encode(), next(o for o in found if o.rewrite == "select").edits).decode()
    assert copy in made
    assert "lmem_select<float, N> a;" in made


def test_an_instance_of_a_template_is_not_copied_for_a_name() -> None:
    before = (
        "template <class T> __device__ T sum(const T *v, int n);\n"
        "template <> __device__ float sum<float>(const float *v, int n) { return v[n]; }\n"
        "constexpr int N = 8;\n"
    )
    text = kernel("float a[N];", "a[n] = 1.f;", "out[0] = sum(a, n);", before=before)
    found, reasons = proposals(target(text, "a", "float[8]", block=None))
    assert "select" not in {one.rewrite for one in found}
    assert any("instance of a template" in one.reason for one in reasons), reasons


@pytest.mark.parametrize(
    ("callee", "why"),
    [
        ("__device__ float sum(void *v, int n) { return 1.f; }\n", "something else than a pointer"),
        ("__device__ float sum(const float *v, int n) { return *v; }\n", "in another way"),
        ("__device__ float sum(const float *v, int n) { return n ? sum(v, 0) : 1.f; }\n", "itself"),
        ("float sum(const float *v, int n);\n", "not defined in sight"),
        ("#define sum(v, n) other(v, n)\nfloat other(const float *v, int n);\n", "is a macro"),
        (
            "__device__ float sum(float *v, int n) { return v[n]; }\n"
            "__device__ float sum(const float *v, long n) { return v[n]; }\n",
            "several definitions",
        ),
    ],
)
def test_a_function_that_cannot_be_copied_is_named(callee: str, why: str) -> None:
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = sum(a, n);", before=callee)
    found, reasons = proposals(target(text, "a", "float[8]", block=None))
    assert "select" not in {one.rewrite for one in found}
    assert any(why in one.reason for one in reasons), reasons


def test_a_parameter_of_rows_may_have_a_name_for_their_length() -> None:
    before = (
        "constexpr int COLS = 4;\n"
        "__device__ float sum(const float v[][COLS], int n) { return v[n][1]; }\n"
    )
    text = kernel("float a[8][COLS];", "a[n][0] = 1.f;", "out[0] = sum(a, n);", before=before)
    found, reasons = proposals(target(text, "a", "float[8][4]"))
    assert "shared-memory" in {one.rewrite for one in found}, reasons


def test_line_ends_stay_as_they_are() -> None:
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = a[n];").replace("\n", "\r\n")
    found, _ = proposals(target(text, "a", "float[8]"))
    for one in found:
        made = patched(text.encode(newline := "utf-8"), one.edits)
        assert newline
        assert made.count(b"\n") == made.count(b"\r\n"), one.rewrite


def test_shared_memory_is_safe_only_where_the_block_is_bounded() -> None:
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = a[n];")
    text = text.replace("void k(", "void __launch_bounds__(96) k(")

    def made(**how: object) -> Rewriting | None:
        found, _ = proposals(target(text, "a", "float[8]", **how))  # type: ignore[arg-type]
        return next((one for one in found if one.rewrite == "shared-memory"), None)

    asked, bounded = made(), made(block=None, launch_bounds=LaunchBounds(96, None), demangled="k")
    assert asked is not None
    assert bounded is not None
    assert asked.applicability == bounded.applicability == "safe"
    assert made(block=1024) is None, "80 bytes for each of 1024 threads do not fit"
    dynamic = kernel(
        "extern __shared__ float all[];", "float a[8];", "a[n] = all[0];", "out[0] = a[n];"
    )
    found, _ = proposals(target(dynamic, "a", "float[8]"))
    shared = next(one for one in found if one.rewrite == "shared-memory")
    assert shared.applicability == "unsafe"
    assert shared.caveat
    # What the launches in sight have is promised beside it.
    launch = "void go(int *p, float *o) { k<<<1, 64, 128>>>(p, o, 4); }\n"
    found, _ = proposals(target(dynamic + launch, "a", "float[8]", block=None))
    shared = next(one for one in found if one.rewrite == "shared-memory")
    assert (shared.caveat or "").startswith("no block that runs it has more than 64 threads; ")


@pytest.mark.parametrize(
    ("before", "is_offered"),
    [
        ("typedef unsigned char BYTE;\n#define N 8 // as many as a has\n", True),
        ('using BYTE = unsigned char;\n#define TEXT "// a"\n', True),
        ("typedef long long BYTE;\n", False),
        ("typedef unsigned char BYTE;\nnamespace n { typedef double BYTE; }\n", False),
        ("struct BYTE { double x; };\n", False),
    ],
)
def test_names_of_small_types_and_comments_of_macros_keep_no_row_away(
    before: str, is_offered: bool
) -> None:
    text = kernel("int a[8];", "a[n] = 1;", "out[0] = ((BYTE *)a)[n];", before=before)
    found, _ = proposals(target(text, "a", "int[8]"))
    assert ("shared-row" in {one.rewrite for one in found}) == is_offered


@pytest.mark.parametrize(("macro", "is_offered"), [("8 // of a", True), ("(a[0] + 8)", False)])
def test_a_comment_in_a_macro_uses_nothing(macro: str, is_offered: bool) -> None:
    text = kernel("int a[8];", "a[n] = 1;", "out[0] = a[n];", before=f"#define COUNT {macro}\n")
    found, _ = proposals(target(text, "a", "int[8]"))
    assert ("select" in {one.rewrite for one in found}) == is_offered


@pytest.mark.parametrize(
    ("declared", "kind", "store", "view"),
    [
        ("float a[18];", "float[18]", "float a_lmem[18][64];", "lmem_column<float, 64>"),
        (
            "unsigned char a[18];",
            "unsigned char[18]",
            "__align__(4) unsigned char a_lmem[5][64][4];",
            "lmem_narrow_column<unsigned char, 64>",
        ),
        (
            "short a[3][N + 1];",
            "short[3][8]",
            "__align__(4) short a_lmem[3][((N + 1) + 1) / 2][64][2];",
            "lmem_narrow_plane<short, N + 1, 64>",
        ),
    ],
)
def test_elements_that_share_a_word_are_one_threads(
    declared: str, kind: str, store: str, view: str
) -> None:
    use = "a[n]" if kind.count("[") == 1 else "a[n][p[0]]"
    text = kernel(declared, f"{use} = 1;", f"out[0] = {use};", before="#define N 7\n")
    made = rewritten(text, "a", kind, "shared-memory", block=64)
    assert made is not None
    assert f"__shared__ {store}\n" in made
    assert f"const {view} a = {{(decltype(&a_lmem[0])) &a_lmem[0]" in made


def test_lanes_of_one_index_may_share_a_word() -> None:
    text = kernel("char a[18];", "a[n] = 1;", "out[0] = a[n];")
    given = target(text, "a", "char[18]", block=64)
    (hit,) = given.hits
    for uniformity, store in (("uniform", "a_lmem[18][64];"), ("data-dependent", "a_lmem[5][64]")):
        index = IndexFacts("n", (), uniformity, None, None)  # type: ignore[arg-type]
        finding = replace(hit.finding, index=index)
        known = replace(hit, finding=finding)
        found, _ = proposals(replace(given, hits=(known,)))
        one = next(one for one in found if one.rewrite == "shared-memory")
        assert store in patched(text.encode(), one.edits).decode()


def test_an_array_of_the_host_too_is_not_shared() -> None:
    text = kernel("float a[8];", "out[0] = a[n];").replace("__global__", "__host__ __device__")
    found, reasons = proposals(target(text, "a", "float[8]"))
    assert "shared-memory" not in {one.rewrite for one in found}
    assert any("host code may call its function, too" in one.reason for one in reasons), reasons


def edit(start: int, end: int, text: bytes, *, once: bool = False) -> Edit:
    return Edit("/p/a.cu", start, end, text, "file" if once else "place")


def test_what_a_file_needs_once_stays_where_it_comes_first() -> None:
    first = (edit(9, 9, b"class", once=True), edit(12, 14, b"x"))
    second = (edit(4, 4, b"class", once=True), edit(20, 21, b"y"))
    assert merged((first, second)) == (second[0], first[1], second[1])


def test_what_two_rewritings_do_alike_is_done_once() -> None:
    pragma, inlined = edit(9, 9, b"#pragma unroll\n"), edit(20, 26, b"__forceinline__")
    assert merged(((pragma, inlined), (pragma, inlined))) == (pragma, inlined)
    closing = Edit("/p/a.cu", 9, 9, b")", "each")
    one, other = edit(1, 2, b"x"), edit(3, 4, b"y")
    assert merged(((one, closing), (other, closing))).count(closing) == 2


def test_rewritings_of_the_same_text_do_not_go_together() -> None:
    assert merged(((edit(4, 9, b"x"),), (edit(8, 12, b"y"),))) is None
    one = Rewriting("select", "safe", (edit(4, 9, b"x"),), "one")
    other = Rewriting("unroll", "unsafe", (edit(20, 20, b"y"),), "other", "a promise")
    (pair,) = pairs([one, other, Rewriting("shared", "safe", (edit(5, 6, b"z"),), "third")][:2])
    assert (pair.rewrite, pair.applicability, pair.caveat) == (
        "select+unroll",
        "unsafe",
        "a promise",
    )


def test_many_proposals_of_one_rewrite_leave_room_for_the_others() -> None:
    loops = [Rewriting("keep-rolled", "safe", (edit(n, n, b"pragma"),), str(n)) for n in range(8)]
    bounds = Rewriting("launch-bounds", "safe", (edit(40, 40, b"bounds"),), "bounds")
    spills = Rewriting("smem-spilling", "safe", (edit(50, 50, b"asm"),), "spills")
    tried = [pair.rewrite for pair in pairs([*loops, bounds, spills])]
    assert tried[:3] == [
        "keep-rolled+launch-bounds",
        "keep-rolled+smem-spilling",
        "launch-bounds+smem-spilling",
    ]


def test_a_patch_says_where_the_last_line_does_not_end(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "a.cu"
    path.write_bytes(b"one\ntwo \xe9\nthree")
    made = diff([Edit(str(path), 0, 3, b"1")], str(tmp_path))
    assert made.encode("utf-8", "surrogateescape") == (
        b"--- a/a.cu\n+++ b/a.cu\n@@ -1,3 +1,3 @@\n-one\n+1\n two \xe9\n three\n"
        b"\\ No newline at end of file\n"
    )


PYTHON = """\
# é
code = r'''float a[4]; // é
float b; '''
other = "float c[4];" + f"float {x}"
escaped = "float d[4];\\n"
"""


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (2, "float a[4]; // é\nfloat b; "),
        (3, "float a[4]; // é\nfloat b; "),
        (4, "float c[4];"),
        (5, None),
        (1, None),
    ],
)
def test_the_text_of_one_literal_stays_where_it_is(line: int, kept: str | None) -> None:
    data = PYTHON.encode()
    found = masked(data, line)
    if kept is None:
        assert found is None
        return
    assert found is not None
    assert len(found) == len(data)
    assert found.count(b"\n") == data.count(b"\n")
    at = data.index(kept.encode())
    assert found[at : at + len(kept.encode())] == kept.encode()
    assert not found[:at].strip()
    assert not found[at + len(kept.encode()) :].strip()


def test_a_form_feed_ends_no_line_of_python() -> None:
    text = "a = 1\n\x0c\n# \u2028\nb = '\x85'\ncode = r'''\nfloat a[4];\n'''\n"
    found = masked(text.encode(), 6)
    assert found is not None
    assert found.strip() == b"float a[4];"
    assert found.index(b"float") == text.encode().index(b"float")


def test_what_is_no_python_has_no_literals() -> None:
    assert masked(b"a = '''", 1) is None
    assert masked("a = 'é'".encode("latin-1"), 1) is None


@pytest.mark.parametrize(
    ("after", "rtol", "same"),
    [
        (b"sum 1.0 ok", None, True),
        (b"sum 1.0000001 ok", None, False),
        (b"sum 1.0000001 ok", 1e-5, True),
        (b"sum 1.1 ok", 1e-5, False),
        (b"sum 1.0 no", 1e-5, False),
        (b"sum 1.0 ok 2", 1e-5, False),
        (b"sum nan ok", 1e-5, False),
    ],
)
def test_outputs_are_compared(after: bytes, rtol: float | None, same: bool) -> None:
    assert is_same(b"sum 1.0 ok", after, rtol) is same


def test_a_function_that_may_change_the_index_is_seen() -> None:
    before = "__device__ float next(int &n) { return ++n; }\n"
    text = kernel("float a[8];", "a[n] = next(n);", "out[0] = a[n];", before=before)
    found, reasons = proposals(target(text, "a", "float[8]", block=None))
    assert "select" not in {one.rewrite for one in found}
    assert any("not rewritten" in one.reason for one in reasons)
    plain = text.replace("int &n", "int n")
    assert "select" in {one.rewrite for one in proposals(target(plain, "a", "float[8]"))[0]}


@pytest.mark.parametrize(
    ("body", "rewrite"),
    [
        (
            ["float a[8];", "auto f = [=](int i) { return a[i]; };", "out[0] = f(n);"],
            "shared-memory",
        ),
        (
            ["float a[8];", "auto f = [a](int i) { return a[i]; };", "out[0] = f(n);"],
            "shared-memory",
        ),
        (["const float a[3] = {1, 2, 3};", "out[0] = a[n];"], "shared-memory"),
        (["float a[8];", "auto f = [&](int i) -> const float & { return a[i]; };"], "select"),
        (["float a[8];", "auto f = [&r = a[n]] { return r; };", "out[0] = f();"], "select"),
    ],
)
def test_what_a_lambda_or_const_needs_is_declined(body: list[str], rewrite: str) -> None:
    size = body[0].partition("[")[2].partition("]")[0]
    found, _ = proposals(target(kernel(*body), "a", f"float[{size}]"))
    assert rewrite not in {one.rewrite for one in found}


def test_other_instances_keep_their_sizes() -> None:
    text = kernel("float a[N];", "a[n] = 1.f;", "out[0] = a[p[0]];", before="template <int N>\n")
    made = rewritten(text, "a", "float[8]", "select")
    assert made is not None
    assert "lmem_select<float, N> a;" in made


def test_what_was_compiled_decides_no_other_instance() -> None:
    before = "template <int N>\n"
    small = kernel("char a[N];", "a[n] = 1;", "out[0] = a[p[0]];", before=before)
    made = rewritten(small, "a", "char[8]", "packed")
    assert made is not None
    assert "lmem_packed<char, 8, N> a" in made, "its static_assert refuses a larger N"
    filled = kernel("int a[N] = {1, 2};", "a[n] = 1;", "out[0] = a[p[0]];", before=before)
    made = rewritten(filled, "a", "int[4]", "shared-memory")
    assert made is not None
    assert "for (int lmem_k = 2; lmem_k < N; ++lmem_k) a[lmem_k] = {};" in made


def in_header(text: str) -> list[Rewriting]:

    given = target(text, "a", "float[8]", block=None)
    found, _ = proposals(replace(given, path="/p/a.cuh"))
    return [one for one in found if one.rewrite == "select"]


def test_a_header_stays_readable_for_the_host() -> None:
    text = "__device__ float f(int n) {\n  float a[8];\n  a[n] = 1.f;\n  return a[n + 1];\n}\n"
    (one,) = in_header(text)
    assert any(edit.text.startswith(b"#if defined(__CUDACC__)") for edit in one.edits)
    assert not in_header(text.replace("__device__", "HOST_AND_DEVICE"))


def test_a_class_in_a_branch_serves_that_branch_alone() -> None:
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = a[p[0]];")

    def counted(before: str, after: str) -> str:
        found, _ = proposals(target(before + text + after, "a", "float[8]"))
        one = next(one for one in found if one.rewrite == "select")
        return next(edit.counts for edit in one.edits if b"struct" in edit.text)

    assert counted("", "") == "file"
    assert counted("#ifndef A_CUH\n#define A_CUH\n", "#endif\n") == "file"
    assert counted("#ifndef NO_FAST\n", "#endif\n") == "place"


def test_a_grid_that_waits_for_itself_makes_any_rewrite_a_promise() -> None:
    before = "__device__ void wait() { cooperative_groups::this_grid().sync(); }\n"
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = a[p[0]];", before=before)
    found, _ = proposals(target(text, "a", "float[8]"))
    assert found
    assert {one.applicability for one in found} == {"unsafe"}
    assert all("fit" in (one.caveat or "") for one in found)


def test_a_launch_counts_whatever_the_user_says_of_blocks() -> None:
    launch = "void go(int *p, float *o) { k<<<1, 256>>>(p, o, 4); }\n"
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = a[p[0]];") + launch
    found, _ = proposals(target(text, "a", "float[8]", block=64))
    shared = next(one for one in found if one.rewrite == "shared-memory")
    assert any(b"[256]" in edit.text for edit in shared.edits)
    assert shared.applicability == "unsafe"


@pytest.mark.parametrize(
    ("launches", "blocks"),
    [
        ("k<<<3, 64>>>(p, o, 4);", 3),
        ("k<<<dim3(2, 4), 64>>>(p, o, 4);", 8),
        ("k<<<3, 64>>>(p, o, 4); k<<<5, 32>>>(p, o, 4);", 5),
        ("k<<<*p, 64>>>(p, o, 4);", None),
        ("k<<<3, 64>>>(p, o, 4); k<<<*p, 64>>>(p, o, 4);", None),
    ],
)
def test_a_grid_is_known_where_all_launches_say_it(launches: str, blocks: int | None) -> None:
    launch = f"void go(int *p, float *o) {{ {launches} }}\n"
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = a[p[0]];") + launch
    block = target(text, "a", "float[8]", block=None).block
    assert block is not None
    assert (block.threads, block.blocks) == (64, blocks)


@pytest.mark.parametrize(("grid", "blocks"), [("3", 3), ("*p", None)])
def test_a_grid_is_known_whatever_the_threads_of_its_blocks(grid: str, blocks: int | None) -> None:
    launch = f"void go(int *p, float *o) {{ k<<<{grid}, *p>>>(p, o, 4); }}\n"
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = a[p[0]];") + launch
    asked = target(text, "a", "float[8]", block=None)
    assert asked.block is None
    assert grid_of(asked).blocks == blocks


@pytest.mark.parametrize(
    "body",
    [
        "const int *q = a[n].v;",
        "a[n].bump();",
        "const_cast<int &>(static_cast<const int &>(a[n].x)) = 5;",
    ],
)
def test_what_is_inside_an_element_is_not_kept(body: str) -> None:
    before = "struct P { int x; int v[2]; void bump(); void bump() const; };\n"
    text = kernel("P a[8];", body, "out[0] = a[n].x;", before=before)
    found, reasons = proposals(target(text, "a", "P[8]", block=None))
    assert "select" not in {one.rewrite for one in found}
    assert any("copy of an element" in one.reason for one in reasons), reasons


def test_plain_members_of_elements_are_read() -> None:
    before = "struct P { int x; int v[2]; };\n"
    text = kernel("P a[8];", "int y = a[n].x;", "out[0] = y + a[1].v[n];", before=before)
    assert rewritten(text, "a", "P[8]", "select") is not None


def test_a_copy_would_have_static_variables_of_its_own() -> None:
    callee = CALLEE.replace("{ return", "{ static int calls; ++calls; return")
    text = kernel("float a[8];", "a[n] = 1.f;", "out[0] = sum(a, n);", before=callee)
    found, reasons = proposals(target(text, "a", "float[8]", block=None))
    assert "select" not in {one.rewrite for one in found}
    assert any("would not share" in one.reason for one in reasons), reasons


def test_a_header_for_any_compiler_gets_no_word_of_cuda() -> None:

    loop = "for (int i = 0; i < 8; ++i) a[i] = n;"
    text = f"HD float f(int n) {{\n  float a[8];\n  {loop}\n  return a[n];\n}}\n"
    given = replace(target(text, "a", "float[8]"), path="/p/a.cuh")
    found, reasons = proposals(given)
    assert {one.rewrite for one in found} <= {"unroll", "bounded-loop"}
    assert any("host code may include its header, too" in one.reason for one in reasons)


def test_no_name_of_a_patch_leads_upwards(tmp_path: object) -> None:
    from pathlib import Path

    root = Path(str(tmp_path))
    (root / "src" / "deep").mkdir(parents=True)
    (root / "here").mkdir()
    one, other = root / "src" / "a.cu", root / "src" / "deep" / "b.cuh"
    for path in (one, other):
        path.write_text("one\n")
    edits = [Edit(str(one), 0, 3, b"1"), Edit(str(other), 0, 3, b"2")]
    # No repository: the nearest directory above both.
    made = diff(edits, str(root / "here"))
    assert "+++ b/src/a.cu\n" in made
    assert "+++ b/src/deep/b.cuh\n" in made
    assert "+++ b/src/a.cu\n" in diff(edits, str(root))


def test_what_is_not_removed_is_not_called_a_fix() -> None:
    before = Figures(32, 64, 0, 0, 0, 4, 4, 900, 1.0)
    after = replace(before, stack_frame=32, registers=40)

    def said(verdict: TrialVerdict, speed_up: float | None) -> tuple[str, str]:
        found = Verified("select", "safe", verdict, before, after, speed_up)
        fix = ProvenFix(found, "compare", None, "")
        return sentence(fix), advice_text(Advice("Compare.", verified=found))

    fix, advice = said("removed", 2.0)
    changes = "frame 64 → 32, registers 32 → 40"
    assert fix == f"Proven fix: Compare ({changes}; 2 times the modelled speed). Safe."
    gained = f"({changes}; 2 times the modelled speed)"
    assert advice == f"Compare. Tried: it is removed {gained}."
    assert f"({changes}; the same modelled speed)" in said("removed", 1.02)[0]
    fix, advice = said("reduced", 0.25)
    assert not fix.startswith("Proven fix")
    assert f"some of it remains ({changes}; 0.25 times the modelled speed, slower)" in advice
    assert said("removed", None)[0] == f"Proven fix: Compare ({changes}). Safe."


def test_two_versions_of_one_rewriting_are_one() -> None:
    """`shift`, and it with a loop unrolled, from the findings of two arrays: one step, not two."""
    taken = edit(1, 2, b"0")
    step = Edit("/p/a.cu", 5, 5, b"{ lmem_shift(line); }", counts="each")
    unrolled, folded = edit(0, 0, b"#pragma unroll 4\n"), edit(0, 0, b"#pragma unroll 8\n")
    assert merged(((taken, step), (unrolled, taken, step))) == (unrolled, taken, step)
    assert merged(((unrolled, taken, step), (folded, taken, step))) is None


def test_an_alignment_stays_with_what_else_its_statement_declares() -> None:
    text = kernel("__align__(16) float b[4], a[8];", "a[n] = 1;", "out[0] = a[n];")
    made = rewritten(text, "a", "float[8]", "select")
    assert "  __align__(16) float b[4];\n  lmem_select<float, 8> a;\n" in made
    _, reasons = proposals(target(text, "a", "float[8]"))
    alignment = [one for one in reasons if "alignment" in one.reason]
    assert "shared-memory" in {name for one in alignment for name in one.rewrites}
