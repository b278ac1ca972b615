"""The limit on a measured share of local memory."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.analysis.measuring import measured_kernels
from lmemscope.gate.measured import with_measured
from lmemscope.model import GateResult, Measurement
from tests.support.profiles import analysis, profile


def nothing(*, allow_incomplete: bool = False) -> GateResult:
    return GateResult("passed", allow_incomplete, (), (), (), (), (), (), ())


@pytest.fixture(scope="module")
def found() -> Measurement:
    kernels = measured_kernels(profile("histogram"), analysis().units)
    return Measurement(version="0", profiler=None, kernels=kernels)


def uncounted(found: Measurement) -> Measurement:
    none = replace(found.kernels[0].traffic, sectors=None)
    kernels = (replace(found.kernels[0], local_share=None, traffic=none), *found.kernels[1:])
    return replace(found, kernels=kernels)


def test_a_kernel_above_the_limit_fails(found: Measurement) -> None:
    result = with_measured(nothing(), found, "m.json", 0.05, ())
    assert (result.verdict, result.exit_code) == ("failed", 1)
    (failure,) = result.failures
    assert (failure.kind, failure.kernel, failure.arch) == ("limit", "histogram_private", "sm_90")
    assert "97.4%" in failure.found
    assert "`bins`, dynamic-index" in failure.found


@pytest.mark.parametrize(
    ("most", "verdict"), [(0.975, "passed"), (0.974, "failed"), (1.0, "passed")]
)
def test_the_limit_is_the_most_that_is_allowed(
    found: Measurement, most: float, verdict: str
) -> None:
    assert with_measured(nothing(), found, "m.json", most, ()).verdict == verdict


def test_only_kernels_that_are_asked_about_count(found: Measurement) -> None:
    result = with_measured(nothing(), found, "m.json", 0.05, ("*shared",))
    assert (result.verdict, result.failures) == ("passed", ())
    none = with_measured(nothing(), found, "m.json", 0.05, ("nobody",))
    assert none.verdict == "undecided"


def test_what_was_not_counted_is_missing_evidence(found: Measurement) -> None:
    result = with_measured(nothing(), uncounted(found), "m.json", 0.05, ())
    assert (result.verdict, result.exit_code) == ("undecided", 3)
    accepted = with_measured(nothing(allow_incomplete=True), uncounted(found), "m.json", 0.05, ())
    assert accepted.verdict == "passed"


def test_a_failure_before_stays_one(found: Measurement) -> None:
    failed = with_measured(nothing(), found, "m.json", 0.05, ())
    assert with_measured(failed, found, "m.json", 1.0, ()).verdict == "failed"
