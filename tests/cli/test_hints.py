"""What a wrong command line is told: a file in place of a command, options in nvcc's spelling."""

from __future__ import annotations

import pytest

from tests.support.program import run_program


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("-arch=sm_86", "--arch sm_86"),
        ("-arch sm_86", "--arch sm_86"),
        ("-arch=compute_90a", "--arch sm_90a"),
        ("-arch=native", "--arch native"),
        ("--gpu-architecture=sm_86", "--arch sm_86"),
        ("-gencode arch=compute_86,code=sm_86", "--arch sm_86"),
        ("-gencode=arch=compute_80,code=[sm_80,sm_90]", "--arch sm_80 --arch sm_90"),
        ("-std=c++17", "--std c++17"),
        ("-maxrregcount=32", "--maxrregcount 32"),
        ("-use_fast_math", "--use-fast-math"),
        ("-O3", "leave -O3 out"),
        ("-lineinfo", "leave -lineinfo out"),
        ("-Xptxas -v", "--ptxas-arg=-v"),
        ("-rdc=true", "--nvcc-arg=-rdc=true"),
    ],
)
def test_an_option_in_nvccs_spelling_is_told_ours(typed: str, hint: str) -> None:
    finished = run_program("scan", "f.cu", *typed.split())
    assert (finished.code, finished.out) == (2, "")
    assert finished.err.splitlines()[-1].startswith("hint: ")
    assert hint in finished.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("typed", "near"),
    [("scan f.cu --archs sm_90", "'--arch'"), ("baseline --baseline b.json f.cu", None)],
)
def test_only_an_option_much_alike_may_be_meant(typed: str, near: str | None) -> None:
    finished = run_program(*typed.split())
    assert (finished.code, finished.out) == (2, "")
    assert ("Did you mean" in finished.err) == (near is not None)
    assert near is None or near in finished.err


def test_an_option_of_nobody_is_told_nothing() -> None:
    finished = run_program("scan", "f.cu", "-z")
    assert finished.code == 2
    assert "hint:" not in finished.err


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("f.cu", "lmemscope scan f.cu"),
        ("src/", "lmemscope scan src/"),
        ("my_kernels.cu --arch sm_86", "lmemscope scan my_kernels.cu --arch sm_86"),
        ("scna f.cu", "lmemscope scan"),
    ],
)
def test_a_file_in_place_of_a_command_is_told_scan(typed: str, hint: str) -> None:
    finished = run_program(*typed.split())
    assert (finished.code, finished.out) == (2, "")
    assert finished.err.splitlines()[-1] == f"hint: use {hint}"


def test_another_word_in_place_of_a_command_is_told_nothing() -> None:
    finished = run_program("nonsense")
    assert finished.code == 2
    assert "hint:" not in finished.err
