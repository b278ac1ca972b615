"""The modelled cost: what a warp does, counted from PTX, and what that takes."""

from __future__ import annotations

import json
import math
import operator
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.analysis.cost import Grid, cost, cost_of
from lmemscope.analysis.leaving import leave_reason
from lmemscope.analysis.ptx.trips import UNKNOWN
from lmemscope.analysis.work import work_of
from lmemscope.fixing.rank import ranked
from lmemscope.model import (
    PIPES,
    STALLS,
    Applicability,
    CallFacts,
    Cost,
    CubinFacts,
    Edit,
    Figures,
    KernelReport,
    Rewriting,
    Trial,
    TrialVerdict,
    Work,
)
from lmemscope.model.fix import WORTH
from lmemscope.rules.verdict import judge
from tests.support.builders import (
    MachineCode,
    attributed,
    changed,
    depot,
    facts,
    layers,
    ldl,
    program,
    stl,
)
from tests.support.program import ROOT

PLAIN = Work(
    pipes=tuple(100.0 if pipe == "fp32" else 10.0 for pipe in PIPES),
    stalls=tuple(20.0 if stall == "arithmetic" else 1.0 for stall in STALLS),
    local_lines=40.0,
    local_sectors=160.0,
    streamed_sectors=8.0,
    frame=128,
)


def costs(
    work: Work = PLAIN,
    *,
    arch: str = "sm_90",
    threads: int = 256,
    blocks: int | None = None,
    registers: int = 32,
    shared: int = 0,
    **changes: Any,
) -> Cost:
    changed = replace(work, **changes)
    made = cost(changed, arch, Grid(threads, blocks), registers, shared)
    assert made is not None
    return made


# What work costs.


@pytest.mark.parametrize(
    "changes",
    [
        {"local_lines": 400.0, "local_sectors": 1600.0},
        {"frame": 256},
        {"frame": 4096},
        {"shared_wavefronts": 200.0},
        {"cached_lines": 200.0},
        {"streamed_sectors": 400.0},
        {"repeated_sectors": 400.0},
        {"pipes": tuple(500.0 for _ in PIPES)},
        {"stalls": tuple(500.0 for _ in STALLS)},
        {"registers": 255},
        {"shared": 100 * 1024},
    ],
    ids=str,
)
def test_more_of_anything_costs_more(changes: dict[str, Any]) -> None:
    assert costs(**changes).total > costs().total


def test_equal_kernels_cost_the_same() -> None:
    assert costs() == costs(replace(PLAIN))


def test_lines_cost_what_bytes_behind_the_cache_do() -> None:
    """A frame of 128 bytes and 2048 threads are the whole L1 of an H100; ten times that is not."""
    within, beyond = costs(frame=100), costs(frame=1280)
    assert within.fits
    assert not beyond.fits
    assert within.local == 10.0, "a cycle for four lines of local memory"
    # Nine tenths miss L1, and most of these L2: memory gives 14.5 bytes in a cycle.
    frames = 1280 * 2048
    missed = 40 * 128 * (1 - 255 * 1024 / frames)
    memory = missed * (1 - 50 * 2**20 / 132 / frames) / 14.5
    assert beyond.local == pytest.approx(math.hypot(10, missed / 32, memory), rel=0.001)


def test_stores_go_through_the_cache() -> None:
    """On an H100 a store by half of the warps takes 61 cycles for 8 lines, 100 for 32 sectors."""
    one = costs(stored_lines=40.0, stored_sectors=160.0)
    assert one.local == pytest.approx(40 * (1.6 + 4 * 1.5))
    lanes = {"frame": 100, "local_lines": 1280.0, "local_sectors": 1280.0}
    each = costs(**lanes, stored_lines=1280.0, stored_sectors=1280.0)
    assert each.local == pytest.approx(40 * 99.2)
    assert costs(**lanes).local == 40 * 8


def test_shared_memory_takes_from_the_cache() -> None:
    assert costs(frame=100).fits
    assert not costs(frame=100, shared=16 * 1024).fits


def test_what_is_read_again_is_near_where_l1_holds_what_is_read_in_between() -> None:
    loads = tuple(1000.0 if stall == "global" else 0.0 for stall in STALLS)
    reading = replace(PLAIN, frame=0, stalls=loads, repeated_sectors=9000.0)
    # 64 warps read 64 * 32 bytes for each sector of one: 100 fit 256 KB, 1000 do not.
    near = costs(reading, streamed_sectors=100.0).waiting
    far = costs(reading, streamed_sectors=1000.0).waiting
    alone = costs(reading, streamed_sectors=1000.0, repeated_sectors=0.0).waiting
    issued = reading.instructions
    assert near * 64 == pytest.approx(issued + 1000 * (39.7 + (478.8 - 40.7) / 91))
    assert 4 * near < far < alone == pytest.approx((issued + 1000 * 477.8) / 64)
    again = costs(reading, streamed_sectors=0.0, repeated_sectors=0.0, cached_lines=9.0).waiting
    assert again * 64 == pytest.approx(issued + 1000 * 39.7)


def test_a_kernel_that_waits_is_as_slow_as_it_has_few_warps() -> None:
    waiting = replace(PLAIN, frame=0, stalls=tuple(1000.0 for _ in STALLS))
    many, few = costs(waiting, registers=32), costs(waiting, registers=128)
    assert few.waiting == pytest.approx(4 * many.waiting)
    assert few.total > 3 * many.total


def test_what_other_sources_or_pointers_to_functions_do_has_no_cost() -> None:
    base = facts("k", calls=CallFacts((), (), False))
    report = KernelReport.of(base, judge(base), work=PLAIN)
    assert cost_of(report, "sm_90", Grid(64)) is not None
    for calls in (CallFacts((), (), False, external=("_Z3hit",)), CallFacts((), (), True)):
        called = replace(base, calls=calls)
        assert cost_of(changed(report, facts=called), "sm_90", Grid(64)) is None


def test_a_launch_of_few_blocks_waits_more_and_misses_less() -> None:
    """One block of 64 threads is two warps of a multiprocessor, and 640 bytes of each fit L1."""
    waiting = replace(PLAIN, frame=640, stalls=tuple(1000.0 for _ in STALLS))
    full, few = costs(waiting, threads=64), costs(waiting, threads=64, blocks=132)
    assert few.fits
    assert not full.fits
    assert few.waiting > 16 * full.waiting
    assert few.issue == 2 * full.issue  # two of four schedulers
    assert costs(waiting, threads=64, blocks=133).waiting < few.waiting
    assert costs(waiting, threads=64, blocks=132 * 32) == full


def test_few_blocks_share_what_all_multiprocessors_have() -> None:
    streaming = replace(PLAIN, local_lines=0.0, local_sectors=0.0, streamed_sectors=1e6)
    every, half, one = (costs(streaming, blocks=number).memory for number in (132, 88, 1))
    assert costs(streaming, blocks=264).memory == every
    assert half == pytest.approx(every / 1.5, rel=0.2)
    assert every / 2 < one < half


def test_a_warp_alone_takes_its_instructions_one_after_the_other() -> None:
    alone = costs(replace(PLAIN, stalls=(0.0,) * len(STALLS)), threads=32, blocks=132)
    assert alone.waiting == PLAIN.instructions


def test_what_is_not_known_has_no_cost() -> None:
    assert cost(PLAIN, "sm_999", Grid(256), 32, 0) is None
    assert cost(PLAIN, "sm_90", Grid(1024), 255, 0) is None  # no block fits
    for arch in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"):
        assert costs(arch=arch).total > 0


def test_doubles_are_slow_where_they_are() -> None:
    pipes = tuple(100.0 if pipe == "fp64" else 0.0 for pipe in PIPES)
    assert costs(pipes=pipes, arch="sm_86").issue == 16 * costs(pipes=pipes, arch="sm_80").issue


# What a warp does.

LOOP = """\
mov.u32 %i, 0;
$L1:
{inside}
add.s32 %i, %i, 1;
setp.lt.s32 %p, %i, {bound};
@%p bra $L1;
{behind}
ret;
"""
NUMBER = "ld.param.u32 %n, [k_param_1];\n"


def work(body: str, *code: MachineCode, frame: int = 80, **functions: str) -> Work:
    given = layers(program(body, **functions), *code, frame=frame)
    found = work_of(given, attributed(given))
    assert found is not None
    return found


def looped(bound: object, inside: str = "fma.rn.f32 %f, %f, %f, %f;", behind: str = "") -> Work:
    body = LOOP.format(inside=inside, bound=bound, behind=behind)
    return work(NUMBER + body)


def integer(of: Work) -> float:
    return of.pipes[PIPES.index("integer")]


def fp32(of: Work) -> float:
    return of.pipes[PIPES.index("fp32")]


@pytest.mark.parametrize(("bound", "count"), [(48, 48), (1, 1), ("%n", UNKNOWN)])
def test_loops_run_as_often_as_is_known(bound: object, count: float) -> None:
    assert fp32(looped(bound)) == count


def test_a_bound_may_be_compared_with_the_counter() -> None:
    turned = LOOP.replace("setp.lt.s32 %p, %i, {bound}", "setp.gt.s32 %p, {bound}, %i")
    inside = "fma.rn.f32 %f, %f, %f, %f;"
    start = "mov.u32 %m, 48;\n"
    assert fp32(work(start + turned.format(inside=inside, bound="%m", behind=""))) == 48


def test_a_loop_from_anywhere_to_a_constant_runs_half_of_it() -> None:
    inside = "fma.rn.f32 %f, %f, %f, %f;"
    begin = LOOP.replace("mov.u32 %i, 0;", "mov.u32 %i, %n;")
    assert fp32(work(NUMBER + begin.format(inside=inside, bound=12, behind=""))) == 6


def test_a_loop_may_count_down() -> None:
    body = "mov.u32 %i, 48;\n$L1:\nfma.rn.f32 %f, %f, %f, %f;\nadd.s32 %i, %i, -2;\n"
    assert fp32(work(body + "setp.ne.s32 %p, %i, 0;\n@%p bra $L1;\nret;")) == 24


@pytest.mark.parametrize("asked", ["lt", "le", "gt", "ge", "eq", "ne"])
@pytest.mark.parametrize(
    ("begin", "step", "limit"),
    [(0, 1, 10), (0, 3, 10), (10, -2, 0), (10, -3, 0), (4, 1, 5), (7, -1, 9), (0, 1, -3)],
)
def test_a_loop_runs_until_its_comparison_changes(
    asked: str, begin: int, step: int, limit: int
) -> None:
    holds = getattr(operator, asked)
    turns = range(1, 100)
    expected = next((n for n in turns if not holds(begin + step * n, limit)), UNKNOWN)
    body = f"mov.u32 %i, {begin};\n$L1:\nfma.rn.f32 %f, %f, %f, %f;\nadd.s32 %i, %i, {step};\n"
    body += f"setp.{asked}.s32 %p, %i, {limit};\n@%p bra $L1;\nret;"
    assert fp32(work(body)) == expected


def test_a_loop_up_to_a_minimum_runs_that_often() -> None:
    body = NUMBER + "min.s32 %m, %n, 20;\n"
    inside = "fma.rn.f32 %f, %f, %f, %f;"
    assert fp32(work(body + LOOP.format(inside=inside, bound="%m", behind=""))) == 20


REST = 1.5
"""What a loop that is unrolled four times leaves over, on average."""
LEFT = "and.b32 %left, %n, 3;\n"


def test_an_unrolled_loop_weighs_what_it_did_with_the_rest_that_it_leaves() -> None:
    inside = "fma.rn.f32 %f, %f, %f, %f;\n" * 4
    unrolled = LOOP.replace("%i, 1;", "%i, 4;").format(inside=inside, bound="%n", behind="")
    assert fp32(looped("%n")) == UNKNOWN
    assert fp32(work(NUMBER + LEFT + unrolled)) + REST == UNKNOWN


def test_a_mask_of_something_else_makes_no_copies() -> None:
    """The lane's number, ``threadIdx.x & 31``, leaves over no turns of a loop to ``n``."""
    inside = "fma.rn.f32 %f, %f, %f, %f;"
    strided = LOOP.replace("%i, 1;", "%i, 256;").format(inside=inside, bound="%n", behind="")
    lane = "mov.u32 %t, %tid.x;\nand.b32 %lane, %t, 31;\n"
    assert fp32(work(NUMBER + lane + strided)) == UNKNOWN
    unrolled = LOOP.replace("%i, 1;", "%i, 4;").format(inside=inside, bound="%n", behind="")
    assert fp32(work(NUMBER + LEFT.replace("%n", "%other") + unrolled)) == UNKNOWN
    assert fp32(work(NUMBER + LEFT + unrolled)) < UNKNOWN / 3


def test_a_step_of_the_source_s_own_makes_no_copies() -> None:
    """``for (k = 0; k + 16 <= n; k += 16)`` runs as often as any loop, unrolled or not."""
    inside = "fma.rn.f32 %f, %f, %f, %f;"
    strided = LOOP.replace("%i, 1;", "%i, 16;").format(inside=inside, bound="%n", behind="")
    assert fp32(work(NUMBER + strided)) == UNKNOWN
    # A mask within the loop is of the program, and one that does not fit is another loop's.
    masked = strided.replace("fma", "and.b32 %m, %i, 15;\nfma")
    assert fp32(work(NUMBER + masked)) == UNKNOWN
    assert fp32(work(NUMBER + LEFT.replace("3", "31") + strided)) == UNKNOWN


def test_copies_that_may_each_end_their_loop_are_copies() -> None:
    """As of a loop that is left early: the last asks for both at once."""
    inside = "fma.rn.f32 %f, %f, %f, %f;\n"
    asked = "".join(
        f"{inside}add.s32 %s{n}, %i, {n};\nsetp.ge.s32 %q{n}, %s{n}, %n;\n@%q{n} bra $L9;\n"
        for n in (1, 2, 3)
    )
    body = f"""{NUMBER}ld.param.u32 %d, [k_param_1];
setp.ne.s32 %e, %d, 3;
mov.u32 %i, 0;
$L1:
{asked}{inside}add.s32 %i, %i, 4;
setp.lt.s32 %p, %i, %n;
and.pred %both, %e, %p;
@%both bra $L1;
$L9:
ret;"""
    assert fp32(work(body)) + REST == UNKNOWN


def test_a_counter_that_something_is_added_to_has_no_constant_limit() -> None:
    """NVVM counts from a constant, adds a run-time number, and compares with the constant."""
    inside = "fma.rn.f32 %f, %f, %f, %f;\n" * 4 + "add.s32 %sum, %i, %n;"
    turned = LOOP.replace("%i, 1;", "%i, 4;").replace("setp.lt.s32 %p, %i", "setp.ne.s32 %p, %sum")
    body = turned.format(inside=inside, bound=7, behind="")
    assert fp32(work(NUMBER + LEFT + body)) + REST == UNKNOWN


def test_the_rest_of_an_unrolled_loop_is_half_of_its_steps() -> None:
    rest = NUMBER + "and.b32 %rest, %n, 3;\n"
    inside = "fma.rn.f32 %f, %f, %f, %f;"
    assert fp32(work(rest + LOOP.format(inside=inside, bound="%rest", behind=""))) == REST


def test_a_triangle_is_half_a_square() -> None:
    body = """\
mov.u32 %i, 0;
$L1:
mov.u32 %j, %i;
$L2:
fma.rn.f32 %f, %f, %f, %f;
add.s32 %j, %j, 1;
setp.lt.s32 %q, %j, 10;
@%q bra $L2;
add.s32 %i, %i, 1;
setp.lt.s32 %p, %i, 10;
@%p bra $L1;
ret;
"""
    assert fp32(work(body)) == pytest.approx(55, rel=0.1)


def switched(*cases: int, begin: str = NUMBER, asked: str = "%n") -> str:
    """A switch over a number: in each case some products and sums, as many as its number."""
    tests = "".join(
        f"setp.eq.s32 %p{one}, {asked}, {one};\n@%p{one} bra $C{one};\n" for one in cases
    )
    bodies = "".join(
        f"$C{one}:\n" + "fma.rn.f32 %f, %f, %f, %f;\n" * one + "bra.uni $end;\n" for one in cases
    )
    return f"{begin}{tests}bra.uni $end;\n{bodies}$end:\nfma.rn.f32 %f, %f, %f, %f;\nret;"


def test_of_a_switch_over_a_parameter_the_case_that_does_most_runs() -> None:
    assert fp32(work(switched(4, 9, 6))) == 9 + 1
    assert fp32(work(switched(20, 2, 3, 4, 5))) == 20 + 1
    # All above 24 go to the case of 35, so that nothing gets to that of 39.
    above = NUMBER + "setp.gt.s32 %q, %n, 24;\n@%q bra $C35;\n"
    assert fp32(work(switched(24, 35, 39, begin=above))) == 35 + 1
    beyond = NUMBER + "setp.lt.u32 %q, %n, 29;\n@!%q bra $C2;\n"
    assert fp32(work(switched(24, 2, 29, begin=beyond))) == 24 + 1


def test_what_each_thread_has_of_its_own_is_no_such_switch() -> None:
    own = "mov.u32 %n, %tid.x;\n"
    assert fp32(work(switched(4, 9, 6, begin=own))) == 4 + 9 + 6 + 1
    changed = NUMBER + "add.s32 %m, %n, 1;\n"
    assert fp32(work(switched(4, 9, 6, begin=changed, asked="%m"))) == 4 + 9 + 6 + 1
    assert fp32(work(switched(4, 9))) == 4 + 9 + 1


def test_what_other_numbers_than_its_cases_run_counts() -> None:
    default = switched(4, 1, 2).replace(
        "bra.uni $end;\n$C4", "fma.rn.f32 %f, %f, %f, %f;\n" * 7 + "bra.uni $end;\n$C4"
    )
    assert fp32(work(default)) == 7 + 1


def test_functions_run_as_often_as_they_are_called() -> None:
    inside = "call.uni f, ();"
    body = LOOP.format(inside=inside, bound=12, behind="call.uni f, ();")
    assert fp32(work(body, f="fma.rn.f32 %f, %f, %f, %f;\nret;")) == 13


def test_recursion_ends() -> None:
    assert fp32(work("call.uni f, ();\nret;", f="mul.f32 %f, %f, %f;\ncall.uni f, ();\nret;")) < 9


def local(inside: str, *code: MachineCode, bound: object = 10, frame: int = 80) -> Work:
    body = LOOP.format(inside=inside, bound=bound, behind="")
    start = depot(frame) + "\nmov.u32 %t, %tid.x;\nadd.u64 %a, %SPL, 0;\n"
    return work(NUMBER + start + body, *code, frame=frame)


UNIFORM = "mul.wide.u32 %o, %i, 4;\nadd.s64 %b, %a, %o;\nld.local.f32 %g, [%b];"
VARYING = UNIFORM.replace("%i", "%t")


def test_a_local_access_is_a_line_for_each_of_its_runs() -> None:
    found = local(UNIFORM, ldl("ld.local"))
    assert (found.local_lines, found.local_sectors) == (10, 40)
    assert not found.varying_lines


def test_lanes_that_differ_touch_as_many_lines_as_there_are_words() -> None:
    found = local(VARYING, ldl("ld.local"), frame=64)
    assert found.local_lines == found.varying_lines == 10 * 16
    assert local(VARYING, ldl("ld.local"), frame=4096).local_lines == 10 * 32


def test_random_places_are_among_the_words_of_the_object() -> None:
    loaded = "mul.wide.u32 %v, %t, 4;\nadd.s64 %w, %n, %v;\nld.global.u32 %u, [%w];\n"
    loaded += UNIFORM.replace("%i", "%u")
    found = {frame: local(loaded, ldl("ld.local"), frame=frame) for frame in (16, 4096)}
    assert found[16].local_lines == pytest.approx(10 * 4, rel=0.01)
    assert found[4096].local_lines == pytest.approx(10 * 31.5, rel=0.01)
    assert found[16].local_sectors == pytest.approx(10 * 4 * 3.6, rel=0.01)


def test_fewer_lanes_touch_fewer_lines_behind_a_condition_on_which_they_part() -> None:
    some = "setp.lt.u32 %q, %t, 8;\n@%q bra $L9;\n" + VARYING + "\n$L9:"
    together = some.replace("%t, 8", "%n, 8")
    assert local(together, ldl("ld.local"), frame=4096).local_lines == 10 * 32
    assert local(some, ldl("ld.local"), frame=4096).local_lines == 10 * 16
    chain = "".join(f"setp.lt.u32 %q, %t, {9 * n};\n@%q bra $L9;\n" for n in range(1, 7))
    many = chain + VARYING + "\n$L9:"
    assert local(many, ldl("ld.local"), frame=4096).local_lines == 10 * 4


def test_stores_are_told_from_loads() -> None:
    store = UNIFORM.replace("ld.local.f32 %g, [%b]", "st.local.f32 [%b], %f")
    found = local(store, stl("st.local"))
    assert (found.stored_lines, found.stored_sectors) == (10, 40)
    assert local(UNIFORM, ldl("ld.local")).stored_lines == 0


def test_copies_of_an_access_that_ptxas_unrolls_are_one() -> None:
    copied, once = local(UNIFORM, *[ldl("ld.local")] * 4), local(UNIFORM, ldl("ld.local"))
    # Only what stands in the machine code is there four times.
    assert replace(copied, floats=()) == replace(once, floats=())


def test_each_spill_counts() -> None:
    found = [
        local("mul.f32 %f, %f, %f;", *[ldl("mul.f32", marked=True)] * count).local_lines
        for count in (1, 4)
    ]
    assert found == [10, 40]


def test_what_is_in_registers_costs_nothing() -> None:
    found = local(UNIFORM)
    assert not found.local_lines
    assert not found.stalled("local")
    assert local(UNIFORM, ldl("ld.local")).stalled("local") == 10


def test_what_ptxas_selects_among_registers_costs_comparisons_and_moves() -> None:
    kept, chosen = (local(VARYING, *code, frame=64) for code in ([ldl("ld.local")], []))
    assert integer(chosen) - integer(kept) == 10 * 16
    assert chosen.instructions - kept.instructions == 10 * (16 + 16 - 1)
    # Each move is into the register of the one before.
    assert chosen.stalled("arithmetic") - kept.stalled("arithmetic") == 10 * 16
    wide = VARYING.replace("ld.local.f32 %g", "ld.local.f64 %d")
    assert integer(local(wide, frame=64)) - integer(kept) == 10 * 8


def test_deeper_and_more_cost_more() -> None:
    once = local(UNIFORM, ldl("ld.local"), bound=1)
    often = local(UNIFORM, ldl("ld.local"), bound=100)
    both = local(UNIFORM + "\nst.local.f32 [%b], %f;", ldl("ld.local"), stl("st.local"), bound=100)
    assert costs(once).total < costs(often).total < costs(both).total
    assert costs(local(VARYING, ldl("ld.local"), bound=100)).total > costs(often).total


def test_shared_memory_is_counted() -> None:
    assert looped(10, "ld.shared.f32 %g, [%r];").shared_wavefronts == 10
    assert looped(10, "ld.shared.f64 %g, [%r];").shared_wavefronts == 20


def test_memory_is_streamed_where_the_address_moves() -> None:
    inside = "mul.wide.u32 %o, %i, 4;\nadd.s64 %b, %a, %o;\nld.global.f32 %g, [%b];"
    start = "ld.param.u64 %w, [k_param_0];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %v, %t, 4;\n"
    start += "add.s64 %a, %w, %v;\n"
    moving = work(start + LOOP.format(inside=inside, bound=10, behind=""))
    assert (moving.streamed_sectors, moving.repeated_sectors) == (40, 0)
    still = inside.replace("%i", "%t")
    again = work(start + LOOP.format(inside=still, bound=10, behind=""))
    assert (again.streamed_sectors, again.repeated_sectors) == (4, 36)


def test_a_table_of_the_module_stays_in_the_cache_whatever_indexes_it() -> None:
    """As the library's coefficients of the sine, by the quadrant of an argument."""
    inside = "ld.global.u32 %d, [%a];\nmul.wide.u32 %o, %d, 4;\nadd.s64 %b, {}, %o;\n"
    inside += "ld.global.f32 %g, [%b];"
    start = "ld.param.u64 %w, [k_param_0];\nmov.u64 %table, coefficients;\nmov.u32 %t, %tid.x;\n"
    start += "mul.wide.u32 %v, %t, 4;\nadd.s64 %a, %w, %v;\n"
    for base, streams in (("%table", False), ("%w", True)):
        found = work(start + LOOP.format(inside=inside.format(base), bound=10, behind=""))
        assert (found.streamed_sectors + found.repeated_sectors > 100) == streams
        assert found.cached_lines == (0 if streams else 20)


def test_what_a_multiply_adds_to_is_one_instruction() -> None:
    pair = looped(10, "mul.wide.u32 %o, %i, 4;\nadd.s64 %b, %a, %o;")
    single = looped(10, "mul.wide.u32 %o, %i, 4;")
    assert pair.instructions == single.instructions


def test_a_window_that_shifts_is_copied() -> None:
    shifted = LOOP.format(
        inside="mov.f32 %a, %b;\nmov.f32 %b, %c;\nadd.f32 %c, %a, %f;", bound=10, behind=""
    )
    start = "mov.f32 %a, 0f00000000;\nmov.f32 %b, 0f00000000;\nmov.f32 %c, 0f00000000;\n"
    copies = work(start + shifted).pipes[PIPES.index("none")]
    assert copies - looped(10).pipes[PIPES.index("none")] == 20


SPLIT = """\
mov.u32 %t, {lane};
setp.eq.u32 %p, %t, 0;
@%p bra $L1;
{inside}
$L1:
add.f32 %f, %f, %f;
{back}
ret;
"""


def slots(lane: str, steps: int, back: str = "") -> float:
    inside = "fma.rn.f32 %f, %f, %f, %f;\n" * steps
    found = work(SPLIT.format(lane=lane, inside=inside, back=back))
    return found.pipes[PIPES.index("none")]


def test_a_branch_on_which_lanes_part_costs_slots_and_time() -> None:
    assert slots("%tid.x", 12) - slots("%ctaid.x", 12) == 4
    together, parted = (
        work(SPLIT.format(lane=lane, inside="fma.rn.f32 %f, %f, %f, %f;\n" * 12, back=""))
        for lane in ("%ctaid.x", "%tid.x")
    )
    assert parted.stalled("arithmetic") - together.stalled("arithmetic") == 5


def test_what_is_short_is_made_conditional() -> None:
    assert slots("%tid.x", 7) == slots("%ctaid.x", 7)
    assert slots("%tid.x", 8) > slots("%ctaid.x", 8)


def test_lanes_that_leave_a_loop_wait_behind_it() -> None:
    loop = "$L0:\n" + "fma.rn.f32 %f, %f, %f, %f;\n" * 12 + "setp.gt.f32 %p, %f, %g;\n@%p bra $L0;"
    start = "mov.u32 %t, {};\ncvt.rn.f32.u32 %f, %t;\n"
    found = [work(start.format(lane) + loop + "\nret;") for lane in ("%tid.x", "%ctaid.x")]
    assert found[0].pipes == found[1].pipes


def test_code_that_caches_of_instructions_do_not_hold_takes_longer_to_issue() -> None:
    issue = {kb: costs(looped_code=kb * 1024.0).issue for kb in (0, 32, 40, 48, 96)}
    assert issue[0] == issue[32]
    assert issue[40] == pytest.approx(1.25 * issue[32])
    assert issue[48] == issue[96] == pytest.approx(1.5 * issue[32])


BEHIND = "add.f32 %f, %f, %f;\n" * 3


def test_code_outside_of_loops_runs_once() -> None:
    given = layers(program(LOOP.format(inside="add.f32 %f, %f, %f;", bound=9, behind=BEHIND)))
    facts = changed(attributed(given), cubin=CubinFacts(16, 0, 0, 255, 0, 1800))
    found = work_of(given, facts)
    assert found is not None
    assert found.looped_code == 1800 * 4 / 9


def test_without_ptx_nothing_is_counted() -> None:
    given = layers(None, ldl())
    assert work_of(given, attributed(given)) is None


# The order of what is offered.


def trial(
    rewrite: str,
    after: float | None,
    verdict: TrialVerdict = "removed",
    applicability: Applicability = "safe",
    modelled: Cost | None = None,
) -> Trial:
    figures = Figures(32, 80, 0, 0, 0, 4, 4, 512, 1.0)
    return Trial(
        input="a.cu",
        arch="sm_90",
        kernel="k",
        object="v",
        fingerprint="f",
        cause="dynamic-index",
        place=None,
        rewriting=Rewriting(rewrite, applicability, (Edit("/p/a.cu", 0, 0, rewrite.encode()),), ""),
        verdict=verdict,
        rank=None,
        before=figures,
        after=figures,
        cost_before=100.0,
        cost_after=after,
        patch=None,
        modelled=modelled,
    )


def order(*trials: Trial) -> list[tuple[str, int | None]]:
    return [(one.rewriting.rewrite, one.rank) for one in ranked(trials)]


def test_the_cheapest_is_first_whatever_is_left_in_memory() -> None:
    assert order(
        trial("slow", 110),
        trial("good", 40),
        trial("best", 20, "reduced"),
        trial("bad", 1, "worse"),
    ) == [("best", 1), ("good", 2), ("slow", None), ("bad", None)]


def test_what_is_safe_is_before_what_is_as_good() -> None:
    unsafe = trial("unsafe", 50.0, applicability="unsafe")
    assert order(unsafe, trial("safe", 50.2)) == [("safe", 1), ("unsafe", 2)]
    # The model is not that sure of its figures.
    assert order(unsafe, trial("safe", 70.0)) == [("safe", 1), ("unsafe", 2)]
    assert order(unsafe, trial("safe", 80.0)) == [("unsafe", 1), ("safe", 2)]


def test_of_what_costs_the_same_the_one_with_less_beside_memory_is_first() -> None:
    def costing(name: str, issue: float) -> Trial:
        made = Cost(50.0, issue, 49.0, 1.0, 0.0, fits=True, is_uniform=True)
        return replace(trial(name, 50.0), made=made)

    assert order(costing("more", 30.0), costing("less", 20.0)) == [("less", 1), ("more", 2)]


def test_of_what_costs_the_same_the_one_with_less_shared_memory_is_first() -> None:
    def taking(name: str, shared: int, cost: float = 50.0) -> Trial:
        one = trial(name, cost)
        assert one.after is not None
        return replace(one, after=replace(one.after, shared=shared))

    more, less, none = taking("more", 4096), taking("less", 1024), taking("none", 0, 60.0)
    assert order(more, less, none) == [("less", 1), ("more", 2), ("none", 3)]


@pytest.mark.parametrize(
    ("cost", "changes", "first"),
    [
        (49.5, {}, "more"),
        (49.9, {}, "base"),
        (50.0, {}, "base"),
        (None, {}, "base"),
        # Fewer warps have to be worth it, and copies of what is left in local memory.
        (49.5, {"occupancy": 0.75}, "base"),
        (45.0, {"occupancy": 0.75}, "more"),
        (49.5, {"ldl": 9}, "base"),
        (45.0, {"ldl": 9}, "more"),
        (49.5, {"ldl": 1}, "more"),
        # What is not known is not taken for as good.
        (49.5, {"occupancy": None}, "base"),
        (49.5, {"stl": None}, "base"),
    ],
)
def test_an_addition_is_behind_what_it_adds_nothing_to(
    cost: float | None, changes: dict[str, Any], first: str
) -> None:
    base, one = trial("base", 50.0), trial("more", cost)
    assert one.after is not None
    more = replace(
        one,
        after=replace(one.after, **changes),
        rewriting=replace(one.rewriting, base=base.rewriting.edits),
    )
    assert order(more, base)[0] == (first, 1)
    assert order(base, more)[0] == (first, 1)


def test_without_a_model_fixes_are_still_offered() -> None:
    assert order(trial("one", None), trial("two", 50)) == [("two", 1), ("one", 2)]
    assert order(trial("slow", 110), trial("one", None)) == [("one", 1), ("slow", None)]


def test_what_is_about_as_fast_has_no_rank_and_harms_no_other_kernel() -> None:
    clear, same = trial("clear", 100 / WORTH - 1), trial("same", 100 / WORTH + 1)
    assert order(same, clear) == [("clear", 1), ("same", None)]
    (said,) = (one.error for one in ranked([same]))
    assert said == "modelled to be about as fast (× 1.04)"
    elsewhere = replace(same, kernel="other", rewriting=clear.rewriting)
    assert [one.rank for one in ranked([clear, elsewhere])].count(1) == 1
    slower = replace(elsewhere, cost_after=101.0)
    assert not any(one.rank for one in ranked([clear, slower]))


def test_leaving_it_is_best_where_nothing_gains() -> None:
    given = costs(PLAIN)
    assert leave_reason([trial("a", 50, modelled=given)]) is None
    assert leave_reason([trial("a", None, modelled=given)]) is None
    assert leave_reason([trial("a", 50, "failed", modelled=given)]) is None

    def reason(after: float, **changes: Any) -> str | None:
        return leave_reason([trial("a", after, modelled=replace(given, **changes))])

    assert "2%" in str(reason(100, local=2.0, total=100.0))
    assert "L1" in str(reason(100, local=50.0, fits=True, is_uniform=True))
    busy = {"local": 50.0, "fits": False}
    assert (
        reason(120, **busy)
        == "by the model, each rewrite that was tried would cost more than it saves"
    )
    assert reason(105, **busy) is None  # The model is not that sure.


# The measurement, with a clock of its own.


@pytest.fixture
def fix_times(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import fix_times

    yield fix_times
    sys.modules.pop("fix_times")


class Loaded:
    def __init__(self, taken: float, result: bytes) -> None:
        self._taken, self._result = taken, result

    def time(self) -> float:
        return self._taken

    def result(self) -> tuple[bytes, Sequence[float]]:
        return self._result, [float(one) for one in self._result]


class Gpu:
    """A GPU on which a patched kernel takes half of the time, and one by hand a tenth more."""

    name = "stand-in"

    def load(self, source: str, launch: Any, *, fused: bool = True) -> Loaded:
        assert f"{launch.kernel}(" in source
        if "inline" in source and "struct lmem_" not in source:
            raise RuntimeError("it does not compile\nhere")
        return Loaded(1.0 if "patched" in source else 2.0, b"ab" if "patched" in source else b"ac")


def patch(kernel: str) -> str:
    first = (ROOT / "benchmarks/data/fix_kernels" / f"{kernel}.cu").read_text().splitlines()[0]
    return f"--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n {first}\n+// patched\n"


def test_all_versions_are_timed_and_compared(fix_times: Any) -> None:
    fixes = {
        "arch": "sm_90",
        "candidates": [
            {
                "kernel": "top8(float const*, float*, int)",
                "object": "best",
                "rewrite": rewrite,
                "applicability": "safe",
                "verdict": verdict,
                "rank": 1,
                "cost_before": 90.0,
                "cost_after": 30.0,
                "patch": text,
            }
            for rewrite, verdict, text in (
                ("select", "removed", patch("top8")),
                ("packed", "removed", patch("rolled")),
                ("worse", "worse", patch("top8")),
            )
        ],
    }
    found = fix_times.run(Gpu(), fixes, repeats=5)
    assert not found["left_out"]
    (top8,) = [one for one in found["kernels"] if one["kernel"] == "top8"]
    versions = {one["name"]: one for one in top8["versions"]}
    assert [*versions] == ["original", "select of best", "packed of best", "network"]
    assert versions["select of best"]["measured"] == 2.0
    assert versions["select of best"]["modelled"] == 3.0
    assert versions["select of best"]["same"] is False
    assert versions["select of best"]["same_unfused"] is False
    assert versions["original"]["same"] is True
    assert len(versions["original"]["times_ms"]) == 5
    assert "does not fit" in versions["packed of best"]["error"]
    assert json.loads(json.dumps(found)) == found
    summary = found["summary"]
    assert summary["kernels"] == len(found["kernels"]) >= 20
    # By the stand-in's clock all but the patched kernel take the same.
    assert summary["first_near_fastest_fix"] == summary["kernels"]
    kinds = {one["name"]: one["kind"] for kernel in found["kernels"] for one in kernel["versions"]}
    assert (kinds["masks"], kinds["uncapped"], kinds["original"]) == (
        "redesigned",
        "hand",
        "original",
    )
    assert "top8: select of best" in summary["different_bytes"]


def test_versions_by_hand_compete_in_classes(fix_times: Any) -> None:
    def version(kind: str, measured: float, rank: int | None = None) -> dict[str, Any]:
        return {
            "kind": kind,
            "name": kind,
            "measured": measured,
            "modelled": measured,
            "rank": rank,
            "same": True,
            "same_unfused": None,
            "error": None,
        }

    versions = [version("original", 1.0), version("fix", 2.0, 1), version("fix", 1.9)]
    versions += [version("hand", 2.1), version("redesigned", 4.0)]
    other = [version("original", 1.0), version("fix", 0.8, 1), version("hand", 3.0)]
    found = fix_times.summary(
        [{"kernel": "a", "versions": versions}, {"kernel": "b", "versions": other}]
    )
    assert found["first_near_fastest_fix"] == 1
    assert found["first_near_fastest_by_hand"] == 1
    assert found["first_near_fastest_redesigned"] == 0
    assert found["first_slower_than_original"] == 1


def test_ranks_are_correlated(fix_times: Any) -> None:
    assert fix_times.spearman([1, 2, 3, 4], [10, 20, 30, 90]) == pytest.approx(1)
    assert fix_times.spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert fix_times.ranks([5, 1, 5]) == [2.5, 1, 2.5]
    assert fix_times.spearman([1, 1, 1], [1, 2, 3]) is None


def test_patches_are_applied(fix_times: Any) -> None:
    from lmemscope.fixing.patch import diff  # what writes them
    from lmemscope.model import Edit

    path = ROOT / "benchmarks/data/fix_kernels/top8.cu"
    data = path.read_bytes()
    at = data.index(b"float best[8]")
    edits = [Edit(str(path), 0, 0, b"// first\n"), Edit(str(path), at, at + 13, b"int other[9]")]
    text = diff(edits, str(ROOT))
    expected = b"// first\n" + data.replace(b"float best[8]", b"int other[9]", 1)
    assert fix_times.apply_patch(data.decode(), text) == expected.decode()


def test_each_kernel_has_a_launch(fix_times: Any) -> None:
    files = {path.stem for path in Path(fix_times.KERNELS).glob("*.cu")}
    assert files == set(fix_times.launches())
    assert len(files) >= 20
    assert set(fix_times.by_hand()) <= files


def test_of_what_costs_the_same_the_simplest_is_first() -> None:
    def editing(name: str, lines: int, cost: float = 50.0) -> Trial:
        patch = "--- a\n+++ b\n@@ -1 +1 @@\n" + "+x\n" * lines
        return replace(trial(name, cost), patch=patch)

    assert order(editing("long", 9), editing("short", 2)) == [("short", 1), ("long", 2)]
    assert order(editing("long", 9, 40.0), editing("short", 2)) == [("long", 1), ("short", 2)]


def test_what_is_not_offered_says_why() -> None:
    reasons = {
        one.rewriting.rewrite: one.error for one in ranked([trial("slow", 200), trial("good", 40)])
    }
    assert reasons["good"] is None
    assert "0.5" in (reasons["slow"] or "")
