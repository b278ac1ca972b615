"""Analyses of PTX that are made while a compiler runs: the same findings, and nothing of errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lmemscope import pipeline
from lmemscope.analysis.ptx import preparation
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.errors import CompileError, FormatError
from lmemscope.formats.ptx import PtxModule
from lmemscope.lowering.ahead import Ahead
from lmemscope.lowering.lower import lower
from lmemscope.model import CompileOptions, Unit, Wanted
from lmemscope.tools import nvcc, process
from tests.conftest import ROOT

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
FUNCTION = """
.visible .entry k{number}(.param .u64 k{number}_param_0)
{{
  .local .align 4 .b8 __local_depot{number}[64];
  .reg .b64 %SP;
  .reg .b64 %SPL;
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  mov.u64 %SPL, __local_depot{number};
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd1, %r1, 4;
  add.u64 %rd2, %SPL, %rd1;
  st.local.u32 [%rd2], %r1;
  ld.local.u32 %r2, [%SPL+8];
  ld.param.u64 %rd3, [k{number}_param_0];
  cvta.to.global.u64 %rd4, %rd3;
  st.global.u32 [%rd4], %r2;
  ret;
}}
"""
BROKEN = (HEADER + FUNCTION.format(number=0).replace("[%rd2], %r1", "[%rd2, %r1")).encode()
THREE = (HEADER + "".join(FUNCTION.format(number=number) for number in range(3))).encode()


def made(flow: ModuleFlow | None) -> list[str]:
    """The functions whose accesses are known."""
    assert flow is not None
    known = (one.name for one in flow.ptx.functions if flow.has_dataflow(one.name))
    return [name for name in known if "accesses" in vars(flow.objects(name))]


def at_once() -> None:
    """All of the analysis can be imported."""


@pytest.fixture
def all_made(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when the thread has made all."""
    real, done = preparation.prepare, threading.Event()

    def prepare(flow: ModuleFlow, causes: bool, is_ended: Callable[[], bool]) -> None:
        real(flow, causes, is_ended)
        done.set()

    monkeypatch.setattr(preparation, "prepare", prepare)
    return done


def test_all_is_made_while_a_compiler_runs_that_takes_long_enough(
    all_made: threading.Event,
) -> None:
    ahead = Ahead(True, at_once)
    with ahead.of(THREE):
        assert all_made.wait(20)
    flow = ahead.flow(THREE)
    assert made(flow) == ["k0", "k1", "k2"]
    assert ahead.flow(THREE) is None, "the caller keeps it"


def test_what_was_not_reached_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    second, go_on = threading.Event(), threading.Event()

    def prepare(flow: ModuleFlow, causes: bool, is_ended: Callable[[], bool]) -> None:
        asked = iter(range(9))

        def ended() -> bool:
            if next(asked) == 1:
                second.set()
                go_on.wait(20)
            return is_ended()

        real(flow, causes, ended)

    real = preparation.prepare
    monkeypatch.setattr(preparation, "prepare", prepare)
    ahead = Ahead(True, at_once)
    with ahead.of(THREE):
        assert second.wait(20)
        # Set when this is left, and asked between two functions.
        threading.Timer(0.2, go_on.set).start()
    assert made(ahead.flow(THREE)) == ["k0"]


def test_without_causes_no_access_is_looked_at() -> None:
    flow = ModuleFlow(PtxModule(THREE))
    preparation.prepare(flow, False, lambda: False)
    assert made(flow) == []
    assert all(flow.has_dataflow(one.name) for one in flow.ptx.functions)


def test_other_ptx_has_none() -> None:
    ahead = Ahead(True, at_once)
    with ahead.of(THREE):
        pass
    assert ahead.flow(bytes(bytearray(THREE))) is None
    assert ahead.flow(None) is None


def test_nothing_is_kept_of_what_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = Ahead(True, at_once)
    with pytest.raises(CompileError), ahead.of(THREE):
        raise CompileError("ptxas", "refused")
    assert ahead.flow(THREE) is None
    with pytest.raises(FormatError):
        preparation.prepare(ModuleFlow(PtxModule(BROKEN)), True, lambda: False)
    tried = threading.Event()

    def prepare(flow: ModuleFlow, causes: bool, is_ended: Callable[[], bool]) -> None:
        try:
            real(flow, causes, is_ended)
        finally:
            tried.set()

    real = preparation.prepare
    monkeypatch.setattr(preparation, "prepare", prepare)
    with ahead.of(BROKEN):
        assert tried.wait(20)
    assert ahead.flow(BROKEN) is None
    with ahead.of(b"no PTX at all"):
        pass
    assert ahead.flow(b"no PTX at all") is None


def test_it_goes_on_while_another_compiler_runs(all_made: threading.Event) -> None:
    flow = ModuleFlow(PtxModule(THREE))
    ahead = Ahead(True, at_once)
    with ahead.goes_on(flow):
        assert all_made.wait(20)
    assert made(flow) == ["k0", "k1", "k2"]
    with ahead.goes_on(None):
        pass


def test_a_tool_runs_while_the_thread_does() -> None:
    seen: list[str] = []

    @contextmanager
    def meanwhile() -> Iterator[None]:
        seen.append("begun")
        yield
        seen.append("ended")

    assert process.run(["echo", "said"], meanwhile=meanwhile).output == "said\n"
    assert seen == ["begun", "ended"]


@pytest.mark.toolchain
@pytest.mark.parametrize("sample", ["debug_prints.cu", "virtual_calls.cu", "double_math.cu"])
def test_a_report_is_the_same_however_much_was_made(
    sample: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_of(_: Ahead, of: bytes | None) -> ModuleFlow:
        assert of is not None
        flow = ModuleFlow(PtxModule(of))
        preparation.prepare(flow, True, lambda: False)
        return flow

    flags = nvcc.options_for("sm_90", CompileOptions())
    source, ptx = ROOT / "tests" / "samples" / sample, tmp_path / "k.ptx"
    ptx.write_bytes(nvcc.compile_to_ptx(str(source), flags, ()).ptx)
    unit = Unit(str(ptx), str(ptx), "auto", "sm_90")
    monkeypatch.setattr(Ahead, "flow", all_of)
    report = pipeline.analyse_unit(unit, Wanted(cache=None))
    monkeypatch.setattr(Ahead, "flow", lambda *_: None)
    assert pipeline.analyse_unit(unit, Wanted(cache=None)) == report
    assert any(kernel.facts.causes for kernel in report.kernels)


@pytest.mark.toolchain
def test_flow_of_what_was_assembled_is_the_artefacts(tmp_path: Path) -> None:
    from lmemscope.lowering import ahead

    ptx = tmp_path / "k.ptx"
    ptx.write_bytes(THREE)
    with ahead.beside(True, at_once) as beside:
        artifacts = lower(Unit(str(ptx), str(ptx), "auto", "sm_90"), None)
        assert beside.flow(artifacts.ptx) is not None
