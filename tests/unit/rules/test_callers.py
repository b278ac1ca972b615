"""Which kernels run a function, and how large their blocks may be."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.model import SourceLocation
from lmemscope.rules import cases
from lmemscope.rules.callers import Running, function_name, kernels_running
from lmemscope.rules.launched import block_of
from tests.support.builders import kernel_with, source_text

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
    ("bounds", "threads"), [("128", 128), ("WIDE, 2", 256), ("sizeof(int) * 8", 32)]
)
def test_kernels_are_found_through_functions_and_headers(bounds: str, threads: int | None) -> None:
    sources = source_text({"a.cu": FILE.format(bounds=bounds), "more.cuh": HEADER})
    found = set(kernels_running("inner", "a.cu", sources))
    assert found == {Running("first", threads, "a.cu"), Running("third", None, "more.cuh")}
    assert kernels_running("other", "a.cu", sources) == (Running("second", None, "a.cu"),)
    assert kernels_running("nowhere", "a.cu", sources) == ()


@pytest.mark.parametrize(
    ("second", "launch", "threads"),
    [
        ("", "first<<<9, 96>>>(p);", None),
        ("", "first<<<9, 96>>>(p); second<<<1, 32>>>(p);", 96),
        ("__launch_bounds__(128)", "first<<<9, 96>>>(p);", 128),
        ("", "first<<<9, 96>>>(p); second<<<1, 160>>>(p);", 160),
        ("", "first<<<9, 96>>>(p); second<<<1, any>>>(p);", None),
        ("", "second<<<1, 32>>>(p);", None),
    ],
)
def test_a_function_that_is_compiled_alone_has_the_blocks_of_who_runs_it(
    second: str, launch: str, threads: int | None
) -> None:
    text = f"""
__device__ int inner(int *p) {{ return p[1]; }}
__global__ void first(int *p) {{ p[0] = inner(p); }}
__global__ void {second} second(int *p) {{ p[0] = inner(p) + 1; }}
__global__ void other(int *p) {{ p[0] = 1; }}
void run(int *p) {{ {launch} other<<<1, 1024>>>(p); }}
"""
    place = SourceLocation("a.cu", 2)
    alone = replace(
        kernel_with("dynamic-index", kind="int[8]"),
        kind="function",
        demangled="inner(int*)",
        location=place,
    )
    case, _ = next(iter(cases(alone, source_text({"a.cu": text}))))
    block = block_of(case)
    assert (block.threads if block is not None else None) == threads
    # Kernels of other sources may run it, too.
    assert block is None or not block.is_exact


def test_functions_that_call_each_other_end() -> None:
    text = """
__device__ int a(int n) { return b(n); }
__device__ int b(int n) { return a(n); }
__global__ void k(int *p) { p[0] = b(1); }
"""
    assert kernels_running("a", "a.cu", source_text({"a.cu": text})) == (
        Running("k", None, "a.cu"),
    )


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
