"""`measure` on sources that are compiled now, and on reports that NVIDIA's own package reads."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest

from lmemscope.tools import ncu, ncu_report
from lmemscope.tools.driver import present_gpu
from lmemscope.tools.toolchain import INSTALLED
from tests.support.profiles import RECORDINGS, profile, written
from tests.support.program import ROOT, run_program

pytestmark = pytest.mark.toolchain


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("ncu") / "kernels.ncu-rep"
    path.write_bytes(gzip.decompress((RECORDINGS / "kernels.ncu-rep.gz").read_bytes()))
    return str(path)


def test_a_source_says_which_variable_moved_what(tmp_path: Path) -> None:
    pages = written(tmp_path, "histogram", "raw", "sass")
    document = run_program(
        "measure", *pages, "--source", "kernels/histogram.cu", "--format", "json"
    ).document
    kernel = next(one for one in document["kernels"] if one["name"] == "histogram_private")
    assert kernel["input"] == "kernels/histogram.cu"
    (share,) = kernel["shares"]
    assert (share["object"], share["cause"]) == ("bins", "dynamic-index")
    assert kernel["joined"] == "instructions"
    assert share["bytes"] == 1065951744


def test_nvidias_package_and_the_pages_of_ncu_say_the_same(recorded: str) -> None:
    """Two versions read one profile: the package is newer than the ncu that wrote it."""
    ours, theirs = profile("kernels"), ncu_report.read(recorded)
    assert [one.kernel for one in ours.launches] == [one.kernel for one in theirs.launches]
    for one, other in zip(ours.launches, theirs.launches, strict=True):
        assert (one.capability, one.device) == (other.capability, other.device)
        shared = one.metrics.keys() & other.metrics.keys()
        assert len(shared) > 400
        for name in shared:  # pages show two decimals
            assert one.metrics[name] == pytest.approx(other.metrics[name], abs=0.01), name
    for first, second in zip(ours.sources, theirs.sources, strict=True):
        if not first.instructions:
            continue  # It accessed no local memory.
        assert len(first.instructions) == len(second.instructions)
        for left, right in zip(first.instructions, second.instructions, strict=True):
            assert left.address == right.address
            for column, value in right.figures.items():
                assert left.figures.get(column, 0.0) == value, (hex(left.address), column)


def test_a_profile_is_read_without_ncu(recorded: str) -> None:
    done = run_program(
        *("measure", "--import", recorded, "--source", "kernels/constant_table.cu"),
        *("--format", "json"),
        PATH="/usr/bin:/bin",
    )
    document = done.document
    assert document["profiler"]["name"] == "ncu-report"
    kernel = next(one for one in document["kernels"] if one["name"] == "table_per_thread")
    assert kernel["shares"][0]["object"] == "table"


@pytest.mark.parametrize("data", [b"", b"NVR\0 no report", b"\0" * 4096])
def test_what_is_no_profile_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "broken.ncu-rep"
    path.write_bytes(data)
    done = run_program("measure", "--import", str(path))
    assert done.code == 3
    assert "broken.ncu-rep is no profile" in done.err


def test_a_cut_profile_is_refused_or_read(tmp_path: Path, recorded: str) -> None:
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(Path(recorded).read_bytes()[:200_000])
    done = run_program("measure", "--import", str(path))
    assert done.code in (0, 3)
    assert "Traceback" not in done.err


@pytest.mark.gpu
@pytest.mark.skipif(present_gpu() is None, reason="needs a CUDA device")
@pytest.mark.skipif(not ncu.is_there(), reason="needs Nsight Compute")
def test_a_program_on_this_gpu_moves_what_is_predicted(tmp_path: Path) -> None:
    app = str(tmp_path / "running_mean")
    source = "kernels/running_mean_app.cu"
    words = "-std=c++17", "-O3", "-arch=native", "-lineinfo", "-o", app, source
    subprocess.run([INSTALLED.find("nvcc"), *words], check=True, cwd=ROOT)
    saved = tmp_path / "measured.json"
    done = run_program("measure", "--source", source, "-o", str(saved), "--", app)
    assert done.code == 0
    assert "mean_ring" in done.out, "the program's own output"
    document = json.loads(saved.read_text())
    ring = next(one for one in document["kernels"] if "ring" in one["name"])
    (share,) = ring["shares"]
    assert (ring["joined"], share["object"]) == ("instructions", "window")
    assert share["measured"] == share["predicted"] == 4.0
