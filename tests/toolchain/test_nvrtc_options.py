"""Options that NVRTC is given beyond those of a compilation: less time, and the same result."""

from __future__ import annotations

import re

import pytest

from lmemscope.tools import nvrtc
from lmemscope.tools.toolchain import INSTALLED

pytestmark = pytest.mark.toolchain

FLAGS = ("--gpu-architecture=sm_90", "-lineinfo", "--ptxas-options=-v")
GROUPS = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *p) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  p[tile.meta_group_rank()] = tile.shfl_down(p[threadIdx.x], 1);
}
"""
LISTS = "#include <cuda/std/type_traits>\n"


def compiled(text: str, *more: str) -> tuple[bytes, bytes, str]:
    flags = (*FLAGS, *more, *(f"-I{path}" for path in INSTALLED.header_dirs()))
    made = nvrtc.compile_program(text, "/nowhere/a.cu", flags, ())
    return made.ptx, made.cubin, re.sub(r"Compile time = \S+ ms", "", made.log)


def test_the_limit_of_unrolling_changes_nothing() -> None:
    assert compiled(GROUPS) == compiled(GROUPS, "-D_CCCL_META_UNROLL_LIMIT=16")


@pytest.mark.parametrize(
    ("before", "limit", "more"),
    [
        ("", 10, ()),
        ("#define _CCCL_META_UNROLL_LIMIT 4\n", 4, ()),
        ("", 5, ("-D_CCCL_META_UNROLL_LIMIT=5",)),
        ("// #define _CCCL_META_UNROLL_LIMIT 4\n", 10, ()),
    ],
)
def test_the_limit_is_nvccs_or_the_users(before: str, limit: int, more: tuple[str, ...]) -> None:
    asserted = f'static_assert(_CCCL_META_UNROLL_LIMIT == {limit}, "");\n'
    _, _, log = compiled(before + LISTS + asserted, *more)
    assert "warning" not in log
