"""Counters joined with accesses: what ran is what was analysed, or it is said that it is not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.analysis.measuring import measured_kernels
from lmemscope.analysis.waiting import local_samples, parsed
from lmemscope.formats import ncu_csv
from lmemscope.model import (
    MeasuredKernel,
    Profile,
    ProfiledInstruction,
    ProfiledSource,
    UnitReport,
)
from tests.support.profiles import EARLIER, PROGRAMS, analysis, only, profile

UNIFORM_OR_VARYING = ("uniform", "lane-varying")


def measured(
    program: str, units: tuple[UnitReport, ...] | None = None
) -> tuple[MeasuredKernel, ...]:
    return measured_kernels(profile(program), analysis().units if units is None else units)


def with_sources(found: Profile, **changes: Any) -> Profile:
    """A profile whose instructions are changed, each in the same way."""
    return replace(
        found,
        sources=tuple(
            replace(one, instructions=tuple(replace(i, **changes) for i in one.instructions))
            for one in found.sources
        ),
    )


def code(*lines: tuple[str, float]) -> list[ProfiledInstruction]:
    """Instructions with the samples that wait at each of them."""
    return [
        ProfiledInstruction(16 * n, text, {ncu_csv.WAITING: waiting})
        for n, (text, waiting) in enumerate(lines)
    ]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_kernel_that_was_analysed_is_joined_by_instruction(program: str) -> None:
    ours = {kernel.name for unit in analysis().units for kernel in unit.kernels}
    known = [one for one in measured(program) if one.name in ours]
    using = [one for one in known if one.traffic.local_sectors]
    assert using
    assert {(one.joined, one.reason) for one in using} == {("instructions", None)}
    others = {one.reason for one in known if one not in using}
    assert others <= {"it accessed no local memory"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_shares_add_up_to_what_the_kernel_moved(program: str) -> None:
    for kernel in measured(program):
        if kernel.joined == "instructions":
            moved = sum(share.sectors or 0 for share in kernel.shares)
            assert moved == kernel.traffic.local_sectors, kernel.name


def test_pages_of_an_earlier_version_are_joined_alike() -> None:
    earlier = measured_kernels(profile("kernels", EARLIER), analysis().units)
    assert earlier == measured("kernels")


def test_a_variable_has_its_counters() -> None:
    """32 words per thread, written once; then 1000 times one store and 31 loads.

    The newest element is still in a register.
    """
    kernel = only(measured("running_mean"), "mean_ring")
    (share,) = kernel.shares
    assert (share.cause, share.object) == ("dynamic-index", "window")
    warps, words = 8, 32 + 1000 * 32
    assert share.requests == warps * words
    assert share.bytes == warps * words * 32 * 4
    assert share.predicted == share.measured == 4.0
    assert share.of_local == 1.0
    assert share.of_traffic == pytest.approx(0.94, abs=0.01)
    assert only(measured("running_mean"), "mean_shift").shares == ()


def test_what_a_called_function_moves_is_unattributed() -> None:
    """The arguments of printf are the kernel's; what vprintf does with them is not."""
    shares = {one.cause: one for one in only(measured("printing"), "report_negative").shares}
    assert set(shares) == {"printf-args", "unattributed"}
    assert shares["printf-args"].sectors == 3
    assert shares["unattributed"].measured is None


def test_uniform_and_lane_varying_accesses_take_the_predicted_sectors() -> None:
    """Exactly, in 20 kernels; 1-byte elements share words, so that theirs is a bound."""
    told: dict[str, float] = {}
    bounds: list[str] = []
    for kernel in (k for program in PROGRAMS for k in measured(program)):
        report = next(
            (r for u in analysis().units for r in u.kernels if r.name == kernel.name), None
        )
        if report is None or kernel.joined != "instructions":
            continue
        own = {one.pc: one for one in report.counted}
        for one in kernel.accesses:
            if not one.executed or not one.sectors or one.predicted is None:
                continue
            found = one.sectors / one.requests
            access = own[one.pc]
            is_told = access.uniformity in UNIFORM_OR_VARYING and access.width >= 4
            if is_told and access.cause != "printf-args":  # one lane prints
                told[kernel.name] = max(told.get(kernel.name, 0), abs(found / one.predicted - 1))
            else:
                bounds.append(kernel.name)
                assert found <= one.predicted, (kernel.name, hex(one.pc))
    assert len(told) >= 20, sorted(told)
    assert {name: off for name, off in told.items() if off > 0.0} == {}
    assert bounds


def test_other_machine_code_is_joined_by_kernel_alone() -> None:
    found = profile("running_mean")
    moved = replace(
        found,
        sources=tuple(ProfiledSource(one.kernel, one.instructions[1:]) for one in found.sources),
    )
    kernel = only(measured_kernels(moved, analysis().units), "mean_ring")
    assert kernel.joined == "kernel"
    assert "other machine code ran" in (kernel.reason or "")
    assert kernel.traffic.local_share is not None
    assert [(s.object, s.sectors, s.measured_cost) for s in kernel.shares] == [
        ("window", None, None)
    ]
    assert kernel.accesses == ()


def test_addresses_count_from_the_start_of_the_function() -> None:
    """Some versions print them so."""
    found = profile("running_mean")
    relative = replace(
        found,
        sources=tuple(
            replace(
                one,
                instructions=tuple(
                    replace(i, address=i.address - one.instructions[0].address)
                    for i in one.instructions
                ),
            )
            for one in found.sources
        ),
    )
    assert measured_kernels(relative, analysis().units) == measured("running_mean")


def test_a_kernel_of_another_architecture_is_joined_by_kernel() -> None:
    units = tuple(replace(unit, arch="sm_80") for unit in analysis().units)
    kernel = only(measured("running_mean", units), "mean_ring")
    assert (kernel.joined, kernel.arch) == ("kernel", "sm_90")
    assert kernel.reason == "it ran on sm_90, and was analysed for sm_80"


def test_the_unit_whose_code_ran_is_chosen() -> None:
    units = analysis().units
    other = tuple(
        replace(u, input="other.cu", kernels=tuple(_moved(k) for k in u.kernels)) for u in units
    )
    kernel = only(measured("running_mean", (*other, *units)), "mean_ring")
    assert (kernel.joined, kernel.input) == ("instructions", "kernels/running_mean_app.cu")


def _moved(kernel: Any) -> Any:
    return replace(kernel, accesses=tuple(replace(one, pc=one.pc + 16) for one in kernel.accesses))


def test_a_report_without_accesses_says_how_to_write_it() -> None:
    units = tuple(
        replace(u, kernels=tuple(replace(k, accesses=()) for k in u.kernels))
        for u in analysis().units
    )
    kernel = only(measured("running_mean", units), "mean_ring")
    assert kernel.joined == "kernel"
    assert "--accesses" in (kernel.reason or "")


def test_a_kernel_that_nobody_analysed_keeps_its_counters() -> None:
    kernel = only(measured("running_mean", ()), "mean_ring")
    assert (kernel.joined, kernel.input, kernel.shares) == ("none", None, ())
    assert kernel.traffic.local_sectors == 1025024
    assert kernel.demangled == "void mean_ring<32>(float const*, float*, int)"


def test_names_as_ncu_spells_them_are_found() -> None:
    found = profile("running_mean")
    spelled = replace(
        found,
        launches=tuple(
            replace(one, kernel="void mean_ring<(int)32>(const float *, float *, int)")
            for one in found.launches
            if "ring" in one.kernel
        ),
        sources=tuple(one for one in found.sources if "ring" in one.kernel),
    )
    (kernel,) = measured_kernels(spelled, analysis().units)
    assert (kernel.joined, kernel.name) == ("instructions", "_Z9mean_ringILi32EEvPKfPfi")


def test_several_launches_are_added_up() -> None:
    kernel = only(measured("histogram"), "histogram_private")
    single = replace(
        profile("histogram"),
        launches=profile("histogram").launches[:1],
        sources=profile("histogram").sources[:1],
    )
    first = only(measured_kernels(single, analysis().units), "histogram_private")
    assert (kernel.launches, first.launches) == (2, 1)
    assert kernel.traffic.load_requests == 2 * (first.traffic.load_requests or 0)
    assert kernel.shares[0].executed == 2 * (first.shares[0].executed or 0)
    assert kernel.local_share == pytest.approx(first.local_share, rel=0.02)


def test_a_spill_that_warps_wait_for_costs_most_of_the_kernel() -> None:
    kernel = only(measured("spill"), "thirty_doubles_capped")
    (share,) = kernel.shares
    assert share.cause == "register-spill"
    assert kernel.samples is not None
    assert (kernel.stall_samples or 0) / kernel.samples > 0.5
    assert share.measured_cost is not None
    assert share.measured_cost < (kernel.cycles or 0)


def test_what_waits_is_the_load_that_wrote_the_register() -> None:
    found = local_samples(
        code(
            ("LDG.E R4, [R2.64]", 0),
            ("LDL R5, [R1]", 0),
            ("FADD R6, R4, R4", 30),
            ("FADD R6, R5, R5", 8),
            ("FADD R7, R5, R5", 5),
        )
    )
    assert found == {1: 8}, "what was used once has arrived"


def test_an_instruction_that_waits_for_two_loads_counts_half_for_each() -> None:
    lines = ("LDG.E R4, [R2.64]", 0.0), ("LDL.64 R8, [R1]", 0.0), ("FADD R6, R4, R9", 10.0)
    assert local_samples(code(*lines)) == {1: 5}


def test_a_loop_carries_a_load_to_its_next_iteration() -> None:
    lines = ("FADD R6, R5, R5", 7.0), ("LDL R5, [R1]", 0.0), ("@P0 BRA 0x0", 0.0)
    assert local_samples(code(*lines)) == {1: 7}


def test_every_sample_that_waits_for_a_load_is_of_one_kind() -> None:
    """Recorded: the loop that reads an array back waits for it, the one that fills it does not."""
    found = profile("kernels")
    number = next(n for n, one in enumerate(found.launches) if one.kernel == "decay_kept")
    code_ = found.sources[number].instructions
    waiting = local_samples(code_)
    (load,) = (n for n, one in enumerate(code_) if one.text.startswith("LDL"))
    assert waiting == {load: 27980.0}


def test_a_throttled_store_waits_for_local_memory() -> None:
    store = ProfiledInstruction(0, "@!P1 STL.128 [R1+0x10], R4", {ncu_csv.THROTTLED: 3.0})
    load = ProfiledInstruction(16, "LDG.E R4, [R2.64]", {ncu_csv.THROTTLED: 9.0})
    assert local_samples([store, load]) == {0: 3}


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [
        ("LDL.128 R8, [R1+0x20]", (8, 9, 10, 11), (1,)),
        ("LDG.E.64 R2, desc[UR6][R14.64+0x8]", (2, 3), (14, 15)),
        ("STL.64 [R17], R4", (), (17, 4, 5)),
        ("STG.E.128 desc[UR4][R2.64], R8", (), (2, 3, 8, 9, 10, 11)),
        ("IMAD.WIDE R2, R7, 0x4, R4", (2, 3), (7, 4, 5)),
        ("IMAD.WIDE.U32 R2, R7, R9, R4", (2, 3), (7, 9, 4, 5)),
        ("DFMA R10, R12, R14, -R16", (10, 11), (12, 13, 14, 15, 16, 17)),
        ("@P0 FADD R1, -R2, |R3|", (1,), (2, 3)),
        ("IADD3 R1, R1, -0x80, RZ", (1,), (1,)),
        ("ISETP.GE.AND P0, PT, R3, 0x1, PT", (), (3,)),
        ("BRA 0x7f1ded7a45d0", (), ()),
    ],
)
def test_registers_of_an_instruction(
    text: str, written: tuple[int, ...], read: tuple[int, ...]
) -> None:
    found = parsed(text)
    assert found is not None
    assert (found.written, set(found.read)) == (written, set(read))


@pytest.mark.parametrize("text", ["", "...", "123", "@P0"])
def test_what_is_no_instruction_is_none(text: str) -> None:
    assert parsed(text) is None
