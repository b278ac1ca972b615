"""Loops of machine code, from the branches that ptxas left."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from lmemscope.analysis.machine_loops import MachineLoops
from lmemscope.api import scan
from lmemscope.formats.cubin import Cubin
from lmemscope.formats.instructions import INSTRUCTION_BYTES
from lmemscope.formats.machine_branches import (
    BARRIER,
    BRANCH,
    BRANCH_FIELDS,
    END,
    MEET,
    TABLE,
)
from lmemscope.formats.sass import SassInstruction
from lmemscope.lowering.lower import lower
from lmemscope.model import Artifacts, KernelReport, Unit
from lmemscope.tools import nvdisasm

ROOT = Path(__file__).resolve().parents[3]

Branch = tuple[int, int, int, int, bool]
"""The fields of `BRANCH_FIELDS`."""
LAST = (0x100, -1, END, 0, True)


def branch(pc: int, target: int = -1, kind: int = BRANCH, *, always: bool = False) -> Branch:
    return pc, target, kind, 0, always


def depths(*branches: Branch, end: int = 0x120) -> list[int | None]:
    """How many loops are around each instruction."""
    loops = MachineLoops(np.array([*branches], BRANCH_FIELDS), 0, end)
    return [loops.depth(pc) for pc in range(0, end, 0x10)]


def test_only_what_a_way_back_goes_around_is_in_a_loop() -> None:
    assert depths(branch(0x40, 0x20), LAST) == [0, 0, 1, 1, 1, *([0] * 12), None]


def test_loops_in_each_other_count() -> None:
    found = depths(branch(0x40, 0x30), branch(0x60, 0x20), LAST)
    assert found[:8] == [0, 0, 1, 2, 2, 1, 1, 0]


def test_code_that_was_moved_away_and_comes_back_makes_no_loop() -> None:
    # 0x20 goes away to 0xd0, which comes back to what follows.
    found = depths(
        branch(0x20, 0xD0),
        branch(0xC0, kind=END, always=True),
        branch(0xF0, 0x30, always=True),
        LAST,
    )
    assert set(found[:16]) == {0}


def test_lanes_that_meet_elsewhere_stay_in_the_loop() -> None:
    # A loop from 0x10 to 0x50; some lanes run 0xd0, and meet the others at 0x40.
    found = depths(
        branch(0x10, 0x40, BARRIER),
        branch(0x20, 0xD0),
        branch(0x30, kind=MEET, always=True),
        branch(0x50, 0x10),
        branch(0x60, kind=END, always=True),
        branch(0xE0, kind=MEET, always=True),
        LAST,
    )
    assert (found[0x1], found[0x5], found[0xD], found[0xE]) == (1, 1, 1, 1)
    assert (found[0], found[6]) == (0, 0)


def test_a_jump_through_a_table_leads_to_what_nothing_else_does() -> None:
    found = depths(
        branch(0x20, kind=TABLE, always=True),
        branch(0x40, 0x70, always=True),
        branch(0x60, 0x70, always=True),
        branch(0x80, 0x10),
        LAST,
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


def test_jumps_through_tables_share_their_targets_and_the_loop_around_them() -> None:
    # What is behind a jump or an end is a case: of the first jump all five, of the second three.
    jumps = (branch(0x30, kind=TABLE, always=True), branch(0x60, kind=TABLE, always=True))
    ends = (branch(0x40, kind=END, always=True), branch(0x80, kind=END, always=True))
    found = depths(*jumps, *ends, branch(0xA0, 0x20, always=True), LAST)
    assert found[2:12] == [1, 1, 0, 1, 1, 0, 0, 1, 1, 0]
    assert MachineLoops(np.array([*jumps, *ends, LAST], BRANCH_FIELDS), 0, 0x120).depth(0x90) == 0


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


SHUFFLES = """
extern "C" __global__ void meets(const int *p, float *q, int n) {
  float kept[16];
  for (int i = 0; i < 16; ++i) kept[i] = q[i];
  for (int i = threadIdx.x; i < n; i += p[i]) {
    float x = q[i];
    for (int away = 16; away > 0; away /= 2) x += __shfl_xor_sync(0xffffffffu, x, away);
    kept[p[i] & 15] += x;
  }
  for (int i = 0; i < 16; ++i) q[i] = kept[i];
}
"""
"""Lanes that may have diverged shuffle: ``BRA.DIV``."""


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_branches_equal_nvdisasm(many_forms: object, tmp_path: Path, arch: str) -> None:
    assert callable(many_forms)
    artifacts = many_forms(arch)
    assert isinstance(artifacts, Artifacts)
    file = tmp_path / "shuffles.cu"
    file.write_text(SHUFFLES)
    opcodes = [
        *_compared(artifacts.cubin),
        *_compared(lower(Unit("shuffles.cu", str(file), "auto", arch), None).cubin),
    ]
    assert len(opcodes) > 20
    assert "BRA.DIV" in opcodes


def _compared(code: bytes | None) -> list[str]:
    """The opcodes of what decides where control goes on, which `Cubin.branches` is held to."""
    assert code is not None
    cubin = Cubin(code)
    kinds = {"BRA": BRANCH, "BSSY": BARRIER, "BSYNC": MEET, "BRX": TABLE, "EXIT": END, "RET": END}
    printed = nvdisasm.disassemble(code)
    seen = []
    for function in cubin.functions:
        named = {i.pc: i for i in printed[function.name]}
        expected = [i for i in named.values() if i.opcode.partition(".")[0] in kinds]
        found = cubin.branches(function)
        assert found is not None
        assert found[["pc", "kind"]].tolist() == [
            (one.pc, kinds[one.opcode.partition(".")[0]]) for one in expected
        ]
        assert {*found["target"].tolist()} <= {-1, *named}
        always = [_is_always(i) for i in expected if kinds[i.opcode.partition(".")[0]] == BRANCH]
        assert found["always"][found["kind"] == BRANCH].tolist() == always
        seen += [one.opcode for one in expected]
    return seen


def _is_always(one: SassInstruction) -> bool:
    """Whether a ``BRA`` jumps in any case, as it is printed."""
    asks = {"DIV", "CONV"} & {*one.opcode.split(".")}
    return one.predicate is None and "," not in one.operands and not asks


def test_loops_are_those_of_the_whole_graph() -> None:
    """They are what dominators give, also of loops that are entered in several places."""
    chance = random.Random(1)
    for _ in range(300):
        count = chance.randrange(2, 14)
        end = INSTRUCTION_BYTES * count
        branches = [
            branch(pc, INSTRUCTION_BYTES * chance.randrange(count), always=always)
            for pc in range(0, end, INSTRUCTION_BYTES)
            for always in [chance.random() < 0.3]
            if chance.random() < 0.6
        ]
        ways = {
            pc: {pc + INSTRUCTION_BYTES} if pc + INSTRUCTION_BYTES < end else set()
            for pc in range(0, end, INSTRUCTION_BYTES)
        }
        for place, target, _, _, always in branches:
            ways[place] = {target} if always else ways[place] | {target}
        loops = MachineLoops(np.array([*branches], BRANCH_FIELDS), 0, end)
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
