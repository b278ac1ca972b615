"""Indices that a choice hides: between pointers, or between constant places."""

from __future__ import annotations

import pytest

from lmemscope.api import scan
from lmemscope.model import KernelReport

POINTERS = """
extern "C" __global__ void counter(const int *d, int n, int *o) {
  int a[32];
  int m = n < 32 ? n : 32;
  for (int i = 0; i < m; ++i) a[i] = d[i] * 3;
  int h = 0;
  for (int i = 0; i < n; ++i) { const int *p = i < m ? a + i : d + i; h = h * 31 + p[0] + p[1]; }
  *o = h;
}
extern "C" __global__ void whether(int *d, int n, int *o) {
  int value = d[threadIdx.x];
  int *p = n > 3 ? &value : o;
  *p = 7; d[n] = 1; atomicAdd(o + 1, value + *p);
}
extern "C" __global__ void data(const int *d, int n, int *o) {
  int a[8] = {d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]};
  const int *p = n > 3 ? a + (d[9] & 7) : d + n;
  *o = *p;
}
extern "C" __global__ void walked(const int *d, int n, int *o) {
  int a[64];
  #pragma unroll
  for (int i = 0; i < 64; ++i) a[i] = d[i] * 3;
  const int *p = n > 64 ? d : a;
  int h = 0;
  while (n--) { h = h * 31 + *p; p += 2; }
  *o = h;
}
struct S { int x, y; };
extern "C" __global__ void member(S *d, int n, int *o) {
  S s = d[1];
  S *p = n > 2 ? &s : d + n;
  p->y = 3; o[1] = s.x + s.y; o[2] = p->y;
}
"""
ALSO = {
    "counter": ("dynamic-index",),  # array + i, or other memory
    "whether": (),  # one variable, or other memory
    "data": ("dynamic-index",),
    "walked": ("dynamic-index",),  # the pointer moves on
    "member": (),  # a constant place of a structure
}
PLACES = """
typedef unsigned long long u64;
__device__ __forceinline__ int top(const u64 *d) {
  int n = 2;
  while (n >= 0 && !d[n]) n--;
  return n;
}
#define WALK(n) for (int i = 0; i < 64 * (n) + m; i++) s = s * 31 + ((d[i / 64] >> (i % 64)) & 1)
extern "C" __global__ void countdown(const u64 *p, u64 *q, int m) {
  u64 d[3] = {p[threadIdx.x], p[threadIdx.x + 32], p[threadIdx.x + 64]}, s = 0;
  int n = top(d);
  if (n < 0) return;
  m = __clzll(d[n]);
#pragma unroll 1
  WALK(n);
  q[threadIdx.x] = s;
}
extern "C" __global__ void chain(const u64 *p, u64 *q, int m) {
  u64 d[3] = {p[threadIdx.x], p[threadIdx.x + 32], p[threadIdx.x + 64]}, s = 0;
  int n;
  if (p[threadIdx.x + 7] > 9) { n = 1; q[1] = 3; }
  else if (p[threadIdx.x + 8] > 9) { n = 2; q[2] = 4; }
  else { n = 0; q[3] = 5; }
  s = d[n];
#pragma unroll 1
  WALK(m);
  q[threadIdx.x] = s;
}
extern "C" __global__ void by_argument(const u64 *p, u64 *q, int m) {
  u64 d[3] = {p[threadIdx.x], p[threadIdx.x + 32], p[threadIdx.x + 64]}, s = 0;
  int n;
  if (m > 9) { n = 1; q[1] = 3; } else if (m > 3) { n = 2; q[2] = 4; } else { n = 0; q[3] = 5; }
  s = d[n];
#pragma unroll 1
  WALK(m);
  q[threadIdx.x] = s;
}
"""
"""Of each the source that chooses, and whether lanes may differ in it."""
CHOSEN = {
    "countdown": ("memory", "data-dependent"),
    "chain": ("memory", "data-dependent"),
    "by_argument": ("parameter", "uniform"),
}


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelReport]:
    """All kernels, by name."""
    directory = tmp_path_factory.mktemp("choices")
    for name, text in (("pointers", POINTERS), ("places", PLACES)):
        (directory / f"{name}.cu").write_text(text)
    return {k.facts.name: k for unit in scan(directory).units for k in unit.kernels}


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ALSO)
def test_a_chosen_pointer_keeps_what_is_indexed_besides(
    scanned: dict[str, KernelReport], name: str
) -> None:
    (finding,) = scanned[name].findings
    assert finding.cause == "address-taken"
    assert finding.also == ALSO[name]


@pytest.mark.toolchain
@pytest.mark.parametrize("name", CHOSEN)
def test_what_chooses_a_constant_place_is_a_source(
    scanned: dict[str, KernelReport], name: str
) -> None:
    kind, level = CHOSEN[name]
    finding = next(one for one in scanned[name].findings if one.object == "d")
    assert finding.index is not None
    assert kind in {source.kind for source in finding.index.all_sources}
    assert finding.index.least_uniform == level
    if level != "uniform":
        # No loop's end makes such an index a constant.
        rewrites = {advice.rewrite for advice in finding.advice}
        assert rewrites
        assert rewrites.isdisjoint({"unroll", "bounded-loop"})
