"""Device-side launches read from the text of a source."""

from __future__ import annotations

import time

import pytest

from lmemscope.model import WrittenLaunch
from lmemscope.sources.conditions import branches
from lmemscope.sources.cuda import read_cuda_source


def read(text: str) -> list[WrittenLaunch]:
    return list(read_cuda_source(text).device_launches)


def only(text: str) -> WrittenLaunch:
    (found,) = read(text)
    return found


def in_kernel(body: str, before: str = "") -> WrittenLaunch:
    return only(f"{before}\n__global__ void parent(int *p, int n) {{\n{body}\n}}\n")


def test_a_launch_has_its_kernel_its_child_and_its_words() -> None:
    found = only("__global__ void a(int *p) {\n  if (p)\n    b<<<4, 64>>>(p,\n      1);\n}\n")
    assert (found.function, found.kernels, found.child) == ("a", ("a",), "b")
    assert (found.line, found.end_line, found.configuration) == (3, 4, "4, 64")
    assert (found.grid, found.block, found.shared) == ((4, 1, 1), (64, 1, 1), 0)
    assert found.stream == "default"


def test_what_the_host_launches_is_none() -> None:
    assert read("__global__ void a() {}\nvoid f() { a<<<1, 1>>>(); }\nint main() { f(); }\n") == []


@pytest.mark.parametrize(
    ("written", "grid"),
    [
        ("N", (256, 1, 1)),
        ("1 << SHIFT", (8, 1, 1)),
        ("(N + 31u) / 32", (8, 1, 1)),
        ("OTHER", (12, 1, 1)),
        ("dim3(2, SHIFT)", (2, 3, 1)),
        ("dim3(n, 2)", (None, 2, 1)),
        ("n", (None, None, None)),
        ("n / 0", (None, None, None)),
        ("1 << 4000000000", (None, None, None)),
        ("own", (4, 5, 1)),
        ("uniform", (7, 1, 1)),
        ("changed", (None, None, None)),
    ],
)
def test_constants_of_the_file_and_the_function_are_known(
    written: str, grid: tuple[int | None, ...]
) -> None:
    before = "#define N 256 // threads\n#define SHIFT 3\nstatic const int OTHER = SHIFT * 4;\n"
    body = "dim3 own(4, 5), uniform = 7, changed(1);\nchanged.x = n;\n"
    assert in_kernel(f"{body}child<<<{written}, 1>>>(p);", before).grid == grid


def test_the_nearest_declaration_of_a_grid_counts() -> None:
    body = "{ dim3 g(1); a<<<g, 1>>>(); } { dim3 g(2); b<<<g, 1>>>(); }"
    found = read(f"__global__ void parent() {{ {body} }}\n")
    assert [(one.child, one.grid[0]) for one in found] == [("a", 1), ("b", 2)]


def test_a_macro_with_two_values_is_not_known() -> None:
    before = "#ifdef A\n#define N 1\n#else\n#define N 2\n#endif\n"
    assert in_kernel("child<<<N, 1>>>(p);", before).grid == (None, None, None)


@pytest.mark.parametrize(
    ("stream", "kind"),
    [
        ("cudaStreamTailLaunch", "tail"),
        ("cudaStreamFireAndForget", "fire-and-forget"),
        ("s", "named"),
        ("0", "default"),
    ],
)
def test_the_stream_is_told_by_its_name(stream: str, kind: str) -> None:
    assert in_kernel(f"child<<<1, 1, 0, {stream}>>>(p);").stream == kind


def test_templates_and_namespaces_belong_to_the_childs_name() -> None:
    found = in_kernel("ns::child<int, (1 + 2)>\n  <<<1, 1>>>(p);")
    assert (found.child, found.base) == ("ns::child<int, (1 + 2)>", "child")
    assert found.line == 3


def test_a_shift_does_not_close_the_configuration() -> None:
    assert in_kernel("child<<<64 >> 2, 1>>>(p);").grid == (16, 1, 1)


def test_a_function_is_reached_by_the_kernels_that_call_it() -> None:
    text = """__device__ void inner(int *p) { child<<<1, 1>>>(p); }
template <class F> __device__ void with(F f) { f(); }
__device__ void outer(int *p) { inner(p); }
__global__ void one(int *p) { outer(p); }
__global__ void two(int *p) { with([=] { other<<<1, 1>>>(p); }); }
__global__ void three(int *p) {}
"""
    assert [(one.child, one.function, one.kernels) for one in read(text)] == [
        ("child", "inner", ("one",)),
        ("other", "two", ("two",)),
    ]


def test_a_function_that_no_kernel_calls_has_none() -> None:
    assert only("__host__ __device__ void f() { child<<<1, 1>>>(); }").kernels == ()


@pytest.mark.parametrize(
    ("condition", "devices"),
    [("#ifdef __CUDA_ARCH__", True), ("#ifndef __CUDA_ARCH__", False),
     ("#if !defined(__CUDA_ARCH__)", False), ("#if (__CUDA_ARCH__ >= 350) // new", True)],
)  # fmt: skip
def test_the_hosts_branch_of_a_function_for_both_does_not_count(
    condition: str, devices: bool
) -> None:
    text = f"""__host__ __device__ void f() {{
{condition}
  first<<<1, 1>>>();
#else
  second<<<1, 1>>>();
#endif
}}
"""
    assert only(text).child == ("first" if devices else "second")


def test_alternatives_that_each_open_a_brace_do_not_hold_the_rest_of_the_file() -> None:
    text = """__global__ void a(int n) {
#if __CUDA_ARCH__ > 500
  for (int i = 0; i < n; i++) {
#else
  if (n) {
#endif
  }
}
void host() { a<<<1, 1>>>(1); }
"""
    assert read(text) == []


def test_branches_know_their_group_and_whose_they_are() -> None:
    found = branches("#ifdef __CUDA_ARCH__\na\n#elif B\nb\n#else\nc\n#endif\n")
    assert [(one.first, one.last, one.group, one.is_hosts) for one in found] == [
        (1, 3, 0, False), (3, 5, 0, False), (5, 7, 0, False)
    ]  # fmt: skip


def test_half_a_file_is_no_obstacle() -> None:
    for text in ("__global__ void a() { b<<<", "__device__ x<<<1", "}}<<<>>>{{", "__global__ <<<"):
        assert read(text) == []


def test_launches_do_not_lie_within_each_other() -> None:
    assert only("__global__ void a() { b<<<1, (c<<<2, 3>>>())>>>(); }").child == "b"
    assert only("__global__ void a() { b<<<1, c<<<2, 3>>>(); }").child == "c"
    assert (
        only("__global__ void a() { ns::b<d<1>><<<(n >> 2) + 1, 3>>>(); }").child == "ns::b<d<1>>"
    )


def test_many_launches_take_no_longer_than_they_must() -> None:
    many = "".join(f"__global__ void k{n}() {{ k{n + 1}<<<1, {n}>>>(); }}\n" for n in range(500))
    assert len(read(many)) == 500


def test_a_templates_parameter_is_what_all_its_launches_give() -> None:
    text = """template <int N, typename T = float> __global__ void walk(T *p, int n) {
  walk<N><<<2, N>>>(p, n - 1);
}
void host(float *p) {
  const int THREADS = 64 * 2;
  walk<THREADS><<<1, THREADS>>>(p, 3);
}
"""
    assert only(text).block == (128, 1, 1)
    assert only(f"{text}void other(float *p) {{ walk<32><<<1, 1>>>(p, 1); }}").block[0] is None


@pytest.mark.parametrize(
    "text",
    [
        "__device__ " * 30_000 + "<<<",
        "__global__ void k() {" + "{" * 30_000 + "a<<<1,1>>>();" * 1000,
        "__global__ void k() {" + "a<<<n,dim3(n)>>>();" * 1000 + "}",
        "#ifndef __CUDA_ARCH__\n" * 10_000 + "__device__ void f() { a<<<1,1>>>(); }",
        "".join(f"#define A{n} A{n + 1}+A{n + 1}\n" for n in range(300)) + "__global__ <<<A0>>>",
        "".join(f"__device__ void f{n}() {{ f{n + 1}(); a<<<1,1>>>(); }}\n" for n in range(3000)),
        "__global__ void k() { a" + "<<<" * 30_000 + "1>>>(); }",
        "__global__ void k() { " + "a<<<(" * 10_000 + "1" + ")>>>()" * 10_000 + "; }",
        "__global__ void k() { " + "a> <<<1>>>() " * 10_000 + "; }",
        "__global__ void k() { const int a = " + "(" * 300 + "1" + ")" * 300 + "; b<<<a,1>>>(); }",
    ],
    ids=[
        "qualifiers",
        "braces",
        "launches",
        "conditions",
        "macros",
        "calls",
        "openings",
        "nested",
        "names",
        "parentheses",
    ],
)
def test_text_that_is_made_to_take_long_does_not(text: str) -> None:
    begun = time.process_time()
    read(text)
    assert time.process_time() - begun < 5
