"""What `check` says removes a failure: for all kernels that have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import run_program

pytestmark = pytest.mark.toolchain

HEADER = """#pragma once
template <class T> __device__ inline T pick(const T *in, int n) {
  T ring[130];
  for (int i = 0; i < n; i++) ring[int(in[i]) % 130] = in[n + i];
  return ring[int(in[n]) % 130];
}
"""
KERNEL = """#include "{header}"
__global__ void {name}(const float *in, float *out, int n) {{ out[threadIdx.x] = pick(in, n); }}
void run_{name}(const float *in, float *out) {{ {name}<<<8, {threads}>>>(in, out, 4); }}
"""


def failures(directory: Path, *arguments: str) -> list[dict[str, Any]]:
    done = run_program("check", *arguments, "--format", "json", "--arch", "sm_90", cwd=directory)
    assert done.code == 1, done.err
    found: list[dict[str, Any]] = json.loads(done.out)["failures"]
    return found


def test_a_column_is_for_the_largest_block_of_all_inputs_that_have_the_array(
    tmp_path: Path,
) -> None:
    """They are of three projects: no source sees the other's launches by itself."""
    header = tmp_path / "lib" / "h.cuh"
    (tmp_path / "lib" / ".git").mkdir(parents=True)
    header.write_text(HEADER)
    for name, threads in (("a", 16), ("b", 64)):
        (tmp_path / name / ".git").mkdir(parents=True)
        text = KERNEL.format(header=header, name=f"k{name}", threads=threads)
        (tmp_path / name / f"{name}.cu").write_text(text)
    (alone,) = failures(tmp_path, "a")
    assert "each of 16 threads" in alone["advice"]
    both = failures(tmp_path, "a", "b")
    assert len(both) == 2
    assert all("each of 64 threads" in one["advice"] for one in both)


ORDERED = """__global__ void k(const int *order, const float *in, float *out, int n) {
  float h[12];
  for (int i = 0; i < 12; ++i) h[i] = in[i];
  for (int i = 0; i < n; ++i) h[order[i]] += h[i];
  out[threadIdx.x] = h[0] + h[n];
}
"""


def test_what_leaves_an_index_that_is_loaded_is_not_advised(tmp_path: Path) -> None:
    (tmp_path / "order.cu").write_text(ORDERED)
    done = run_program("scan", "order.cu", "--format", "json", "--arch", "sm_90", cwd=tmp_path)
    ((finding,),) = [one["findings"] for one in json.loads(done.out)["units"][0]["kernels"]]
    names = [one["rewrite"] for one in finding["advice"]]
    assert "select" in names
    assert not {"unroll", "bounded-loop", "dispatch"} & set(names)
    said = run_program("check", "order.cu", "--arch", "sm_90", cwd=tmp_path).out
    assert "  try:      Compare the index" in said
