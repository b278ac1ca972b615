"""What NVRTC refuses leaves nothing behind for the program that the process compiles next."""

from __future__ import annotations

import pytest

from lmemscope.errors import CompileError
from lmemscope.tools import nvrtc

pytestmark = pytest.mark.toolchain

UNROLLED = """
extern "C" __global__ void reversed(const float *x, float *y) {
  float v[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) v[i] = x[i * 32 + threadIdx.x];
#pragma unroll
  for (int i = 0; i < 16; ++i) y[i * 32 + threadIdx.x] = v[15 - i];
}
"""
WITHOUT_DEBUG_CODE = """
extern "C" __global__ void products(const int *x, int *y) { y[0] = __dp4a(x[0], x[1], 0); }
"""
ARCH = "--gpu-architecture=compute_90"


def test_a_program_is_unrolled_after_one_that_has_no_debug_code() -> None:
    with pytest.raises(CompileError):
        nvrtc.compile_to_ptx(WITHOUT_DEBUG_CODE, "/p.cu", (ARCH, "-G"), ())
    assert b".local" not in nvrtc.compile_to_ptx(UNROLLED, "/u.cu", (ARCH,), ())
