"""What `check` says removes a failure: for all kernels that have it, and as `fix` found it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import run_program

pytestmark = pytest.mark.toolchain

HEADER = """#pragma once
template <class T> __device__ inline T pick(const T *in, int n) {
  T ring[32];
  for (int i = 0; i < n; i++) ring[int(in[i]) & 31] = in[n + i];
  return ring[int(in[n]) & 31];
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


def scanned(directory: Path, name: str) -> str:
    """The first advice on the only finding of a file."""
    done = run_program("scan", name, "--format", "json", "--arch", "sm_90", cwd=directory)
    ((finding,),) = [
        kernel["findings"] for unit in json.loads(done.out)["units"] for kernel in unit["kernels"]
    ]
    text: str = finding["advice"][0]["text"]
    return text


def test_a_column_is_for_the_largest_block_of_all_inputs_that_have_the_array(
    tmp_path: Path,
) -> None:
    """They are of three projects: no source sees the other's launches by itself."""
    header = tmp_path / "lib" / "h.cuh"
    (tmp_path / "lib" / ".git").mkdir(parents=True)
    header.write_text(HEADER)
    for name, threads in (("a", 64), ("b", 256)):
        (tmp_path / name / ".git").mkdir(parents=True)
        text = KERNEL.format(header=header, name=f"k{name}", threads=threads)
        (tmp_path / name / f"{name}.cu").write_text(text)
    (alone,) = failures(tmp_path, "a")
    assert "each of 64 threads" in alone["advice"]
    both = failures(tmp_path, "a", "b")
    assert len(both) == 2
    assert all("each of 256 threads" in one["advice"] for one in both)


TWO = """__device__ __noinline__ float work(const float *in, int n) {
  float a[48];
  for (int i = 0; i < 48; i++) a[i] = in[i * n];
  float s = 0;
  for (int r = 0; r < n; r++)
    for (int i = 1; i < 48; i++) {
      a[i] = a[i - 1] * s + a[i];
      s += __sinf(a[i]);
      if (s > 3.f) break;
    }
  return s + a[n & 1];
}
__global__ void k1(const float *in, float *out, int n) { out[threadIdx.x] = work(in, n); }
void run(const float *in, float *out, int n) { k1<<<8, 64>>>(in, out, n); }
"""


def test_what_fix_tried_and_refused_is_not_advised_until_a_file_changes(
    tmp_path: Path, own_store: str
) -> None:
    (tmp_path / "two.cu").write_text(TWO)
    (before,) = failures(tmp_path, "two.cu")
    assert "column of shared memory" in before["advice"]
    assert "column of shared memory" in scanned(tmp_path, "two.cu")
    fixed = run_program("fix", "two.cu", "--format", "json", "--arch", "sm_90", cwd=tmp_path)
    trials = json.loads(fixed.out)["candidates"]
    shared = [one for one in trials if one["rewrite"] == "shared-memory"]
    assert shared, "it was tried"
    assert all(one["rank"] is None for one in shared)
    (after,) = failures(tmp_path, "two.cu")
    assert "column of shared memory" not in after["advice"]
    assert "`lmemscope fix` tried `shared-memory` and does not offer it: k1" in after["advice"]
    assert scanned(tmp_path, "two.cu") == after["advice"]
    (tmp_path / "two.cu").write_text(TWO + "// Another text.\n")
    (again,) = failures(tmp_path, "two.cu")
    assert again["advice"] == before["advice"]
