"""The plugin against a hand-made scan: what fails, and as what pytest counts it."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

# In place of a scan: one kernel with one LDL, and a clean one.
STAND_IN = """
    import lmemscope.api
    from msgspec.structs import replace
    from lmemscope.model import Gap
    from tests.support.builders import facts, judged, kernel_with, report, report_of

    def scan(*paths, **options):
        print("scanned", *paths)
        if "template.cu" in paths:
            return report(judged("k"), gaps=(Gap("instantiate", "rm", "uninstantiated"),))
        if "empty.cu" in paths:
            return report()
        made = report(judged("k", "dynamic-index"), judged("clean"))
        broken = report_of(failure=True).units[1:] if "broken.cu" in paths else ()
        return replace(made, units=(*made.units, *broken))

    lmemscope.api.scan = scan
"""

TESTS = """
    import pytest

    @pytest.mark.lmem("a.cu", max_sites=0)
    def test_marked():
        assert False, "the limit comes first"

    @pytest.mark.lmem("a.cu", forbid="dynamic-index")
    class TestClass:
        def test_method(self):
            pass

    @pytest.mark.lmem("broken.cu", max_sites=1)
    def test_broken():
        pass

    @pytest.mark.lmem(max_sites=0)
    def test_fixture(lmem):
        lmem.scan("a.cu")

    @pytest.mark.lmem("a.cu", max_sites=1)
    def test_within():
        pass

    @pytest.mark.xfail(reason="known", strict=True)
    @pytest.mark.lmem("a.cu", max_sites=0)
    def test_known():
        pass

    @pytest.mark.lmem(max_sites=0)
    def test_without_a_path():
        pass

    @pytest.mark.lmem(max_sites=0)
    def test_that_scans_nothing(lmem):
        pass

    @pytest.mark.lmem("empty.cu", max_sites=0)
    def test_without_a_kernel():
        pass

    @pytest.mark.lmem("template.cu", max_sites=0)
    def test_a_template_without_an_instance():
        pass

    @pytest.fixture
    def gpu():
        pytest.skip("no GPU")

    @pytest.mark.lmem("not-scanned.cu", max_sites=0)
    def test_on_a_gpu(gpu):
        pass

    @pytest.mark.lmem("not-scanned.cu", max_fame=0)
    def test_misspelled():
        pass

    @pytest.mark.lmem("not-scanned.cu")
    def test_no_limit():
        pass

    @pytest.mark.lmem("not-scanned.cu", forbid=[], max_frame=None)
    def test_an_empty_ban():
        pass
"""


def test_a_limit_fails_as_an_assertion_does(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(STAND_IN)
    pytester.makepyfile(TESTS)
    # Installed, the plugin loads by its entry point; from a checkout it has to be named.
    installed = any(e.name == "lmemscope" for e in entry_points(group="pytest11"))
    named = [] if installed else ["-p", "lmemscope.pytest_plugin"]
    # In a process of its own: pytester forgets what a run in this one was the first to import,
    # and a scan with two copies of a module waits for ever.
    result = pytester.runpytest_subprocess(*named, "-p", "no:cacheprovider", "-rA")
    # A wrong marker is no failure of the kernels: the only errors.
    result.assert_outcomes(passed=1, failed=8, xfailed=1, skipped=1, errors=3)
    text = result.stdout.str()
    for said in (
        "expected: max-sites 0 for *",
        "found:    sites 1",
        "new: k (a.cu, sm_90): dynamic-index `table`, 80 bytes",
        "the test scanned nothing",
        "no kernel was checked",
        "[instantiate] rm",
        "NVRTC refused b.cu",
        "usage: mark.lmem takes no max_fame, but: max_frame, ",
        "usage: mark.lmem forbids nothing",
        "scanned a.cu",
    ):
        assert said in text
    assert "the limit comes first" not in text
    assert "scanned not-scanned.cu" not in text
