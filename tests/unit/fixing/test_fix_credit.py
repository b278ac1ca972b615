"""A finding that the rewriting of another variable removes: every output names that variable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.program import run_program

RINGS = """\
static __global__ void k(const int *in, int *out, int n) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= n) return;
  int line[5] = {}; __attribute__((unused)) int old[5] = {9, 9, 9, 9, 9};
  int at = 0, s = 0, m = in[g] % 16;
  for (int t = 0; t < m; t++) {
    old[at] = line[at];
    line[at] = in[t * n + g] + s;
    if (++at == 5) at = 0;
    s = s * 3 + line[at] - old[at];
  }
  out[g] = s + line[at] + old[0] + at;
}
"""


@pytest.mark.toolchain
def test_who_is_rewritten_is_said_where_it_is_another(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(RINGS)
    done = run_program("fix", "a.cu", "--arch", "sm_90", "--format", "json", cwd=tmp_path)
    every = [one for one in done.document["candidates"] if one["rank"] is not None]
    own = {(one["object"], one["rewritten"]) for one in every}
    (freed,) = {one for one in own if one[1] is not None}
    assert freed in {("line", "old"), ("old", "line")}
    assert all(one["rewritten_at"]["line"] == 4 for one in every if one["rewritten"])
    assert all(one["no_object"] is None for one in every)
    by_it = f"by rewriting `{freed[1]}` (line 4)"
    table = run_program("fix", "a.cu", "--arch", "sm_90", cwd=tmp_path)
    head = table.out.index(f"`{freed[0]}` (a.cu:")
    assert by_it in table.out[head:]
    assert table.out.count(by_it) == sum(one["rewritten"] is not None for one in every)
    (tmp_path / "fix.json").write_text(done.out)
    for kind in ("md", "html", "sarif"):
        how = ("--arch", "sm_90", "--fix-from", "fix.json", "-o", f"out.{kind}")
        made = run_program("report", "a.cu", *how, cwd=tmp_path)
        assert made.code == 0, made.err
        text = " ".join((tmp_path / f"out.{kind}").read_text().split())
        assert re.search(rf"[Bb]y rewriting (`|<code>){freed[1]}", text), kind


NAMESAKES = """\
__device__ float scaled(int i, float scale) {
  const float table[16] = {scale, 1, 2, 9, 4, 5, 6, 7, 8, 9, 1, 3, 7, 13, 14, scale};
  return table[i & 15];
}
__device__ float fixed(int i) {
  const float table[16] = {2, 1, 2, 3, 4, 5, 6, 7, 3, 9, 10, 11, 12, 13, 14, 2};
  const float *const first = table;
  return first[i & 15];
}
extern "C" __global__ void sums(const int *in, float *out, int steps) {
  float sum = 0;
  for (int k = 0; k < steps; ++k) {
    const int v = in[k * 128 + threadIdx.x];
    sum = sum * 0.5f + scaled(v, sum) + scaled(v >> 4, sum + 1) + fixed(v >> 8);
  }
  out[threadIdx.x] = sum;
}
"""


@pytest.mark.toolchain
def test_a_namesake_that_stays_is_not_what_is_gone(tmp_path: Path) -> None:
    """Both lie in one place of the frame in turn: it is as large without either."""
    (tmp_path / "a.cu").write_text(NAMESAKES)
    done = run_program(
        *("fix", "a.cu", "--arch", "sm_90", "--format", "json", "--no-cache"), cwd=tmp_path
    )
    found = {
        (trial["declared"]["line"], trial["rewrite"]): trial["verdict"]
        for trial in done.document["candidates"]
        if trial["rewritten"] is None
    }
    assert found[6, "static-table"] == "removed"
    assert found[2, "select"] == "removed"
