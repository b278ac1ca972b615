"""Caches of just-in-time compilers: cubins with the PTX and the metadata beside them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from lmemscope.tools import ptxas
from lmemscope.tools.toolchain import Toolchain
from tests.support.program import DATA, run_program

TRITON = DATA / "triton_cache"


def test_a_baseline_of_a_triton_cache_passes(tmp_path: Path) -> None:
    """Its cubins carry no report, and their marks say what is spilled."""
    shutil.copytree(TRITON, tmp_path / "cache")
    assert run_program("baseline", "cache", cwd=tmp_path).code == 0
    done = run_program("check", "cache", cwd=tmp_path)
    assert done.code == 0, done.out
    assert "1 finding known" in done.out


def test_a_triton_kernel_is_explained_in_the_words_of_triton() -> None:
    done = run_program("explain", str(TRITON))
    said = " ".join(done.out.split())
    assert "Compiled with num_warps=1, num_stages=3, num_ctas=1, maxnreg=32." in said
    assert "`maxnreg`" in said
    assert "-maxrregcount" not in said


def test_two_caches_hold_the_same_kernels(tmp_path: Path) -> None:
    (entry,) = (one for one in TRITON.iterdir() if one.is_dir())
    shutil.copytree(entry, tmp_path / "old" / ("A7" * 26))
    shutil.copytree(entry, tmp_path / "new" / ("B2" * 26))
    done = run_program("diff", "old", "new", cwd=tmp_path)
    assert (done.code, "kernels differ" in done.out) == (0, False), done.out


@pytest.mark.toolchain
@pytest.mark.parametrize("with_ptx", [True, False])
def test_ptx_beside_a_cubin_without_line_information_tells_causes(
    tmp_path: Path, with_ptx: bool
) -> None:
    ring = "kernels/running_mean.cu"
    text = run_program("dump", ring, "--ptx", "--arch", "sm_90").out.encode()
    text = re.sub(rb"(?m)^\s*\.loc\b.*$", b"", text)  # ptxas takes lines from it unasked
    made = ptxas.assemble(text, "k.ptx", ("-arch=sm_90",), Toolchain())
    (tmp_path / "k.cubin").write_bytes(made.cubin)
    if with_ptx:
        (tmp_path / "k.ptx").write_bytes(text + b"\0")
    done = run_program("scan", ".", "--format", "json", cwd=tmp_path)
    (unit,) = done.document["units"]
    causes = {share["cause"] for kernel in unit["kernels"] for share in kernel["causes"]}
    gaps = [gap["stage"] for gap in unit["gaps"] if gap["kind"] == "evidence"]
    if with_ptx:
        assert ("dynamic-index" in causes, gaps) == (True, [])
    else:
        # The marks tell its spills.
        assert ("unattributed" in causes, gaps) == (True, ["ptx"])
