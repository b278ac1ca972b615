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
    ]
    assert [k.name for k in source.template_kernels] == ["a::b::first"]
    assert not source.has_host_code


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
