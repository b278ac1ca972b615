"""Headers below a directory: which kernels nobody compiles, and that it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.discover.headers import unseen
from lmemscope.discover.walk import Globs, discover
from tests.conftest import run_program

KERNEL = "__global__ void s(int *p) { *p = 1; }\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a.cu").write_text('#include "used.cuh"\n' + KERNEL)
    (tmp_path / "used.cuh").write_text("#  include <deep/inner.cuh>\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "inner.cuh").write_text(KERNEL.replace("s(", "t("))
    (tmp_path / "plain.cuh").write_text("__device__ int twice(int x) { return 2 * x; }\n")
    return tmp_path


def gaps(tree: Path, *paths: str) -> list[str]:
    named = [str(tree / path) for path in paths] or [str(tree)]
    return [gap.reason for gap in lonely(tree, *named)]


def test_headers_that_sources_include_are_compiled_with_them(tree: Path) -> None:
    assert gaps(tree) == []


def test_one_with_kernels_that_nobody_includes_is_named(tree: Path) -> None:
    (tree / "lonely.cuh").write_text(KERNEL)
    (reason,) = gaps(tree)
    assert reason.startswith(f"{tree}/lonely.cuh: ")
    (gap,) = discover([str(tree)], Globs(str(tree))).gaps
    assert gap.kind == "uninstantiated"


def test_one_that_is_named_beside_the_directory_is_an_input(tree: Path) -> None:
    (tree / "lonely.cuh").write_text(KERNEL)
    assert gaps(tree, ".", "lonely.cuh") == []


def test_one_that_the_configuration_excludes_is_nobodys_business(tree: Path) -> None:
    (tree / "lonely.cuh").write_text(KERNEL)
    assert discover([str(tree)], Globs(str(tree), exclude=("lonely*",))).gaps == []


def test_many_are_one_gap(tree: Path) -> None:
    for number in range(5):
        (tree / f"h{number}.cuh").write_text(KERNEL)
    headers = sorted(str(path) for path in tree.glob("h*.cuh"))
    (gap,) = unseen(headers, [])
    assert "and 2 more" in gap.reason


@pytest.mark.toolchain
def test_the_gate_does_not_pass_what_it_did_not_see(tree: Path) -> None:
    (tree / "lonely.cuh").write_text(KERNEL)
    checked = run_program("check", ".", cwd=tree)
    assert checked.code == 3
    assert "lonely.cuh" in checked.out
    (tree / "lmemscope.toml").write_text('uninstantiated = "note"\n')
    noted = run_program("check", ".", cwd=tree)
    assert noted.code == 0
    assert "lonely.cuh" in noted.out
    assert run_program("scan", ".", cwd=tree).code == 0
