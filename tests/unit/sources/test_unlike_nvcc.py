"""What NVRTC reads otherwise than nvcc beside macros: lines, pragmas and types of functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.model import CompileOptions
from lmemscope.sources import includes
from lmemscope.sources.unlike import asked_of_nvcc
from lmemscope.sources.unlike_nvcc import read_otherwise


def asked(directory: Path, text: str, **options: tuple[str, ...]) -> str | None:
    source = directory / "a.cu"
    source.write_bytes(text.encode())
    given = CompileOptions(**options)  # type: ignore[arg-type]
    return asked_of_nvcc(includes.closure(str(source), given), given)


TRAIT = "template <class R, class... A> struct I<R (*)(A...) %s> { static constexpr int v = 1; };\n"

OTHERWISE = [
    "// a comment\rint a;\n",
    "#if 0 // a\r#endif\rint a;\n#endif\n",
    "int a; // a\r\\\nint b;\n",
    '#pragma push_macro("X")\n',
    '_Pragma("pop_macro(\\"X\\")")\n',
    '#define DO(x) _Pragma(#x)\nDO(push_macro("X"))\n',
    "#define P(a, b) a##b\n#define DO(x) _Pragma(#x)\n#define E(x) DO(x)\nE(P(push_, macro)(X))\n",
    "#pragma GCC poison a\n",
    '_Pragma("GCC system_header")\n',
    '#pragma GCC target("avx2")\n',
    "constexpr bool b = noexcept(sinf(1.f));\n",
    "constexpr bool b = noexcept /* */ (sinf(1.f));\n",
    "constexpr bool b = noexcept // a\n(sinf(1.f));\n",
    "void f() noexcept(noexcept(g()));\n",
    TRAIT % "noexcept",
    TRAIT % "throw()",
    "template <class R, class A> constexpr bool f(R (*)(A) noexcept);\n",
    "using F = float (*)(float) noexcept;\n",
    "typedef float (*F)(float) noexcept;\n",
    "#define NX noexcept\n",
    "#define P(a, b) a##b\nconstexpr bool b = P(no, except)(sinf(1.f));\n",
    "constexpr bool b = cuda::std::is_nothrow_invocable_v<F, float>;\n",
    "constexpr bool b = __has_nothrow_copy(S);\n",
    "constexpr int v = I<decltype(&sqrtf)>::v;\n",
    "constexpr int v = I<decltype(::memcpy)>::v;\n",
    "auto p = &sinf;\n",
    "int v = g(sinf);\n",
    "int v = G<sinf>::v;\n",
    "#define L(x) __LINE__\nconstexpr int z = L(\n1\n);\n",
    "#if __LINE__ == 1\n#endif\n",
    "constexpr bool b = sizeof(__FILE__) == 5;\n",
    "#define P(a, b) a##b\nconstexpr int z = P(__LI, NE__);\n",
    "constexpr int f(int l = __builtin_LINE()) { return l; }\n",
    "int n = std::source_location::current().line();\n",
    "void f() { printf(s, g(__LINE__)); }\n",
    "void f() { printf(s, __LINE__ + a[__LINE__]); }\n",
    "#define printf f\nvoid g() { printf(s, __LINE__); }\n",
]
ALIKE = [
    "int a;\r\nint b; // c\r\n#define A \\\r\n 1\r\n",
    "#pragma once\n#pragma unroll 4\n#pragma omp parallel for\n#pragma pack(push, 1)\n",
    "#pragma GCC diagnostic push\n#pragma GCC unroll 4\n#pragma nv_diag_suppress 1\n",
    '#define U(n) _Pragma("unroll")\n_Pragma("GCC ivdep")\n',
    "struct S { S() noexcept : a(1) {} void f() const noexcept override; int a; };\n",
    "void f() noexcept(true);\nvoid g() noexcept { }\nauto h() noexcept -> int;\n",
    "S(S&&) noexcept = default;\nvoid f() noexcept;\n",
    "__device__ float f(float sin, float x) { return g(sin, &x) + sinf(x) + (sqrtf(x), x); }\n",
    'void f() { printf("%s:%d\\n", __FILE__, __LINE__); }\n',
    "bool b = x && free(y);\nint stride; void k(int a, int stride);\n",
]


@pytest.mark.parametrize("text", OTHERWISE)
def test_nvcc_reads_it_otherwise(tmp_path: Path, text: str) -> None:
    assert asked(tmp_path, text) is not None


@pytest.mark.parametrize("text", ALIKE)
def test_both_read_it_alike(tmp_path: Path, text: str) -> None:
    assert asked(tmp_path, text) is None


def test_headers_and_options_are_texts_too(tmp_path: Path) -> None:
    header = tmp_path / "b.h"
    header.write_bytes(b"// a\rint a;\n")
    assert asked(tmp_path, '#include "b.h"\n') is not None
    header.write_bytes(b"int a;\n")
    assert asked(tmp_path, '#include "b.h"\n') is None
    assert asked(tmp_path, "int a;\n", defines=("NX=noexcept",)) is not None
    assert asked(tmp_path, "int a;\n", defines=("PM=push_macro",)) is not None


def test_equal_headers_that_are_read_once_are_one_for_gcc(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "y.h").write_text("#pragma once\nint v;\n")
    text = '#include "a/y.h"\n#include "b/y.h"\n'
    assert asked(tmp_path, text) is not None
    (tmp_path / "b" / "y.h").write_text("#pragma once\nint other;\n")
    assert asked(tmp_path, text) is None
    for name in ("a", "b"):
        (tmp_path / name / "y.h").write_text("int v();\n")
    assert asked(tmp_path, text) is None
    assert asked(tmp_path, text.replace("include", "import")) is not None


@pytest.mark.parametrize(
    ("text", "is_read_otherwise"),
    [
        ("struct S { char c; int i; } __attribute__((packed));", True),
        ("struct S { char c; int i; } __attribute((packed));", True),
        ("#define ATTR(x) __attribute__((x))\nstruct S { int i; } ATTR(packed);", True),
        ("#define ATTR __attribute__\nstruct S { int i; } ATTR((aligned(16)));", True),
        ("#define A(x) __attribute##x\nstruct S { int i; } A(__((packed)));", True),
        ("#define unused packed\nstruct S { int i; } __attribute__((unused));", True),
        ("struct S { int i; %> __align__(16);", True),
        ("#define END }\nstruct S { int i; END __align__(16);", True),
        ("template <class T> concept C = requires(T x) { x <=> x; };", True),
        ("struct __attribute__((packed)) S { char c; int i; };", False),
        ("struct __align__(16) S { int i; };", False),
        ("__attribute__((always_inline, unused)) int f();", False),
        ('__attribute__((visibility("default"), __noinline__)) int f();', False),
        ("#define KEEP __attribute__((noinline))\n// __attribute__((packed))\nint f();", False),
    ],
)
def test_attributes_of_types_are_taken_only_in_front_of_names(
    text: str, is_read_otherwise: bool
) -> None:
    assert (read_otherwise(text.encode()) is not None) == is_read_otherwise
