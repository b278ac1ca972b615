"""Limits of multiprocessors beside the installed header, ptxas, and a GPU's driver."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmemscope.analysis.multiprocessors import MULTIPROCESSORS
from lmemscope.tools.toolchain import INSTALLED
from tests.support.program import ROOT, run_program

pytestmark = pytest.mark.toolchain

_KERNEL = """\
.version 8.0
.target sm_75
.address_size 64
.visible .entry k() .maxntid 32,1,1 .minnctapersm {blocks} {{ ret; }}
"""
KERNEL = """\
__global__ void %(name)s(float *out, int n) {
  __shared__ float own[300];
  float v[%(live)d];
#pragma unroll
  for (int i = 0; i < %(live)d; ++i) v[i] = out[i * n];
  s[threadIdx.x] = own[threadIdx.x %% 300] = v[0];
  __syncthreads();
#pragma unroll
  for (int i = 1; i < %(live)d; ++i) v[0] += v[i] * s[n] * own[i];
  out[threadIdx.x] = v[0];
}
"""


@pytest.fixture
def occupancy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import occupancy

    yield occupancy
    sys.modules.pop("occupancy")


def test_the_table_is_what_the_installed_header_says(occupancy: Any) -> None:
    assert occupancy.TABLE.read_text() == occupancy.module(occupancy.header())


def test_every_point_is_what_the_header_calculates(occupancy: Any) -> None:
    count, differing = occupancy.compared_with_header(occupancy.header())
    assert count > 40_000
    assert differing == []


def test_what_launches_ask_for_is_what_the_header_counts(occupancy: Any, tmp_path: Path) -> None:
    text, launches, asked = "extern __shared__ float s[];\n", "", {}
    cases = itertools.product((32, 64, 128, 256, 512), (0, 700, 4096, 30000, 45000), (8, 60))
    for number, (threads, dynamic, live) in enumerate(cases):
        text += KERNEL % {"name": f"k{number}", "live": live}
        launches += f"  k{number}<<<9, {threads}, {dynamic // 4} * sizeof(float)>>>(p, 1);\n"
        asked[f"k{number}"] = threads, dynamic
    (tmp_path / "k.cu").write_text(f"{text}void run(float *p) {{\n{launches}}}\n")
    arguments = ("--arch", "sm_90", "--format", "json")
    kernels = run_program("scan", "k.cu", *arguments, cwd=tmp_path).document["units"][0]["kernels"]
    found, points = [], []
    for one in kernels:
        threads, dynamic = asked[one["demangled"].partition("(")[0]]
        held = one["occupancy"]
        assert (held["block"], held["dynamic_shared"]) == (threads, dynamic)
        found.append(held["blocks"])
        shared, barriers = one["shared"] or 0, one["barriers"] or 0
        points.append(occupancy.Point(threads, one["registers"], shared, barriers, dynamic))
    assert len(found) == 50
    assert len(set(found)) > 5
    assert found == occupancy.blocks(90, points, occupancy.header())


@pytest.mark.parametrize("number", [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121])
def test_ptxas_knows_the_same_blocks(number: int, tmp_path: Path) -> None:
    """It ignores launch bounds beyond what a multiprocessor holds, of blocks of one warp."""
    limits = MULTIPROCESSORS[number]
    most = min(limits.blocks, limits.warps)
    ptxas = INSTALLED.tool("ptxas").path
    assert ptxas is not None
    said = []
    for blocks in (most, most + 1):
        source = tmp_path / "k.ptx"
        source.write_text(_KERNEL.format(blocks=blocks))
        command = [ptxas, f"-arch=sm_{number}", str(source), "-o", str(tmp_path / "k.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        said.append("out of range" in done.stdout + done.stderr)
    assert said == [False, True]


@pytest.mark.gpu
def test_every_point_is_what_the_driver_says(occupancy: Any) -> None:
    cupy = pytest.importorskip("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no GPU: {error}")
    count, differing = occupancy.compared_with_driver()
    assert count >= 200
    assert differing == []
