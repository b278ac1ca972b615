"""What NVRTC refuses is nvcc's to judge, and one error is shown where both refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.app.worker import analyse_unit
from lmemscope.errors import CompileError, ToolMissingError
from lmemscope.lowering import compile_cuda
from lmemscope.lowering.refusals import first_error, is_users_own
from lmemscope.model import Artifacts, CompileOptions, Unit, Wanted
from tests.support.program import run_program


def compiled(tmp_path: Path, text: str | bytes, **options: object) -> Artifacts:
    return compile_cuda.compile_file(unit(tmp_path, text, **options), None)


def unit(tmp_path: Path, text: str | bytes, frontend: str = "auto", **options: object) -> Unit:
    file = tmp_path / "a.cu"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    own = CompileOptions(**options)  # type: ignore[arg-type]
    return Unit("a.cu", str(file), frontend, "sm_90", own)  # type: ignore[arg-type]


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "text",
    [
        '#include "marked.h"\n__global__ void k(int *x) { x[0] = marked(); }\n',
        "#include <cuda_runtime.h>\n__global__ void k(int *x, std::size_t n) { x[n] = 1; }\n",
        "#include <thrust/complex.h>\n"
        "__global__ void k(thrust::complex<float> *z) { z[0] = z[1] * z[2]; }\n",
        "__device__ auto next = [](int x) { return x + 1; };\n"
        "__global__ void k(int *x) { x[0] = next(x[1]); }\n",
        "__global__ void k(float *x) { x[0] = x[1] > INT_MAX ? 1 : 0; }\n",
        "inline int host(int x) { return x; }\n"
        "constexpr int three() { return 3; }\n__global__ void k(int *x) { x[0] = three(); }\n",
    ],
)
def test_what_nvcc_takes_is_taken(tmp_path: Path, text: str) -> None:
    marked = b"\xef\xbb\xbf#pragma once\n__device__ inline int marked() { return 3; }\n"
    (tmp_path / "marked.h").write_bytes(marked)
    assert compiled(tmp_path, text).frontend == "nvcc"


@pytest.mark.toolchain
def test_names_are_known_of_what_nvrtc_refuses(tmp_path: Path) -> None:
    text = (
        "#include <cuda_runtime.h>\n__global__ void k(int *x, std::size_t n) {\n"
        "  int kept[64];\n  for (int i = 0; i < 64; ++i) kept[i] = x[i];\n"
        "  x[n] = kept[x[n + 64] & 63];\n}\n"
    )
    report = analyse_unit(unit(tmp_path, text), Wanted())
    (kernel,) = report.kernels
    assert report.frontend == "nvcc"
    assert [(one.object, one.bytes) for one in kernel.findings] == [("kept", 256)]


@pytest.mark.toolchain
def test_the_users_own_error_is_shown_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    real = compile_cuda.nvcc.compile_to_ptx
    monkeypatch.setattr(
        compile_cuda.nvcc, "compile_to_ptx", lambda *a: (calls.append(a), real(*a))[1]
    )
    with pytest.raises(CompileError) as caught:
        compiled(tmp_path, "__global__ void k(int *x) {\n  x[0] = undeclared;\n}\n")
    assert "NVRTC refused a.cu: line 2: error: " in caught.value.message
    assert (caught.value.hint, len(calls)) == (None, 1)


@pytest.mark.toolchain
def test_an_error_that_nvrtc_stops_before_is_shown(tmp_path: Path) -> None:
    text = (
        "#include <cuda_runtime.h>\n__global__ void k(int *x, std::size_t n) { x[n] = 1; }\n"
        "__global__ void q(int *x) { x[0] = undeclared; }\n"
    )
    with pytest.raises(CompileError) as caught:
        compiled(tmp_path, text)
    assert 'a.cu(3): error: identifier "undeclared" is undefined' in caught.value.message
    assert "NVRTC refused it too" in (caught.value.hint or "")


@pytest.mark.toolchain
def test_an_instance_that_cannot_be_made_is_the_request_s(tmp_path: Path) -> None:
    text = "template <int N> __global__ void k(int *x) { x[0] = N; }\n"
    with pytest.raises(CompileError) as caught:
        compiled(tmp_path, text, instantiate=("k<nowhere>",))
    assert caught.value.message.startswith("NVRTC refused a.cu")


@pytest.mark.toolchain
def test_without_nvcc_the_error_stays_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise ToolMissingError("toolchain", "nvcc was not found", hint="install it")

    monkeypatch.setattr(compile_cuda.nvcc, "compile_to_ptx", missing)
    with pytest.raises(CompileError) as caught:
        compiled(tmp_path, "__global__ void k(int *x) {\n  x[0] = undeclared;\n}\n")
    assert "NVRTC refused a.cu: line 2: error: " in caught.value.message
    assert "nvcc was not found" in (caught.value.hint or "")


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("#ifdef __GNUC__\n#endif\n", ["evidence"]),
        ("__device__ int n = sizeof(NULL);\n", ["evidence"]),
        ("#ifdef __CUDACC__\n#endif\n", []),
    ],
)
def test_what_nvcc_would_have_to_decide_is_missing_evidence_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, kinds: list[str]
) -> None:
    def missing(*_: object) -> None:
        raise ToolMissingError("toolchain", "nvcc cannot run without a host C++ compiler")

    monkeypatch.setattr(compile_cuda.nvcc, "compile_to_ptx", missing)
    made = compiled(tmp_path, f"{text}__global__ void k(int *x) {{ x[0] = 1; }}\n")
    assert made.frontend == "nvrtc"
    assert [gap.kind for gap in made.gaps] == kinds


@pytest.mark.toolchain
def test_an_error_in_a_header_is_said_to_be_there(tmp_path: Path) -> None:
    (tmp_path / "deep.cuh").write_text("#pragma once\n\n\n\n\n__device__ int f() { return y; }\n")
    with pytest.raises(CompileError) as caught:
        compiled(tmp_path, '#include "deep.cuh"\n__global__ void k(int *x) { x[0] = f(); }\n')
    assert "deep.cuh, line 6: error: " in caught.value.message


def refusal(log: str) -> CompileError:
    return CompileError("compile", "refused", log=log)


OURS = '/p/a.cu(3): error: identifier "q" is undefined\n'


@pytest.mark.parametrize(
    ("by_nvrtc", "by_nvcc", "about_host", "own"),
    [
        (OURS, OURS, False, True),
        (OURS, OURS.replace("(3)", "(9)"), False, False),
        (OURS, "nvcc fatal   : Unsupported gpu architecture 'compute_20'\n", False, True),
        (OURS, "nvcc fatal   : Unsupported gpu architecture 'compute_20'\n", True, False),
        (OURS, "/p/a.cu:1:10: fatal error: x.h: No such file or directory\n", False, True),
        (
            '/p/a.cu(1): catastrophic error: cannot open source file "x.h"\n',
            "/p/a.cu:1:10: fatal error: x.h: No such file or directory\n",
            True,
            False,
        ),
        (OURS, '/tmp/lmemscope-1/instantiate.cu(3): error: identifier "m"\n', False, True),
        ("", OURS, False, False),
    ],
)
def test_whose_error_is_shown(by_nvrtc: str, by_nvcc: str, about_host: bool, own: bool) -> None:
    assert is_users_own(refusal(by_nvrtc), refusal(by_nvcc), is_about_host=about_host) is own


def test_the_first_error_with_a_place() -> None:
    log = '/p/a.cu(2): warning #177-D: "x"\n/p/b.h(13): error: expected a ";"\n' + OURS
    found = first_error(log)
    assert found is not None
    assert (found.file, found.line, found.what) == ("/p/b.h", 13, 'expected a ";"')
    assert first_error("nvcc fatal : no\n") is first_error(None) is None


@pytest.mark.toolchain
def test_a_missing_header_behind_host_code_is_what_is_wrong(tmp_path: Path) -> None:
    text = "void host(int);\n#include <cstdio>\n#include <missing.h>\n__global__ void k() {}\n"
    (tmp_path / "a.cu").write_text(text)
    done = run_program("scan", "a.cu", "--format", "json", cwd=tmp_path)
    assert done.code == 3
    assert "missing.h" in done.document["units"][0]["failure"]["message"]
    # The same in every run, whatever its temporary directory was called.
    again = run_program("scan", "a.cu", "--format", "json", "--no-cache", cwd=tmp_path)
    assert again.document == done.document
