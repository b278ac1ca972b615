"""Static shared memory as a cubin alone tells is what ptxas says of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from lmemscope.formats.cubin import Cubin
from lmemscope.tools.toolchain import INSTALLED

pytestmark = pytest.mark.toolchain

TEXT = """
.version 8.7
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry fixed(.param .u64 out)
{ .reg .b32 %r<3>; .reg .b64 %d<2>; .shared .align 4 .b8 row[400];
  mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, row; add.u32 %r1, %r1, %r2;
  st.shared.u32 [%r1], %r0; bar.sync 0; ld.shared.u32 %r2, [row+8];
  ld.param.u64 %d0, [out]; cvta.to.global.u64 %d1, %d0; st.global.u32 [%d1], %r2; ret; }
.visible .entry sized_by_the_launch(.param .u64 out)
{ .reg .b32 %r<3>; .reg .b64 %d<2>;
  mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, dynamic; add.u32 %r1, %r1, %r2;
  st.shared.u32 [%r1], %r0; bar.sync 0; ld.shared.u32 %r2, [dynamic+8];
  ld.param.u64 %d0, [out]; cvta.to.global.u64 %d1, %d0; st.global.u32 [%d1], %r2; ret; }
.visible .entry without(.param .u64 out) { ret; }
"""
_SHARED = re.compile(r"(\d+) bytes smem")


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("is_relocatable", [False, True])
def test_it_is_what_ptxas_says(tmp_path: Path, arch: str, is_relocatable: bool) -> None:
    (tmp_path / "a.ptx").write_text(TEXT)
    linked = ["-c"] if is_relocatable else []
    command = [INSTALLED.find("ptxas"), "-v", f"-arch={arch}", *linked, "a.ptx", "-o", "a.cubin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    cubin = Cubin((tmp_path / "a.cubin").read_bytes())
    found = {name: cubin.function(name).shared for name in cubin.records}
    if is_relocatable:
        assert set(found.values()) == {None}
        return
    assert found == {"fixed": 400, "sized_by_the_launch": 0, "without": 0}
    assert [int(size) for size in _SHARED.findall(done.stderr)] == [400]
