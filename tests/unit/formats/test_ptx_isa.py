"""What each instruction of the PTX ISA does: registers, memory, control, waiting, results."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.formats.ptx_body import Instruction, parse_body
from lmemscope.formats.ptx_isa import operations, space_of
from lmemscope.formats.ptx_operands import (
    CARRY,
    defined,
    displaced,
    folded,
    may_change,
    pointers,
    read,
)
from tests.support.builders import program
from tests.support.ptx_instructions import ALL, COMPUTED, MEMORY, STACK, THREADS, cases


def parsed(text: str) -> Instruction:
    """One instruction."""
    (found,) = parse_body(f"{{ {text}; }}", 1).instructions
    return found


@pytest.mark.parametrize(("text", "defines", "reads"), ALL, ids=[row[0] for row in ALL])
def test_what_an_instruction_defines_and_reads(text: str, defines: str, reads: str) -> None:
    instruction = parsed(text)
    assert [name.lstrip("%") for name in defined(instruction)] == defines.split()
    assert [name.lstrip("%") for name in read(instruction)] == reads.split()


def test_every_opcode_of_the_table_has_a_case() -> None:
    assert operations(lambda row: True) == {parsed(text).operation for text, _, _ in ALL}


@pytest.mark.parametrize("table", [COMPUTED, STACK, MEMORY, THREADS])
def test_what_makes_a_result_change(table: str) -> None:
    results = [parsed(text) for text, defines, _ in cases(table) if defines]
    assert {may_change(one) for one in results} == {table is not COMPUTED}


def test_an_unknown_opcode_may_define_its_first_operand() -> None:
    unknown = parsed("frobnicate.u32 %r1, %r2")
    assert defined(unknown) == ("%r1",)
    assert read(unknown) == ("%r1", "%r2")
    assert may_change(unknown)


@pytest.mark.parametrize(
    "instruction",
    [
        "nanosleep.u32 %r1;",
        "barrier.sync %r1;",
        "bar.sync %r1, 64;",
        "pmevent 1;",
        "stackrestore.u32 %r1;",
    ],
)
def test_reading_a_register_leaves_its_value(instruction: str) -> None:
    flow = Dataflow(
        program(f"mov.u32 %r1, %tid.x;\n{instruction}\nadd.u32 %r2, %r1, 1;\nret;").functions[0]
    )
    assert {leaf.kind for leaf in flow.leaves("%r2")} == {"thread-id"}
    assert flow.uniformity("%r2") == "lane-varying"


def test_an_unknown_opcode_makes_what_it_may_define_unknown() -> None:
    text = "mov.u32 %r1, 7;\nfrobnicate.u32 %r1, %r3;\nadd.u32 %r2, %r1, 1;\nret;"
    flow = Dataflow(program(text).functions[0])
    assert flow.uniformity("%r2") == "unknown"
    assert {leaf.kind for leaf in flow.leaves("%r2")} == {"other"}


def test_a_carry_takes_what_made_it() -> None:
    text = "mov.u32 %r1, %tid.x;\nadd.cc.u32 %r2, %r1, -1;\naddc.u32 %r3, 0, 0;\nret;"
    flow = Dataflow(program(text).functions[0])
    assert flow.definitions[CARRY] == [1]
    assert flow.uniformity("%r3") == "lane-varying"


@pytest.mark.parametrize(
    ("text", "access", "space"),
    [
        ("ld.volatile.local.v2.u32 {%r1, %r2}, [%rd1]", "load", "local"),
        ("ld.relaxed.gpu.shared::cluster.u32 %r1, [%r2]", "load", "shared"),
        ("ld.u32 %r1, [%rd1]", "load", "generic"),
        ("st.param.b64 [param0+8], %rd1", "store", "param"),
        ("st.v4.f32 [%rd1], {%f1, %f2, %f3, %f4}", "store", "generic"),
        ("atom.global.add.u32 %r1, [%rd2], %r3", "atomic", "global"),
        ("red.shared::cta.add.u32 [%r1], %r2", "atomic", "shared"),
        ("multimem.ld_reduce.global.add.u32 %r1, [%rd2]", "load", "global"),
        ("multimem.red.global.add.u32 [%rd1], %r2", "atomic", "global"),
        ("prefetch.local.L1 [%rd1]", None, "local"),
        ("mov.u64 %rd1, %rd2", None, "generic"),
    ],
)
def test_what_an_instruction_does_to_which_memory(
    text: str, access: str | None, space: str
) -> None:
    found = parsed(text)
    assert (found.isa.access, space_of(found.opcode)) == (access, space)


def test_only_loads_and_stores_reach_local_memory() -> None:
    assert operations(lambda row: row.may_be_local) == {"ld", "st"}


@pytest.mark.parametrize(
    ("text", "waits", "lanes"),
    [
        ("shfl.sync.idx.b32 %r1, %r2, %r3, 31, -1", "mask", None),
        ("shfl.idx.b32 %r1, %r2, %r3, 31", None, None),
        ("vote.sync.any.pred %p1, %p2, -1", "mask", "same"),
        ("match.any.sync.b32 %r1, %r2, -1", "mask", None),
        ("match.all.sync.b32 %r1|%p1, %r2, -1", "mask", "same"),
        ("elect.sync %r1|%p1, -1", "mask", "own"),
        ("activemask.b32 %r1", None, "same"),
        ("bar.warp.sync %r1", "mask", None),
        ("bar.cta.sync 0", "block", None),
        ("bar.red.popc.u32 %r1, 0, %p1", "block", "same"),
        ("bar.arrive 0, 64", None, None),
        ("barrier.cluster.arrive.aligned", None, None),
        ("barrier.cluster.wait.aligned", "block", None),
        ("mbarrier.try_wait.shared::cta.b64 %p1, [%r2], %rd3", "block", None),
        ("mbarrier.arrive.shared::cta.b64 %rd1, [%r2]", None, None),
        ("wgmma.fence.sync.aligned", "warp", None),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r3]", "warp", None),
        ("tcgen05.fence::before_thread_sync", None, None),
        ("cp.async.wait_all", None, None),
    ],
)
def test_for_whom_an_instruction_waits(text: str, waits: str | None, lanes: str | None) -> None:
    found = parsed(text).isa
    assert (found.waits, found.lanes) == (waits, lanes)


@pytest.mark.parametrize(
    ("text", "made_of"),
    [
        ("mov.u64 %rd1, table", ["table"]),
        ("mov.b64 %rd1, {%r2, %r3}", ["%r2", "%r3"]),
        ("cvta.to.local.u64 %rd1, %rd2", ["%rd2"]),
        ("add.s64 %rd1, %rd2, %rd3", ["%rd2", "%rd3"]),
        ("add.s64 %rd1, %rd2, 16", ["%rd2"]),
        ("sub.s64 %rd1, %rd2, %rd3", ["%rd2"]),
        ("mad.wide.u32 %rd1, %r2, %r3, %rd4", ["%rd4"]),
        ("selp.b64 %rd1, %rd2, %rd3, %p1", ["%rd2", "%rd3"]),
        ("and.b64 %rd1, %rd2, -16", ["%rd2"]),
        ("mul.lo.s64 %rd1, %rd2, %rd3", []),
        ("ld.global.u64 %rd1, [%rd2]", []),
        ("setp.eq.s64 %p1, %rd2, %rd3", []),
    ],
)
def test_what_a_result_may_point_with(text: str, made_of: list[str]) -> None:
    assert pointers(parsed(text)) == made_of


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("mov.u64 %rd1, %rd2", ("%rd2", 0)),
        ("cvta.local.u64 %rd1, __local_depot0", ("__local_depot0", 0)),
        ("cvt.u32.u64 %r1, %rd2", ("%rd2", 0)),
        ("add.s32 %r1, %r2, -4", ("%r2", -4)),
        ("add.s32 %r1, 0x10, %r2", ("%r2", 16)),
        ("sub.s32 %r1, %r2, 4", ("%r2", -4)),
        ("sub.s32 %r1, 4, %r2", None),
        ("add.s32 %r1, %r2, %r3", None),
        ("mov.u32 %r1, 7", None),
        ("mov.b64 %rd1, {%r2, %r3}", None),
        ("cvt.rn.f32.s32 %f1, %r2", None),
        ("or.b32 %r1, %r2, 4", None),
    ],
)
def test_what_a_constant_is_added_to(text: str, moved: tuple[str, int] | None) -> None:
    assert displaced(parsed(text)) == moved


@pytest.mark.parametrize(
    ("text", "numbers", "result"),
    [
        ("add.s32 %r1, %r2, %r3", [2**31 - 1, 1], -(2**31)),
        ("add.u32 %r1, %r2, %r3", [2**32 - 1, 1], 0),
        ("sub.u16 %h1, %h2, %h3", [1, 2], 2**16 - 1),
        ("mul.lo.s32 %r1, %r2, %r3", [2**16, 2**16], 0),
        ("mul.wide.s32 %rd1, %r2, %r3", [-(2**16), 2**16], -(2**32)),
        ("mul.wide.u32 %rd1, %r2, %r3", [2**32 - 1, 2], 2**33 - 2),
        ("mul.hi.u32 %r1, %r2, %r3", [2**16, 2**16], None),
        ("mad.wide.u32 %rd1, %r2, %r3, %rd4", [3, 4, 2**40], 2**40 + 12),
        ("div.s32 %r1, %r2, %r3", [-7, 2], -3),
        ("rem.s32 %r1, %r2, %r3", [-7, 2], -1),
        ("div.u32 %r1, %r2, %r3", [-1, 2], 2**31 - 1),
        ("div.s32 %r1, %r2, %r3", [7, 0], None),
        ("shr.s32 %r1, %r2, %r3", [-8, 1], -4),
        ("shr.u32 %r1, %r2, %r3", [-8, 1], 2**31 - 4),
        ("shr.s32 %r1, %r2, %r3", [-8, 99], -1),
        ("shl.b32 %r1, %r2, %r3", [1, 32], 0),
        ("shl.b32 %r1, %r2, %r3", [3, -1], 0),
        ("not.b32 %r1, %r2", [0], -1),
        ("min.u32 %r1, %r2, %r3", [-1, 5], 5),
        ("min.s32 %r1, %r2, %r3", [-1, 5], -1),
        ("cvt.u16.u32 %h1, %r2", [2**16 + 3], 3),
        ("cvt.s64.s32 %rd1, %r2", [2**32 - 1], -1),
        ("cvt.u64.u32 %rd1, %r2", [-1], 2**32 - 1),
        ("cvt.sat.u8.s32 %h1, %r2", [300], None),
        ("cvt.rn.f32.s32 %f1, %r2", [3], None),
        ("add.f32 %f1, %f2, %f3", [1, 2], None),
        ("mov.b64 {%r1, %r2}, %rd3", [5], None),
        ("add.s32 %r1, %r2, %r3", [1, None], None),
        ("popc.b32 %r1, %r2", [3], None),
    ],
)
def test_what_constants_fold_to(text: str, numbers: list[int | None], result: int | None) -> None:
    assert folded(parsed(text), numbers) == result
