from __future__ import annotations

import pytest

from lmemscope.model import base_name, split_expressions
from lmemscope.sources.cuda import read_cuda_source


def test_kernels_with_attributes_namespaces_and_templates() -> None:
    source = read_cuda_source(
        """
        // __global__ void commented();
        namespace a::b {
        template <typename T, int N = (1 > 0)>
        __global__ void __launch_bounds__(128, 2) first(T *x) {}
        extern "C" __global__ __attribute__((used)) void second(int n) { if (n) {} }
        }
        const char *text = "__global__ void quoted()";
        static __global__ void third();
        template <> __global__ void specialised<3>(int *x) {}
        """
    )
    assert [(k.name, k.is_template) for k in source.kernels] == [
        ("a::b::first", True),
        ("a::b::second", False),
        ("third", False),
        ("specialised", False),
    ]
    assert [k.name for k in source.template_kernels] == ["a::b::first"]
    assert not source.has_host_code


def test_a_name_that_a_macro_makes_is_not_the_macros() -> None:
    source = read_cuda_source(
        "template <int N> __global__ void NAME(sum)(float *x) {}\n"
        "template <int N> __global__ void plain(float (*x)(int)) {}\n"
    )
    assert [k.name for k in source.template_kernels] == ["plain"]


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        ("rm<32><<<1, 2>>>(x);", ("rm<32>",)),
        ("ns::rm<float, -1><<<grid, block, 0, stream>>>(x);", ("ns::rm<float, -1>",)),
        ("rm<unsigned int, 'a'><<<1, 2>>>(x);", ("rm<unsigned int, 'a'>",)),
        ("rm<N><<<1, 2>>>(x);", ()),
        ("plain<<<1, 2>>>(x);", ()),
        ('s = "rm<32><<<1, 2>>>";', ()),
    ],
)
def test_launches_with_literal_arguments(launch: str, expected: tuple[str, ...]) -> None:
    text = "template <int N> __global__ void rm(float *x) {}\nvoid f() { " + launch + " }\n"
    source = read_cuda_source(text)
    assert source.launches == expected


def test_an_unqualified_launch_finds_its_namespace() -> None:
    source = read_cuda_source(
        "namespace ns { template <int N> __global__ void rm() {}\nvoid f() { rm<4><<<1, 1>>>(); } }"
    )
    assert source.launches == ("ns::rm<4>",)
    assert source.has_host_code


def test_directives_and_includes() -> None:
    source = read_cuda_source(
        '#include <vector>\n#include "a.cuh"\n// lmemscope: instantiate a<1, 2>, b<float>\n'
    )
    assert source.includes == ("vector", "a.cuh")
    assert source.instantiations == ("a<1, 2>", "b<float>")


def test_main_is_host_code() -> None:
    assert read_cuda_source("int main() { return 0; }").has_host_code
    assert not read_cuda_source("int maintain() { return 0; } int main;").has_host_code


def test_expressions_split_outside_brackets_only() -> None:
    assert split_expressions("a<1, f(2, 3)>, b<c<4>>") == ["a<1, f(2, 3)>", "b<c<4>>"]
    assert base_name("&ns::deep::rm<32, a::b>") == "rm"


@pytest.mark.parametrize(
    ("source", "kernel", "tie"),
    [
        ("GLOBAL void k() {}", "k", "kernel"),
        ("#undef KERNEL\n#define KERNEL GLOBAL void\nKERNEL k() {}", "k", "kernel"),
        ("#define DEF(T, name) GLOBAL void name(T *p) {}\nDEF(int, k)", "k", "kernel"),
        ("#define DEF(name) \\\n  GLOBAL void name\nDEF(k)(int *p) {}", "k", "kernel"),
        ("#define DEF(x) GLOBAL void x##_k() {}\nDEF(a)", "DEF", "function"),
        ("template <> __global__ void k<float>(int *p) {}", "k", "kernel"),
        ("__global__ std::enable_if_t<f(1)> k(int *p) {}", "k", "kernel"),
        ("template <int N = 3> OTHER void k(int *p) {}", "k", "function"),
        ("OTHER(128) void k(int *p) __attribute__((cold)) {}", "k", "function"),
        ("A::A(int x) : y(x) {}", "A", "function"),
        # None of these is a function: no kernel stands directly below.
        ("__device__ int t[4] = {f(1)};", "", "kernel"),
        ("struct __align__(16) S { int f() { return 1; } };", "", "kernel"),
        ('namespace a::b { extern "C" { int i; } }', "", "kernel"),
        ("auto f = [](int x) { return x; };", "", "kernel"),
        ("__device__ int declared(int x);", "", "kernel"),
        ('#define TEXT "__global__" /* __global__ */\nTEXT f(int);', "", "kernel"),
    ],
)
def test_a_comment_is_tied_to_what_follows(source: str, kernel: str, tie: str) -> None:
    start = "#define GLOBAL static __global__ // as elsewhere\n// lmemscope: expect frame=0\n"
    (said,) = read_cuda_source(f"{start}{source}\n__global__ void z() {{}}\n").kernel_directives
    assert (said.kernel, said.tie) == (kernel, tie)


@pytest.mark.parametrize("opening", ["//", "///", "//!", "///<", "// \t"])
@pytest.mark.parametrize("name", ["lmemscope", "LMemScope"])
def test_ways_to_write_a_comment(opening: str, name: str) -> None:
    (said,) = read_cuda_source(f"{opening} {name}: expect frame=0").directives
    assert (said.word, said.argument) == ("expect", "frame=0")


def test_prose_in_a_block_comment_is_none_of_ours() -> None:
    assert not read_cuda_source("/* see lmemscope: it\n   says // lmemscope: allow */").directives


def test_branches_that_each_open_a_brace_hide_nothing() -> None:
    """The reader sees one brace too many; the kernel below is still the comment's."""
    text = "#ifdef A\nvoid f(int x) {\n#else\nvoid f() {\n#endif\n}\n"
    text += "// lmemscope: expect frame=0\n__global__ void k() {}\n"
    (said,) = read_cuda_source(text).kernel_directives
    assert (said.kernel, said.tie) == ("k", "kernel")


BODY = "(float *o, int *p) { float a[N]; o[0] = a[p[0]]; }\n"


@pytest.mark.parametrize(
    "text",
    [
        "#define MAKE(n) template <int N> __global__ void n" + BODY.strip() + "\nMAKE(k)\n",
        "#define HEAD(n) template <int N> __global__ void n\nHEAD(k)" + BODY,
        "#define OF_N template <int N>\nOF_N __global__ void k" + BODY,
        "#define OF_N template <int N>\n#define KERNEL __global__\nOF_N KERNEL void k" + BODY,
        "template <int N> __attribute__((global)) void k" + BODY,
        "template <int N> __attribute((__global__))\nvoid k" + BODY.replace("__global__", ""),
        "template <int N> __global__ void k" + BODY.replace("{", "<%").replace("}", "%>"),
        "__global__ void k(auto *o, int *p) { o[0] = p[0]; }\n",
        "template <int N> __glo\\\nbal__ void k" + BODY,
        "#define HD(...) __VA_ARGS__\ntemplate <int N> HD(__global__) void k" + BODY,
        "#define CAT(a, b) a##b\ntemplate <int N> CAT(__glo, bal__) void k" + BODY,
    ],
)
def test_what_nothing_instantiates_is_a_template_however_it_is_written(text: str) -> None:
    before = "__global__ void plain(float *o) { o[0] = 1; }\n"
    found = read_cuda_source(before + text)
    assert [one.name for one in found.kernels] == ["plain", "k"]
    assert [one.name for one in found.template_kernels] == ["k"]
    assert not found.kernels[1].is_declaration


@pytest.mark.parametrize(
    "text",
    [
        "#define MAKE(n) __global__ void n(float *o) { o[0] = 1; }\nMAKE(k)\n",
        "#define OF_N template <int N>\nOF_N __device__ void f() {}\n__global__ void k(int n) {}\n",
        "__global__ auto k(float *o) -> void { auto x = o[0]; }\n",
        "#define HD(...) __VA_ARGS__\nHD(__global__) void k(float *o) { f(a, __b__); }\n",
    ],
)
def test_a_kernel_that_is_compiled_as_it_is_written_is_no_template(text: str) -> None:
    (kernel,) = read_cuda_source(text).kernels
    assert (kernel.name, kernel.is_template) == ("k", False)
