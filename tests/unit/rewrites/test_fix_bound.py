"""What gets an element by reference without being a function that is called by its name."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.model import CompileOptions, LaunchBounds, SourceLocation, SourceText
from lmemscope.rewrites import proposals
from tests.support.rewriting import kernel, target

_ALSO = (
    "__device__ int pick(int &x) { return x; }\n__device__ int pick(const int &x) { return 3; }\n"
)


def offered(text: str, type_: str, **how: object) -> set[str]:
    """The rewrites that are proposed for the array ``a``."""
    return {one.rewrite for one in proposals(target(text, "a", type_, **how))[0]}  # type: ignore[arg-type]


_KEEPS = [
    (
        "struct Sink { const int *p; __device__ void operator<<(const int &x) { p = &x; } };\n",
        "Sink s{}; s << a[n]; out[0] = s.p[1];",
    ),
    (
        "struct Sink { const int *p; __device__ void operator+=(const int &x) { p = &x; } };\n",
        "Sink s{}; s += a[n]; out[0] = s.p[1];",
    ),
    (
        "struct Sink { const int *p; __device__ void operator=(const int &x) { p = &x; } };\n",
        "Sink s{}; s = a[n]; out[0] = s.p[1];",
    ),
    (
        "struct View { const int *p; __device__ View(const int &x) : p(&x) {} };\n",
        "View v = a[n]; out[0] = v.p[1];",
    ),
    (
        "struct View { const int *p; __device__ View(const int &x) : p(&x) {} };\n"
        "__device__ int take(View v) { return v.p[1]; }\n",
        "out[0] = take(a[n]);",
    ),
    (
        "struct View { const int *p; __device__ View(const int &x) : p(&x) {} };\n",
        "auto f = [&](int i) -> View { return a[i]; }; out[0] = f(n).p[1];",
    ),
    (
        "struct F { __device__ const int *operator()(const int &x) { return &x; } };\n",
        "F f; out[0] = f(a[n])[1];",
    ),
    (
        "__device__ const int *at(const int &x) { return &x; }\n",
        "const int *(*f)(const int &) = at; out[0] = f(a[n])[1];",
    ),
    ("", "const int *q = &std::max(a[n], a[0]); out[0] = q[1];"),
    ("", "auto q = std::minmax(a[n], a[0]); a[n] = 7; out[0] = q.first;"),
    ("struct Ref { int &x; };\n", "Ref q{a[n]}; out[0] = (&q.x)[1];"),
]


@pytest.mark.parametrize(("before", "use"), _KEEPS)
def test_what_keeps_an_element_by_reference_gets_no_copy_and_no_column(
    before: str, use: str
) -> None:
    text = kernel("int a[32];", "a[n] = 1;", use, before=before)
    assert not {"select", "shared-memory"} & offered(text, "int[32]")


@pytest.mark.parametrize(
    ("before", "use"),
    [
        (
            "struct Sink { int n; __device__ void operator<<(int x) { n = x; } };\n",
            "Sink s{}; s << a[n]; out[0] = s.n;",
        ),
        (
            "struct V { float x; __device__ V operator*(const float &y) { return {x * y}; } };\n",
            "out[0] = 3 * a[n];",
        ),
        (
            "struct View { int v; __device__ View(const int &x) : v(x) {} };\n",
            "View v = a[n]; out[0] = v.v;",
        ),
        (
            "struct View { const double *p; __device__ View(const double &x) : p(&x) {} };\n",
            "auto v = a[n]; out[0] = v;",
        ),
        ("", "auto f = [](int x) { return x + 1; }; out[0] = f(a[n]);"),
        ("__device__ int at(int x) { return x; }\n", "int (*f)(int) = at; out[0] = f(a[n]);"),
        ("", "int q = std::max(a[n], a[0]); out[0] = q;"),
    ],
)
def test_what_takes_the_value_of_an_element_is_no_reason(before: str, use: str) -> None:
    text = kernel("int a[32];", "a[n] = 1;", use, before=before)
    assert {"select", "shared-memory"} <= offered(text, "int[32]")


@pytest.mark.parametrize(
    "use",
    [
        "out[0] = pick((a[n] = 3));",
        "out[0] = pick(a[n] += 3);",
        "out[0] = pick(++a[n]);",
        "out[0] = choose<int>(a[n]);",
        "int i = n; a[i] = next<3>(i);",
    ],
)
def test_what_is_assigned_may_be_changed_by_who_gets_it(use: str) -> None:
    before = (
        "template <class T> __device__ int choose(T &x) { return x++; }\n"
        "template <int N> __device__ int next(int &i) { return i += N; }\n"
    )
    text = kernel("int a[32];", "a[n] = 1;", use, before=_ALSO + before)
    assert "select" not in offered(text, "int[32]")
    plain = use.replace("choose<int>", "min").replace("next<3>", "abs").replace("pick(", "abs(")
    assert "select" in offered(kernel("int a[32];", plain), "int[32]")


@pytest.mark.parametrize(
    ("before", "use"),
    [
        (_ALSO, "int z = n; out[0] = pick(n ? a[n] : z);"),
        (_ALSO, "out[0] = pick((n, a[n]));"),
        (
            "template <class T> __device__ int choose(T &x) { return 1; }\n"
            "template <class T> __device__ int choose(const T &x) { return 2; }\n",
            "out[0] = choose<int>(a[n]);",
        ),
        (
            "struct F { __device__ int operator()(int &x) { return 1; }\n"
            "__device__ int operator()(const int &x) { return 2; } };\n",
            "F f; out[0] = f(a[n]);",
        ),
        (
            "struct F { int n; __device__ void operator<<(int &x) { n = 1; }\n"
            "__device__ void operator<<(const int &x) { n = 2; } };\n",
            "F f; f << a[n]; out[0] = f.n;",
        ),
        (
            "struct F { int n; __device__ F(int &x) : n(1) {}\n"
            "__device__ F(const int &x) : n(2) {} };\n",
            "F f = a[n]; out[0] = f.n;",
        ),
        ("", "auto *q = &(n ? a[n] : a[1]); out[0] = tell(q);"),
    ],
)
def test_a_table_stays_as_it_is_where_something_tells_its_elements_from_const(
    before: str, use: str
) -> None:
    text = kernel("int a[4] = {1, 2, 3, 4};", use, before=before)
    assert "static-table" not in offered(text, "int[4]")
    reads = "int q = n ? a[n] : 3; out[0] = q;"
    plain = kernel("int a[4] = {1, 2, 3, 4};", reads, before=before)
    assert "static-table" in offered(plain, "int[4]")


@pytest.mark.parametrize(("first", "is_offered"), [("1", True), ("n", False), ("2 * p[0]", False)])
def test_a_table_with_a_parameter_is_none_of_all_threads(first: str, is_offered: bool) -> None:
    text = kernel(f"const int a[4] = {{{first}, 2, 3, 4}};", "out[0] = a[p[1] & 3];")
    assert ("static-table" in offered(text, "int[4]")) == is_offered


_WORK = (
    "__device__ int work(const int *p, int n, int deep) {{\n  int a[24];\n  a[n] = 1;\n"
    "  return a[p[0]] + {};\n}}\n"
)
_AGAIN = "__device__ int again(const int *p, int n, int deep) { return work(p, n, deep - 1); }\n"


@pytest.mark.parametrize(
    ("call", "behind", "is_offered"),
    [
        ("(deep ? work(p, n + 1, 0) : 0)", "", False),
        ("(deep ? again(p, n + 1, deep) : 0)", _AGAIN, False),
        ("(deep ? TWICE : 0)", "#define TWICE work(p, n, 0)\n", False),
        ("p[n](p, n)", "", True),
        ("other(p, n, deep)", _AGAIN.replace("work", "min"), True),
    ],
)
def test_a_function_that_may_run_again_has_no_shared_memory(
    call: str, behind: str, is_offered: bool
) -> None:
    """The compiler inlines such calls, and then its kernels show none."""
    text = _WORK.format(call) + behind + "__global__ void k(const int *p) { work(p, 1, 1); }\n"
    assert ("shared-memory" in offered(text, "int[24]")) == is_offered


def test_functions_that_call_each_other_by_pointers_have_no_shared_memory() -> None:
    text = _WORK.format("deep(p)").replace("int deep", "int (*deep)(const int *)")
    more = "__device__ int again(const int *p) { return work(p, 1, leaf); }\n"
    runs = "__global__ void k(const int *p) { work(p, 1, again); }\n"
    assert "shared-memory" not in offered(text + more + runs, "int[24]")
    leaves = more.replace("work", "max")
    assert "shared-memory" in offered(text + leaves + runs, "int[24]")


@pytest.mark.parametrize(
    ("launch", "applicability"),
    [
        ("k<<<2, 64>>>(p, out, n);", "safe"),
        ("k<<<2, 64, 0, stream>>>(p, out, n);", "safe"),
        ("other<<<2, 64, 4096>>>(p);", "safe"),
        ("k<<<2, 64, 4096>>>(p, out, n);", "unsafe"),
        ("config.dynamicSmemBytes = 4096;", "unsafe"),
        # Who else gets the kernel may ask for some.
        ("launch(k, p);", "unsafe"),
        ("J(k)<<<2, 64>>>(p);\n#define J(n) n##_kernel\n", "safe"),
        ("J(_)<<<2, 64, 4096>>>(p);\n#define J(n) k##n\n", "unsafe"),
    ],
)
def test_a_launch_may_ask_for_memory_that_nobody_uses(launch: str, applicability: str) -> None:
    text = kernel("int a[32];", "a[n] = 1;", "out[0] = a[p[0]];")
    text += f"void run(const int *p, float *out, int n) {{ {launch} }}\n"
    found = proposals(target(text, "a", "int[32]"))[0]
    assert [one.applicability for one in found if one.rewrite == "shared-memory"] == [applicability]


@pytest.mark.parametrize(
    ("name", "applicability"), [("joined_kernel", "unsafe"), ("other_kernel", "safe")]
)
def test_a_launch_by_a_name_that_is_put_together_may_ask_for_some(
    name: str, applicability: str
) -> None:
    text = kernel("int a[32];", "a[n] = 1;", "out[0] = a[p[0]];").replace(" k(", f" {name}(")
    text += "#define RUN(n) n##_kernel<<<2, 64, 4096>>>(p)\nvoid f(int *p) { RUN(joined); }\n"
    found = proposals(target(text, "a", "int[32]", demangled=f"{name}(int const*)"))[0]
    assert [one.applicability for one in found if one.rewrite == "shared-memory"] == [applicability]


def test_a_launch_in_another_file_of_the_project_may_ask_for_some() -> None:
    text = kernel("int a[32];", "a[n] = 1;", "out[0] = a[p[0]];")
    launch = "void run(int *p) { k<<<2, 64, 4096>>>(p); }\n"
    own = "__global__ void k(int *p) { *p = 1; }\n"
    for other, applicability in ((launch, "unsafe"), (own + launch, "safe")):
        known = {"/p/a.cu": text, "/p/b.cu": other}
        asked = target(text, "a", "int[32]")
        sources = SourceText(
            lambda file, known=known: known.get(file, "").splitlines(),  # type: ignore[misc]
            mentioning=lambda file, word: ("/p/b.cu",),
        )
        (hit,) = asked.hits
        hit = replace(hit, case=replace(hit.case, sources=sources))
        found = proposals(replace(asked, hits=(hit,)))[0]
        made = [one.applicability for one in found if one.rewrite == "shared-memory"]
        assert made == [applicability]


@pytest.mark.parametrize(
    ("head", "options", "applicability"),
    [
        ("__device__", None, "safe"),
        ("__device__", CompileOptions(nvcc_args=("-rdc=true",)), "unsafe"),
        ("static __device__", CompileOptions(nvcc_args=("-rdc=true",)), "safe"),
    ],
)
def test_what_is_linked_later_may_be_run_by_kernels_of_other_sources(
    head: str, options: CompileOptions | None, applicability: str
) -> None:
    text = f"{head} int work(const int *p, int n) {{\n  int a[24];\n  a[n] = 1;\n"
    text += "  return a[p[0]];\n}\n"
    text += "__global__ void __launch_bounds__(64) k(int *p) { *p = work(p, 1); }\n"
    bounds = LaunchBounds(64, None)
    asked = target(text, "a", "int[24]", block=None, launch_bounds=bounds, demangled="k")
    (hit,) = asked.hits
    sources = SourceText(lambda file: text.splitlines(), options=options)
    hit = replace(hit, case=replace(hit.case, sources=sources))
    found = proposals(replace(asked, hits=(hit,)))[0]
    made = [one.applicability for one in found if one.rewrite == "shared-memory"]
    assert made == [applicability]


@pytest.mark.parametrize(
    ("more", "applicability"),
    [
        ('extern "C" __global__ void other(int *p) { __shared__ int s[4]; s[0] = *p; }\n', "safe"),
        ("extern __shared__ int more[];\n", "unsafe"),
        ("extern __align__(16) __shared__ int more[];\n", "unsafe"),
        ('extern "C" __shared__ int more[];\n', "unsafe"),
    ],
)
def test_memory_of_a_launch_is_declared_extern(more: str, applicability: str) -> None:
    text = more + kernel("int a[32];", "a[n] = 1;", "out[0] = a[p[0]];")
    found = proposals(target(text, "a", "int[32]"))[0]
    assert [one.applicability for one in found if one.rewrite == "shared-memory"] == [applicability]


def test_a_grid_that_waits_in_a_header_may_not_fit() -> None:
    text = '#include "grid.cuh"\n' + kernel("int a[32];", "a[n] = 1;", "out[0] = a[p[0]];")
    wait = "__device__ void wait() { this_grid().sync(); }\n"
    for header, applicability in ((wait, "unsafe"), (wait.replace("this_grid", "warp"), "safe")):
        one = target(text, "a", "int[32]", files={"/p/grid.cuh": header})
        found = [each for each in proposals(one)[0] if each.rewrite == "shared-memory"]
        assert [each.applicability for each in found] == [applicability]


@pytest.mark.parametrize(
    ("use", "applicability"),
    [
        ("const int *q = s.v; out[0] = bump(q) + s.v[n];", "unsafe"),
        ("const int *q; q = s.v; out[0] = bump(q) + s.v[n];", "unsafe"),
        ("out[0] = pick(s.v + n);", "unsafe"),
        ("auto q = s.v + 1; out[0] = pick(q) + q[n];", "unsafe"),
        ("out[0] = pick(n ? s.v[n] : s.w);", "unsafe"),
        ("out[0] = pick(s.m[n]);", "unsafe"),
        ("const int *q = s.m[n]; out[0] = bump(q);", "unsafe"),
        ("out[0] = s.v[n] + (n ? s.m[n][1] : s.w);", "safe"),
        ("int q = s.v[n]; out[0] = q + s.w;", "safe"),
    ],
)
def test_a_pointer_into_a_parameter_may_tell_that_it_is_const(use: str, applicability: str) -> None:
    text = "struct P { int v[24]; int m[3][4]; int w; };\n"
    text += kernel(use).replace("int n)", "int n, P s)")
    at = SourceLocation("/p/a.cu", 2)
    one = target(text, "s.v", "int[24]", "param-copy", line="out[0]", location=at)
    found = [each for each in proposals(one)[0] if each.rewrite == "grid-constant"]
    assert [each.applicability for each in found] == [applicability]
