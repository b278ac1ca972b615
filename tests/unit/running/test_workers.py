from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.app import worker
from lmemscope.environment import import_path
from lmemscope.errors import CompileError, StageTimeoutError, WorkerCrashError
from lmemscope.model import Unit, Wanted
from lmemscope.running.limited import Limited
from lmemscope.running.pool import UNITS, WorkerPool
from lmemscope.running.processor_time import seconds_of
from tests.support import crashing
from tests.support.program import ROOT

POISONED = ("pickle", "json", "ctypes", "selectors", "signal", "importlib", "lmemscope", "numpy")


@pytest.fixture(params=["forks", "starts"])
def pool(request: pytest.FixtureRequest) -> Iterator[WorkerPool]:
    with WorkerPool(2, forks=request.param == "forks") as pool:
        pool.prestart(2)
        yield pool


def test_results_come_back_to_their_own_futures(pool: WorkerPool) -> None:
    futures = [pool.submit(crashing.double, value) for value in range(20)]
    assert [future.result() for future in futures] == [2 * value for value in range(20)]


def test_a_crash_is_one_tasks_failure_and_names_the_signal(pool: WorkerPool) -> None:
    futures = [pool.submit(crashing.double, value) for value in range(4)]
    crashed = pool.submit(crashing.die, signal.SIGSEGV)
    futures += [pool.submit(crashing.double, value) for value in range(4, 8)]
    with pytest.raises(WorkerCrashError, match="SIGSEGV") as caught:
        crashed.result()
    assert caught.value.log == "a library's last words"
    assert [future.result() for future in futures] == [2 * value for value in range(8)]


def test_an_exit_is_a_crash_too(pool: WorkerPool) -> None:
    with pytest.raises(WorkerCrashError, match="exit status 7"):
        pool.submit(crashing.leave).result()


def test_a_hanging_task_is_stopped_and_the_next_one_runs() -> None:
    with WorkerPool(1, timeout=2.0) as pool:
        started = time.monotonic()
        hanging = pool.submit(crashing.sleep, 600)
        after = pool.submit(crashing.double, 21)
        with pytest.raises(StageTimeoutError, match="no result within 2 s"):
            hanging.result()
        assert after.result() == 42
        assert time.monotonic() - started < 60


def test_a_task_may_have_a_limit_of_its_own() -> None:
    with WorkerPool(1, timeout=60.0) as pool:
        hanging = pool.submit(Limited(crashing.sleep, 1.0), 600)
        after = pool.submit(Limited(crashing.double, 90.0), 21)
        with pytest.raises(StageTimeoutError, match="no result within 1 s"):
            hanging.result()
        assert after.result() == 42
    assert Limited(crashing.double, 0.0)(21) == 42, "another executor only calls it"


@pytest.mark.skipif(seconds_of(os.getpid()) is None, reason="no /proc")
def test_a_limit_of_its_own_is_of_processor_time() -> None:
    """A machine that is busy with something else takes no time from a task."""
    with WorkerPool(1) as pool:
        pool.submit(Limited(crashing.sleep, 0.4), 1.0).result()
        busy = pool.submit(Limited(crashing.burn, 0.4), 600.0)
        with pytest.raises(StageTimeoutError, match=r"no result within 0.4 s of processor time"):
            busy.result()


def test_errors_keep_all_their_fields(pool: WorkerPool) -> None:
    with pytest.raises(CompileError) as caught:
        pool.submit(crashing.refuse).result()
    error = caught.value
    assert (error.stage, error.message, error.hint, error.log) == (
        "compile",
        "refused",
        "do otherwise",
        "line 3: error",
    )


def test_what_a_library_prints_does_not_reach_the_protocol(pool: WorkerPool) -> None:
    assert pool.submit(crashing.chatter, 5).result() == 5


def test_a_prestarted_process_serves_the_first_task() -> None:
    with WorkerPool(1) as pool:
        pool.prestart()
        first = pool.submit(crashing.process_id).result()
        assert first != os.getpid()
        assert pool.submit(crashing.process_id).result() == first


def test_closing_at_once_stops_running_tasks() -> None:
    pool = WorkerPool(1)
    running = pool.submit(crashing.sleep, 600)
    queued = pool.submit(crashing.double, 1)
    while not running.running():
        time.sleep(0.01)
    started = time.monotonic()
    pool.shutdown(cancel_futures=True)
    assert time.monotonic() - started < 60
    assert queued.cancelled()
    with pytest.raises(WorkerCrashError):
        running.result()


@pytest.mark.parametrize("jobs", [0, -1])
def test_a_pool_without_processes_is_refused(jobs: int) -> None:
    with pytest.raises(ValueError, match="would never do a task"):
        WorkerPool(jobs)


@pytest.mark.toolchain
def test_a_worker_loads_beforehand_what_a_known_unit_needs(shared_store: str) -> None:
    path = ROOT / "kernels" / "running_mean.cu"
    unit = Unit(str(path), str(path), "nvrtc", "sm_90")
    first = worker.analyse_unit(unit, Wanted(cache=shared_store))
    with WorkerPool(1, preload=UNITS) as pool:
        before = pool.submit(crashing.modules_of_ours).result()
        again = pool.submit(worker.analyse_unit, unit, Wanted(cache=shared_store)).result()
        later = pool.submit(crashing.modules_of_ours).result() - before
    assert replace(again, cached=first.cached) == first
    assert not later
    assert not any("lmemscope.analysis" in name for name in before)


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    """A directory of sources whose Python files leave a mark when they are imported."""
    for name in POISONED:
        mark = f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r} + ' ')\n"
        (tmp_path / f"{name}.py").write_text(mark)
    shutil.copy(ROOT / "kernels" / "running_mean.cu", tmp_path)
    return tmp_path


def marks(directory: Path) -> str:
    mark = directory / "imported"
    return mark.read_text() if mark.exists() else ""


@pytest.mark.toolchain
def test_nothing_is_imported_from_a_scanned_directory(poisoned: Path) -> None:
    # As the console script does, -P keeps the directory out of the program's own path.
    done = subprocess.run(
        [sys.executable, "-P", "-m", "lmemscope", "scan", "running_mean.cu", "--no-cache"],
        cwd=poisoned,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert marks(poisoned) == ""
    assert done.returncode == 0, done.stderr


def test_a_worker_does_not_inherit_the_current_directory(
    poisoned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(poisoned)
    monkeypatch.syspath_prepend(str(poisoned))
    with WorkerPool(1) as pool:
        assert pool.submit(crashing.double, 21).result() == 42
    assert marks(poisoned) == ""


def test_the_current_directory_stays_where_the_package_came_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT), str(tmp_path)])
    assert import_path() == [str(ROOT), str(tmp_path)]
    monkeypatch.setattr(sys, "path", ["", str(tmp_path)])
    assert import_path() == [str(ROOT), str(tmp_path)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(tmp_path / "wheels")])
    assert import_path() == [str(tmp_path / "wheels"), str(ROOT)]
