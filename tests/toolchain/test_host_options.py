"""What host compilers' options do to macros is what the lists of them say; and what comes of it."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from lmemscope.sources.compiler_macros import SAME
from lmemscope.sources.host_options import DROPPED, NAMES, PASSED, PASSED_ALIKE
from tests.support.program import run_program

pytestmark = pytest.mark.toolchain

ALIKE = (
    "-O0 -O -O3 -Os -Ofast -fPIC -fno-pie -pthread -pedantic -Wno-deprecated -fopenmp -fopenacc "
    "-ffast-math -fno-math-errno -frounding-math -fsignaling-nans -fstack-protector-strong "
    "-fcf-protection=full -fsanitize=address -mtune=generic -march=haswell -mcmodel=medium -mavx2 "
    "-fno-weak -fno-builtin -fno-inline -ftree-parallelize-loops=2 -fexceptions -frtti "
    "-fsigned-char -fshort-enums"
)
CHANGING = (
    "-fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-sized-deallocation -fno-aligned-new "
    "-ffreestanding -ansi -fconcepts"
)
WITHOUT_EFFECT = (
    "-Wall -Wno-unused -g3 -w -pipe -m64 -fno-strict-aliasing -fno-common -fvisibility=hidden "
    "-ffunction-sections -fomit-frame-pointer -flto=auto -funroll-loops -fwrapv "
    "-ftree-vectorize -fdiagnostics-color=always -ftemplate-depth=99 -fmessage-length=0 -fno-plt "
    "-fno-semantic-interposition -fstack-clash-protection -fasynchronous-unwind-tables"
)


AT_ONCE = 16
"""Options in one call of the compiler."""


@functools.cache
def macros(*options: str) -> dict[str, str]:
    command = ["g++", "-x", "c++", "-std=c++17", "-E", "-dM", *options, "/dev/null"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^#define (\w+)(.*)$", made, re.MULTILINE))


def changed(option: str) -> set[str]:
    before, after = macros(), macros(option)
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def test_what_is_passed_alike_changes_nothing_that_nvrtc_has_too() -> None:
    for option in ALIKE.split():
        assert PASSED_ALIKE.fullmatch(option) is not None, option
        assert not {name for name in changed(option) if name.encode() in SAME}, option


def test_what_makes_nvcc_decide_does_change_such_names() -> None:
    for option in CHANGING.split():
        assert PASSED.fullmatch(option) is not None, option
        assert PASSED_ALIKE.fullmatch(option) is None, option
        assert {name for name in changed(option) if name.encode() in SAME}, option


def test_what_is_dropped_changes_no_macro() -> None:
    for option in WITHOUT_EFFECT.split():
        assert DROPPED.fullmatch(option) is not None, option
        assert not changed(option), option


def test_no_option_that_is_dropped_by_its_name_changes_a_macro() -> None:
    taken = 0
    for prefix in ("-f", "-fno-"):
        options = [f"{prefix}{name}" for name in NAMES]
        for first in range(0, len(options), AT_ONCE):
            taken += number_taken(options[first : first + AT_ONCE])
    assert taken > len(NAMES)


def number_taken(options: Sequence[str]) -> int:
    """How many the compiler knows, none of which may change a macro."""
    try:
        assert macros(*options) == macros(), options
    except subprocess.CalledProcessError:
        # A compiler of another version has another list.
        if len(options) == 1:
            return 0
        half = len(options) // 2
        return number_taken(options[:half]) + number_taken(options[half:])
    return len(options)


SM_80 = "-gencode arch=compute_80,code=sm_80"
SM_90 = "-gencode arch=compute_90,code=sm_90"
KERNEL = """__global__ void k(float *o, int *p) {{
{condition}
  float a[64];
  for (int j = 0; j < 64; j++) a[j] = o[j] * j;
  for (int j = 0; j < 64; j++) o[j + 64] = a[p[j] & 63];
#endif
  o[0] = 1;
}}
"""


def built(directory: Path, condition: str, flags: str) -> None:
    (directory / "k.cu").write_text(KERNEL.format(condition=condition))
    entry = {"directory": str(directory), "command": f"nvcc {flags} -c k.cu", "file": "k.cu"}
    (directory / "compile_commands.json").write_text(json.dumps([entry]))


@pytest.mark.parametrize(
    ("flags", "condition", "frontend", "frame"),
    [
        ("-O3", "#ifdef __OPTIMIZE__", "nvcc", 256),
        ("-O3", "#ifdef OWN", "nvrtc", 0),
        ("-Xcompiler -pthread", "#ifdef _REENTRANT", "nvcc", 256),
        ("--no-exceptions", "#ifndef __cpp_exceptions", "nvcc", 256),
        ("-Xcompiler -funsigned-char", "#if '\\377' > 0", "nvcc", 256),
    ],
)
def test_device_code_is_what_the_builds_options_make_it(
    flags: str, condition: str, frontend: str, frame: int, tmp_path: Path
) -> None:
    built(tmp_path, condition, flags)
    document = run_program("scan", ".", "--format", "json", "--no-cache", cwd=tmp_path).document
    (unit,) = document["units"]
    (kernel,) = unit["kernels"]
    assert (unit["frontend"], kernel["stack_frame"]) == (frontend, frame)


@pytest.mark.parametrize(
    ("architectures", "code"),
    [("-arch=sm_90", 0), (f"{SM_80} {SM_90}", 1), ("-arch=all-major", 3)],
)
def test_a_list_of_architectures_is_the_builds_or_not_known(
    architectures: str, code: int, tmp_path: Path
) -> None:
    several = "#define SECOND(a, b, ...) b\n#define OF(...) SECOND(__VA_ARGS__, 0, 0)\n"
    built(tmp_path, f"{several}#if OF(__CUDA_ARCH_LIST__)", architectures)
    found = run_program("check", ".", "--no-cache", cwd=tmp_path)
    assert found.code == code
