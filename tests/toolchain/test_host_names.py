"""The names that nvcc and NVRTC know otherwise are those that the tables say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lmemscope.errors import CompileError
from lmemscope.model import CompileOptions
from lmemscope.sources.host_names import HOST_NAMES, OTHER_OVERLOADS, OTHER_RESULTS
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


def answers(names: list[str], directory: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The kinds of results of calls, for NVRTC and for nvcc; 0 where a call is refused."""
    text = _HEAD
    for name in names:
        asked = (f"n_{name}::q<void, {arguments}>::v" for arguments in _ARGUMENTS)
        text += _ASKED.format(name, ", ".join(asked))
    source = directory / "a.cu"
    source.write_text(text)
    wanted = tuple(f"&r_{name}" for name in names)
    flags = nvrtc.options_for("sm_90", _OPTIONS)
    by_nvrtc = nvrtc.compile_program(text, str(source), flags, wanted).ptx
    by_nvcc = nvcc.compile_to_ptx(str(source), nvcc.options_for("sm_90", _OPTIONS), ()).ptx
    first, second = (dict(_VALUE.findall(ptx.decode())) for ptx in (by_nvrtc, by_nvcc))
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
