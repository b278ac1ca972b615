"""Causes of kernels in binaries from the PTX that lies beside their machine code."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lmemscope.tools.toolchain import INSTALLED
from tests.support.device_containers import entry, fatbin, host_object
from tests.support.program import Finished, run_program

pytestmark = pytest.mark.toolchain

SOURCE = """
__device__ __noinline__ float pick(float *p, int n) { return p[n] * 2; }
__global__ void ring(float *a, int n) {
    float b[32];
    for (int i = 0; i < n; i++) b[i & 31] = a[i];
    a[n] = b[a[0] > 1 ? n & 31 : 3];
}
__global__ void passes(float *a, int n) {
    float b[16];
    for (int i = 0; i < 16; i++) b[i] = a[i];
    a[n] = pick(b, n & 15);
}
__global__ void spills(float *a, int n) {
    float b[48];
    #pragma unroll
    for (int i = 0; i < 48; i++) b[i] = a[i * n];
    #pragma unroll
    for (int i = 0; i < 48; i++) a[i * n + 1] = b[i] * b[47 - i];
}
__global__ void clean(float *a) { a[0] = 1; }
"""


def nvcc(directory: Path, output: str, *options: str) -> Path:
    source = directory / "a.cu"
    source.write_text(SOURCE)
    made = directory / output
    command = [INSTALLED.find("nvcc"), *options, source, "-o", made]
    subprocess.run(command, check=True, capture_output=True)
    return made


def built(directory: Path, *options: str) -> str:
    """An object with machine code for sm_90, and PTX for an older target."""
    gencode = ("-gencode=arch=compute_80,code=compute_80", "-gencode=arch=compute_80,code=sm_90")
    return nvcc(directory, "a.o", "-c", *gencode, *options).name


def causes(kernel: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The ledgers of a kernel without places in the code."""
    return [
        (one["cause"], one["frame_bytes"], one["load_sites"], one["store_sites"])
        for one in kernel["causes"]
    ]


def scan(directory: Path, *arguments: str, **environment: str) -> Finished:
    done = run_program("scan", *arguments, "--format", "json", cwd=directory, **environment)
    assert done.code == 0, done.err
    return done


@pytest.mark.parametrize(
    "options",
    [(), ("-maxrregcount=24", "-Xptxas=-O1"), ("-rdc=true",)],
    ids=" ".join,
)
def test_an_object_has_the_causes_of_its_ptx(tmp_path: Path, options: Sequence[str]) -> None:
    nvcc(tmp_path, "a.ptx", "-ptx", "-arch=compute_80", *options)
    given = [f"--ptxas-arg={'-c' if one.startswith('-rdc') else one}" for one in options]
    given = [one.replace("-Xptxas=", "") for one in given]
    alone = scan(tmp_path, "a.ptx", "--arch", "sm_90", *given)
    inside = scan(tmp_path, built(tmp_path, *options))
    kernels = ["ring", "passes", *(["spills"] if len(options) > 1 else [])]
    for name in kernels:
        found, wanted = inside.kernel(name), alone.kernel(name)
        assert found["disagreements"] == []
        assert causes(found) == causes(wanted)
        assert found["spill_stores"] == wanted["spill_stores"]
        assert [one["message"] for one in found["findings"]] == [
            one["message"] for one in wanted["findings"]
        ]
    assert {one["cause"] for one in inside.kernel("ring")["causes"]} == {"dynamic-index"}
    assert inside.kernel("clean")["ptx"] is None


def test_ptx_for_a_newer_architecture_gives_likely_causes(tmp_path: Path) -> None:
    older = "-gencode=arch=compute_80,code=sm_80"
    nvcc(tmp_path, "a.o", "-c", older, "-gencode=arch=compute_90,code=[sm_90,compute_90]")
    done = scan(tmp_path, "a.o")
    (found,) = done.kernel("ring", "sm_80")["findings"]
    (certain,) = done.kernel("ring", "sm_90")["findings"]
    assert (found["cause"], found["confidence"]) == ("dynamic-index", "likely")
    assert (certain["cause"], certain["confidence"]) == ("dynamic-index", "certain")
    assert done.kernel("ring", "sm_90")["disagreements"] == []
    (target,) = done.kernel("ring", "sm_80")["disagreements"]
    assert target["values"] == {"cubin": 80, "PTX": 90}


def packed(directory: Path, cubin: bytes, ptx: bytes) -> str:
    """An object with machine code and PTX that need not be of each other."""
    images = (entry(cubin, 90), entry(ptx, 80, kind=1))
    (directory / "b.o").write_bytes(host_object((".nv_fatbin", fatbin(*images))))
    return "b.o"


def test_code_of_other_options_is_likely_at_most_and_keeps_its_own_figures(tmp_path: Path) -> None:
    ptx = nvcc(tmp_path, "a.ptx", "-ptx", "-arch=compute_80").read_bytes()
    cubin = nvcc(tmp_path, "a.cubin", "-cubin", "-arch=sm_90", "-maxrregcount=24").read_bytes()
    # As older toolkits leave it: without a word on the options.
    name = packed(tmp_path, cubin.replace(b".note.nv.tkinfo", b".note.xx.tkinfo"), ptx)
    kernel = scan(tmp_path, name).kernel("ring")
    own = scan(tmp_path, "a.cubin").kernel("ring")
    assert [kernel[one] for one in ("registers", "stack_frame", "sass")] == [
        own[one] for one in ("registers", "stack_frame", "sass")
    ]
    assert {one["reason"] for one in kernel["disagreements"]} == {"other-ptxas"}
    (found,) = [one for one in kernel["findings"] if one["cause"] == "dynamic-index"]
    assert found["confidence"] == "likely"
    assert sum(one["load_sites"] + one["store_sites"] for one in kernel["causes"]) == (
        kernel["sass"]["ldl"] + kernel["sass"]["stl"]
    )


def test_ptx_that_ptxas_refuses_is_noted_and_facts_stay(tmp_path: Path) -> None:
    ptx = nvcc(tmp_path, "a.ptx", "-ptx", "-arch=compute_80").read_bytes()
    cubin = nvcc(tmp_path, "a.cubin", "-cubin", "-arch=sm_90").read_bytes()
    name = packed(tmp_path, cubin, ptx.replace(b".version ", b".version 9"))
    done = scan(tmp_path, name)
    (unit,) = done.document["units"]
    assert done.kernel("ring")["stack_frame"] == 128
    assert any(gap["kind"] == "note" and "PTX ISA" in gap["reason"] for gap in unit["gaps"])


def test_ptx_alone_is_compiled_where_it_is_asked_for(tmp_path: Path) -> None:
    nvcc(tmp_path, "a.o", "-c", "-gencode=arch=compute_80,code=compute_80")
    assert run_program("scan", "a.o", cwd=tmp_path).code == 3
    done = scan(tmp_path, "a.o", "--compile-ptx", "sm_86", "--compile-ptx", "sm_90")
    assert [unit["arch"] for unit in done.document["units"]] == ["sm_86", "sm_90"]
    assert {one["cause"] for one in done.kernel("ring", "sm_90")["causes"]} == {"dynamic-index"}
    older = run_program("scan", "a.o", "--compile-ptx", "sm_75", "--format", "json", cwd=tmp_path)
    assert older.code == 3
    (unit,) = older.document["units"]
    assert "compute_80" in unit["failure"]["message"]


def test_what_ptxas_made_of_a_text_is_found_again(tmp_path: Path) -> None:
    name = built(tmp_path)
    cache = {"LMEMSCOPE_CACHE_DIR": str(tmp_path / "cache")}
    first = scan(tmp_path, name, **cache)
    (stored,) = (tmp_path / "cache").rglob("*.assembled*")
    stored.write_bytes(b"damaged")
    assert scan(tmp_path, name, **cache).document == first.document
    assert stored.read_bytes() != b"damaged"
    assert scan(tmp_path, name, **cache).document == first.document
