"""When the program is told to end, or is killed: no process of its own is left, and no file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lmemscope.errors import InternalError, WorkerCrashError
from lmemscope.running.pool import WorkerPool
from lmemscope.tools import lifeline
from tests.support import crashing
from tests.support.program import ROOT

SECONDS = 20.0
_TIED_SECONDS = 0.5
"""That a loaded machine may take; a process that ends at all does so at once."""

POOL = """
import sys, time
from lmemscope.running.pool import WorkerPool
from tests.support import crashing
pool = WorkerPool(1, forks=sys.argv[2] == "forks")
pool.prestart()
pool.submit(crashing.run_program_that_starts_another, sys.argv[1])
time.sleep(600)
"""
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs F_SETSIG")


def running(process: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def numbers(file: Path, lines: int = 1) -> list[int]:
    """Process numbers in a file, once there are that many lines."""
    deadline = time.monotonic() + SECONDS
    while not file.exists() or file.read_text().count("\n") < lines:
        assert time.monotonic() < deadline, "the program was not started"
        time.sleep(0.01)
    # It is tied when whoever started it runs again: on a busy machine after its first steps.
    time.sleep(_TIED_SECONDS)
    return [int(word) for word in file.read_text().split()]


def assert_stopped(process: int) -> None:
    """Wait for all threads of a process: a signal that stops it is sent before it does."""
    deadline = time.monotonic() + SECONDS
    while any(
        stat.read_text().rpartition(")")[2].split()[0] != "T"
        for stat in Path(f"/proc/{process}/task").glob("*/stat")
    ):
        assert time.monotonic() < deadline, "still running"
        time.sleep(0.01)


def assert_all_end(processes: list[int]) -> None:
    deadline = time.monotonic() + SECONDS
    while left := [process for process in processes if running(process)]:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.01)


@contextmanager
def started(code: str, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A Python program; killed in the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@linux
@pytest.mark.parametrize("how", ["forks", "starts"])
def test_what_a_tool_started_ends_with_a_killed_program(tmp_path: Path, how: str) -> None:
    file = tmp_path / "numbers"
    with started(POOL, str(file), how) as program:
        ours = numbers(file)
        assert all(map(running, ours))
        program.kill()
        assert_all_end(ours)


@linux
@pytest.mark.parametrize("how", ["forks", "starts"])
def test_a_killed_workers_tools_end_with_it(tmp_path: Path, how: str) -> None:
    file = tmp_path / "numbers"
    with started(POOL, str(file), how) as program:
        worker, *tools = numbers(file)
        # The program cannot see to the worker's tools: it is stopped.
        program.send_signal(signal.SIGSTOP)
        assert_stopped(program.pid)
        os.kill(worker, signal.SIGKILL)
        assert_all_end([worker, *tools])


@linux
def test_a_program_in_a_group_of_its_own_ends_too() -> None:
    line = lifeline.Lifeline()
    code = "import time; time.sleep(600)"
    process = subprocess.Popen(
        [sys.executable, "-Sc", code], start_new_session=True, pass_fds=(line.end,)
    )
    line.tie(process.pid)
    time.sleep(0.05)
    assert process.poll() is None
    # As if this process ended: its own end of the pipe is closed, the other one is not.
    child_end = os.dup(line.end)
    line.release()
    assert process.wait(SECONDS) == -signal.SIGKILL
    os.close(child_end)


def test_a_unit_whose_worker_is_killed_is_tried_once_more(tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    with WorkerPool(1) as pool:
        future = pool.submit(crashing.run_program_that_starts_another, str(file))
        first = numbers(file)
        os.kill(first[0], signal.SIGKILL)
        both = numbers(file, lines=2)
        assert_all_end(first)
        second = both[len(first) :]
        assert all(map(running, second))
        os.kill(second[0], signal.SIGKILL)
        with pytest.raises(WorkerCrashError, match=r"killed \(signal SIGKILL\), twice"):
            future.result(SECONDS)
        assert_all_end(second)
        assert pool.submit(crashing.double, 2).result(SECONDS) == 4


def test_a_worker_killed_between_two_tasks_costs_neither(tmp_path: Path) -> None:
    file = tmp_path / "tried"
    with WorkerPool(1) as pool:
        os.kill(pool.submit(crashing.process_id).result(SECONDS), signal.SIGKILL)
        time.sleep(0.05)
        with pytest.raises(WorkerCrashError, match="twice"):
            pool.submit(crashing.note_and_die, str(file), signal.SIGKILL).result(SECONDS)
    assert file.read_text() == "xx"


def test_a_crash_is_not_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "tried"
    with WorkerPool(1) as pool, pytest.raises(WorkerCrashError, match="SIGSEGV"):
        pool.submit(crashing.note_and_die, str(file), signal.SIGSEGV).result(SECONDS)
    assert file.read_text() == "x"


@pytest.mark.parametrize("task", [crashing.recurse, crashing.exhaust, crashing.leave_politely])
def test_whatever_a_task_raises_is_its_own(task: object) -> None:
    with WorkerPool(1) as pool:
        failed = pool.submit(task, 1)  # type: ignore[arg-type]
        after = pool.submit(crashing.process_id)
        with pytest.raises((RecursionError, MemoryError, InternalError)):
            failed.result(SECONDS)
        assert after.result(SECONDS) != os.getpid()


def test_a_result_that_cannot_be_sent_is_a_mistake_of_ours() -> None:
    with WorkerPool(1) as pool:
        with pytest.raises(InternalError, match=r"Error"):
            pool.submit(crashing.nested, 100_000).result(SECONDS)
        assert pool.submit(crashing.double, 2).result(SECONDS) == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_program_with_its_code(tmp_path: Path, number: signal.Signals) -> None:
    code = "from lmemscope.__main__ import main; main()"
    log = subprocess.Popen(
        [sys.executable, "-c", code, "scan", "-"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + SECONDS
    while not list(tmp_path.glob("lmemscope-tmp-*")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    log.send_signal(number)
    assert log.wait(SECONDS) == 128 + number
    out, err = log.communicate()
    said = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
    assert (out, err) == ("", f"{said[number]}\n")
    assert not list(tmp_path.glob("lmemscope-tmp-*"))


def test_a_signal_while_the_directory_is_made_leaves_none(tmp_path: Path) -> None:
    code = (
        "import os, signal, tempfile\n"
        "from lmemscope.__main__ import main\n"
        "made = tempfile.mkdtemp\n"
        "def make(*args, **named):\n"
        "    path = made(*args, **named)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return path\n"
        "tempfile.mkdtemp = make\n"
        "main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, "scan", "-"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        input="",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "", "terminated\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.toolchain
def test_what_was_tried_before_the_end_is_shown(tmp_path: Path) -> None:
    code = (
        "import os, signal\n"
        "from lmemscope.fixing import outcomes\n"
        "made, seen = outcomes._trial, []\n"
        "def trial(*args):\n"
        "    seen.append(made(*args))\n"
        "    if len(seen) == 2:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return seen[-1]\n"
        "outcomes._trial = trial\n"
        "from lmemscope.__main__ import main\n"
        "main()"
    )
    (tmp_path / "a.cu").write_text(
        "__global__ void k(float *p, int n) {\n  float a[32];\n"
        "  for (int i = 0; i < 32; ++i) a[i] = p[i];\n"
        "  a[n & 31] = 2;\n  float sum = 0;\n"
        "  for (int i = 0; i < n; ++i) sum += a[(int)p[i] & 31];\n  p[0] = sum;\n}\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, "fix", "a.cu", "--block", "64", "--format", "json"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 143, ended.stderr
    explained = subprocess.run(
        [sys.executable, "-c", code, "explain", "a.cu", "--fix", "--no-cache"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert explained.returncode == 143, explained.stderr
    assert "dynamic-index" in explained.stdout
    found = json.loads(ended.stdout)
    assert len(found["candidates"]) == 1
    assert found["patch"] == ""
    (note,) = [one for one in found["notes"] if one.startswith("interrupted")]
    assert note.endswith("rewrites tried, and no patch made of them")
    assert ended.stderr.startswith("terminated: ")


def test_a_tool_that_the_program_runs_itself_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    code = (
        "import sys; from tests.support import crashing; crashing.run_program_that_starts_another"
    )
    with started(f"{code}(sys.argv[1])", str(file)) as program:
        ours = numbers(file)
        program.kill()
        assert_all_end(ours)
