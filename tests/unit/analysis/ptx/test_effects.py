"""What a kernel does that others can see, which no rewrite may take away."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.effects import effects
from tests.support.builders import call, program
from tests.support.program import run_program

OVERLOADED = """\
#include <cstdio>
struct Table {
  int keys[16];
  int *all;
  __device__ int &operator[](int i) { atomicAdd(all, 1); return keys[i & 15]; }
  __device__ int operator[](int i) const { return keys[i & 15]; }
};
__global__ void k(Table t, const int *x, int *y) {
  atomicMin(y + 99, 7);
  y[threadIdx.x] = t[x[threadIdx.x]];
}
"""


def test_kinds_are_those_of_all_functions_that_are_reached() -> None:
    body = "red.global.add.u32 [%rd1], 1;\nst.local.u32 [%rd2], %r1;\n" + call("f", "%rd1")
    ptx = program(f"{body}\nret;", f="atom.global.cas.b32 %r1, [%rd1], %r2, %r3;\nret;")
    assert effects(ModuleFlow(ptx), "k") == (("atomic add", 1), ("atomic cas", 1))
    stored = program(
        "atom.add.u32 %r1, [%rd1], 1;\nst.global.v2.f32 [%rd1], {%f1, %f2};\n"
        "red.add.u32 [%rd1], 1;\n"
        "st.cs.global.u32 [%rd1], %r1;\nst.u32 [%rd1], %r1;\nst.shared.u32 [%r4], %r1;\n"
        "call.uni vprintf, ();\nst.local.u32 [%rd1], %r1;\nret;"
    )
    assert effects(ModuleFlow(stored), "k") == (
        ("atomic add", 2),
        ("print", 1),
        ("store through a pointer", 1),
        ("store to global memory", 2),
        ("store to shared memory", 1),
    )


@pytest.mark.toolchain
def test_an_overload_that_does_less_is_not_called_instead(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(OVERLOADED)
    arguments = ("--arch", "sm_90", "--unsafe", "--format", "json")
    done = run_program("fix", "a.cu", *arguments, cwd=tmp_path)
    (tried,) = [c for c in done.document["candidates"] if c["rewrite"] == "grid-constant"]
    assert (tried["applicability"], tried["verdict"], tried["rank"]) == ("unsafe", "worse", None)
    assert done.document["patch"] == ""
