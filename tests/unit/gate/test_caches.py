"""Baselines and differences of what just-in-time compilers keep under digests."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.analysis.groups import grouped
from lmemscope.exporters.layout import names_of
from lmemscope.formats.kernel_names import lasting_name
from lmemscope.gate import baseline
from lmemscope.gate.compare import compare
from lmemscope.gate.difference import difference
from lmemscope.gate.evidence import acceptable
from lmemscope.model import (
    CubinFacts,
    Failure,
    Gap,
    GateResult,
    KernelReport,
    Policy,
    Report,
    UnitReport,
)
from lmemscope.model.inputs import digest_in, without_hashes
from tests.support.builders import changed, judged, report

ONE, TWO, THREE = ("A7" * 26, "B2" * 26, "C3" * 26)
SPILLING = judged("k", "register-spill")


def unit(digest: str, kernel: KernelReport, *options: str, root: str = "cache") -> UnitReport:
    (made,) = report(kernel).units
    name = f"{root}/{digest}/k.cubin"
    return replace(made, input=name, frontend="binary", options=options)


def of(*units: UnitReport) -> Report:
    return replace(report(), units=units)


def gate(given: Report, known: Report, *, gaps: bool = False) -> GateResult:
    accepted = acceptable(known, Policy()) if gaps else ()
    saved = baseline.from_report(known, gaps=accepted)
    return compare(given, Policy(), saved, today=date(2026, 11, 21))


@pytest.mark.parametrize(
    ("name", "lasting"),
    [
        (f"c/{ONE}/k.cubin", "c/*/k.cubin"),
        (
            "c/kernel.gemm.0123456789abcdef0123456789abcdef/kernel.cubin",
            "c/kernel.gemm.*/kernel.cubin",
        ),
        ("w/wp_sim_381736d.sm90.cubin", "w/wp_sim_*.sm90.cubin"),
        ("d/module_0001.jit_f.17.ptx", "d/*.jit_f.*.ptx"),
        ("d/other_0001.jit_f.17.ptx", "d/other_0001.jit_f.17.ptx"),
        ("src/a_1234567.cu", "src/a_1234567.cu"),
        ("kernels/softmax.cubin", "kernels/softmax.cubin"),
    ],
)
def test_digests_in_names(name: str, lasting: str) -> None:
    assert without_hashes(name) == lasting
    assert bool(digest_in(name)) == (name != lasting)


def test_warps_digest_is_no_part_of_a_kernels_name() -> None:
    names = ("step_2660aa3a_cuda_kernel_forward", "step_00000000_cuda_kernel_forward")
    assert len({lasting_name(name) for name in names}) == 1
    assert lasting_name("step_2660aa3a_cuda_kernel_backward") != lasting_name(names[0])


def test_a_finding_is_known_whatever_the_digest_is_now() -> None:
    result = gate(of(unit(TWO, SPILLING)), of(unit(ONE, SPILLING)))
    assert (result.verdict, result.gone) == ("passed", ())
    second = of(unit(TWO, SPILLING), unit(THREE, SPILLING))
    assert gate(second, of(unit(ONE, SPILLING))).verdict == "failed"


def test_a_known_gap_is_accepted_and_another_is_not() -> None:
    gap = Gap("ptxas", "spill figures are not known", "evidence")
    known = of(replace(unit(ONE, SPILLING), gaps=(gap,)))
    assert gate(of(replace(unit(TWO, SPILLING), gaps=(gap,))), known).verdict == "undecided"
    result = gate(of(replace(unit(TWO, SPILLING), gaps=(gap,))), known, gaps=True)
    assert result.verdict == "passed"
    assert any("1 known gap" in note for note in result.notes)
    other = replace(gap, reason="the PTX is missing")
    assert gate(of(replace(unit(TWO, SPILLING), gaps=(other,))), known, gaps=True).missing


def test_a_compilers_message_is_the_same_gap_in_another_checkout() -> None:
    def failed(directory: str) -> Report:
        message = f"nvcc refused a.cu: {directory}/a.cu(1): error: expected a ;"
        (made,) = report(failure=Failure("compile", message)).units
        return of(unit(ONE, SPILLING), made)

    assert gate(failed("/home/me/x"), failed("/ci/y"), gaps=True).verdict == "passed"


def test_gaps_are_written_and_read_back(tmp_path: Path) -> None:
    known = of(replace(unit(ONE, SPILLING), gaps=(Gap("ptxas", "unknown", "evidence"),)))
    made = baseline.from_report(known, gaps=acceptable(known, Policy()))
    path = tmp_path / "b.json"
    path.write_text(baseline.render(made))
    assert baseline.load(str(path)) == made
    assert "gaps" not in baseline.render(baseline.from_report(known))


def sized(size: int) -> KernelReport:
    made: KernelReport = changed(
        SPILLING, facts=changed(SPILLING, cubin=CubinFacts(size, 80, 80, 255, 0, size))
    )
    return made


def test_two_caches_are_matched_by_place_and_settings() -> None:
    old = of(
        unit(ONE, sized(96), "num_warps=4", root="old"),
        unit(TWO, sized(64), "num_warps=8", root="old"),
    )
    new = of(unit(THREE, sized(64), "num_warps=8", root="new"))
    (gone,) = difference(old, new, roots=("old", "new")).kernels
    assert (gone.change, gone.input) == ("removed", f"old/{ONE}/k.cubin")
    apart = difference(old, new).kernels
    assert {one.change for one in apart} == {"added", "removed"}


def test_of_equal_settings_the_most_similar_code_is_the_same_instance() -> None:
    old = of(unit(ONE, sized(4096)), unit(TWO, sized(512)))
    new = of(unit(THREE, sized(520)))
    found = {one.change: one.input for one in difference(old, new).kernels}
    assert found["removed"] == f"cache/{ONE}/k.cubin"
    assert "added" not in found


def test_rows_of_one_kernel_say_what_tells_them_apart() -> None:
    units = [unit(ONE, SPILLING, "num_warps=4"), unit(TWO, SPILLING, "num_warps=8")]
    apart = [grouped([(each, SPILLING)])[0] for each in units]
    assert names_of(apart) == ["k (num_warps=4)", "k (num_warps=8)"]
    alike = [grouped([(unit(digest, SPILLING), SPILLING)])[0] for digest in (ONE, TWO)]
    assert names_of(alike) == ["k (A7A7A7)", "k (B2B2B2)"]
    assert names_of(grouped([(each, SPILLING) for each in units])) == ["k ×2"]
