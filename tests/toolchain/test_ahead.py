"""Analyses of PTX that are made while a compiler runs: the same findings, and nothing of errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lmemscope import pipeline
from lmemscope.analysis.ptx import preparation
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.errors import FormatError
from lmemscope.formats.ptx import PtxModule
from lmemscope.lowering.ahead import Ahead
from lmemscope.lowering.lower import lower
from lmemscope.model import CompileOptions, Frontend, Unit, UnitReport, Wanted
from lmemscope.tools import nvcc, process
from tests.support.program import ROOT

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
    known = (one.name for one in flow.ptx.functions if "body" in vars(one))
    return [name for name in known if "accesses" in vars(flow.objects(name))]


def every(kernel: str) -> bool:
    """Each kernel's report is wanted."""
    return True


def nothing() -> None:
    """All of the analysis is imported."""


def test_all_is_made_while_a_compiler_runs() -> None:
    ahead = Ahead(True, every, nothing)
    ahead.analyse(THREE)
    flow = ahead.flow(THREE)
    assert made(flow) == ["k0", "k1", "k2"]
    assert ahead.flow(THREE) is None, "the caller keeps it"


def test_the_analysis_is_imported_first() -> None:
    imported: list[str] = []
    Ahead(True, every, lambda: imported.append("all")).analyse(THREE)
    assert imported == ["all"]


def test_without_causes_no_access_is_looked_at() -> None:
    flow = ModuleFlow(PtxModule(THREE))
    preparation.prepare(flow, False, every)
    assert made(flow) == []
    assert all("body" in vars(one) for one in flow.ptx.functions)


def test_other_ptx_has_none() -> None:
    ahead = Ahead(True, every, nothing)
    ahead.analyse(THREE)
    assert ahead.flow(bytes(bytearray(THREE))) is None
    assert ahead.flow(None) is None


def test_nothing_is_kept_of_what_fails() -> None:
    ahead = Ahead(True, every, nothing)
    with pytest.raises(FormatError):
        preparation.prepare(ModuleFlow(PtxModule(BROKEN)), True, every)
    for text in (BROKEN, b"no PTX at all"):
        ahead.analyse(text)
        assert ahead.flow(text) is None


def test_functions_of_other_kernels_are_left() -> None:
    flow = ModuleFlow(PtxModule(THREE))
    preparation.prepare(flow, True, lambda kernel: kernel == "k1")
    assert made(flow) == ["k1"]


def test_an_error_leaves_nothing_half_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(flow: ModuleFlow, *_: object) -> None:
        assert flow.dataflow("k0") is not None
        raise RecursionError

    monkeypatch.setattr(preparation, "prepare", prepare)
    flow = ModuleFlow(PtxModule(THREE))
    before = flow.dataflow("k0")
    ahead = Ahead(True, every, nothing)
    ahead.prepare(flow)
    assert flow.dataflow("k0") is not before
    ahead.prepare(None)


def test_a_call_is_made_while_a_tool_runs() -> None:
    seen: list[str] = []
    assert process.run(["echo", "said"], meanwhile=lambda: seen.append("here")).output == "said\n"
    assert seen == ["here"]


@pytest.mark.toolchain
@pytest.mark.parametrize("route", ["nvrtc", "nvcc"])
def test_one_thread_imports(route: Frontend, tmp_path: Path) -> None:
    """Where two import at once, one can get a module half made."""
    code = (
        "import importlib.abc, sys, threading\n"
        "seen = set()\n"
        "class Watching(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        seen.add(threading.current_thread())\n"
        "sys.meta_path.insert(0, Watching())\n"
        "from lmemscope.pipeline import analyse_unit\n"
        "from lmemscope.model import Unit\n"
        "report = analyse_unit(Unit('k.cu', sys.argv[1], sys.argv[2], 'sm_90'))\n"
        "assert report.kernels[0].facts.objects[0].name == 'own', report\n"
        "assert seen == {threading.main_thread()}, seen\n"
    )
    file = tmp_path / "k.cu"
    file.write_text(RECURSIVE)
    subprocess.run([sys.executable, "-c", code, str(file), route], check=True)


MEMBERS = """
static __device__ __noinline__ float pick(const float *in, int k) {
  float own[16];
  for (int i = 0; i < 16; ++i) own[i] = in[i] * in[i + 16];
  own[k & 15] += 1.0f;
  return own[(k + 3) & 15];
}
extern "C" __global__ void work(const float *in, const int *where, float *out, int n, int m) {
  struct S { int box[8]; int arr[32]; } s;
  int t = threadIdx.x;
  for (int i = 0; i < n; ++i) s.box[(i * m) & 7] = n + i;
  for (int i = 0; i < n; ++i) s.arr[where[t + i] & 31] = where[t * 3 + i];
  float r = 0;
  for (int i = 0; i < n; ++i) r += pick(in, s.box[(i + m) & 7]);
  out[t] = r + s.arr[where[t] & 31];
}
"""
"""Names tell that the kernel's two arrays are apart, and so what it gives its function."""
RECURSIVE = """
static __device__ __noinline__ float rec(const float *in, int k, int d) {
  float own[16];
  for (int i = 0; i < 16; ++i) own[i] = in[i] * in[i + 16];
  own[k & 15] += 1.0f;
  float s = own[(k + 3) & 15];
  if (d > 0) s += rec(in, threadIdx.x + d, d - 1) * in[d];
  return s;
}
extern "C" __global__ void work(const float *in, float *out, int n) {
  out[threadIdx.x] = rec(in, n, n);
}
"""
SEVERAL_LINES = HEADER + FUNCTION.format(number=0).replace("u32 [", "u32\n [").replace(
    "%r2, [", "\n%r2, ["
)


def reports(
    text: str, ending: str, route: Frontend, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> list[UnitReport]:
    """Of a source, with everything made ahead, and with nothing."""

    def flow(_: Ahead, of: bytes | None) -> ModuleFlow | None:
        assert of is not None
        flow = ModuleFlow(PtxModule(of))
        preparation.prepare(flow, True, every)
        return flow

    file = directory / f"k{ending}"
    file.write_text(text)
    found = []
    monkeypatch.setattr(Ahead, "prepare", lambda *_: None)
    for made_ahead in (flow, lambda *_: None):
        monkeypatch.setattr(Ahead, "flow", made_ahead)
        unit = Unit(str(file), str(file), route, "sm_90")
        found.append(pipeline.analyse_unit(unit, Wanted(cache=None)))
    return found


@pytest.mark.toolchain
@pytest.mark.parametrize("sample", ["debug_prints.cu", "virtual_calls.cu", "double_math.cu"])
def test_a_report_of_ptx_is_the_same_however_much_was_made(
    sample: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = nvcc.options_for("sm_90", CompileOptions())
    ptx = nvcc.compile_to_ptx(
        str(ROOT / "tests" / "corpus" / "samples" / sample), flags, ()
    ).ptx.decode()
    whole, nothing = reports(ptx, ".ptx", "auto", tmp_path, monkeypatch)
    assert whole == nothing
    assert any(kernel.facts.causes for kernel in whole.kernels)


@pytest.mark.toolchain
@pytest.mark.parametrize("route", ["nvrtc", "nvcc"])
@pytest.mark.parametrize("text", [MEMBERS, RECURSIVE], ids=["members", "recursive"])
def test_a_report_of_a_source_is_the_same_however_much_was_made(
    text: str, route: Frontend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, nothing = reports(text, ".cu", route, tmp_path, monkeypatch)
    assert whole == nothing
    (kernel,) = whole.kernels
    (own,) = (one for one in kernel.facts.objects if one.name == "own")
    assert own.index is not None
    assert own.index.uniformity == ("uniform" if text is MEMBERS else "lane-varying")


@pytest.mark.toolchain
def test_an_instruction_over_several_lines_is_found_however_much_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, nothing = reports(SEVERAL_LINES, ".ptx", "auto", tmp_path, monkeypatch)
    assert whole == nothing
    assert {one.cause for one in whole.kernels[0].facts.accesses} == {"dynamic-index"}


@pytest.mark.toolchain
def test_flow_of_what_was_assembled_is_the_artefacts(tmp_path: Path) -> None:
    from lmemscope.lowering import ahead

    ptx = tmp_path / "k.ptx"
    ptx.write_bytes(THREE)
    with ahead.beside(True, every, nothing) as beside:
        artifacts = lower(Unit(str(ptx), str(ptx), "auto", "sm_90"), None)
        assert beside.flow(artifacts.ptx) is not None


@pytest.mark.toolchain
def test_threads_of_a_users_executor_import_one_at_a_time(tmp_path: Path) -> None:
    code = (
        "import importlib.abc, sys, threading, time\n"
        "class Slow(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.startswith('elftools'): time.sleep(0.01)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "import lmemscope\n"
        "with ThreadPoolExecutor(3) as threads:\n"
        "    made = lmemscope.scan(*sys.argv[1:], arch='sm_90', cache=False, executor=threads)\n"
        "assert [u.kernels[0].facts.objects[0].name for u in made.units] == ['own'] * 3, made\n"
    )
    files = [tmp_path / f"k{number}.cu" for number in range(3)]
    for file in files:
        file.write_text(RECURSIVE)
    subprocess.run([sys.executable, "-c", code, *map(str, files)], check=True)
