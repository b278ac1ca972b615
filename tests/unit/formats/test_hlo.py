"""Lines of kernels in the HLO that XLA dumps beside its PTX."""

from __future__ import annotations

from pathlib import Path

from lmemscope.formats.hlo import hlo_beside, kernel_lines, line_of
from lmemscope.lowering.ptx import expand
from lmemscope.lowering.store import slot_for
from lmemscope.model import SourceLocation, Unit
from lmemscope.routes import Asked

TABLES = """HloModule jit_f, is_scheduled=true

FileNames
1 "/home/user/model.py"
2 "/home/user/layers.py"

FunctionNames
1 "<module>"
2 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=49 end_line=49 column=2 end_column=23}
2 {file_name_id=2 function_name_id=2 line=7 end_line=8 column=9 end_column=77}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %sin.1 = f32[8]{0} sine(%p), metadata={op_name="jit(f)/sin" stack_frame_id=2}
}

ENTRY %main.12 (x.1: f32[8]) -> f32[8] {
"""
CODE = """
  %loop_fusion = f32[8]{0} fusion(%x.1), calls=%fused, metadata={op_name="a" stack_frame_id=2}
  %sort.30.1 = f32[8]{0} sort(%loop_fusion), metadata={op_name="line=3 \\"b" stack_frame_id=1}
  %old = f32[8]{0} add(%x.1, %x.1), metadata={op_type="c" source_file="a.py" source_line=3}
  %gone = f32[8]{0} add(%x.1, %x.1), metadata={stack_frame_id=9}
  %twice.1 = f32[8]{0} add(%x.1, %x.1), metadata={stack_frame_id=1}
  %twice_1 = f32[8]{0} add(%x.1, %x.1), metadata={stack_frame_id=2}
  ROOT %copy = f32[8]{0} copy(%sort.30.1)
}
"""


def test_a_kernel_has_the_line_of_its_root_operation() -> None:
    lines = kernel_lines((TABLES + CODE).encode())
    assert line_of("loop_fusion", lines) == SourceLocation("/home/user/layers.py", 7)
    assert line_of("sort_30_1", lines) == SourceLocation("/home/user/model.py", 49)
    assert line_of("sort_30_1__2", lines) == SourceLocation("/home/user/model.py", 49)
    assert line_of("old", lines) == SourceLocation("a.py", 3)


def test_what_does_not_tell_one_line_tells_none() -> None:
    lines = kernel_lines((TABLES + CODE).encode())
    for name in ("gone", "copy", "twice_1", "main_12"):
        assert line_of(name, lines) is None, name
    assert kernel_lines(b"\xff\0 { \n%a = metadata={stack_frame_id=") == {}


def test_the_hlo_of_a_ptx_file_is_the_one_of_its_module(tmp_path: Path) -> None:
    ptx = tmp_path / "module_0001.jit_f.12.ptx"
    assert hlo_beside(str(ptx)) is None
    for module in ("module_0001.jit_f", "module_0001.jit_f2"):
        (tmp_path / f"{module}.sm_9.0a_gpu_after_optimizations.txt").touch()
        (tmp_path / f"{module}.sm_9.0a_gpu_after_optimizations-buffer-assignment.txt").touch()
    found = hlo_beside(str(ptx))
    assert found == str(tmp_path / "module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt")
    assert hlo_beside(str(tmp_path / "kernel.ptx")) is None


def test_what_is_kept_of_a_ptx_file_goes_by_its_hlo_too(tmp_path: Path) -> None:
    ptx = tmp_path / "m.1.ptx"
    ptx.write_text(".version 8.0\n")
    unit = Unit("m.1.ptx", str(ptx), "ptx", "sm_90")
    hlo = tmp_path / "m.sm_9.0_gpu_after_optimizations.txt"
    slots = []
    for text in (None, "a", "b"):
        if text is not None:
            hlo.write_text(text)
        slots.append(slot_for(str(tmp_path), unit))
    assert len(set(slots)) == 3


def test_a_directory_does_not_stand_for_an_empty_file(tmp_path: Path) -> None:
    ptx = tmp_path / "m.2.ptx"
    ptx.touch()
    unit = Unit("m.2.ptx", str(ptx), "ptx", "sm_90")
    walked = expand(unit, Asked(("sm_90",), explicit=False, frontend="auto", walked=True))
    assert walked.units == ()
    assert [gap.kind for gap in walked.notes if not isinstance(gap, str)] == ["note"]
    named = expand(unit, Asked(("sm_90",), explicit=False, frontend="auto", walked=False))
    assert len(named.units) == 1
