"""Arrays of one size, which only their numbers tell apart: a twin of other sizes has the truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.program import run_program

pytestmark = pytest.mark.toolchain

HEAD = """\
#ifndef MORE
#define MORE 0
#endif
#define PAIR(A, B) struct Pair { A *k; B *v; __device__ __forceinline__ void put(int i, A a, B b) \\
  { k[i] = a; v[i] = b; } }
"""
KERNEL = """\
__global__ void kernel(const float *p, const int *q, const int *at, float *of, int *oi, int n) {
"""
POINTERS = (
    HEAD
    + "PAIR(float, int);\n"
    + KERNEL
    + """\
  int second[24]; float first[24 + MORE];
  Pair pair{first, second};
  for (int j = 0; j < n; ++j) pair.put(at[j], p[j] * 2.f, q[j] * 3);
  for (int j = 0; j < n; ++j) { of[j] = first[at[n - j]]; oi[j] = second[at[n - j]]; }
}
"""
)
VECTORS = (
    HEAD
    + "PAIR(float2, int2);\n"
    + KERNEL
    + """\
  float2 first[12 + MORE]; int2 second[12];
  Pair pair{first, second};
  for (int j = 0; j < n; ++j)
    pair.put(at[j], make_float2(p[j] * 2.f, p[j]), make_int2(q[j] * 3, j));
  for (int j = 0; j < n; ++j) { of[j] = first[at[n - j]].x; oi[j] = second[at[n - j]].y + 1; }
}
"""
)
STRUCTURES = (
    HEAD
    + """\
struct A { float x; int id; }; struct B { int id; float x; };
struct Both { A *a; B *b; __device__ __forceinline__ void put(int i, float f, int v)
  { a[i].x = f; a[i].id = v; b[i].x = f * 2.f; b[i].id = v + 1; } };
"""
    + KERNEL
    + """\
  B second[16]; A first[16 + MORE];
  Both both{first, second};
  for (int j = 0; j < n; ++j) both.put(at[j], p[j] + 1.f, j);
  for (int j = 0; j < n; ++j) {
    of[j] = first[at[n - j]].x * second[at[j]].x; oi[j] = first[at[j]].id - second[at[n - j]].id;
  }
}
"""
)
BITS = (
    HEAD
    + KERNEL
    + """\
  float first[24 + MORE]; int second[24];
  for (int j = 0; j < n; ++j) {
    first[at[j]] = __int_as_float(q[j] * 7 + 1); second[at[j]] = __float_as_int(p[j] * 2.5f);
  }
  for (int j = 0; j < n; ++j) {
    oi[j] = __float_as_int(first[at[n - j]]) + 3; of[j] = __int_as_float(second[at[n - j]]) * 1.5f;
  }
}
"""
)
CASTS = (
    HEAD
    + KERNEL
    + """\
  float first[24 + MORE]; int second[24];
  int *a = reinterpret_cast<int *>(first); float *b = (float *)second;
  for (int j = 0; j < n; ++j) { a[at[j]] = q[j] * 7 + 1; b[at[j]] = p[j] * 2.5f; }
  for (int j = 0; j < n; ++j) { oi[j] = a[at[n - j]] + 5; of[j] = b[at[n - j]] * 1.5f; }
}
"""
)
REGISTERS = (
    HEAD
    + KERNEL
    + """\
  int second[8] = {}; float first[8 + MORE] = {};
  auto add = [&](int i, float f) { second[3] += i; first[i] += f; };
  for (int j = 0; j < n; ++j) add(at[j], p[j]);
  for (int j = 0; j < n; ++j) of[j] = second[3] + first[at[n - j]] * 2.f;
}
"""
)
EITHER = (
    HEAD
    + """\
__device__ __forceinline__ void add(float *k, float *v, float *u, float f, int i)
  { v[0] += f; v[1] *= f; k[i] = f; u[i] = f + 1.f; }
__device__ __forceinline__ float sum(float *k, float *v, float *u, int i, int j)
  { return v[0] + v[1] + k[i] * u[j]; }
"""
    + KERNEL
    + """\
  float first[8], second[8] = {}, third[8];
  for (int j = 0; j < n; ++j) add(first, second, third, p[j], at[j]);
  for (int j = 0; j < n; ++j) of[j] = sum(first, second, third, at[n - j], at[j]);
}
"""
)


def names(tmp_path: Path, text: str, *options: str) -> list[str | None]:
    """The names of the kernel's objects in the order of its depot."""
    (tmp_path / "a.cu").write_text(text)
    given = ("a.cu", "--arch", "sm_90", "--format", "json", *options)
    (kernel,) = run_program("scan", *given, cwd=tmp_path).document["units"][0]["kernels"]
    objects = sorted(kernel["objects"], key=lambda one: one["offset"])
    return [one["name"] for one in objects]


@pytest.mark.parametrize(
    "text",
    [POINTERS, VECTORS, STRUCTURES, BITS, CASTS, REGISTERS],
    ids=["pointers", "vectors", "structures", "bits", "casts", "registers"],
)
def test_arrays_of_one_size_have_the_names_that_they_have_with_two_sizes(
    tmp_path: Path, text: str
) -> None:
    truth = names(tmp_path, text, "-DMORE=16")
    assert None not in truth
    assert names(tmp_path, text) == truth


def test_what_may_be_a_variable_in_registers_has_no_name(tmp_path: Path) -> None:
    """Of three equal arrays that a helper gets, nothing tells which one is in registers."""
    assert names(tmp_path, EITHER) == [None, None]
