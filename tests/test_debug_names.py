"""The debug compilation: of the same program, and for another architecture where refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.model import Unit
from lmemscope.pipeline import analyse_unit

pytestmark = pytest.mark.toolchain


def names(directory: Path, text: str, frontend: str) -> list[tuple[str | None, str | None]]:
    path = directory / "a.cu"
    path.write_text(text)
    unit = Unit("a.cu", str(path), frontend, "sm_90")  # type: ignore[arg-type]
    report = analyse_unit(unit)
    assert [gap for gap in report.gaps if gap.stage == "names"] == []
    return [(one.name, one.type) for kernel in report.kernels for one in kernel.facts.objects]


def test_what_older_code_generators_refuse_with_g_is_named_all_the_same(tmp_path: Path) -> None:
    text = """__global__ void k(int *y, const int *x, int n) {
  int sums[9] = {};
  for (int i = 0; i < n; ++i) sums[x[i]] = __dp4a(x[i], x[i + 1], sums[x[i + 2]]);
  for (int i = 0; i < 9; ++i) y[i] = sums[i];
}
"""
    assert names(tmp_path, text, "nvrtc") == [("sums", "int[9]")]


def test_a_device_side_launch_by_nvcc_keeps_its_names(tmp_path: Path) -> None:
    text = """__global__ void child(int *y) { y[0] = 1; }
__global__ void parent(int *y, const int *x, int n) {
  int bins[10] = {};
  for (int i = 0; i < n; ++i) bins[x[i]]++;
  for (int i = 0; i < 10; ++i) y[i] = bins[i];
  child<<<1, 32>>>(y);
}
"""
    assert names(tmp_path, text, "nvcc") == [("bins", "int[10]")]
