"""How many units run at a time, by hand-made amounts of memory."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from lmemscope.lowering import store
from lmemscope.model import CompileOptions, LogExcerpt, Unit, UnitReport
from lmemscope.running.memory import (
    GUESS,
    MIB,
    RESERVE,
    SMALL_GUESS,
    Admission,
    Needs,
    fits,
    free_memory,
)
from lmemscope.running.pool import WorkerPool
from tests.support import crashing

GIB = 1024 * MIB
UNIT = Unit("a.cu", "/src/a.cu", "auto", "sm_90")
REPORT = UnitReport("a.cu", "nvrtc", "sm_90", (), None)


@pytest.mark.parametrize(
    ("need", "running", "room", "free", "starts"),
    [
        pytest.param(64 * GIB, [], GIB, GIB, True, id="alone, larger than the machine"),
        pytest.param(64 * GIB, [1], GIB, GIB, False, id="larger than the machine, beside another"),
        pytest.param(GIB, [GIB], 2 * GIB + RESERVE, GIB + RESERVE, True, id="just enough"),
        pytest.param(GIB, [GIB], 2 * GIB + RESERVE - 1, GIB + RESERVE, False, id="a byte short"),
        pytest.param(GIB, [GIB, GIB], 8 * GIB, GIB, False, id="another program took the rest"),
        pytest.param(GIB, [3 * GIB], 4 * GIB, 4 * GIB, False, id="the other has yet to grow"),
        pytest.param(9 * GIB, [9 * GIB], None, None, True, id="nobody knows what is free"),
    ],
)
def test_a_unit_starts_when_it_fits_or_when_none_runs(
    need: int, running: list[int], room: int | None, free: int | None, starts: bool
) -> None:
    assert fits(need, running, room, free) is starts


def all_together(admission: Admission, needs: list[int]) -> tuple[int, int]:
    """Most units and most bytes that ran at the same time, when all ask at once."""
    lock, running = threading.Lock(), list[int]()
    most = [0, 0]

    def one(need: int) -> None:
        ticket = admission.enter(need)
        assert ticket is not None
        with lock:
            running.append(need)
            most[:] = max(most[0], len(running)), max(most[1], sum(running))
        time.sleep(0.005)
        with lock:
            running.remove(need)
        admission.leave(ticket)

    threads = [threading.Thread(target=one, args=[need], daemon=True) for need in needs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads), "it waits for ever"
    return most[0], most[1]


def test_what_runs_together_never_exceeds_what_is_free() -> None:
    units, used = all_together(Admission(lambda: 4 * GIB + RESERVE), [GIB] * 12 + [3 * GIB] * 2)
    assert units <= 4
    assert used <= 4 * GIB


def test_small_units_are_not_held_back() -> None:
    assert all_together(Admission(lambda: 64 * GIB), [SMALL_GUESS] * 8)[0] > 1


@pytest.mark.parametrize("free", [0, MIB, RESERVE])
def test_on_a_full_machine_units_run_one_by_one(free: int) -> None:
    assert all_together(Admission(lambda: free), [GIB, 900 * GIB, MIB, GIB])[0] == 1


def test_a_large_unit_is_not_passed_over() -> None:
    admission = Admission(lambda: 4 * GIB + RESERVE)
    order: list[str] = []
    first = admission.enter(2 * GIB)
    assert first is not None

    def ask(name: str, need: int) -> threading.Thread:
        def wait() -> None:
            ticket = admission.enter(need)
            order.append(name)
            assert ticket is not None
            admission.leave(ticket)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        time.sleep(0.02)
        return thread

    threads = [ask("large", 4 * GIB), ask("small", MIB)]
    assert order == [], "the small one fits, and waits its turn"
    admission.leave(first)
    for thread in threads:
        thread.join(20)
    assert order == ["large", "small"]


def test_who_waits_is_turned_away_when_the_pool_closes() -> None:
    admission = Admission(lambda: 0)
    assert admission.enter(GIB) is not None
    got: list[object] = []
    thread = threading.Thread(target=lambda: got.append(admission.enter(GIB)), daemon=True)
    thread.start()
    admission.close()
    thread.join(20)
    assert got == [None]


def test_a_unit_takes_what_it_took_last_time(tmp_path: Path) -> None:
    needs = Needs(str(tmp_path))
    assert needs.of(UNIT) == GUESS
    needs.note(UNIT, REPORT, 3 * GIB + 1)
    needs.save()
    again = Needs(str(tmp_path))
    assert again.of(UNIT) == 3 * GIB + MIB
    for other in (
        replace(UNIT, arch="sm_80"),
        replace(UNIT, path="/src/b.cu"),
        replace(UNIT, options=CompileOptions(defines=("N=1",))),
    ):
        assert again.of(other) == GUESS


def test_other_inputs_are_expected_to_take_less() -> None:
    needs = Needs(None)
    assert needs.of(replace(UNIT, path="/src/a.ptx")) == SMALL_GUESS
    assert needs.of(replace(UNIT, excerpt=LogExcerpt(""))) == SMALL_GUESS


@pytest.mark.parametrize(
    ("outcome", "peak"),
    [(replace(REPORT, cached=True), GIB), (ValueError("refused"), GIB), (REPORT, None)],
    ids=["cached", "failed", "not-measured"],
)
def test_what_says_nothing_of_a_compilation_is_not_remembered(
    tmp_path: Path, outcome: object, peak: int | None
) -> None:
    needs = Needs(str(tmp_path))
    needs.note(UNIT, outcome, peak)
    needs.save()
    assert not (tmp_path / "memory").exists()


def test_two_runs_keep_each_others_figures(tmp_path: Path) -> None:
    first, second = Needs(str(tmp_path)), Needs(str(tmp_path))
    other = replace(UNIT, arch="sm_80")
    assert (first.of(UNIT), second.of(UNIT)) == (GUESS, GUESS)
    first.note(UNIT, REPORT, GIB // 2)
    second.note(other, REPORT, 2 * GIB)
    first.save()
    second.save()
    kept = Needs(str(tmp_path))
    assert (kept.of(UNIT), kept.of(other)) == (GIB // 2, 2 * GIB)


@pytest.mark.parametrize("text", ["", "[1]", '{"a": "b"}', "\x00", '{"x": -1, "y": true}'])
def test_a_damaged_file_is_no_knowledge(tmp_path: Path, text: str) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "needs.json").write_text(text)
    needs = Needs(str(tmp_path))
    assert needs.of(UNIT) == GUESS
    needs.note(UNIT, REPORT, GIB // 2)
    needs.save()
    assert list(json.loads((tmp_path / "memory" / "needs.json").read_text()).values()) == [512]


def test_clearing_the_cache_forgets_what_units_took(tmp_path: Path) -> None:
    needs = Needs(str(tmp_path))
    needs.note(UNIT, REPORT, GIB)
    needs.save()
    store.clear(str(tmp_path))
    assert not (tmp_path / "memory").exists()


def machine(root: Path, groups: str, **files: str) -> str:
    """A ``/proc`` and ``/sys`` of their own; ``__`` in a name stands for ``/``."""
    own = {"proc__meminfo": "MemTotal: 9 kB\nMemAvailable:    8388608 kB\n"}
    for name, text in {**own, "proc__self__cgroup": groups, **files}.items():
        path = root.joinpath(*name.split("__"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def test_the_kernels_own_figure_without_groups(tmp_path: Path) -> None:
    assert free_memory(machine(tmp_path, "")) == 8 * GIB


def test_a_group_of_version_2_and_those_above_it(tmp_path: Path) -> None:
    group = tmp_path / "sys" / "fs" / "cgroup" / "user.slice"
    inner = group / "build.scope"
    inner.mkdir(parents=True)
    root = machine(tmp_path, "0::/user.slice/build.scope\n")
    (inner / "memory.max").write_text("max\n")
    (inner / "memory.current").write_text(f"{GIB}\n")
    assert free_memory(root) == 8 * GIB
    (group / "memory.max").write_text(f"{4 * GIB}\n")
    (group / "memory.current").write_text(f"{3 * GIB}\n")
    assert free_memory(root) == GIB
    (group / "memory.stat").write_text(f"anon 5\ninactive_file {GIB // 2}\nactive_file 9\n")
    assert free_memory(root) == GIB + GIB // 2
    (inner / "memory.max").write_text(f"{GIB - 1}\n")
    assert free_memory(root) == 0, "more is used than the limit that was set meanwhile"


def test_a_group_of_version_1_in_a_container_that_shows_only_itself(tmp_path: Path) -> None:
    group = tmp_path / "sys" / "fs" / "cgroup" / "memory"
    group.mkdir(parents=True)
    root = machine(tmp_path, "5:cpu,cpuacct:/x\n4:memory:/docker/0123abcd\n0::/\n")
    (group / "memory.limit_in_bytes").write_text(f"{2 * GIB}\n")
    (group / "memory.usage_in_bytes").write_text(f"{GIB}\n")
    (group / "memory.stat").write_text(f"inactive_file 7\ntotal_inactive_file {GIB // 4}\n")
    assert free_memory(root) == GIB + GIB // 4
    (group / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert free_memory(root) == 8 * GIB


def test_where_nothing_says_what_is_free(tmp_path: Path) -> None:
    assert free_memory(str(tmp_path)) is None


def peak_of(task: Callable[..., object], *args: object) -> int:
    """What a pool notes of a task that is given a unit."""
    noted: list[int | None] = []

    class Noting(Needs):
        def note(self, unit: Unit, outcome: object, peak: int | None) -> None:
            noted.append(peak)

    with WorkerPool(1, needs=Noting(None)) as pool:
        pool.submit(task, UNIT, *args).result()
        pool.submit(crashing.take, UNIT, 0, 0).result()
    first, second = noted
    assert first is not None
    assert second is not None
    assert second < 120 * MIB, "it is counted from each task's beginning"
    return first


def test_a_tasks_own_memory_is_measured() -> None:
    assert 150 * MIB < peak_of(crashing.take, 150, 0) < 250 * MIB


def test_the_memory_of_programs_is_measured_too() -> None:
    assert 150 * MIB < peak_of(crashing.take, 0, 150) < 270 * MIB


def test_a_program_is_measured_though_a_larger_one_ran_before() -> None:
    # In a small process: a program counts as large as the one that started it, to begin with.
    code = """
import sys
from lmemscope.tools import process
process.run([sys.executable, "-Sc", "bytearray(120 << 20)"])
large = process.take_peak()
done = process.run([sys.executable, "-Sc", "import sys; print('said'); sys.exit(3)"])
small = process.take_peak()
print(done.returncode, done.output.strip(), large >> 20, small >> 20, process.take_peak())
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    code_, said, large, small, nothing = told.stdout.split()
    assert (code_, said, nothing) == ("3", "said", "0")
    assert 0 < int(small) < 60 < 120 < int(large)


def test_a_pool_runs_one_by_one_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmemscope.running.pool.free_memory", lambda: 0)
    with WorkerPool(3, needs=Needs(None)) as pool:
        spans = [pool.submit(crashing.span, UNIT) for _ in range(3)]
        ran = sorted(span.result() for span in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(ran))


def test_a_closed_pool_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmemscope.running.pool.free_memory", lambda: 0)
    pool = WorkerPool(2, needs=Needs(None))
    running = pool.submit(crashing.hang, UNIT)
    while not running.running():
        time.sleep(0.01)
    waiting = pool.submit(crashing.hang, UNIT)
    pool.shutdown(cancel_futures=True)
    assert waiting.cancelled()
