"""Names of parameters beside what Triton and Warp compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.lowering.written_parameters import parameters_beside

TRITON = """#loc = loc("/src/k.py":9:0)
module {
  tt.func public @scale(%X: !tt.ptr<f16> {tt.divisibility = 16 : i32} loc("X"(#loc)), \
%arg1: i32 loc(#loc2), %n: i32) attributes {noinline = false} {
    tt.return loc(#loc)
  }
}
#loc2 = loc("stride"(#loc))
"""
WARP = """extern "C" __global__ void walk_1f_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::vec_t<2, wp::int32>> var_pairs,
    wp::float32 var_margin)
{
}
extern "C" __global__ void walk_1f_cuda_kernel_backward(
    wp::launch_bounds_t<1> dim,
    wp::float32 adj_margin)
{
}
"""


def names(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in parameters_beside(str(path)):
        assert one.is_parameter
        assert one.order == len(found.setdefault(one.function, []))
        found[one.function].append(one.name)
    return found


@pytest.mark.parametrize("ending", ["ptx", "cubin"])
def test_triton_says_them_in_its_intermediate_form(tmp_path: Path, ending: str) -> None:
    (tmp_path / "scale.ttir").write_text(TRITON)
    assert names(tmp_path / f"scale.{ending}") == {"scale": ["X", "stride", "n"]}


def test_warp_says_them_in_the_source_that_it_writes(tmp_path: Path) -> None:
    (tmp_path / "wp_m_1f.cu").write_text(WARP)
    assert names(tmp_path / "wp_m_1f.sm90.cubin") == {
        "walk_1f_cuda_kernel_forward": ["dim", "pairs", "margin"],
        "walk_1f_cuda_kernel_backward": ["dim", "adj_margin"],
    }


def test_nothing_beside_names_them(tmp_path: Path) -> None:
    (tmp_path / "k.ttir").write_bytes(b"\xff\xfe tt.func public @k(")
    assert names(tmp_path / "k.ptx") == {}
    assert names(tmp_path / "other.cubin") == {}
