"""What lets lanes leave a counted loop in different iterations is among an index's sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.program import run_program

KERNELS = """
__global__ void chosen(const long long *x, long long *out, unsigned count) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  long long d[3] = {x[t], x[t + count], x[t + 2 * count]}, sum = t;
  int n = 2;
  while (n >= 0 && !d[n]) n--;
  if (n < 0) return;
  int last = __clzll(d[n]);
#pragma unroll 1
  for (int i = 0; i <= 64 * n + (63 - last); i++) sum = sum * 3 + (d[i / 64] >> (i % 64) & 1);
  out[t] = sum;
}
__global__ void same(const long long *x, long long *out, int n) {
  long long a[8], t = threadIdx.x, sum = t;
  for (int i = 0; i < 8; i++) a[i] = x[t + 32 * i];
  for (int i = 0; i < n + x[blockIdx.x]; i++) sum = sum * 3 + a[i];
  out[t] = sum;
}
"""


@pytest.mark.toolchain
def test_the_data_that_ends_a_loop_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(KERNELS)
    finished = run_program("scan", str(tmp_path / "a.cu"), "--format", "json")
    (index,) = (one["index"] for one in finished.kernel("chosen")["findings"])
    assert index["expression"] == "i / 64"
    assert index["uniformity"] == "uniform", "lanes that run an iteration have its counter"
    assert index["other_uniformity"] == "data-dependent"
    trips = {(one["kind"], one["name"]) for one in index["trip_sources"]}
    assert trips == {("memory", "d"), ("memory", "x")}
    assert trips | {("loop-counter", None)} == {(s["kind"], s["name"]) for s in index["sources"]}
    (index,) = (one["index"] for one in finished.kernel("same")["findings"])
    assert index["trip_sources"] == []
    assert {one["kind"] for one in index["sources"]} == {"loop-counter"}
