"""``--toolkit``: every tool from one directory, and never another's in silence."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from lmemscope.errors import ToolMissingError
from lmemscope.lowering.lower import lower
from lmemscope.model import Unit
from lmemscope.tools import nvrtc
from lmemscope.tools.toolchain import INSTALLED
from lmemscope.tools.toolkit import Toolkit
from tests.support.program import ROOT, run_program

HISTOGRAM = str(ROOT / "kernels" / "histogram.cu")


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    """The installed wheels, laid out as a CUDA installation is."""
    root = tmp_path / "cuda"
    (root / "bin").mkdir(parents=True)
    (root / "lib64").mkdir()
    nvcc = Path(INSTALLED.find("nvcc"))
    for path in nvcc.parent.iterdir():
        if path.name != "nvlink":
            (root / "bin" / path.name).symlink_to(path)
    (root / "nvvm").symlink_to(nvcc.parent.parent / "nvvm")
    library = nvrtc.library().path
    assert library is not None
    for path in Path(library).parent.glob("libnvrtc*.so*"):
        (root / "lib64" / path.name).symlink_to(path)
    (root / "include").symlink_to(INSTALLED.header_dirs()[0])
    return root


def wrapped_ptxas(root: Path, version: str, flags: str) -> None:
    """A ptxas that behaves as another release might: other code, another version."""
    ptxas = root / "bin" / "ptxas"
    real = os.readlink(ptxas)
    ptxas.unlink()
    ptxas.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "Cuda compilation tools, V{version}" && exit\n'
        f'exec {real} {flags} "$@"\n'
    )
    ptxas.chmod(ptxas.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("layout", "tool"),
    [
        ("bin/ptxas", "ptxas"),
        ("nvidia/cu13/bin/ptxas", "ptxas"),
        ("nvidia/cuda_nvcc/bin/ptxas", "ptxas"),
        ("lib/python3.12/site-packages/nvidia/cu13/bin/ptxas", "ptxas"),
    ],
)
def test_layouts(tmp_path: Path, layout: str, tool: str) -> None:
    path = tmp_path / layout
    path.parent.mkdir(parents=True)
    path.write_text("")
    assert Toolkit(str(tmp_path)).tool(tool) is None, "it is not executable"
    path.chmod(0o755)
    assert Toolkit(str(tmp_path)).tool(tool) == str(path)


def test_the_newest_nvrtc_and_not_its_alternative(tmp_path: Path) -> None:
    library = tmp_path / "lib64"
    library.mkdir()
    for name in ("libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.alt.so.13", "libnvrtc-builtins.so"):
        (library / name).write_text("")
    assert Toolkit(str(tmp_path)).nvrtc() == str(library / "libnvrtc.so.13")


@pytest.mark.toolchain
def test_our_binding_gives_what_cupys_gives(installation: Path) -> None:
    ours = lower(Unit("h.cu", HISTOGRAM, "nvrtc", "sm_90", toolkit=str(installation)))
    theirs = lower(Unit("h.cu", HISTOGRAM, "nvrtc", "sm_90"))
    assert ours.tools[0].path is not None
    assert ours.tools[0].path.startswith(str(installation))
    assert ours.cubin == theirs.cubin
    assert ours.ptx == theirs.ptx
    assert ours.tools[0].version == theirs.tools[0].version


@pytest.mark.toolchain
def test_a_program_that_nvrtc_refuses(installation: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.cu").write_text("__global__ void k( {}\n")
    done = run_program("scan", str(tmp_path / "bad.cu"), "--toolkit", str(installation))
    assert done.code == 3
    assert "line 1: error" in done.out + done.err


@pytest.mark.toolchain
def test_every_tool_is_the_toolkits(installation: Path) -> None:
    done = run_program(
        "scan",
        *("kernels/histogram.cu", "kernels/printing.cu", "--format", "json"),
        *("--toolkit", str(installation)),
    )
    tools = done.document["toolchain"]
    assert set(tools) == {"nvcc", "nvrtc", "ptxas"}
    for tool in tools.values():
        assert tool["path"].startswith(str(installation))


@pytest.mark.toolchain
def test_what_the_toolkit_lacks_comes_from_nowhere_else(installation: Path, tmp_path: Path) -> None:
    (installation / "bin" / "ptxas").unlink()
    ptx = str(tmp_path / "h.ptx")
    run_program("dump", "kernels/histogram.cu", "--ptx", "-o", ptx)
    done = run_program("scan", ptx, "--toolkit", str(installation))
    assert done.code == 3
    assert f"{installation} holds no ptxas" in done.out + done.err


@pytest.mark.toolchain
def test_an_installation_without_nvrtc_compiles_with_its_nvcc(installation: Path) -> None:
    shutil.rmtree(installation / "lib64")
    done = run_program(
        "scan", "kernels/histogram.cu", "--toolkit", str(installation), "--format", "json"
    )
    (unit,) = done.document["units"]
    assert unit["frontend"] == "nvcc"
    assert any("holds no NVRTC" in gap["reason"] for gap in unit["gaps"])
    with pytest.raises(ToolMissingError, match="holds no NVRTC"):
        lower(Unit("h.cu", HISTOGRAM, "nvrtc", "sm_90", toolkit=str(installation)))


@pytest.mark.toolchain
def test_a_difference_between_toolkits_is_shown_with_its_cause(
    installation: Path, tmp_path: Path
) -> None:
    wrapped_ptxas(installation, "99.1.2", "-maxrregcount=24")
    (tmp_path / "keep.cu").write_text((ROOT / "kernels" / "thirty_doubles.cu").read_text())
    done = run_program(
        *("diff", "keep.cu", "--frontend", "nvcc", "--toolkit", str(installation)),
        cwd=tmp_path,
    )
    assert done.code == 0
    assert " → 99.1.2" in done.out
    assert "+ register-spill" in done.out


@pytest.mark.toolchain
def test_the_same_toolkit_twice_differs_in_nothing(installation: Path) -> None:
    done = run_program(
        *("diff", "kernels/histogram.cu", "--toolkit", str(installation)),
        *("--toolkit", str(installation)),
    )
    assert (done.code, done.out) == (0, "No kernel differs.\n")


@pytest.mark.toolchain
def test_doctor_examines_the_toolkit(installation: Path) -> None:
    done = run_program("doctor", "--toolkit", str(installation))
    assert done.code == 0
    for name in ("nvrtc", "ptxas", "nvcc", "nvdisasm"):
        line = next(line for line in done.out.splitlines() if line.startswith(name))
        assert str(installation) in line
    assert "nvlink         missing" in done.out


@pytest.mark.parametrize("command", ["scan", "diff", "doctor"])
def test_a_toolkit_that_is_no_directory(command: str) -> None:
    paths = [] if command == "doctor" else ["kernels/histogram.cu"]
    done = run_program(command, *paths, "--toolkit", "no/where")
    assert done.code == 2
    assert '--toolkit is "no/where", not a directory' in done.err
    assert "hint: name a CUDA installation" in done.err


def test_a_library_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libnvrtc.so.13").write_text("not a library")
    done = run_program("scan", "kernels/histogram.cu", "--toolkit", str(tmp_path))
    assert done.code == 3
    assert "NVRTC cannot be loaded from" in done.out + done.err
