"""NVRTC is not asked for what it is sure to refuse, and for all else it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.errors import CompileError
from lmemscope.lowering import compile_cuda
from lmemscope.model import CompileOptions, Unit
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.host_headers import HOST_HEADERS, refused_for
from lmemscope.tools import nvrtc

KERNEL = "__global__ void k(int *x) { x[threadIdx.x] = 1; }\n"


def foreseen(text: str, tmp_path: Path, **options: tuple[str, ...]) -> str | None:
    source, path = read_cuda_source(text), str(tmp_path / "a.cu")
    return refused_for(source, path, CompileOptions(**options), ())  # type: ignore[arg-type]


@pytest.mark.toolchain
def test_nvrtc_opens_none_of_them() -> None:
    options = nvrtc.options_for("sm_90", CompileOptions())
    asked = "".join(
        f"#if __has_include(<{name}>)\n#error {name} is there\n#endif\n"
        for name in sorted(HOST_HEADERS)
    )
    nvrtc.compile_program(asked + KERNEL, "/nowhere/a.cu", options, ())
    for refused, said in (
        ("#include <cstdio>\n", 'cannot open source file "cstdio"'),
        (asked.replace("<cstdio>", "<cuda_fp16.h>"), "cstdio is there"),
    ):
        with pytest.raises(CompileError) as caught:
            nvrtc.compile_program(refused + KERNEL, "/nowhere/a.cu", options, ())
        assert said in (caught.value.log or "")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("#include <cstdio>\n", "cstdio"),
        ("  #  include\t<cstdio> // output\n", "cstdio"),
        ('#include "stdio.h"\n', "stdio.h"),
        ("#if 1\n#include <vector>\n#endif\n", "vector"),
        ("#ifdef X\n#include <map>\n#endif\n#include <map>\n", "map"),
        ("#include <cuda_runtime.h>\n", None),
        ("#ifndef __CUDACC_RTC__\n#include <cstdio>\n#endif\n", None),
        ("#ifdef X\n#else\n#include <cstdio>\n#endif\n", None),
        ("#if 0\n#include <cstdio>\n#endif\n", None),
        ("/*\n#include <cstdio>\n*/\n", None),
        ('const char *s = R"(\n#include <cstdio>\n)";\n', None),
    ],
)
def test_only_what_is_sure_to_be_read_counts(text: str, wanted: str | None, tmp_path: Path) -> None:
    assert foreseen(text + KERNEL, tmp_path) == wanted


def test_a_header_that_stands_where_nvrtc_looks_is_none(tmp_path: Path) -> None:
    text = "#include <vector>\n" + KERNEL
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "vector").touch()
    assert foreseen(text, tmp_path, include_dirs=(str(tmp_path / "own"),)) is None
    assert foreseen(text, tmp_path, nvrtc_args=("-Iown",)) is None
    assert foreseen(text, tmp_path) == "vector"
    (tmp_path / "vector").touch()
    assert foreseen(text, tmp_path) is None


@pytest.mark.toolchain
def test_nvrtc_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.cu"
    file.write_text("#include <cstdio>\n" + KERNEL)
    asked: list[str] = []

    def refuse(*given: object) -> None:
        asked.append(str(given[1]))
        raise CompileError("compile", "refused", log='cannot open source file "cstdio"')

    monkeypatch.setattr(nvrtc, "compile_program", refuse)
    made = compile_cuda.compile_file(Unit(str(file), str(file), "auto", "sm_90"), None)
    assert (made.frontend, asked) == ("nvcc", [])


@pytest.mark.toolchain
def test_where_nvcc_refuses_too_both_are_heard_and_nvcc_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.cu"
    file.write_text("#include <cstdio>\n__global__ void k() { undeclared(); }\n")
    calls: list[object] = []
    real = compile_cuda.nvcc.compile_to_ptx
    monkeypatch.setattr(
        compile_cuda.nvcc, "compile_to_ptx", lambda *a: (calls.append(a), real(*a))[1]
    )
    with pytest.raises(CompileError) as caught:
        compile_cuda.compile_file(Unit(str(file), str(file), "auto", "sm_90"), None)
    assert "nvcc refused a.cu" in caught.value.message
    assert "NVRTC refused it too: NVRTC refused a.cu: line 1: " in (caught.value.hint or "")
    assert len(calls) == 1
