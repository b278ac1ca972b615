"""The macros that nvcc and NVRTC begin with are those that the tables say."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from lmemscope.lowering import toolkit_names
from lmemscope.model import CompileOptions, Unit
from lmemscope.sources.compiler_macros import (
    ALWAYS,
    DIFFERENT,
    NOT_DEFINED,
    SAME,
    is_different,
    may_differ,
)
from lmemscope.tools import nvcc, nvrtc
from lmemscope.tools.toolchain import INSTALLED

_DEFINED = re.compile(r"^#define (\w+)(\([^)]*\))?", re.MULTILINE)
_SHOWN = re.compile(r'^@v_(\w+) (".*")$', re.MULTILINE)


def test_no_name_is_in_both_tables() -> None:
    assert not DIFFERENT & SAME
    assert ALWAYS <= SAME
    assert not {name for name in SAME if may_differ(name)}
    assert all(may_differ(name) and is_different(name) for name in DIFFERENT)


def preprocessed(text: str, directory: Path, std: str | None, arch: str, *more: str) -> str:
    """A text as nvcc's device pass preprocesses it."""
    source = directory / "a.cu"
    source.write_text(text)
    flags = nvcc.options_for(arch, CompileOptions(std=std))
    command = [INSTALLED.find("nvcc"), *flags, "--dryrun", "-x", "cu", str(source)]
    done = subprocess.run([*command, "-o", "a.ptx"], capture_output=True, text=True, check=True)
    (preprocessing,) = [line[3:] for line in done.stderr.splitlines() if " -E " in line]
    step = re.sub(r' -o "[^"]*"', "", preprocessing)
    done = subprocess.run([*_words(step), *more], capture_output=True, text=True, check=True)
    return done.stdout


def _words(command: str) -> list[str]:
    from lmemscope.formats.shell_words import shell_words

    return shell_words(command)


def of_nvrtc(text: str, std: str | None, arch: str, names: tuple[str, ...] = ()) -> tuple[str, str]:
    """What NVRTC says of a text, and the PTX."""
    flags = nvrtc.options_for(arch, CompileOptions(std=std))
    made = nvrtc.compile_program(text, "/nowhere/a.cu", flags, names)
    return made.log, made.ptx.decode()


def value_of(name: str, parameters: str | None) -> str:
    if parameters is None:
        return f"TEXT({name})"
    count = len([one for one in parameters.strip("()").split(",") if one.strip()])
    return f"TEXT({name}({', '.join(f'a{number}' for number in range(count))}))"


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("std", "arch"), [(None, "sm_90"), ("c++14", "sm_75"), ("c++20", "sm_100a")]
)
def test_the_tables_are_those_of_the_compilers(std: str | None, arch: str, tmp_path: Path) -> None:
    by_nvcc = dict(_DEFINED.findall(preprocessed("", tmp_path, std, arch, "-dM")))
    known = sorted({*by_nvcc, *(name.decode() for name in DIFFERENT | SAME)})
    asking = "".join(f'#ifdef {name}\n#pragma message "HAS {name}"\n#endif\n' for name in known)
    by_nvrtc = set(re.findall(r"HAS (\w+)", of_nvrtc(asking, std, arch)[0]))
    assert not [name for name in {*by_nvcc, *by_nvrtc} if NOT_DEFINED.fullmatch(name.encode())]
    both = sorted(by_nvrtc & set(by_nvcc))
    head = "#define TEXT_(...) #__VA_ARGS__\n#define TEXT(...) TEXT_(__VA_ARGS__)\n"
    values = {name: value_of(name, by_nvcc[name] or None) for name in both}
    shown = preprocessed(
        head + "".join(f"@v_{name} {value}\n" for name, value in values.items()),
        tmp_path,
        std,
        arch,
    )
    of_nvcc = {name: json.loads(text) for name, text in _SHOWN.findall(shown)}
    text = head + "".join(
        f"__device__ const char v_{name}[] = {value};\n" for name, value in values.items()
    )
    _, ptx = of_nvrtc(text, std, arch, tuple(f"&v_{name}" for name in both))
    found = re.findall(r"v_(\w+)\[\d+\](?: = \{([^}]*)\})?;", ptx)
    of_rtc = {
        name: bytes(int(one) for one in (data or "0").split(",")).rstrip(b"\0").decode()
        for name, data in found
    }
    same = {name for name in both if name in of_nvcc and of_nvcc[name] == of_rtc.get(name)}
    assert len(same) > 200
    wrong = {name for name in by_nvrtc | set(by_nvcc) if name.encode() in SAME} - same
    assert wrong == {"__FILE__", "__LINE__"} & wrong
    missed = {name for name in by_nvrtc | set(by_nvcc) if not may_differ(name.encode())} - same
    assert missed == {"__FILE__", "__LINE__"} & missed


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("#if CUDART_VERSION > 1\n#endif\n", "CUDART_VERSION"),
        ("#ifdef __CUDACC__\n#endif\n__device__ int n = __LINE__; // CUDART_VERSION\n", None),
    ],
)
def test_another_nvrtc_is_asked_what_it_defines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str | None
) -> None:
    source = tmp_path / "a.cu"
    source.write_text(text)
    unit = Unit("a.cu", str(source), "auto", "sm_90")
    assert toolkit_names.of_other_version(unit, INSTALLED) is None
    monkeypatch.setattr(toolkit_names, "MEASURED", (1, 0))
    assert toolkit_names.of_other_version(unit, INSTALLED) is None
    monkeypatch.setattr(nvrtc, "defined", lambda *_: frozenset())
    assert toolkit_names.of_other_version(unit, INSTALLED) == name


@pytest.mark.toolchain
def test_what_is_spelt_otherwise_and_used_alike_makes_the_same_code(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        'extern "C" __noinline__ __device__ int f(int x) { assert(x && "told"); return x + 1; }\n'
        'extern "C" __global__ void k(int *x) { assert(x[0] < 3); x[1] = f(x[2]); }\n'
    )
    flags = nvcc.options_for("sm_90", CompileOptions())
    by_nvcc = nvcc.compile_to_ptx(str(source), flags, ()).ptx.decode()
    made = nvrtc.compile_program(
        source.read_text(), str(source), nvrtc.options_for("sm_90", CompileOptions()), ()
    )
    assert _code(by_nvcc) == _code(made.ptx.decode())


def _code(ptx: str) -> list[str]:
    noise = re.compile(r"\s*(?://|\.file|\.loc|\.section)")
    return [line for line in ptx.splitlines() if line.strip() and not noise.match(line)]
