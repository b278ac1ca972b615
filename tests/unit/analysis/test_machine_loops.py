"""Loops of machine code, from the branches that ptxas left."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lmemscope.analysis.machine_loops import MachineLoops
from lmemscope.api import scan
from lmemscope.formats.cubin import Cubin
from lmemscope.formats.instructions import INSTRUCTION_BYTES
from lmemscope.formats.machine_branches import Branch, BranchKind
from lmemscope.model import Artifacts, KernelReport
from lmemscope.tools import nvdisasm

ROOT = Path(__file__).resolve().parents[3]

END = Branch(0x100, "end", None, None, True)


def branch(
    pc: int, target: int | None, kind: BranchKind = "branch", *, always: bool = False
) -> Branch:
    return Branch(pc, kind, target, 0 if kind in ("barrier", "meet") else None, always)


def depths(*branches: Branch, end: int = 0x120) -> list[int | None]:
    """How many loops are around each instruction."""
    loops = MachineLoops(branches, 0, end)
    return [loops.depth(pc) for pc in range(0, end, 0x10)]


def test_only_what_a_way_back_goes_around_is_in_a_loop() -> None:
    assert depths(branch(0x40, 0x20), END) == [0, 0, 1, 1, 1, *([0] * 12), None]


def test_loops_in_each_other_count() -> None:
    found = depths(branch(0x40, 0x30), branch(0x60, 0x20), END)
    assert found[:8] == [0, 0, 1, 2, 2, 1, 1, 0]


def test_code_that_was_moved_away_and_comes_back_makes_no_loop() -> None:
    # 0x20 goes away to 0xd0, which comes back to what follows.
    found = depths(
        branch(0x20, 0xD0),
        branch(0xC0, None, "end", always=True),
        branch(0xF0, 0x30, always=True),
        END,
    )
    assert set(found[:16]) == {0}


def test_lanes_that_meet_elsewhere_stay_in_the_loop() -> None:
    # A loop from 0x10 to 0x50; some lanes run 0xd0, and meet the others at 0x40.
    found = depths(
        branch(0x10, 0x40, "barrier"),
        branch(0x20, 0xD0),
        branch(0x30, None, "meet", always=True),
        branch(0x50, 0x10),
        branch(0x60, None, "end", always=True),
        branch(0xE0, None, "meet", always=True),
        END,
    )
    assert (found[0x1], found[0x5], found[0xD], found[0xE]) == (1, 1, 1, 1)
    assert (found[0], found[6]) == (0, 0)


def test_a_jump_through_a_table_leads_to_what_nothing_else_does() -> None:
    found = depths(
        branch(0x20, None, "table", always=True),
        branch(0x40, 0x70, always=True),
        branch(0x60, 0x70, always=True),
        branch(0x80, 0x10),
        END,
    )
    assert found[:10] == [0, 1, 1, 1, 1, 1, 1, 1, 1, 0]


FORMS = """
extern "C" __global__ void k(const int *p, float *q, int n, int m) {
  float zeroed[64];
  for (int i = 0; i < 64; ++i) zeroed[i] = 0.0f;
  for (int i = 0; i < n; ++i) {
    switch (p[i]) {
      case 0: zeroed[p[i + 1] & 63] += 1.0f; break;
      case 1: zeroed[p[i + 2] & 63] *= q[i]; break;
      case 2: q[i] = sinf(q[i]); break;
      case 3: zeroed[p[i + 3] & 63] = __shfl_sync(m, q[i], 1); break;
      case 4: q[i] /= zeroed[i & 63]; break;
      case 5: q[i + 1] = 3; __syncwarp(m); break;
    }
    for (int j = 0; j < m; ++j) q[j] += zeroed[(i * j) & 63];
  }
  if (m & 1) zeroed[m & 63] = 7.0f;
  for (int i = 0; i < 64; ++i) q[i] = zeroed[i];
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelReport]:
    """The kernel above on several architectures."""
    file = tmp_path_factory.mktemp("loops") / "a.cu"
    file.write_text(FORMS)
    report = scan(file, arch=["sm_75", "sm_90", "sm_120"])
    return {unit.arch: unit.kernels[0] for unit in report.units}


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_a_line_says_how_often_its_own_accesses_run(
    compiled: dict[str, KernelReport], arch: str
) -> None:
    depths: dict[int, set[int]] = {}
    for access in compiled[arch].facts.accesses:
        line = access.chain[0].location.line if access.chain else 0
        depths.setdefault(line, set()).add(access.loop_depth)
    assert depths[7] == depths[8] == {1}
    assert 2 in depths[14]
    assert depths[16] == {0}
    assert depths[4] == {0}


@pytest.mark.toolchain
def test_stores_before_a_loop_are_not_in_it() -> None:
    report = scan(ROOT / "kernels" / "histogram.cu")
    kernel = next(k for k in report.units[0].kernels if "private" in k.facts.name)
    depths = {a.pc: a.loop_depth for a in kernel.facts.accesses if a.is_store}
    assert len(depths) == 17
    assert sorted(depths.values()) == [*([0] * 16), 1]


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_branches_equal_nvdisasm(many_forms: object, arch: str) -> None:
    assert callable(many_forms)
    artifacts = many_forms(arch)
    assert isinstance(artifacts, Artifacts)
    cubin = Cubin(artifacts.cubin)
    kinds = {"BRA": "branch", "BSSY": "barrier", "BSYNC": "meet", "BRX": "table"}
    kinds |= {"EXIT": "end", "RET": "end"}
    printed = nvdisasm.disassemble(artifacts.cubin)
    seen = 0
    for function in cubin.functions:
        named = {i.pc: i.opcode.partition(".")[0] for i in printed[function.name]}
        expected = [(pc, kinds[name]) for pc, name in named.items() if name in kinds]
        found = cubin.branches(function)
        assert found is not None
        assert [(one.pc, one.kind) for one in found] == expected
        for one in found:
            assert one.target is None or one.target in named
        seen += len(found)
    assert seen > 20


def test_loops_are_those_of_the_whole_graph() -> None:
    """They are what dominators give, also of loops that are entered in several places."""
    chance = random.Random(1)
    for _ in range(300):
        count = chance.randrange(2, 14)
        end = INSTRUCTION_BYTES * count
        branches = [
            Branch(pc, "branch", INSTRUCTION_BYTES * chance.randrange(count), None, always)
            for pc in range(0, end, INSTRUCTION_BYTES)
            for always in [chance.random() < 0.3]
            if chance.random() < 0.6
        ]
        ways = {
            pc: {pc + INSTRUCTION_BYTES} if pc + INSTRUCTION_BYTES < end else set()
            for pc in range(0, end, INSTRUCTION_BYTES)
        }
        for one in branches:
            assert one.target is not None
            ways[one.pc] = {one.target} if one.always else ways[one.pc] | {one.target}
        loops = MachineLoops(branches, 0, end)
        for pc in ways:
            assert loops.depth(pc) == _depth(ways, pc)


def _depth(ways: dict[int, set[int]], pc: int) -> int | None:
    """Headers whose loop holds an instruction, by what removing each cuts off."""
    if pc not in _led_to(ways, 0, without=None):
        return None
    headers = 0
    for header in ways:
        cut = _led_to(ways, 0, without=header)
        latches = [
            one
            for one in _led_to(ways, 0, without=None)
            if header in ways[one] and (one == header or one not in cut)
        ]
        inside = pc == header or any(
            pc == latch or latch in _led_to(ways, pc, without=header) for latch in latches
        )
        headers += bool(latches) and inside and (pc == header or pc not in cut)
    return headers


def _led_to(ways: dict[int, set[int]], start: int, without: int | None) -> set[int]:
    found: set[int] = set()
    work = [start]
    while work:
        pc = work.pop()
        if pc not in found and pc != without:
            found.add(pc)
            work += ways[pc]
    return found
