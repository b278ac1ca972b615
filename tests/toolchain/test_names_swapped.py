"""Objects of one type on one line: which is the variable, and which the temporary."""

from __future__ import annotations

import pytest

from lmemscope.api import scan
from lmemscope.model import LocalObject

SOURCE = """
__noinline__ __device__ float2 vabs(const float2 &a) { return make_float2(fabsf(a.x), fabsf(a.y)); }
__noinline__ __device__ float2 vmax(const float2 &a, const float2 &b) {
  return make_float2(fmaxf(a.x, b.x), fmaxf(a.y, b.y));
}
__device__ float2 (*keep1)(const float2 &) = vabs;
__device__ float2 (*keep2)(const float2 &, const float2 &) = vmax;
__device__ __forceinline__ float2 scale(float2 a, float s) { return make_float2(a.x * s, a.y * s); }
extern "C" __global__ void braces(const float2 *pp, float *out, float bx, float by) {
  float2 d = make_float2(pp[threadIdx.x].x - bx, pp[threadIdx.x].y - by);
  out[threadIdx.x] = vmax(float2{bx, by}, d).x + d.y;
}
extern "C" __global__ void returned(const float2 *pp, float *out, float bx, float by) {
  float2 d = make_float2(pp[threadIdx.x].x - bx, pp[threadIdx.x].y - by);
  out[threadIdx.x] = vmax(d, scale(d, bx)).x + d.y;
}
extern "C" __global__ void returned_first(const float2 *pp, float *out, float bx, float by) {
  float2 d = make_float2(pp[threadIdx.x].x - bx, pp[threadIdx.x].y - by);
  out[threadIdx.x] = vmax(scale(d, by), d).x + d.y;
}
extern "C" __global__ void two(const float2 *pp, float *out, float bx, float by) {
  float2 c = make_float2(bx, by), d = make_float2(pp[threadIdx.x].x - bx, pp[threadIdx.x].y - by);
  out[threadIdx.x] = vmax(c, d).x + d.y;
}
extern "C" __global__ void temporaries_only(const float2 *pp, float *out, float bx, float by) {
  float2 d = make_float2(pp[threadIdx.x].x - bx, pp[threadIdx.x].y - by);
  out[threadIdx.x] = vmax(make_float2(d.x, bx), make_float2(d.y, by)).x + d.y;
}
extern "C" __global__ void returned_other(const float2 *pp, float *out, float bx, float by) {
  float2 e = pp[threadIdx.x];
  float2 d = make_float2(e.x - bx, e.y - by);
  out[threadIdx.x] = vmax(d, scale(e, bx)).x + d.y + e.x;
}
__device__ __forceinline__ const float2 &same(const float2 &a) { return a; }
extern "C" __global__ void returned_reference(const float2 *pp, float *out, float bx, float by) {
  float2 d = make_float2(pp[threadIdx.x].x - bx, pp[threadIdx.x].y - by);
  float2 e = make_float2(bx, by * 2);
  out[threadIdx.x] = vmax(d, same(e)).x + d.y;
}
extern "C" __global__ void result_of_call(const float2 *pp, float *out, float bx, float by) {
  float2 e = pp[threadIdx.x];
  float2 m = vmax(e, vabs(e));
  out[threadIdx.x] = m.x + m.y;
}
extern "C" __global__ void made(const float2 *pp, float *out, float bx, float by) {
  float2 d = make_float2(pp[threadIdx.x].x - bx, pp[threadIdx.x].y - by);
  float2 m = vmax(d, make_float2(0.0f, 0.0f));
  out[threadIdx.x] = m.x + m.y + d.x;
}
"""
APART = """
__host__ __device__ float2 abs(const float2 &a);
__host__ __device__ float2 max(const float2 &a, const float2 &b);
inline __host__ __device__ float2 operator-(const float2 &a, const float2 &b) {
  return make_float2(a.x - b.x, a.y - b.y);
}
__host__ __device__ float sd_box(float2 p, float2 b) {
  float2 d = abs(p) - b;
  return fminf(fmaxf(d.x, d.y), 0.0f) + max(d, make_float2(0.0f, 0.0f)).x;
}
"""
NAMED = {
    "braces": {"d"},
    "returned": {"d"},
    "returned_first": {"d"},
    "returned_other": {"d"},
    "returned_reference": {"d", "e"},
    "result_of_call": {"e"},
    "two": {"c", "d"},
    "temporaries_only": set(),
    "made": {"d"},
}


def written_on(found: LocalObject, number: int, accesses: object) -> set[int]:
    """Lines of the stores to an object."""
    assert isinstance(accesses, tuple)
    return {
        frame.location.line
        for one in accesses
        if one.is_store and number in one.touched
        for frame in one.chain[-1:]
    }


@pytest.mark.toolchain
def test_what_calls_return_and_make_in_an_argument_is_no_variable(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    file = tmp_path_factory.mktemp("swapped") / "a.cu"
    file.write_text(SOURCE)
    kernels = {one.facts.name: one.facts for one in scan(file).units[0].kernels}
    for name, expected in NAMED.items():
        facts = kernels[name]
        assert {one.name for one in facts.objects if one.name} == expected, name
        for number, one in enumerate(facts.objects):
            if one.name and one.declared is not None:
                lines = written_on(one, number, facts.accesses)
                assert lines == {one.declared.line}, (name, one.name)


@pytest.mark.toolchain
def test_a_store_on_the_line_of_the_declaration_is_the_variables(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    file = tmp_path_factory.mktemp("apart") / "a.cu"
    file.write_text(APART)
    report = scan(file, frontend="nvcc", nvcc_args=["-rdc=true"])
    facts = report.units[0].kernels[0].facts
    named = {one.name: number for number, one in enumerate(facts.objects)}
    lines = written_on(facts.objects[named["d"]], named["d"], facts.accesses)
    assert lines == {8}
    assert None in named
    assert written_on(facts.objects[named[None]], named[None], facts.accesses) == {9}


LIKE = """
#define LS 32
template <class T, int N> struct sel {
  T e[N];
  __device__ __forceinline__ T get(int i) const { T v = e[0];
    #pragma unroll
    for (int k = 0; k < N; ++k) v = i == k ? e[k] : v;
    return v; }
  __device__ __forceinline__ void set(int i, T v) {
    #pragma unroll
    for (int k = 0; k < N; ++k) e[k] = i == k ? v : e[k]; }
};
extern "C" __global__ void first(float *v, const float *w, int n, int st) {
  sel<float, LS> s3; float s4[LS];
  int g = threadIdx.x;
  for (int i = 0; i < n; ++i) { s3.set(i, w[g + i]); s4[i] = w[g + i + st]; }
  for (int i = n - 1; i >= 0; --i) { v[g + i] = s3.get(i); v[g + i + st] = s4[i]; }
}
extern "C" __global__ void last(float *v, const float *w, int n, int st) {
  float s1[LS]; sel<float, LS> s2;
  int g = threadIdx.x;
  for (int i = 0; i < n; ++i) { s1[i] = w[g + i]; s2.set(i, w[g + i + st]); }
  for (int i = n - 1; i >= 0; --i) { v[g + i] = s1[i]; v[g + i + st] = s2.get(i); }
}
extern "C" __global__ void constant(float *v, const float *w, int n, int st) {
  float a[LS], b[LS];
  int g = threadIdx.x;
  for (int i = 0; i < n; ++i) { a[0] = w[g + i]; b[i] = w[g + i + st] + a[3]; a[3] = b[i / 2]; }
  for (int i = n - 1; i >= 0; --i) { v[g + i] = a[0] + a[3]; v[g + i + st] = b[i]; }
}
extern "C" __global__ void both(float *v, const float *w, int n, int st) {
  float a[LS], b[LS];
  int g = threadIdx.x;
  for (int i = 0; i < n; ++i) { a[i] = w[g + i]; b[n - i] = w[g + i + st]; }
  for (int i = n - 1; i >= 0; --i) { v[g + i] = a[i] + b[i]; }
}
"""
INDEXED = {"first": {"s4"}, "last": {"s1"}, "constant": {"b"}, "both": {"a", "b"}}


@pytest.mark.toolchain
def test_a_run_time_subscript_decides_between_like_arrays(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    file = tmp_path_factory.mktemp("like") / "a.cu"
    file.write_text(LIKE)
    kernels = {one.facts.name: one.facts for one in scan(file).units[0].kernels}
    named = {name: {one.name for one in facts.objects} for name, facts in kernels.items()}
    assert named == INDEXED
