"""What `fix` does to the other kernels of a file, and to like arrays of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.program import run_program

pytestmark = pytest.mark.toolchain

TWO_USERS = """\
__device__ int ranked(const int *p, int stride, int count, int place) {
  int v[10];
  for (int i = 0; i < count; ++i) {
    int x = p[i * stride], j = i;
    while (j > 0 && v[j - 1] > x) { v[j] = v[j - 1]; --j; }
    v[j] = x;
  }
  return v[place];
}
extern "C" __global__ void __launch_bounds__(128) fixed_count(const int *x, int *y, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) y[t] = ranked(x + t, n, 10, 4);
}
extern "C" __global__ void any_count(const int *x, int *y, int n, int count) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) y[t] = ranked(x + t, n, count, count / 4);
}
"""
ALIKE = """\
__global__ void k(float *v, const float *w, int n, int st) {
  float a[16], b[16], c[16];
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  float x = w[g], y = w[g + st], z = w[g + 2 * st];
  for (int i = 0; i < n; ++i) {
    x += w[g + i] * z; y += w[g + i + st] * x; z += w[g + i + 2 * st] * y;
    a[i] = x; b[i] = y; c[i] = z;
  }
  for (int i = n - 1; i >= 0; --i) {
    v[g + i] = a[i] + x; v[g + i + st] = b[i] - y; v[g + i + 2 * st] = c[i] * z;
  }
}
"""


def candidates(tmp_path: Path, text: str, *more: str) -> list[dict[str, Any]]:
    (tmp_path / "a.cu").write_text(text)
    arguments = ("fix", "a.cu", "--arch", "sm_90", "--format", "json", *more)
    found: list[dict[str, Any]] = run_program(*arguments, cwd=tmp_path).document["candidates"]
    return found


def test_a_helper_is_not_rewritten_where_another_kernel_is_slower_for_it(tmp_path: Path) -> None:
    """With a count that is known, the second kernel's copy is in registers as it is."""
    found = candidates(tmp_path, TWO_USERS, "--block", "128")
    assert {one["kernel"] for one in found} == {"any_count"}
    slowing = [one for one in found if "fixed_count" in (one["error"] or "")]
    assert slowing
    assert {(one["verdict"], one["rank"]) for one in slowing} == {("worse", None)}
    # What does no harm to it is offered.
    assert all("fixed_count" not in (one["error"] or "") for one in found if one["rank"])


def test_the_array_that_a_rewrite_is_of_is_what_leaves(tmp_path: Path) -> None:
    """Names of like arrays that are used on one line may be another's."""
    found = candidates(tmp_path, ALIKE)
    selected = {one["object"]: one for one in found if one["rewrite"] == "select"}
    assert set(selected) == {"a", "b", "c"}
    for one in selected.values():
        assert one["after"]["stack_frame"] == one["before"]["stack_frame"] - 64
        assert one["verdict"] == "removed"
    for one in found:
        if one["verdict"] == "no-effect":
            assert one["error"]
            assert one["cost_after"] is None
        if one["verdict"] in ("removed", "reduced"):
            assert one["after"]["stack_frame"] <= one["before"]["stack_frame"]
