"""What keeps the ``toolchain`` marker honest: unmarked, a test finds no tool, wherever it looks."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from lmemscope.errors import ToolMissingError
from lmemscope.lowering.lower import lower
from lmemscope.model import Unit
from lmemscope.running.pool import WorkerPool
from lmemscope.tools import nvrtc, ptxas
from lmemscope.tools.toolchain import INSTALLED
from tests.support.program import ROOT, run_program, start_program

HISTOGRAM = Unit("histogram.cu", str(ROOT / "kernels" / "histogram.cu"), "auto", "sm_90")


@pytest.mark.toolchain
def test_a_marked_test_finds_all() -> None:
    """First, so that what this process has loaded and remembered is there to be hidden."""
    assert nvrtc.version() >= (13, 0)
    assert INSTALLED.find("ptxas")
    assert lower(HISTOGRAM).cubin
    assert run_program("scan", HISTOGRAM.path).code == 0
    with WorkerPool(1) as pool:
        assert pool.submit(INSTALLED.find, "ptxas").result()


@pytest.mark.parametrize("frontend", ["auto", "nvrtc", "nvcc"])
def test_nothing_compiles_in_an_unmarked_test(frontend: str) -> None:
    unit = Unit(HISTOGRAM.input, HISTOGRAM.path, frontend, "sm_90")  # type: ignore[arg-type]
    with pytest.raises(ToolMissingError):
        lower(unit)
    with pytest.raises(ToolMissingError):
        ptxas.assemble(b".version 8.0", "a.ptx", ())
    assert INSTALLED.header_dirs() == ()


def test_neither_does_a_worker_of_an_unmarked_test() -> None:
    with WorkerPool(1) as pool:
        assembling = pool.submit(ptxas.assemble, b".version 8.0", "a.ptx", ())
        for attempt in (pool.submit(lower, HISTOGRAM), assembling):
            with pytest.raises(ToolMissingError):
                attempt.result()


def test_nor_does_the_program() -> None:
    finished = run_program("doctor")
    assert finished.code == 3
    for tool in ("nvrtc", "ptxas", "nvcc", "nvdisasm", "nvlink", "cuda headers"):
        assert re.search(rf"^{tool} +missing", finished.out, re.MULTILINE)
    failed = run_program("scan", HISTOGRAM.path)
    assert failed.code == 3
    assert "[toolchain]" in failed.out + failed.err


@pytest.mark.toolchain
def test_the_store_of_a_run_is_no_other_runs(
    shared_store: str, run_directory: Path, tmp_path: Path
) -> None:
    assert os.environ["LMEMSCOPE_CACHE_DIR"] == shared_store
    assert Path(shared_store).is_relative_to(run_directory)
    assert tmp_path.is_relative_to(run_directory), "pytest makes this directory for each run"


def test_what_is_compiled_already_is_no_tool() -> None:
    assert "entries    0" in run_program("cache", "info").out


def test_a_test_can_have_a_store_of_its_own(own_store: str, shared_store: str) -> None:
    assert own_store != shared_store
    assert "entries    0" in run_program("cache", "info").out
    assert own_store in run_program("cache", "info").out


def test_a_run_of_the_program_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "lmemscope.toml").write_text("arch = 'sm_61'\n")
    for run in (run_program, start_program):
        first = run("cache", "info", cwd=tmp_path, LMEMSCOPE_CACHE_DIR=str(tmp_path / "own"))
        assert str(tmp_path / "own") in first.out
        wrong = run("scan", "no-such-file.cu", "--nonsense")
        assert (wrong.code, wrong.out) == (2, "")
        assert "--nonsense" in wrong.err
        assert str(tmp_path) not in run("cache", "info").out


def test_a_prepared_run_says_what_a_started_one_says(tmp_path: Path) -> None:
    (tmp_path / "empty.cubin").write_bytes(b"")
    for arguments in (("--help",), ("scan", "."), ("explain", "empty.cubin"), ("rules",)):
        prepared = run_program(*arguments, cwd=tmp_path)
        assert prepared == start_program(*arguments, cwd=tmp_path), arguments
