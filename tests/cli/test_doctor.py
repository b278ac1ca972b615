"""What `lmemscope doctor` says of installations that cannot work; no toolchain is needed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from lmemscope.errors import ToolMissingError
from lmemscope.model import Tool
from lmemscope.tools import toolchain
from lmemscope.tools.examination import (
    Finding,
    installed_wheels,
    mismatches,
    mixed_lines,
    several_cupys,
)
from lmemscope.tools.toolchain import Toolchain
from tests.support.program import ROOT


def install(directory: Path, *wheels: str) -> None:
    """Leave what pip leaves of a wheel ``name==version``, without its files."""
    for wheel in wheels:
        name, _, version = wheel.partition("==")
        record = directory / f"{name.replace('-', '_')}-{version}.dist-info"
        record.mkdir()
        (record / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )


def found(name: str, version: str | None, path: str) -> Finding:
    return Finding(name, Tool(name, version, path), None, "a purpose")


def test_wheels_are_found_by_their_records(tmp_path: Path) -> None:
    install(tmp_path, "cupy-cuda12x==14.2.0", "nvidia-cuda-nvrtc-cu12==12.9.86")
    (tmp_path / "broken-1.dist-info").mkdir()
    assert installed_wheels([str(tmp_path)]) == {
        "cupy-cuda12x": "14.2.0",
        "nvidia-cuda-nvrtc-cu12": "12.9.86",
    }


@pytest.mark.parametrize(
    ("wheels", "kept"),
    [
        (["cupy-cuda12x==14.2.0", "cupy-cuda13x==14.2.0"], "cupy-cuda13x"),
        (["cupy-cuda13x==14.2.0", "cupy==14.2.0"], "cupy-cuda13x"),
        (["cupy==14.2.0", "cupy-cuda12x==14.2.0"], "cupy-cuda12x"),
    ],
)
def test_two_cupys_are_named_with_the_way_out(tmp_path: Path, wheels: list[str], kept: str) -> None:
    install(tmp_path, *wheels)
    said = several_cupys(installed_wheels([str(tmp_path)]))
    assert said is not None
    names = sorted(wheel.partition("==")[0] for wheel in wheels)
    assert said.startswith(" and ".join(names))
    assert f"pip uninstall -y {' '.join(names)}; pip install {kept}" in said


def test_one_cupy_and_what_only_sounds_like_one_are_fine(tmp_path: Path) -> None:
    install(tmp_path, "cupy-cuda13x==14.2.0", "cupy-xarray==0.1", "nvidia-cupy-tools==1")
    assert several_cupys(installed_wheels([str(tmp_path)])) is None


def test_wheels_of_the_other_line_that_took_a_tools_place() -> None:
    site = "/venv/lib/python3.11/site-packages/nvidia"
    findings = (
        found("nvrtc", "12.9", f"{site}/cuda_nvrtc/lib/libnvrtc.so.12"),
        found("ptxas", "13.5.37", f"{site}/cu13/bin/ptxas"),
        found("nvdisasm", "13.5.37", f"{site}/cu13/bin/nvdisasm"),
        found("cuda headers", None, f"{site}/cu13/include"),
    )
    wheels = ["nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12", "nvidia-nvvm", "nvidia-cuda-nvdisasm"]
    said = mixed_lines(findings, wheels)
    assert said is not None
    assert "(CUDA 12: nvrtc; CUDA 13: ptxas, cuda headers)" in said
    assert said.endswith("pip uninstall -y nvidia-cuda-nvcc nvidia-nvvm")


def test_wheels_of_both_lines_that_mislead_nobody() -> None:
    """PyTorch for CUDA 12 brings NVRTC 12; the search takes all from CUDA 13."""
    site = "/venv/lib/python3.11/site-packages/nvidia"
    findings = (
        found("nvrtc", "13.5", f"{site}/cu13/lib/libnvrtc.so.13"),
        found("ptxas", "13.5.37", f"{site}/cu13/bin/ptxas"),
        found("cuda headers", None, f"{site}/cu13/include"),
    )
    assert mixed_lines(findings, ["nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"]) is None


def test_a_disassembler_may_be_newer_than_the_assembler_but_not_older() -> None:
    newer = (
        found("ptxas", "12.9.86", "/cuda/bin/ptxas"),
        found("nvdisasm", "13.5.37", "/cuda/bin/nvdisasm"),
    )
    assert not any("nvdisasm" in said for said in mismatches(newer))
    older = (
        found("ptxas", "13.5.37", "/cuda/bin/ptxas"),
        found("nvdisasm", "12.9.86", "/cuda/bin/nvdisasm"),
    )
    assert any("nvdisasm 12.9 is older" in said for said in mismatches(older))


@pytest.fixture
def wheels_of_cuda_12(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The search finds CUDA 12's wheels, whose nvcc is that of an installation elsewhere."""
    site, installation = tmp_path / "site" / "nvidia", tmp_path / "cuda-13.0"
    tools = {
        "ptxas": site / "cuda_nvcc" / "bin" / "ptxas",
        "nvcc": installation / "bin" / "nvcc",
        "beside": installation / "bin" / "ptxas",
    }
    for path in tools.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    for include in (site / "cuda_runtime" / "include", installation / "include"):
        include.mkdir(parents=True)

    def find(self: Toolchain, name: str) -> str:
        return str(tools[name]) if self.directory is None else f"{self.directory}/bin/{name}"

    monkeypatch.setattr(Toolchain, "find", find)
    headers = (str(site / "cuda_runtime" / "include"),)
    monkeypatch.setattr(Toolchain, "header_dirs", lambda _: headers)
    return installation


def test_an_nvcc_from_elsewhere_brings_its_own_ptxas(wheels_of_cuda_12: Path) -> None:
    assert Toolchain().of_nvcc() == Toolchain(str(wheels_of_cuda_12))
    named = Toolchain("/opt/cuda-12.4")
    assert named.of_nvcc() == named
    (wheels_of_cuda_12 / "bin" / "ptxas").unlink()
    assert Toolchain().of_nvcc() == Toolchain(), "there is no other ptxas than the wheels'"


def test_hints_name_wheels_of_the_cuda_that_is_used(
    wheels_of_cuda_12: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert toolchain.how_to_install("nvrtc").endswith("pip install nvidia-cuda-nvrtc-cu12")
    assert "hold no nvcc" in toolchain.how_to_install("nvcc")
    assert toolchain.wheel_of("nvdisasm") == "nvidia-cuda-nvdisasm"
    monkeypatch.setattr(Toolchain, "header_dirs", lambda _: ())
    assert toolchain.how_to_install("nvcc").endswith("pip install nvidia-cuda-nvcc")


@pytest.mark.toolchain
def test_a_named_directory_of_cuda_12s_wheels_gets_hints_of_its_own(tmp_path: Path) -> None:
    for root in ("cuda_runtime/include", "cuda_nvcc/bin"):
        (tmp_path / "nvidia" / root).mkdir(parents=True)
    named = Toolchain(str(tmp_path))
    with pytest.raises(ToolMissingError) as caught:
        named.find("ptxas")
    assert f"--target {tmp_path} nvidia-cuda-nvcc-cu12," in (caught.value.hint or "")
    with pytest.raises(ToolMissingError) as caught:
        named.find("nvcc")
    assert "hold no nvcc" in (caught.value.hint or "")


def names(requirements: list[str]) -> dict[str, str]:
    split = (re.match(r"[\w-]+", line) for line in requirements)
    return {found.group(): line for found, line in zip(split, requirements, strict=True) if found}


def test_cuda_12_needs_what_cuda_13_needs_but_for_cuda() -> None:
    """The file takes the place of the package's own dependencies."""
    text = (ROOT / "requirements-cuda12.txt").read_text()
    listed = names([line for line in text.splitlines() if not line.startswith("#")])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, line in names(project["dependencies"]).items():
        if name in listed:
            assert listed[name] == line
        else:
            assert name.replace("13x", "12x") in listed or f"{name}-cu12" in listed
    assert len(listed) == len(project["dependencies"])
