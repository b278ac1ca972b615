"""Compilations that a build's log does not report."""

from __future__ import annotations

import pytest

from lmemscope.formats.build_log import parse_build_log


def report(*names: str) -> str:
    return "ptxas info    : 0 bytes gmem\n" + "".join(
        f"ptxas info    : Compiling entry function '{name}' for 'sm_90'\n"
        f"ptxas info    : Function properties for {name}\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 10 registers, used 0 barriers\n"
        for name in names
    )


def compiles(file: str, options: str = "-Xptxas -v", archs: str = "-arch=sm_90") -> str:
    return f"nvcc {options} {archs} -c {file} -o {file}.o\n"


def ninja(number: int, file: str) -> str:
    return f"[{number}/3] Building CUDA object CMakeFiles/x.dir/{file}.o\n"


@pytest.mark.parametrize(
    ("log", "unreported"),
    [
        (compiles("a.cu") + report("a") + compiles("b.cu", "") + "nvcc a.o b.o\n", ("b.cu",)),
        (compiles("a.cu") + report("a") + compiles("b.cu", "-dlto -Xptxas -v"), ("b.cu",)),
        (
            ninja(1, "a.cu") + report("a") + ninja(2, "b.cu") + "[3/3] Link\n",
            ("b.cu",),
        ),
        # A report of no kernel is one, and a compilation that failed is told of otherwise.
        (compiles("a.cu") + report("a") + compiles("b.cu") + report(), ()),
        (compiles("a.cu") + report("a") + compiles("b.cu") + "b.cu(1): error: no\n", ()),
        # What is no compilation prints none, nor what names its source twice.
        (compiles("a.cu") + report("a") + "nvcc -M b.cu\nnvcc -E b.cu\n", ()),
        (
            "[1/1] Building CUDA object CMakeFiles/x.dir/a.cu.o\n"
            + compiles("/s/a.cu")
            + report("a"),
            (),
        ),
        # Two at a time: whose report is missing is not known, but that one is.
        (
            compiles("b.cu", "") + compiles("a.cu") + report("a"),
            ("1 of the compilations of b.cu, a.cu",),
        ),
        (compiles("b.cu") + compiles("a.cu") + report("a") + report("b"), ()),
        (
            compiles("b.cu", "", "-gencode arch=compute_90,code=[sm_80,sm_90]")
            + compiles("a.cu", archs="-gencode arch=compute_80,code=[sm_80,sm_90]")
            + report("a")
            + report("a"),
            ("2 of the compilations of b.cu, a.cu",),
        ),
    ],
)
def test_compilations_without_a_report(log: str, unreported: tuple[str, ...]) -> None:
    assert parse_build_log(log).unreported == unreported
