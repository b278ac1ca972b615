"""Code that a build makes from an earlier virtual architecture is compiled as it makes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.program import run_program

pytestmark = pytest.mark.toolchain


@pytest.mark.parametrize(("asked", "code"), [("compute_80", 1), ("compute_90", 0)])
def test_the_macros_are_those_of_the_virtual_architecture(
    asked: str, code: int, tmp_path: Path
) -> None:
    (tmp_path / "a.cu").write_text(
        "__global__ void k(float *o, int *p) {\n#if __CUDA_ARCH__ == 800\n    float a[64];\n"
        "    for (int i = 0; i < 64; ++i) a[i] = o[i];\n"
        "    for (int i = 0; i < 64; ++i) o[i + 64] = a[p[i] & 63];\n#endif\n}\n"
    )
    command = f"nvcc -gencode arch={asked},code=sm_90 -c a.cu"
    entry = {"directory": str(tmp_path), "file": "a.cu", "command": command}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    ran = run_program("check", "compile_commands.json", cwd=tmp_path)
    assert ran.code == code, ran.out + ran.err
    # No code for an earlier architecture is made from it, whatever the build asks for.
    older = run_program("check", "compile_commands.json", "--arch", "sm_75", cwd=tmp_path)
    assert older.code == 0, older.out + older.err
