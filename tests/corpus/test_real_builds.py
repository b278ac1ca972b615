"""Projects configured by CMake itself, and a Makefile seen as Bear sees it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lmemscope.formats.demangle import short_name
from tests.support.program import run_program

pytestmark = pytest.mark.toolchain

CMAKE = shutil.which("cmake")
NVCC = shutil.which("nvcc")
needs_cmake = pytest.mark.skipif(
    CMAKE is None or NVCC is None, reason="cmake, or an nvcc on PATH for it to configure with"
)

LISTS = """
cmake_minimum_required(VERSION 3.20)
project(demo LANGUAGES CXX CUDA)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
file(WRITE ${CMAKE_BINARY_DIR}/made.cu "__global__ void made(int *p) { *p = 1; }\\n")
add_library(slow STATIC src/count.cu "src/two words.cu" ${CMAKE_BINARY_DIR}/made.cu)
set_target_properties(slow PROPERTIES CUDA_ARCHITECTURES "80-real;90")
target_include_directories(slow PRIVATE "include/with space")
target_include_directories(slow SYSTEM PRIVATE include/system)
target_compile_definitions(slow PRIVATE SIZE=40 "NAME=\\"a b\\"")
target_compile_options(slow PRIVATE -Xcompiler=-Wall,-Wextra --extended-lambda
  "SHELL:-Xptxas -O2" "SHELL:--compiler-options -fno-rtti")
add_library(fast STATIC src/count.cu)
set_target_properties(fast PROPERTIES CUDA_ARCHITECTURES 90 CUDA_SEPARABLE_COMPILATION ON)
target_include_directories(fast PRIVATE "include/with space" include/system)
target_compile_definitions(fast PRIVATE SIZE=64)
"""
COUNT = """#include <cstdio>
#include "size.h"
#include <limit.h>
__global__ void count(const int *at, float *out) {
  float bins[SIZE] = {};
  for (int i = 0; i < LIMIT; ++i) bins[at[i]] += 1;
  for (int i = 0; i < SIZE; ++i) out[i] = bins[i];
}
int main() { std::puts("host"); }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "größe und ziel"
    for name in ("src", "include/with space", "include/system"):
        (root / name).mkdir(parents=True)
    (root / "CMakeLists.txt").write_text(LISTS)
    (root / "src" / "count.cu").write_text(COUNT)
    (root / "src" / "two words.cu").write_text(
        "template <int N> __global__ void fill(char *p) { p[threadIdx.x] = NAME[N]; }\n"
        "template __global__ void fill<1>(char *);\n"
    )
    (root / "include" / "with space" / "size.h").write_text("#ifndef SIZE\n#error SIZE\n#endif\n")
    (root / "include" / "system" / "limit.h").write_text("#define LIMIT 999\n")
    return root


def configure(root: Path, build: Path, generator: str) -> None:
    assert CMAKE is not None
    launcher = "-DCMAKE_CUDA_COMPILER_LAUNCHER=env;PROBE=1"
    flags = [f"-DCMAKE_CUDA_COMPILER={NVCC}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", launcher]
    command = [CMAKE, "-S", str(root), "-B", str(build), "-G", generator, *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def frames(document: dict[str, Any]) -> dict[tuple[str, str], list[int]]:
    assert [unit["failure"] for unit in document["units"]] == [None] * len(document["units"])
    return {
        (os.path.basename(unit["input"]), unit["arch"]): [k["stack_frame"] for k in unit["kernels"]]
        for unit in document["units"]
    }


EXPECTED = {
    ("count.cu", "sm_80"): [160],
    ("count.cu", "sm_90"): [160],
    ("count.cu[fast]", "sm_90"): [256],
    ("two words.cu", "sm_80"): [0],
    ("two words.cu", "sm_90"): [0],
    ("made.cu", "sm_80"): [0],
    ("made.cu", "sm_90"): [0],
}


@needs_cmake
class TestCMake:
    def test_makefiles_out_of_tree(self, project: Path, tmp_path: Path) -> None:
        build = tmp_path / "build tree"
        configure(project, build, "Unix Makefiles")
        done = run_program("scan", str(build), "--no-causes", "--format", "json", cwd=tmp_path)
        assert done.code == 0, done.err
        assert frames(done.document) == EXPECTED
        notes = done.document.get("notes", [])
        # The nvcc on PATH may be of any version.
        assert [note for note in notes if not note.startswith("the build's nvcc is of")] == []

    @pytest.mark.skipif(shutil.which("ninja") is None, reason="ninja")
    def test_ninja_and_a_named_file(self, project: Path) -> None:
        configure(project, project / "build", "Ninja")
        done = run_program("scan", ".", "--no-causes", "--format", "json", cwd=project)
        assert done.code == 0, done.err
        assert frames(done.document) == EXPECTED
        one = run_program("scan", "src/count.cu", "--no-causes", cwd=project)
        assert one.code == 0, one.out + one.err
        assert "count[" not in one.out
        assert "src/count.cu is compiled as build/compile_commands.json says" in one.out
        without = run_program("scan", "src/count.cu", "--no-build-database", cwd=project)
        assert without.code == 3
        assert "size.h" in without.out + without.err


def test_a_makefile_as_bear_sees_it(project: Path) -> None:
    """``arguments``, compilation and linking in one, the host compiler's options through nvcc."""
    flags = "-O3 -gencode arch=compute_35,code=sm_35 -arch=sm_80 -DSIZE=40 -Iinclude/system -lm"
    words = ["nvcc", *flags.split(), "-Iinclude/with space", "src/count.cu", "-o", "count"]
    record = {"directory": str(project), "arguments": words, "file": "src/count.cu"}
    (project / "compile_commands.json").write_text(json.dumps([{**record, "output": "count"}]))
    done = run_program("scan", "src/count.cu", "--no-causes", "--format", "json", cwd=project)
    assert done.code == 0, done.err
    assert list(frames(done.document).values()) == [[160]]
    assert any("sm_35" in note for note in done.document["notes"])


def test_a_build_cannot_run_a_program(project: Path) -> None:
    """Not by its options, and not by nvcc's shell, through which it starts the host compiler."""
    proof = project / "ran"
    tool = project / "g++"
    tool.write_text(f'#!/bin/sh\ntouch "{proof}"\n')
    tool.chmod(0o755)
    flags = [
        f"-ccbin={tool}",
        "-Xcompiler=-B.",
        f"-DX=$(touch {proof})",
        "-Xcompiler",
        "-wrapper,./g++",
    ]
    search = ["-Iinclude/system", "-Iinclude/with space", "-DSIZE=40"]
    words = ["nvcc", *flags, *search, "-c", "src/count.cu"]
    record = {"directory": str(project), "arguments": words, "file": "src/count.cu"}
    (project / "compile_commands.json").write_text(json.dumps([record]))
    done = run_program("scan", ".", "--no-causes", "--format", "json", cwd=project)
    units = {unit["input"]: unit for unit in done.document["units"]}
    assert units["src/count.cu"]["kernels"][0]["stack_frame"] == 160
    assert not proof.exists()
    taken, never = (note for note in done.document["notes"] if "could run a program" in note)
    assert (taken + never).count(str(tool)) == 1
    assert "-wrapper ./g++" in taken
    assert taken.endswith("--trust-build takes them")
    assert "$(touch" in never


def test_a_name_that_nvccs_shell_would_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a$(touch ran).cu").write_text("#include <cstdio>\n__global__ void k() {}\n")
    done = run_program("scan", ".", "--frontend", "nvcc", cwd=tmp_path)
    assert done.code == 3
    assert "shell" in done.out + done.err
    assert not (tmp_path / "ran").exists()


def test_what_the_wheel_of_a_missing_header_is(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("#include <nccl_extra.h>\n__global__ void k() {}\n")
    done = run_program("scan", "k.cu", cwd=tmp_path)
    assert done.code == 3
    assert "pip install nvidia-nccl-cu1" in done.out + done.err


def test_relocatable_code_with_much_shared_memory(tmp_path: Path) -> None:
    """CUDA_SEPARABLE_COMPILATION: its ``.nv.shared`` has a type of its own and no bytes."""
    (tmp_path / "k.cu").write_text(
        "__global__ void k(int *p) {\n  __shared__ int s[8192];\n"
        "  s[threadIdx.x] = p[threadIdx.x];\n  __syncthreads();\n  *p = s[*p];\n}\n"
    )
    record = {"directory": str(tmp_path), "arguments": ["nvcc", "-dc", "k.cu"], "file": "k.cu"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([record]))
    done = run_program("scan", "k.cu", "--format", "json", cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    assert done.kernel("k")["shared"] == 32768


ODD = """#include "zähl er.cuh"
template <typename T> struct Box { T v; };
template <typename T, char C> __global__ void fill(T *p) { p[threadIdx.x] = C + NAME[1]; }
template <typename T> __global__ void clear(T *p) { *p = {}; }
__global__ void dirty(const int *at, float *out) {
  float table[40];
  for (int i = 0; i < 40; ++i) table[i] = out[i];
  for (int i = 0; i < 40; ++i) out[i] = table[at[i]];
}
"""
ODD_INSTANCES = {
    "fill<unsigned int, 'a'>": "fill<unsigned int, 97>",
    "fill<long, ' '>": "fill<long, 32>",
    "fill<int, '\"'>": "fill<int, 34>",
    "fill<int, '\\''>": "fill<int, 39>",
    "clear<Box<Box<float>>>": "clear<Box<Box<float> > >",
}


def odd_project(tmp_path: Path, headers: str) -> Path:
    """Blanks, quotes and letters of any script in directories, files, macros and templates."""
    root = tmp_path / "größe & co"
    (root / headers).mkdir(parents=True)
    (root / headers / "zähl er.cuh").write_text("#pragma once\n")
    (root / "k ö's.cu").write_text(ODD)
    macro = "-DNAME=\"a 'b' é\""
    words = ["nvcc", f"-I{headers}", macro, "-c", "k ö's.cu"]
    record = {"directory": str(root), "arguments": words, "file": "k ö's.cu"}
    (root / "compile_commands.json").write_text(json.dumps([record], ensure_ascii=False))
    return root


def test_blanks_quotes_and_letters_by_both_routes(tmp_path: Path) -> None:
    root = odd_project(tmp_path, "kopf zeilen é")
    asked = [word for name in ODD_INSTANCES for word in ("--instantiate", name)]
    done = run_program("scan", ".", "--frontend", "both", *asked, "--format", "json", cwd=root)
    assert done.code == 0, done.out + done.err
    units = done.document["units"]
    assert [unit["frontend"] for unit in units] == ["nvrtc", "nvcc"]
    for unit in units:
        assert unit["input"] == "k ö's.cu"
        found = {short_name(kernel["demangled"]) for kernel in unit["kernels"]}
        assert found == {*ODD_INSTANCES.values(), "dirty"}
        (kernel,) = (kernel for kernel in unit["kernels"] if kernel["findings"])
        (finding,) = kernel["findings"]
        # The compilers write the file's name with escapes; found, its lines name the variable.
        assert (finding["object"], finding["cause"]) == ("table", "dynamic-index")
        assert finding["location"]["file"] == "k ö's.cu"


def test_an_apostrophe_that_nvcc_cannot_take_is_named(tmp_path: Path) -> None:
    root = odd_project(tmp_path, "x's")
    one = ("--instantiate", "clear<int>", "--format", "json")
    assert run_program("scan", ".", "--no-causes", *one, cwd=root).code == 0
    done = run_program("scan", ".", "--frontend", "nvcc", *one, cwd=root)
    (unit,) = done.document["units"]
    assert "apostrophe" in unit["failure"]["hint"]
