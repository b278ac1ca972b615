"""The debug compilation from the preprocessed text: the same bytes, or a whole one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from lmemscope.lowering import twin
from lmemscope.lowering.compile_cuda import compile_file
from lmemscope.lowering.debug import debug_variables
from lmemscope.model import Artifacts, Unit
from lmemscope.tools import nvcc, process
from lmemscope.tools.nvcc_steps import Steps, cicc_command, read_steps, same_text, without_steps

LOCAL = """#include <cstdio>
__global__ void k(const int *x, int *y) {
  int window[32];
  for (int i = 0; i < 32; ++i) window[i] = x[i];
  y[threadIdx.x] = window[x[threadIdx.x] & 31];
}
"""
CLEAN = "#include <cstdio>\n__global__ void k(int *y) { y[threadIdx.x] = 1; }\n"
NAMED = '#ifdef __CUDACC_DEBUG__\n#include "nowhere.h"\n#endif\n'


def compiled(directory: Path, text: str) -> Artifacts:
    file = directory / "a.cu"
    file.write_text(text)
    return compile_file(Unit(str(file), str(file), "nvcc", "sm_90"), None)


def begun() -> bool:
    made = twin.current()
    assert made is not None
    return made._cicc is not None  # noqa: SLF001


@pytest.mark.toolchain
def test_it_is_what_a_whole_debug_compilation_makes(tmp_path: Path) -> None:
    with twin.beside(names=True):
        artifacts = compiled(tmp_path, LOCAL)
        made = twin.current()
        assert made is not None
        found = made.ptx(artifacts.ptx)
    flags = nvcc.debug_options(nvcc.options_for("sm_90", artifacts.unit.options))
    assert found == nvcc.compile_to_ptx(artifacts.unit.path, flags, ()).ptx


@pytest.mark.toolchain
def test_names_come_from_it_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with twin.beside(names=True):
        artifacts = compiled(tmp_path, LOCAL)
        made = twin.current()
        assert made is not None
        kept = made._directory  # noqa: SLF001
        assert kept is not None
        monkeypatch.setattr(nvcc, "compile_to_ptx", None)
        variables, gaps = debug_variables(artifacts, None)
    assert not gaps
    assert "window" in [one.name for one in variables or ()]
    assert not os.path.exists(kept)
    assert twin.current() is None


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("text", "wanted"), [(LOCAL, True), (CLEAN, False), (LOCAL + NAMED, False)]
)
def test_it_begins_where_it_is_wanted_and_sure_to_be_the_same(
    text: str, wanted: bool, tmp_path: Path
) -> None:
    with twin.beside(names=True):
        compiled(tmp_path, text)
        assert begun() == wanted


@pytest.mark.toolchain
def test_another_programs_ptx_has_none(tmp_path: Path) -> None:
    with twin.beside(names=True):
        artifacts = compiled(tmp_path, LOCAL)
        made = twin.current()
        assert made is not None
        assert made.ptx(b"other") is None
        assert not begun()
        assert made.ptx(artifacts.ptx) is None


@pytest.mark.toolchain
def test_without_names_nothing_is_kept(tmp_path: Path) -> None:
    with twin.beside(names=False):
        assert twin.current() is None
        assert compiled(tmp_path, LOCAL).ptx


PRINTED = """#$ _SPACE_=
#$ CICC_PATH=/cuda/nvvm/bin
#$ gcc -D__CUDA_ARCH__=900 -E -x c++ "a b.cu" -o "/k/a.ii"
a.cu(3): warning: something
#$ "$CICC_PATH/cicc" -arch compute_90 "/k/a.ii" -o "/k/a.ptx"
#$ ptxas -arch=compute_90 "/k/a.ptx"
"""


def test_steps_are_read_and_left_out() -> None:
    steps = read_steps(PRINTED)
    assert steps is not None
    wanted = ["/cuda/nvvm/bin/cicc", "-arch", "compute_90", "/k/a.ii", "-o", "/k/a.ptx"]
    assert cicc_command(steps) == wanted
    assert without_steps(PRINTED) == "a.cu(3): warning: something\n"


@pytest.mark.parametrize("word", ["$HOME/a.ii", "`id`", "a\\\\b"])
def test_what_only_a_shell_understands_is_not_run(word: str) -> None:
    steps = read_steps(PRINTED.replace("/k/a.ii", word))
    assert steps is not None
    assert cicc_command(steps) is None


@pytest.mark.parametrize(
    "printed", ["", PRINTED.replace("cicc", "other"), PRINTED + PRINTED, PRINTED.replace(" -E", "")]
)
def test_other_steps_are_not_understood(printed: str) -> None:
    assert read_steps(printed) is None


def test_the_text_is_the_same_where_nothing_that_is_read_names_the_macro(tmp_path: Path) -> None:
    header, text = tmp_path / "a.h", tmp_path / "a.ii"
    header.write_text("int a;\n")
    text.write_text(f'# 1 "{header}"\n# 1 "<built-in>"\n# 1 "{tmp_path}//"\nint a;\n')
    plain = Steps("gcc -E a.cu", "", {})
    debug = replace(plain, preprocessing="gcc -E -D__CUDACC_DEBUG__ a.cu")
    assert same_text(plain, debug, str(text))
    other = replace(plain, preprocessing="gcc -E -D__CUDACC_DEBUG__ -DMORE a.cu")
    assert not same_text(plain, other, str(text))
    assert not same_text(debug, debug, str(text))
    header.write_text("#ifdef __CUDACC_DEBUG__\nint a;\n#endif\n")
    assert not same_text(plain, debug, str(text))
    header.unlink()
    assert not same_text(plain, debug, str(text))


def test_a_tool_beside_is_waited_for_or_ended() -> None:
    running = process.start(["sh", "-c", "echo said; exit 3"])
    done = running.finish()
    assert (done.returncode, done.output) == (3, "said\n")
    long = process.start(["sleep", "600"])
    long.end()
    long.end()
    assert long._process.returncode == -9  # noqa: SLF001


def test_memory_of_what_runs_beside_is_added() -> None:
    process.take_peak()
    process.run(["true"])
    alone = process.take_peak()
    running = process.start(["sleep", "0.1"])
    process.run(["true"])
    running.finish()
    assert process.take_peak() > 1.5 * alone
