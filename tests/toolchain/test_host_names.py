"""The names that nvcc and NVRTC know otherwise are those that the tables say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lmemscope.errors import CompileError
from lmemscope.model import CompileOptions
from lmemscope.sources.host_names import (
    DIRECTIVES,
    HOST_NAMES,
    OTHER_OVERLOADS,
    OTHER_RESULTS,
    SAME_BUILTINS,
)
from lmemscope.tools import nvcc, nvrtc

pytestmark = pytest.mark.toolchain

_OPTIONS = CompileOptions(std="c++17")
_VALUE = re.compile(r"r_(\w+)\[\d+\](?: = \{([^}]*)\})?;")
_HEAD = """
template <class T> __device__ T &&of() noexcept;
template <class...> struct none { using type = void; };
template <class T> struct kind { static constexpr int v = 9; };
template <> struct kind<bool> { static constexpr int v = 1; };
template <> struct kind<int> { static constexpr int v = 2; };
template <> struct kind<float> { static constexpr int v = 3; };
template <> struct kind<double> { static constexpr int v = 4; };
"""
_ASKED = """
namespace n_{0} {{
template <class V, class... A> struct q {{ static constexpr int v = 0; }};
template <class... A> struct q<typename none<decltype({0}(of<A>()...))>::type, A...> {{
  static constexpr int v = kind<decltype({0}(of<A>()...))>::v;
}};
}}
extern "C" __device__ const unsigned char r_{0}[] = {{ 7, {1} }};
"""
_ARGUMENTS = (
    "int", "float", "long double", "int, int", "float, int", "int, float", "float, double",
    "float, int*", "int, int*", "float, float, int", "int, int, int", "float, int, int*",
)  # fmt: skip


def compiled(text: str, directory: Path, wanted: tuple[str, ...] = ()) -> tuple[str, str]:
    """PTX by NVRTC and by nvcc."""
    source = directory / "a.cu"
    source.write_text(text)
    flags = nvrtc.options_for("sm_90", _OPTIONS)
    by_nvrtc = nvrtc.compile_program(text, str(source), flags, wanted).ptx
    by_nvcc = nvcc.compile_to_ptx(str(source), nvcc.options_for("sm_90", _OPTIONS), ()).ptx
    return by_nvrtc.decode(), by_nvcc.decode()


def answers(names: list[str], directory: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The kinds of results of calls, for NVRTC and for nvcc; 0 where a call is refused."""
    text = _HEAD
    for name in names:
        asked = (f"n_{name}::q<void, {arguments}>::v" for arguments in _ARGUMENTS)
        text += _ASKED.format(name, ", ".join(asked))
    wanted = tuple(f"&r_{name}" for name in names)
    first, second = (dict(_VALUE.findall(ptx)) for ptx in compiled(text, directory, wanted))
    return first, second


def test_calls_differ_as_the_tables_say(tmp_path: Path) -> None:
    results = sorted(name.decode() for name in OTHER_RESULTS)
    overloads = sorted(name.decode() for name in OTHER_OVERLOADS)
    alike = ["sqrtf", "fmodf", "min", "max", "rsqrt", "j0", "yn", "exp10", "norm", "malloc"]
    by_nvrtc, by_nvcc = answers([*results, *overloads, *alike], tmp_path)
    assert len(by_nvcc) == len(by_nvrtc) == len(results) + len(overloads) + len(alike)
    different = {name for name in by_nvcc if by_nvcc[name] != by_nvrtc[name]}
    assert different == {*results, *overloads}


def test_host_names_are_nvccs_alone(tmp_path: Path) -> None:
    left = sorted(name.decode() for name in HOST_NAMES)
    # Some are macros as well.
    lines = [f"#undef {name}\nnamespace n_{name} {{ using ::{name}; }}" for name in left]
    source = tmp_path / "a.cu"
    source.write_text("\n".join(lines) + "\n__device__ int made = 1;\n")
    by_nvcc = nvcc.compile_to_ptx(str(source), nvcc.options_for("sm_90", _OPTIONS), ())
    assert b"made" in by_nvcc.ptx
    flags = nvrtc.options_for("sm_90", _OPTIONS)
    while left:  # NVRTC stops at a number of errors.
        text = "\n".join(f"namespace n_{name} {{ using ::{name}; }}" for name in left)
        with pytest.raises(CompileError) as refusal:
            nvrtc.compile_program(text, "/nowhere/a.cu", flags, ())
        refused = re.findall(r"a\.cu\((\d+)\): error", refusal.value.log or "")
        assert refused
        left = [name for line, name in enumerate(left, 1) if str(line) not in refused]


_SHAPES = """
struct Base { virtual __device__ int f() { return 1; } };
struct Derived : Base {};
struct Plain { int a[4]; };
struct Empty {};
union Either { int a; float b; };
enum Word { first };
"""
_TRAITS = ("Base", "Derived", "Plain", "Empty", "Either", "Word", "int", "Base &", "Plain[2]")
_PAIRS = ("Base, Derived", "Derived, Base", "int, float", "Derived *, Base *", "Base *, Derived *")
_OF_TWO = frozenset((b"__is_base_of", b"__is_convertible_to"))
_STATEMENTS = {
    b"__builtin_assume": "__builtin_assume(n > 0); for (int i = 0; i < n; ++i) p[i] += 1;",
    b"__builtin_assume_aligned": "*(int4 *)p = *(int4 *)__builtin_assume_aligned(q, 16);",
    b"__builtin_expect": "if (__builtin_expect(n > 7, 0)) p[n] = 3; else p[1] = 2;",
    b"__builtin_unreachable": "if (n > 3) __builtin_unreachable(); p[n > 3] = n;",
}
"""A kernel's body for each builtin that is no question."""
_NO_CODE = re.compile(r"//.*|/\*.*?\*/|^\s*\.(?:loc|file)\b.*$", re.MULTILINE)


def bodies(ptx: str) -> dict[str, list[str]]:
    """The instructions of each kernel."""
    found = re.findall(r"\.entry (\w+)\([^)]*\)[^{]*\{(.*?)^\}", ptx, re.MULTILINE | re.DOTALL)
    return {name: _NO_CODE.sub("", body).split() for name, body in found}


def test_builtins_are_answered_alike(tmp_path: Path) -> None:
    text = _SHAPES
    for name in SAME_BUILTINS - _STATEMENTS.keys():
        types = _PAIRS if name in _OF_TWO else _TRAITS
        values = ", ".join(f"{name.decode()}({one})" for one in types)
        text += (
            f'extern "C" __device__ const unsigned char r_{name.decode()}[] = {{7, {values}}};\n'
        )
    for name, body in _STATEMENTS.items():
        text += f'extern "C" __global__ void k{name.decode()}(int *p, int *q, int n) {{ {body} }}\n'
    questions = tuple(f"&r_{name.decode()}" for name in SAME_BUILTINS - _STATEMENTS.keys())
    first, second = compiled(text, tmp_path, questions)
    values = dict(_VALUE.findall(first))
    assert len(values) == len(questions)
    assert values == dict(_VALUE.findall(second))
    assert bodies(first).keys() == {f"k{name.decode()}" for name in _STATEMENTS}
    assert bodies(first) == bodies(second)


_DIRECTED = """
#include "part.h"
#define GIVEN 1
#undef GIVEN
#ifdef GIVEN
#error "undefined"
#elif PART == 5
#ifndef GIVEN
#warning "as it should be"
extern "C" __global__ void k(int *p, int n) {
#pragma unroll 4
  for (int i = 0; i < n; ++i) p[i] += PART;
#line 77
  p[n] = __LINE__;
}
#else
#error "defined"
#endif
#endif
#if !defined GIVEN
extern "C" __global__ void last(int *p) { *p = 1; }
#endif
"""


def test_directives_are_obeyed_alike(tmp_path: Path) -> None:
    (tmp_path / "part.h").write_text("#define PART 5\n")
    assert {word.encode() for word in re.findall(r"^#(\w+)", _DIRECTED, re.M)} == DIRECTIVES
    first, second = compiled(_DIRECTED, tmp_path)
    assert bodies(first).keys() == {"k", "last"}
    assert bodies(first) == bodies(second)
