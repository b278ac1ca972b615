"""Names that nvcc's headers declare and NVRTC does not, in places where a lookup may fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.model import CompileOptions
from lmemscope.sources import includes
from lmemscope.sources.unlike import asked_of_nvcc

CALL = "template <class T> __device__ auto f(T x) -> decltype({}, void()) {{ }}\n"


def asked(directory: Path, text: str, **options: tuple[str, ...]) -> str | None:
    source = directory / "a.cu"
    source.write_text(text)
    given = CompileOptions(**options)  # type: ignore[arg-type]
    return asked_of_nvcc(includes.closure(str(source), given), given)


@pytest.mark.parametrize(
    "text",
    [
        CALL.format("atoi(x)"),
        CALL.format("sqrt(x)"),
        CALL.format("__fpclassify(x)"),
        "#define F atoi\n" + CALL.format("F(x)"),
        "#define CALL(f, x) f(x)\n" + CALL.format("CALL(atoi, x)"),
        "#define PUT(a, b) a##b\n" + CALL.format("PUT(ato, i)(x)"),
        "struct timespec;\n",
        "struct __align__(8) tm;\n",
        "struct __locale_struct;\n",
        "#define TAG struct\nTAG tm;\n",
        "namespace std { class exception; }\n",
        "template <class T, int N = int(sqrt(T(4)))> struct S;\n",
        "constexpr int n = sizeof(fmod(1.f, 1));\n",
        "constexpr bool b = __is_some_question(int);\n",
        "#include <cuda/std/cstdint>\nint n = sizeof(cuda::std::int_fast16_t);\n",
        "#include <cuda/std/cstdint>\nusing namespace cuda::std;\nint n = sizeof(uint64_t);\n",
        "#include <cooperative_groups.h>\nvoid f(uint64_t);\n",
        "#if 0\n#elifdef FAST\n#endif\n",
        "#if #machine(x86_64)\n#endif\n",
        "#define M #cpu(x86_64)\n#if M\n#endif\n",
        "#assert a(b)\n",
        '# 1 "b.h" 3\n',
    ],
)
def test_a_name_or_directive_of_nvcc_alone(tmp_path: Path, text: str) -> None:
    assert asked(tmp_path, text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "#include <cuda/std/array>\n__device__ cuda::std::array<float, 2> a;\n",
        "__device__ float f(float x) { return sqrt(x) + fabs(x) + fmaxf(x, 1.f); }\n",
        "template <class T> __global__ void k(T *x) { x[0] = sqrt(x[1]); }\n",
        "__global__ void k(float *x, int index, float time) { x[index] = time * sizeof(x[0]); }\n",
        "struct S { int tm, select; };\n__device__ int f(S s) { return s.tm + s.select; }\n",
        "typedef unsigned int uint;\n__device__ uint f(float x) { return uint(x); }\n",
        "typedef unsigned long long uint64_t;\n__device__ uint64_t f(uint64_t x) { return x; }\n",
        "#define index(i, j) ((i) * 4 + (j))\n__device__ int f(int i) { return index(i, 1); }\n",
        "__device__ int n = __builtin_expect(1, 1);\n",
        "template <class T> __device__ T f(T x) { decltype(x) y = x; return y; }\n",
        "#define S(x) #x\n#\n#pragma once\n#line 3\n",
    ],
)
def test_ordinary_code_is_read_alike(tmp_path: Path, text: str) -> None:
    assert asked(tmp_path, text) is None


def test_headers_and_options_are_texts_too(tmp_path: Path) -> None:
    (tmp_path / "b.h").write_text("typedef unsigned int uint;\n")
    text = "__device__ int f(float x) { return uint(x); }\n"
    assert asked(tmp_path, text) == "uint"
    assert asked(tmp_path, '#include "b.h"\n' + text) is None
    assert asked(tmp_path, "int a;\n", defines=("F=atoi",)) == "atoi"
