"""Ctrl-C: what is done is shown, how far the run came is said, and the next run goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lmemscope.app import execute
from lmemscope.app.session import Interrupted, Session
from lmemscope.config.settings import Settings
from lmemscope.model import Unit, UnitReport, Wanted
from tests.support.program import ROOT, run_program

KERNEL = "__global__ void {name}(float *x) {{ x[threadIdx.x] = {body}; }}\n"
ENDLESS = """
__global__ void {name}(double *x) {{
    double a[400];
#pragma unroll
    for (int i = 0; i < 400; ++i) a[i] = x[i];
#pragma unroll
    for (int r = 0; r < 400; ++r)
#pragma unroll
        for (int i = 0; i < 400; ++i) a[i] = sin(a[(i + 7) % 400]) / a[i];
#pragma unroll
    for (int i = 0; i < 400; ++i) x[i] = a[i];
}}
"""


def test_what_was_done_comes_with_the_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.cu").write_text(KERNEL.format(name=name, body="1.0f"))

    def analysed(unit: Unit, wanted: Wanted) -> UnitReport:
        return UnitReport(
            input=unit.name,
            frontend="nvrtc",
            arch=unit.arch,
            options=(),
            failure=None,
            gaps=(),
            kernels=(),
        )

    def stop(done: int, total: int, name: str, failed: int = 0) -> None:
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(execute, "analyse_unit", analysed)
    settings = Settings(archs=("sm_90",))
    with ThreadPoolExecutor(1) as executor, pytest.raises(Interrupted) as caught:
        execute.run([str(tmp_path)], Session(settings, executor, stop))
    done = len(caught.value.report.units)
    assert 2 <= done <= 3
    assert str(caught.value) == f"{done} of 3 inputs done"


@pytest.mark.toolchain
def test_the_program_shows_what_is_done_and_goes_on_the_next_time(
    tmp_path: Path, own_store: str
) -> None:
    (tmp_path / "a.cu").write_text(KERNEL.format(name="quick", body="2.0f"))
    (tmp_path / "b.cu").write_text(ENDLESS.format(name="endless"))
    command = [sys.executable, "-m", "lmemscope", "scan", ".", "--arch", "sm_90", "-j", "2"]
    running = subprocess.Popen(
        [*command, "--format", "json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 100
    while not list(Path(own_store).rglob("*.report-*")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=100)
    assert running.returncode == 130
    assert [unit["input"] for unit in json.loads(out)["units"]] == ["a.cu"]
    (tmp_path / "half.json").write_text(out)
    gate = run_program("check", "half.json", "--max-frame", "1000", cwd=tmp_path)
    assert (gate.code, "interrupted: 1 of 2 inputs done" in gate.out) == (3, True)
    assert err.splitlines() == ["interrupted: 1 of 2 inputs done; the next run goes on from there"]
    kept = {path: path.stat().st_ino for path in Path(own_store).rglob("*.report-*")}
    (tmp_path / "b.cu").unlink()
    assert run_program("scan", ".", "--arch", "sm_90", cwd=tmp_path).code == 0
    assert {path: path.stat().st_ino for path in Path(own_store).rglob("*.report-*")} == kept
