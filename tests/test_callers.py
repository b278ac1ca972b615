"""Which kernels run a function, and how large their blocks may be."""

from __future__ import annotations

import pytest

from lmemscope.model import SourceLocation
from lmemscope.rules.callers import Running, function_name, kernels_running
from lmemscope.rules.enclosing import is_for_host
from tests.builders import source_text

FILE = """
#include "more.cuh"
#define WIDE 256
__device__ int inner(int *p) {{ return p[1]; }}
template <int N> __device__ __forceinline__ int outer(int *p) {{ return inner(p) + N; }}
__device__ int other(int *p) {{ return p[2]; }}
__global__ void __launch_bounds__({bounds}) first(int *p) {{ p[0] = outer<3>(p); }}
__global__ void second(int *p) {{ if (p) {{ p[0] = other(p); }} }}
"""
HEADER = "__global__ void third(int *p) { p[0] = inner(p); }"


@pytest.mark.parametrize(
    ("bounds", "threads"), [("128", 128), ("WIDE, 2", 256), ("sizeof(int) * 8", None)]
)
def test_kernels_are_found_through_functions_and_headers(bounds: str, threads: int | None) -> None:
    sources = source_text({"a.cu": FILE.format(bounds=bounds), "more.cuh": HEADER})
    found = set(kernels_running("inner", "a.cu", sources))
    assert found == {Running("first", threads), Running("third", None)}
    assert kernels_running("other", "a.cu", sources) == (Running("second", None),)
    assert kernels_running("nowhere", "a.cu", sources) == ()


def test_functions_that_call_each_other_end() -> None:
    text = """
__device__ int a(int n) { return b(n); }
__device__ int b(int n) { return a(n); }
__global__ void k(int *p) { p[0] = b(1); }
"""
    assert kernels_running("a", "a.cu", source_text({"a.cu": text})) == (Running("k", None),)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("__global__ void __launch_bounds__(f(1), 2) k(int *p)", "k"),
        ("__attribute__((noinline)) __device__ int f(void)", "f"),
        ("template <class T> __device__ T S<T>::get(int i) const", "get"),
        ("__device__ int x", None),
    ],
)
def test_a_functions_name_is_behind_its_attributes(head: str, name: str | None) -> None:
    assert function_name(head) == name


@pytest.mark.parametrize(
    ("file", "macros", "is_hosts"),
    [
        ("math.hpp", "#ifndef __CUDACC__\n#define __device__\n#endif", True),
        ("math.hpp", "#define __global__ // nothing", True),
        ("math.hpp", "#define DEVICE __device__", False),
        # A source is CUDA's alone.
        ("math.cu", "#define __device__", False),
    ],
)
def test_a_header_may_be_the_hosts_where_the_devices_words_are_emptied(
    file: str, macros: str, is_hosts: bool
) -> None:
    text = '#include "macros.hpp"\n__device__ float wave(float x) {\n  return sinf(x);\n}\n'
    sources = source_text({file: text, "macros.hpp": macros})
    assert is_for_host(sources, SourceLocation(file, 3)) is is_hosts
