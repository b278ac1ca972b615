from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

import lmemscope
from lmemscope.errors import UsageError
from tests.support.program import ROOT

pytest_plugins = ["pytester"]
HISTOGRAM = str(ROOT / "kernels" / "histogram.cu")


@pytest.mark.toolchain
def test_scan_as_a_function() -> None:
    report = lmemscope.scan(HISTOGRAM, ROOT / "nothing.cu", arch=["sm_80"])
    good, bad = report.units
    assert {k.facts.demangled for k in good.kernels} == {"histogram_private", "histogram_shared"}
    assert good.arch == "sm_80"
    assert bad.failure is not None
    assert bad.failure.stage == "plan"
    with pytest.raises(UsageError):
        lmemscope.scan(HISTOGRAM, arch=["sm_1"])


@pytest.mark.toolchain
def test_any_executor_will_do() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as executor:
        report = lmemscope.scan(HISTOGRAM, arch=["sm_90"], executor=executor)
    assert [unit.failure for unit in report.units] == [None]


@pytest.mark.toolchain
def test_the_plugin_scans_and_limits(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        def test_figures(lmem):
            kernels = lmem.scan({HISTOGRAM!r})
            assert kernels["histogram_private"].frame == 256
            assert kernels["histogram_shared"].frame == 0
            assert kernels["histogram_private"].causes == {{"dynamic-index"}}
            with pytest.raises(KeyError, match="histogram_shared"):
                kernels["nothing"]

        @pytest.mark.lmem({HISTOGRAM!r}, max_frame=256)
        def test_within_limits():
            pass

        @pytest.mark.lmem({HISTOGRAM!r}, max_frame=128)
        def test_above_limits():
            pass

        @pytest.mark.lmem(forbid=["dynamic-index"])
        def test_forbidden(lmem):
            lmem.scan({HISTOGRAM!r})

        def test_broken(lmem):
            lmem.scan("missing.cu")

        @pytest.mark.lmem({HISTOGRAM!r}, max_frame="x")
        def test_no_number():
            pass

        @pytest.mark.lmem(max_fame=3)
        def test_unknown(lmem):
            pass

        @pytest.mark.lmem(forbid=["spill"])
        def test_no_cause(lmem):
            pass

        @pytest.mark.lmem(max_registers=1)
        def test_two_architectures(lmem):
            lmem.scan({HISTOGRAM!r}, arch=["sm_80", "sm_90"])
        """
    )
    # Installed, the plugin loads by its entry point; from a checkout it has to be named.
    installed = any(e.name == "lmemscope" for e in entry_points(group="pytest11"))
    named = [] if installed else ["-p", "lmemscope.pytest_plugin"]
    result = pytester.runpytest_subprocess(*named, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=4, errors=3)
    result.stdout.fnmatch_lines(
        [
            "*expected: max-frame 128 for *",
            "*found: *frame 256",
            "*test_forbidden*",
            "*new: *dynamic-index*",
        ]
    )
    for said in (
        'usage: mark.lmem: max_frame is "x", not a whole number of bytes per thread from 0 up',
        "usage: mark.lmem takes no max_fame, but: max_frame, max_spill, *",
        'usage: mark.lmem: forbid holds "spill", not a cause such as dynamic-index',
        "did you mean register-spill?",
        "*expected: max-registers 1 for *",
    ):
        result.stdout.fnmatch_lines([said])


def test_importing_the_package_is_cheap(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = "import sys, lmemscope; print([m for m in sys.modules if m.startswith('lmemscope.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
