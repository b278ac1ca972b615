"""Units on other machines: real Dask processes, files by content, and a worker that is lost."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import lmemscope
from lmemscope.app import worker
from lmemscope.app.execute import run
from lmemscope.app.plan import make_plan
from lmemscope.app.session import Session
from lmemscope.config.settings import Settings
from lmemscope.errors import CompileError, UsageError
from lmemscope.model import CompileOptions, Unit
from lmemscope.running import dask as remote
from lmemscope.sources import python
from tests.support.program import ROOT, run_program

SOURCE = """#include "bins.h"
__global__ void pick{number}(float *out, const int *at) {{
    float bins[BINS + {number}];
    for (int i = 0; i < BINS; ++i) bins[i] = 0.0f;
    for (int i = 0; i < 1000; ++i) bins[at[i]] += 1.0f;
    for (int i = 0; i < BINS; ++i) out[i] = bins[i];
}}
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources below the working directory, their header elsewhere."""
    (tmp_path / "work" / "src").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "bins.h").write_text("#define BINS 40\n")
    for number in range(6):
        text = SOURCE.format(number=number)
        (tmp_path / "work" / "src" / f"pick{number:02}.cu").write_text(text)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.fixture
def unit(tree: Path) -> Unit:
    return Unit(
        "src/pick03.cu",
        str(tree / "work" / "src" / "pick03.cu"),
        "auto",
        "sm_90",
        CompileOptions(include_dirs=(str(tree / "elsewhere"),)),
    )


@pytest.mark.toolchain
class TestAmongForeignPaths:
    def test_the_report_is_that_of_an_analysis_here(self, unit: Unit, tree: Path) -> None:
        here = worker.analyse_unit(unit)
        luggage = remote.pack(unit)
        assert {os.path.basename(path) for path, _ in luggage.files} == {"pick03.cu", "bins.h"}
        hidden = tree.rename(tree.parent / f"{tree.name}-hidden")
        try:
            there = remote.perform(luggage, worker.analyse_unit, (unit,))
        finally:
            hidden.rename(tree)
            os.chdir(tree / "work")
        assert there == here
        assert there.kernels[0].findings[0].object == "bins"

    def test_a_refusal_speaks_of_the_paths_here(self, unit: Unit, tree: Path) -> None:
        Path(unit.path).write_text("__global__ void k( {}\n")
        with pytest.raises(CompileError) as there:
            remote.perform(remote.pack(unit), worker.analyse_unit, (unit,))
        with pytest.raises(CompileError) as here:
            worker.analyse_unit(unit)
        assert there.value.message == here.value.message
        assert there.value.log == here.value.log

    def test_files_that_arguments_name_come_along(self, unit: Unit, tree: Path) -> None:
        forced = tree / "elsewhere" / "forced.h"
        forced.write_text('#include "bins.h"\n')
        Path(unit.path).write_text(SOURCE.format(number=3).partition("\n")[2])
        arguments = (f"--pre-include={forced}",)
        unit = replace(unit, options=CompileOptions(nvrtc_args=arguments))
        luggage = remote.pack(unit)
        forced.unlink()
        report = remote.perform(luggage, worker.analyse_unit, (unit,))
        assert report.kernels[0].facts.stack_frame == 4 * (40 + 3) + 4


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("dask://127.0.0.1:1", "no Dask scheduler answers"),
        ("dask://", "unknown executor"),
        ("ray://x:1", "unknown executor"),
    ],
)
def test_an_executor_that_is_not_there(
    address: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "CONNECT_SECONDS", 1)
    with pytest.raises(UsageError, match=message):
        remote.open_executor(address, None)


class NoExecutor(Executor):
    """Other machines, which have none of the files."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise AssertionError(fn)


@pytest.mark.parametrize(("timeout", "programs"), [(None, ["fill"]), (1e-6, [None])])
def test_python_files_are_looked_into_by_workers_here(
    timeout: float | None,
    programs: list[str | None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "k.py").write_text("from numba import cuda\n@cuda.jit\ndef fill(p): p[0] = 1\n")
    here, read = os.getpid(), python.read_programs

    def read_elsewhere(path: str, name: str) -> list[python.Program]:
        assert os.getpid() != here, "it is read where nothing ends it"
        return read(path, name)

    monkeypatch.setattr(python, "read_programs", read_elsewhere)
    settings = Settings(archs=("sm_90",), executor="dask://there:1", timeout=timeout)
    planned = make_plan([str(tmp_path / "k.py")], Session(settings, NoExecutor()))
    units, errors = planned.units, planned.errors
    assert [unit.program or None for unit in units] == programs
    assert errors == ()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.port = free_port()
        self.url = f"dask://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")

    def add_worker(self) -> subprocess.Popen[bytes]:
        address = f"tcp://127.0.0.1:{self.port}"
        return self._start("worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")

    def wait_for_workers(self, count: int) -> None:
        from distributed import Client

        with Client(f"127.0.0.1:{self.port}", timeout=60, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=60)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.logs / f"{arguments[0]}{len(self.processes)}.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=self.logs,
            stdout=log,
            stderr=log,
        )
        self.processes.append(process)
        return process


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("dask"))
    yield found
    found.close()


@pytest.mark.toolchain
class TestCluster:
    def test_two_workers_one_killed_nothing_lost(self, cluster: Cluster, tree: Path) -> None:
        doomed, _ = cluster.add_worker(), cluster.add_worker()
        cluster.wait_for_workers(2)
        options = ("src", "-I", str(tree / "elsewhere"), "--format", "json")
        here = run_program("scan", *options, cwd=tree / "work")

        killed_after = 2
        executor = remote.open_executor(cluster.url, None)

        def progress(done: int, total: int, _: str, __: int = 0) -> None:
            if done == killed_after:
                os.kill(doomed.pid, signal.SIGKILL)
                assert total == 6

        from lmemscope.exporters.json import render_json

        settings = Settings(
            archs=("sm_90",),
            options=CompileOptions(include_dirs=(str(tree / "elsewhere"),)),
            executor=cluster.url,
        )
        report = run(["src"], Session(settings, executor, progress))
        executor.shutdown()
        assert doomed.wait(timeout=10) == -signal.SIGKILL
        assert [unit.failure for unit in report.units] == [None] * 6
        there = json.loads(render_json(report))
        for document in (there, wanted := here.document):
            document.pop("default_arch")
            document.pop("digest")  # Of what has just been taken out, too.
        assert there == wanted

    def test_as_a_command(self, cluster: Cluster, tree: Path) -> None:
        cluster.add_worker()
        cluster.wait_for_workers(1)
        (tree / "work" / "src" / "pick05.cu").write_text("__global__ void k( {}\n")
        done = run_program(
            *("check", "src", "-I", str(tree / "elsewhere"), "--executor", cluster.url),
            cwd=tree / "work",
        )
        assert done.code == 1
        assert "pick03" in done.out
        assert "src/pick05.cu" in done.out + done.err

    def test_a_cluster_without_workers(self, cluster: Cluster) -> None:
        deadline = time.monotonic() + 60
        while True:
            done = run_program("scan", "kernels/histogram.cu", "--executor", cluster.url)
            if "no workers" in done.err or time.monotonic() > deadline:
                break
        assert done.code == 2
        assert "hint: start one with: dask worker" in done.err


def test_the_version_is_the_packages() -> None:
    assert remote.installed_version() == lmemscope.__version__
