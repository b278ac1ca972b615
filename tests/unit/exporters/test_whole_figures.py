"""Figures of a row that agree with its verdict, and counts that tell kernels from functions."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.analysis.groups import counted
from lmemscope.api import scan
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import summary
from lmemscope.exporters.terminal import render
from lmemscope.model import FunctionFacts, PtxasFacts
from tests.support.builders import facts, report_of

SPILLING = """
__device__ __noinline__ float heavy(const float *p, int n) {
  float v[60];
  #pragma unroll
  for (int i = 0; i < 60; ++i) v[i] = p[i * n];
  float s = 0;
  #pragma unroll
  for (int i = 0; i < 60; ++i) s = s * v[59 - i] + v[i] * v[(i * 7) % 60];
  return s;
}
extern "C" __global__ void k(const float *p, float *q, int n) {
  q[n] = heavy(p, n) + heavy(p + 1, n);
}
"""
DEBUGGED = """
__device__ float twice(float x) { return x * 2; }
__global__ void one(float *p) { p[1] = twice(p[0]); }
__global__ void two(float *p) { p[2] = twice(p[0]); }
"""


def said(stores: int, loads: int) -> PtxasFacts:
    return PtxasFacts(32, 0, stores, loads, None, None, None)


def test_spills_of_called_functions_count() -> None:
    callee = FunctionFacts("f", "f()", said(400, 500), None, None)
    kernel = facts("k", ptxas=said(12, 4), callees=(callee,))
    assert (kernel.spill_stores, kernel.spill_loads) == (12, 4)
    assert (kernel.all_spill_stores, kernel.all_spill_loads) == (412, 504)
    unknown = facts("k", ptxas=None, sass=None, own_sites=None, callees=(callee,))
    assert unknown.all_spill_stores is None
    silent = facts("k", callees=(FunctionFacts("f", "f()", None, None, None),))
    assert silent.all_spill_stores is None


def test_functions_are_counted_apart() -> None:
    report = report_of(facts("a"), facts("b"), facts("f", kind="function"))
    rows = [(unit, kernel) for unit in report.units for kernel in unit.kernels]
    assert counted(rows) == "2 kernels and 1 function"
    assert counted(rows[:1]) == "1 kernel"
    assert counted(rows[2:]) == "1 function"
    assert summary(report).startswith("2 kernels and 1 function in 1 file")


def test_programs_of_one_file_are_one_file() -> None:
    (unit,) = report_of(facts("a")).units
    units = tuple(replace(unit, input=f"{unit.input}[{name}]") for name in ("k", "k#2"))
    assert "2 kernels in 1 file," in summary(replace(report_of(), units=units))


@pytest.mark.toolchain
def test_a_rows_spills_are_its_verdicts(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("spills") / "a.cu"
    file.write_text(SPILLING)
    report = scan(file, maxrregcount=32)
    kernel = report.units[0].kernels[0].facts
    assert kernel.spill_stores is not None
    assert kernel.all_spill_stores is not None
    assert kernel.spill_stores < kernel.all_spill_stores
    pair = f"{kernel.all_spill_stores}/{kernel.all_spill_loads}"
    text = render(report, Presentation())
    assert text.count(pair) == 2
    assert f"spill {pair} B" in text


@pytest.mark.toolchain
def test_a_debug_build_has_as_many_kernels(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("debugged") / "a.cu"
    file.write_text(DEBUGGED)
    report = scan(file, nvrtc_args=["-G"])
    assert summary(report).startswith("2 kernels and 1 function in 1 file")
