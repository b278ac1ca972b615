"""What a program becomes depends on no other program that was compiled before it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from lmemscope.errors import CompileError, WorkerCrashError
from lmemscope.lowering.lower import lower
from lmemscope.model import CompileOptions, Unit
from lmemscope.tools import child, nvrtc
from lmemscope.tools.child import Child, KilledError, is_single_threaded
from tests.support.program import ROOT, run_program

ARCH = "--gpu-architecture=sm_90"
ARRAY = """
// lmemscope: allow dynamic-index "known"
__global__ void count(const int *d, unsigned *t, int n) {
  unsigned bins[64] = {};
  for (int i = threadIdx.x; i < n; i += blockDim.x) ++bins[d[i] & 63];
  for (int k = 0; k < 64; ++k) if (bins[k]) atomicAdd(&t[k], bins[k]);
}
"""
BY_VALUE = """
struct Table { float v[32]; int m; };
__global__ void pick(const Table q, float *o, const int *p) {
  for (int i = 0; i < q.m; i++) o[i] = q.v[p[i] & 31];
}
"""
"""The structure stays in the parameters, unless NVRTC has compiled with ``-G`` before."""
SAMPLES = sorted(
    path for folder in ("kernels", "tests/corpus/samples") for path in (ROOT / folder).glob("*.cu")
)


def outputs(file: str) -> tuple[object, ...]:
    """What NVRTC and ptxas make of a file, or why they do not."""
    try:
        made = lower(Unit(os.path.basename(file), file, "nvrtc", "sm_90"))
    except CompileError as error:
        return (error.message,)
    # The report says how long it took.
    report = [line for line in (made.ptxas_log or "").splitlines() if "Compile time" not in line]
    return made.ptx, made.cubin, report


def outputs_after_debug(files: Sequence[str]) -> list[tuple[object, ...]]:
    """The same of each of several files, in a process that debug builds came from first."""
    for options in (("-G",), ("--restrict",), ("--Ofast-compile=max",)):
        nvrtc.compile_program(ARRAY, "/array.cu", (ARCH, *options), ())
    nvrtc.compile_to_ptx(ARRAY, "/array.cu", ("--gpu-architecture=compute_90", "-G"), ())
    return [outputs(file) for file in files]


@pytest.mark.toolchain
def test_each_sample_is_the_same_alone_and_after_debug_builds() -> None:
    files = [str(path) for path in SAMPLES]
    together = child.call(outputs_after_debug, files)
    alone = [child.call(outputs, file) for file in files]
    different = [file for file, a, b in zip(files, alone, together, strict=True) if a != b]
    assert not different


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "options",
    [("-G",), ("--device-debug",), ("--restrict",), ("--Ofast-compile=max",), ("--pch",)],
)
def test_no_option_outlives_its_program(options: tuple[str, ...]) -> None:
    before = nvrtc.compile_program(BY_VALUE, "/b.cu", (ARCH,), ())
    nvrtc.compile_program(ARRAY, "/a.cu", (ARCH, *options), ())
    assert nvrtc.compile_program(BY_VALUE, "/b.cu", (ARCH,), ()) == before


@pytest.mark.toolchain
def test_a_users_own_debug_build_changes_no_other(tmp_path: Path) -> None:
    file = tmp_path / "b.cu"
    file.write_text(BY_VALUE)
    plain = Unit("b.cu", str(file), "nvrtc", "sm_90")
    debug = Unit("b.cu", str(file), "nvrtc", "sm_90", CompileOptions(nvrtc_args=("-G",)))
    first, built, second = (lower(unit) for unit in (plain, debug, plain))
    assert b", debug" in (built.ptx or b"")
    assert (first.ptx, first.cubin) == (second.ptx, second.cubin)
    assert b".local" not in (second.ptx or b"")


@pytest.mark.toolchain
def test_the_gate_answers_the_same_in_every_order(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(ARRAY)
    (tmp_path / "b.cu").write_text(BY_VALUE)
    (tmp_path / "both.cu").write_text(ARRAY + BY_VALUE)
    for given in ("a.cu b.cu", "b.cu a.cu", "both.cu --arch sm_80 --arch sm_90"):
        done = run_program("check", *given.split(), "--no-cache", "-j", "1", cwd=tmp_path)
        assert done.code == 0, done.err


def number_and(*given: object) -> tuple[object, ...]:
    """The process's number, and what was given."""
    return os.getpid(), *given


def refused() -> None:
    """Raise what a compiler's refusal is."""
    raise CompileError("compile", "refused", hint="a hint", command="a command", log="a log")


def crashing() -> None:
    """Crash as a library does, after a message."""
    os.write(2, b"the end is near\n")
    ctypes.string_at(0)


def killed(marks: str) -> str:
    """Be killed when called for the first time, leaving a mark."""
    try:
        os.close(os.open(marks, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return "done"
    os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def endless() -> None:
    """Never return."""
    time.sleep(600)


def largest(size: int) -> int:
    """Take so much memory."""
    return len(b"1" * size)


@pytest.fixture(params=["fork", "spawn"])
def _either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "is_single_threaded", lambda: request.param == "fork")


@pytest.mark.usefixtures("_either_way")
def test_a_call_runs_elsewhere_and_its_result_comes_back() -> None:
    number, text = child.call(number_and, "é" * 100_000)
    assert number != os.getpid()
    assert text == "é" * 100_000


@pytest.mark.usefixtures("_either_way")
def test_what_it_raises_is_raised_here() -> None:
    with pytest.raises(CompileError) as caught:
        child.call(refused)
    error = caught.value
    assert (error.message, error.hint, error.log) == ("refused", "a hint", "a log")


@pytest.mark.usefixtures("_either_way")
def test_a_crash_ends_that_call_alone_and_says_what_was_printed() -> None:
    with pytest.raises(WorkerCrashError, match="SIGSEGV") as caught:
        child.call(crashing)
    assert "the end is near" in (caught.value.log or "")


@pytest.mark.usefixtures("_either_way")
def test_one_that_is_killed_is_tried_again(tmp_path: Path) -> None:
    assert child.call(killed, str(tmp_path / "mark")) == "done"
    other = Child(forks=True)
    other.send(killed, (str(tmp_path / "other"),))
    with pytest.raises(WorkerCrashError, match="SIGKILL"):
        other.receive()
    other.close()


@pytest.mark.usefixtures("_either_way")
def test_a_call_that_is_not_taken_any_more_is_a_crash_and_leaves_nothing_behind() -> None:
    gone = Child(forks=True)
    gone.stop()
    while gone.is_alive():
        time.sleep(0.01)
    # What could not be written is kept, and would be tried again when the pipe is closed.
    with pytest.raises(KilledError):
        gone.send(len, ("x",))
    gone.close()


def test_nothing_runs_on_once_it_is_ended() -> None:
    running = Child(forks=True)
    running.send(endless, ())
    running.close()
    running.close()
    with pytest.raises(ProcessLookupError):
        os.kill(running.pid, 0)


def test_a_process_with_threads_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "is_single_threaded", is_single_threaded)
    monkeypatch.setattr(os, "fork", None)
    go_on = threading.Event()
    thread = threading.Thread(target=go_on.wait)
    thread.start()
    try:
        assert child.call(number_and, 1)[1] == 1
    finally:
        go_on.set()
        thread.join()


def test_none_outlives_the_process_that_began_it(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from lmemscope.tools.child import Child\n"
        "from tests.unit.tools.test_child import endless\n"
        "child = Child(forks=True)\n"
        "child.send(endless, ())\n"
        "print(child.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    number = int(done.stdout)
    for _ in range(500):
        try:
            status = Path(f"/proc/{number}/stat").read_text()
        except OSError:
            return
        if status.rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.02)
    pytest.fail("it still runs")
