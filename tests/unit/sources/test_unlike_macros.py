"""What of a text nvcc answers otherwise than NVRTC: names in every place where one may stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.lowering import toolkit_names
from lmemscope.model import CompileOptions, Unit
from lmemscope.sources import includes
from lmemscope.sources.unlike import asked_of_nvcc
from lmemscope.sources.unlike_macros import PASTED, SPLICED
from lmemscope.sources.unlike_nvcc import DIRECTIVE


def asked(tmp_path: Path, text: str, **options: tuple[str, ...]) -> str | None:
    source = tmp_path / "a.cu"
    source.write_text(text)
    given = CompileOptions(**options)  # type: ignore[arg-type]
    return asked_of_nvcc(includes.closure(str(source), given), given)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        # In a condition, by its own name or by another.
        ("#ifdef linux\n#endif\n", "linux"),
        ("#elif __INT_MAX__ > 7\n", "__INT_MAX__"),
        ("#elifdef __GLIBC__\n", DIRECTIVE),
        ("#if __AVX512F__\n#endif\n", "__AVX512F__"),
        ("#define RTC defined(__CUDACC_RTC__)\n#if !RTC\n#endif\n", "__CUDACC_RTC__"),
        ("#define HOST (__GNUC__ > 4)\n#define IS(x) x\n#if IS(HOST)\n#endif\n", "__GNUC__"),
        ("#define HI __has_include\n#if HI(<cstdio>)\n#endif\n", "__has_include"),
        ("#if __has_cpp_attribute(nodiscard)\n#endif\n", "__has_cpp_attribute"),
        ("#if __has_feature(x)\n#endif\n", "__has_feature"),
        # A guard of a header that nvcc has read before the source.
        ("#ifdef _STDLIB_H\n#endif\n", "_STDLIB_H"),
        ("#ifdef RAND_MAX\n#endif\n", "RAND_MAX"),
        # Reserved names that nothing here defines, whatever they are.
        ("#if __SOME_LIBC_MACRO > 3\n#endif\n", "__SOME_LIBC_MACRO"),
        ("#ifdef _Reserved\n#endif\n", "_Reserved"),
        # Outside of conditions.
        ("int f() { return sizeof(__VERSION__); }\n", "__VERSION__"),
        ("#define S2(x) #x\n#define S(x) S2(x)\nint n = sizeof(S(__GNUC__));\n", "__GNUC__"),
        ("int n = sizeof(NULL);\n", "NULL"),
        ("constexpr bool big = __BYTE_ORDER__ == 4321;\n", "__BYTE_ORDER__"),
        ("#pragma unroll __GXX_ABI_VERSION\n", "__GXX_ABI_VERSION"),
        ("#ifndef M_PI\n#define M_PI 3.0\n#endif\n", "M_PI"),
        ("#undef linux\n", "linux"),
        ("%:define A 1'0 /* ' */ + __INT_WIDTH__\n", "__INT_WIDTH__"),
        ("int a = 1'000; int b = __CHAR_BIT__; char c = 'x';\n", "__CHAR_BIT__"),
        ("// a \\\n comment\nint b = __CHAR_BIT__;\n", "__CHAR_BIT__"),
        ("int a = __CHAR\\\n_BIT__;\n", "__CHAR_BIT__"),
        ("#include <a/*b>\nint a = __CHAR_BIT__; // */\n", "__CHAR_BIT__"),
        ('const char *s = R"(a)"; int a = __CHAR_BIT__;\n', "__CHAR_BIT__"),
        # Spelt otherwise, and told apart by that.
        ("#ifdef __noinline__\n#endif\n", "__noinline__"),
        ("#define A(x) #x\n#define B(x) A(x)\nint n = sizeof(B(assert(1)));\n", "assert"),
        # Put together.
        ("#define P(a,b) a##b\n#if P(__GN,UC__)\n#endif\n", PASTED),
        ("#define P(a,b) a##b\nint n = P(__GN, UC__);\n", PASTED),
        ("#define Q(b) __INT##b\nint n = Q(_MAX__);\n", "__INT"),
        ("#define X __GN##UC__\nint n = X;\n", PASTED),
        ("#define P(a,b) a%:%:b\n#define R(x) P(lin, x)\nint n = R(ux);\n", PASTED),
        ("#define P(a,b) a##b\n#define Q P\nint n = Q(NU, LL);\n", PASTED),
        ("#define P(a,b) a##b\n#define A(m,x) m x\nint n = A(P,(NU,LL));\n", PASTED),
        ("#define P(a,b) a##b\n#define N __GN\nint n = P(N, UC__);\n", PASTED),
        ("#define C(a,b) D(a,b)\n#define D(a,b) a##b\nint n = C(C(__GN, UC), __);\n", PASTED),
        ("#define P(a,b) a##b\n__device__ float f(float x) { return P(po, w)(x, 2); }\n", PASTED),
        # Lines that one of the compilers joins.
        ("// comment \\ \nint a = 1;\n", SPLICED),
        ("// comment ??/\nint a = 1;\n", SPLICED),
        ("int a??(3??);\n", SPLICED),
    ],
)
def test_what_nvcc_answers_otherwise(tmp_path: Path, text: str, name: str) -> None:
    assert asked(tmp_path, text) == name


@pytest.mark.parametrize(
    "text",
    [
        "#if __CUDA_ARCH__ >= 800 && defined(__CUDACC__) && __cplusplus >= 201703L\n#endif\n",
        "#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || CUDART_VERSION >= 12000\n#endif\n",
        "#if defined(_WIN32) || defined(__HIP_PLATFORM_AMD__) || defined(__clang__)\n#endif\n",
        "#ifdef USE_DOUBLE\n#endif\n#if WIDTH > 4 && defined SOMETHING\n#endif\n",
        "#ifndef __MY_HEADER_H__\n#define __MY_HEADER_H__\n#endif\n",
        "// NULL, linux and __GNUC__ in a comment /* */\n/* __linux__\n */ int a;\n",
        'const char *s = "NULL __GNUC__ \\" unix";\nchar c = \'"\';\n',
        '#error NULL is not __GNUC__\n#include <linux/types.h>\n#include "unix.h"\n',
        "#define M_PI 3.14159\nfloat f() { return M_PI; }\n",
        "#define CAT(a,b) a##b\n__global__ void CAT(kernel_, float)(float *x) { x[0] = 1; }\n",
        '#define SAY(f, ...) printf(f, ##__VA_ARGS__)\nint u, n, i, x; void g() { SAY("", u); }\n',
        "#define DEF(T) void f_##T(T u, T n, T i, T x) { u = n; }\nDEF(int)\nDEF(float)\n",
        "__noinline__ __device__ int f(int x) { assert(x > 0); return x; }\n",
        "__device__ float f(float x) { return __fmaf_rn(x, __ldg(&x), __int_as_float(3)); }\n",
        "template <typename _T, int __M> __device__ _T g(_T __x) { return __x; }\n",
        '#define CHECK(x) do { if (x) printf("%s:%d", __FILE__, __LINE__); } while (0)\n',
        "int a = b ? c : d; // why?\n",
        "__global__ void k() { next<<<1, 1, 0, cudaStreamTailLaunch>>>(); }\n",
    ],
)
def test_what_both_answer_alike(tmp_path: Path, text: str) -> None:
    assert asked(tmp_path, text) is None


def test_options_and_headers_are_texts_too(tmp_path: Path) -> None:
    text = '#include "b.h"\n#if HAS\n#endif\n'
    (tmp_path / "b.h").write_text("#pragma once\n")
    assert asked(tmp_path, text) is None
    assert asked(tmp_path, text, defines=("HAS=defined(__GNUC__)",)) == "__GNUC__"
    assert asked(tmp_path, text, nvcc_args=("-D", "HAS=__linux__")) == "__linux__"
    (tmp_path / "flags.txt").write_text("--options-file more.txt")
    (tmp_path / "more.txt").write_text("-DHAS=unix")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert asked(tmp_path, text, nvcc_args=("-optf", "flags.txt")) == "unix"
    (tmp_path / "b.h").write_text("#pragma once\n#define HAS (RAND_MAX > 1)\n")
    assert asked(tmp_path, text) == "RAND_MAX"


def test_another_host_compiler_may_define_what_gcc_does_not(tmp_path: Path) -> None:
    text = "#ifdef __clang__\n#endif\n"
    assert asked(tmp_path, text) is None
    assert asked(tmp_path, text, nvcc_args=("-ccbin=clang++",)) == "__clang__"


def test_arguments_of_the_environment_are_nvccs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DBIG")
    assert asked(tmp_path, "int a;\n") == "NVCC_APPEND_FLAGS"


HEADERS = {
    "plain.h": "#ifndef PLAIN_H\n#define PLAIN_H\n#define LIMIT 3\n#define OTHER HIDDEN\n#endif\n",
    "asking.h": '#pragma once\n#include "inner.h"\n'
    "#ifdef __CUDACC_RTC__\n#define RTC_ONLY 1\n#endif\n",
    "inner.h": "#pragma once\n#define DEEP 1\n#define TWICE 1\n#undef TWICE\n#define TWICE 2\n",
    "hidden.h": "#pragma once\n#define HIDES __GNUC__\n",
    "read_before.h": "#ifndef __VECTOR_TYPES_H__\n"
    "#define __VECTOR_TYPES_H__\n#define V 1\n#endif\n",
}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("#include <asking.h>\n#if RTC_ONLY\n#endif\n", "RTC_ONLY"),
        ("#include <asking.h>\nint n = RTC_ONLY;\n", "RTC_ONLY"),
        ("#include <asking.h>\n#define LATER RTC_ONLY\n", "RTC_ONLY"),
        ("#include <asking.h>\nint n = DEEP + TWICE;\n", "DEEP"),
        ("#include <hidden.h>\nint n = HIDES;\n", "HIDES"),
        ("#include <plain.h>\nint n = LIMIT;\n", None),
        ("#include <plain.h>\n#include <asking.h>\nint n, deep, rtc_only;\n", None),
        ("#include <asking.h>\n#define DEEP 3\nint n = DEEP;\n", None),
        ("#include <read_before.h>\nint n = V;\n#if V\n#endif\n", None),
        ("int n = DEEP;\n", None),
    ],
)
def test_macros_of_the_toolkits_headers(tmp_path: Path, text: str, name: str | None) -> None:
    toolkit = tmp_path / "toolkit"
    toolkit.mkdir()
    for header, lines in HEADERS.items():
        (toolkit / header).write_text(lines)
    source = tmp_path / "a.cu"
    source.write_text(text)
    unit = Unit("a.cu", str(source), "auto", "sm_90")
    cache = str(tmp_path / "cache")
    for directory in (None, cache, cache):
        assert toolkit_names.named(unit, (str(toolkit),), directory) == name
