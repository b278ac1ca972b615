"""The debug compilation: of the same program, and for another architecture where refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.app.worker import analyse_unit
from lmemscope.formats.dwarf import read_variables
from lmemscope.model import CompileOptions, Unit
from lmemscope.tools import nvcc
from lmemscope.tools.toolchain import Toolchain

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


def test_types_are_spelled_as_sources_do(tmp_path: Path) -> None:
    text = """typedef float Row[24];
namespace a { namespace b {
enum class Shade : short { dark, light };
template <typename T, int N, unsigned long M> struct Table { T v[N]; };
template <typename T> struct Wider;
template <> struct Wider<short> { using type = int; };
} }
__global__ void k(int *y, const int *x, int n) {
  Row rows[3];
  a::b::Shade shades[20];
  typename a::b::Wider<short>::type few[12];
  a::b::Table<a::b::Table<int, 4, 2>, 3, 1> table;  // its member is a T
  for (int i = 0; i < n; ++i) {
    rows[x[i] % 3][x[i + 1]] = n;
    shades[x[i]] = a::b::Shade(n);
    few[x[i]] = n;
    table.v[x[i]].v[x[i + 2]] = i;
  }
  y[0] = rows[n % 3][n] + few[n] + int(shades[n]) + table.v[n].v[n];
}
"""
    assert sorted(names(tmp_path, text, "nvrtc")) == [
        ("few", "int[12]"),
        ("rows", "float[3][24]"),
        ("shades", "a::b::Shade[20]"),
        ("table.v", "Table<int, 4, 2>[3]"),
    ]


def test_nvcc_is_told_of_the_register_limit_and_its_debug_build_is_not() -> None:
    flags = nvcc.options_for("sm_90", CompileOptions(maxrregcount=63), Toolchain(None))
    assert "-maxrregcount=63" in flags
    assert not any("maxrregcount" in one for one in nvcc.debug_options(flags))


def test_what_all_threads_share_is_no_thread_s_variable(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text("""template <int N> __global__ void k(float *y, int n) {
  __shared__ float tile[2][N];
  float row[8];
  tile[0][threadIdx.x] = n;
  __syncthreads();
  for (int i = 0; i < 8; ++i) row[i] = tile[1][i];
  y[0] = row[n];
}
template __global__ void k<64>(float *, int);
""")
    flags = nvcc.debug_options(nvcc.options_for("sm_90", CompileOptions(), Toolchain(None)))
    ptx = nvcc.compile_to_ptx(str(path), flags, (), Toolchain(None)).ptx.decode()
    assert "tile" in ptx
    names_read = {one.name for one in read_variables(ptx)}
    assert {"row", "y", "n"} <= names_read
    assert "tile" not in names_read
