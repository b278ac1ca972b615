"""Reports in a debugger: a line each, whatever they hold."""

from __future__ import annotations

import pickle

from lmemscope.model import Gap, Report, UnitReport
from tests.support.builders import judged, report, report_of, spilling


def test_a_report_is_one_short_line() -> None:
    shown = report(*(judged(f"k{i}", "dynamic-index") for i in range(30)), judged("clean"))
    assert repr(shown) == "<Report: 31 kernels in 1 file, 30 with local memory>"
    assert pickle.loads(pickle.dumps(shown)) == shown


def test_failures_and_gaps_are_counted() -> None:
    made = report_of(spilling(), failure=True)
    assert repr(made) == "<Report: 1 kernel in 2 files, 1 with local memory, 1 failed>"
    good, bad = made.units
    assert repr(good) == "<UnitReport: a.cu for sm_90, 1 kernel, 1 with local memory>"
    assert repr(bad) == "<UnitReport: b.cu for sm_90, failed: NVRTC refused b.cu: line 1: error>"
    (unit,) = report(gaps=(Gap("read", "x"), Gap("read", "y"))).units
    assert repr(unit) == "<UnitReport: a.cu for sm_90, 0 kernels, 0 with local memory, 2 gaps>"


def test_an_empty_report() -> None:
    assert (
        repr(Report(version="0", toolchain={}, units=()))
        == "<Report: 0 kernels in 0 files, 0 with local memory>"
    )
    unit = UnitReport(
        input="-", frontend="nvrtc", arch="", options=(), failure=None, gaps=(), kernels=()
    )
    assert repr(unit).startswith("<UnitReport: - for no architecture, 0 kernels")


def test_a_kernel_is_its_name_and_verdict() -> None:
    kernel = judged("histogram", "dynamic-index")
    assert repr(kernel) == f"<KernelReport: histogram, {kernel.verdict.text}>"
    assert len(repr(kernel)) < 200
