"""What is said beside a line is of that line: its loops, and one place for one finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.api import scan
from lmemscope.exporters.explanation import line_notes
from lmemscope.model import InlineFrame, KernelReport, SourceLocation
from lmemscope.rules.verdict import judge
from tests.support.builders import access, kernel_with

HEADER = """#pragma once
__device__ inline double wave(double a) {
  return sin(a) * 2;
}
__device__ inline double waves(double a, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i)
    sum += cos(a * i);
  return sum;
}
"""
KERNELS = """#include "waves.cuh"
__global__ void once(const double *x, double *y) {
  y[threadIdx.x] = sin(x[threadIdx.x]);
}
__global__ void looped(const double *x, double *y, int n) {
  for (int i = threadIdx.x; i < n; i += 32)
    y[i] = sin(x[i]) + cos(x[i + n]);
}
__global__ void inlined(const double *x, double *y, int n) {
  y[threadIdx.x] = wave(x[0]) + waves(x[1], n);
}
__global__ void mixed(const float *in, float *out, const int *at, int n) {
  float w[16];
  for (int i = 0; i < 16; ++i) w[i] = in[i];
  float s = 0;
  for (int i = 0; i < n; ++i) s += w[at[i] & 15]; s += w[at[n] & 15];
  out[threadIdx.x] = s;
}
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelReport]:
    """The kernels above, by name."""
    directory = tmp_path_factory.mktemp("lines")
    (directory / "waves.cuh").write_text(HEADER)
    file = directory / "a.cu"
    file.write_text(KERNELS)
    return {k.facts.demangled.partition("(")[0]: k for k in scan(file).units[0].kernels}


@pytest.mark.toolchain
@pytest.mark.parametrize(("name", "own"), [("once", 0), ("looped", 1), ("inlined", 1)])
def test_a_loop_of_the_library_is_none_of_the_line_that_calls_it(
    kernels: dict[str, KernelReport], name: str, own: int
) -> None:
    accesses = kernels[name].facts.accesses
    assert {one.cause for one in accesses} == {"math-slow-path"}
    assert {one.loop_depth for one in accesses} == {own}
    # The loop over the words of 2/pi has one of the stores.
    assert {one.library_loops for one in accesses if one.is_store} == {0, 1}


@pytest.mark.toolchain
def test_a_slow_path_has_one_place(kernels: dict[str, KernelReport]) -> None:
    for name, (file, line) in {"once": ("a.cu", 3), "inlined": ("waves.cuh", 8)}.items():
        kernel = kernels[name]
        (finding,) = kernel.findings
        places = {one.line(kernel.facts.home) for one in kernel.facts.accesses}
        assert finding.location is not None
        assert places == {finding.location}
        assert finding.location.file.endswith(file)
        assert finding.location.line == line


@pytest.mark.toolchain
def test_a_line_with_accesses_in_a_loop_and_outside_tells_both(
    kernels: dict[str, KernelReport],
) -> None:
    kernel = kernels["mixed"]
    there = [one for one in kernel.facts.accesses if one.chain[0].location.line == 16]
    depths = {one.loop_depth for one in there}
    assert depths == {0, 1}
    notes = line_notes(kernel, there)
    assert len(notes) == 2
    assert ["in a loop" in note for note in notes] == [True, False]
    counted = [int(note.split()[0]) for note in notes]
    assert counted == [sum(one.loop_depth == depth for one in there) for depth in (1, 0)]


def test_what_a_library_prints_or_reduces_is_shown_at_the_call() -> None:
    inner, outer = SourceLocation("waves.cuh", 3), SourceLocation("a.cu", 10)
    chain = (InlineFrame.at(inner, "wave"), InlineFrame.at(outer, None))
    assert access("math-slow-path", chain=chain).line("a.cu") == inner
    assert access("dynamic-index", chain=chain).line("a.cu") == outer


CALLED = """#pragma once
__device__ __forceinline__ float total(const float *w, const int *at, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += w[at[i] & 15];
  return sum;
}
template <class F> __device__ __forceinline__ float for_each(int n, F call) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += call(i);
  return sum;
}
"""
CALLING = """#include "{}/called.cuh"
__global__ void calls(const float *in, float *out, const int *at, int n) {{
  float w[16];
  for (int i = 0; i < 16; ++i) w[i] = in[i];
  out[0] = total(w, at, n);
}}
__global__ void hands(const float *in, float *out, const int *at, int n) {{
  float w[16];
  for (int i = 0; i < 16; ++i) w[i] = in[i];
  out[0] = for_each(n, [&](int i) {{
    return w[at[i] & 15];
  }});
}}
"""


@pytest.mark.toolchain
@pytest.mark.parametrize(("directory", "is_own"), [("cub", False), ("mine", True)])
def test_a_loop_of_a_header_counts_where_it_is_around_the_users_line(
    tmp_path: Path, directory: str, is_own: bool
) -> None:
    (tmp_path / directory).mkdir()
    (tmp_path / directory / "called.cuh").write_text(CALLED)
    file = tmp_path / "a.cu"
    file.write_text(CALLING.format(directory))
    for kernel in scan(file).units[0].kernels:
        name = kernel.facts.demangled.partition("(")[0]
        loads = [one for one in kernel.facts.accesses if not one.is_store]
        assert loads
        deepest = max(loads, key=lambda one: one.loop_depth + one.library_loops)
        inside = name == "calls" and not is_own
        assert (deepest.loop_depth, deepest.library_loops) == ((0, 1) if inside else (1, 0))
        # What it costs is the same, whoever wrote the loop.
        assert [one.severity for one in kernel.findings] == ["warning"]


def test_no_fewer_sectors_are_promised_than_unknown_accesses_may_take() -> None:
    facts = kernel_with("math-slow-path")
    kernel = KernelReport.of(facts, judge(facts))
    known = access("math-slow-path", uniformity="uniform", sectors=4)
    unknown = access("math-slow-path", uniformity="unknown", sectors=None)
    assert "4 sectors" in line_notes(kernel, [known])[0]
    assert "sectors" not in line_notes(kernel, [known, unknown])[0]
