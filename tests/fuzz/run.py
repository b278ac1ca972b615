"""Running targets on mutated inputs, in processes of their own with limits on time and memory."""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from types import FrameType

from tests.fuzz.mutate import mutated
from tests.fuzz.targets import TARGETS, Target

SECONDS = 5.0
"""What one input may take, of the processor's time: on a busy machine nothing else means much."""
MEMORY = 1 << 30
"""Bytes by which one input may make the process larger."""
_STRIDE = 1_000_003
"""A prime, larger than most runs: it leads through all places of the series."""
_AT_ONCE = 1000
"""Results that are taken from one process before the next is asked."""

_PATIENCE = 12.0
"""A time limit is kept from outside where code does not return to the interpreter."""
_ROW = struct.Struct("<qd")


class TooSlow(BaseException):
    """An input took more than `SECONDS`; nothing may take it for an error of its own."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that did what no input may.

    Attributes:
        target: by name.
        number: of the input; it, the seed and the target make it again.
        kind: of the failure, ``KeyError at cubin.py:_functions`` or such.
        detail: a traceback, or what was measured.
    """

    target: str
    number: int
    kind: str
    detail: str


@dataclass(slots=True)
class Result:
    """What became of a run.

    Attributes:
        tried: inputs by target.
        refused: those of them that ended in an error of lmemscope's own, which is right.
        failures: each kind of failure once for each target.
        times: how often each kind occurred.
        seconds: of the slowest input by target.
    """

    tried: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failures: dict[tuple[str, str], Failure] = field(default_factory=dict)
    times: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    memory: int = 0

    def add(self, other: Result) -> None:
        """Take in what another process found."""
        self.tried += other.tried
        self.refused += other.refused
        self.times += other.times
        for key, failure in other.failures.items():
            self.failures.setdefault(key, failure)
        for name, seconds in other.seconds.items():
            self.seconds[name] = max(seconds, self.seconds.get(name, 0.0))
        self.memory = max(self.memory, other.memory)


def make(target: Target, seed: int, number: int) -> bytes:
    """The input of a number."""
    digest = hashlib.sha256(f"{target.name} {seed} {number}".encode()).digest()
    choice = random.Random(digest)
    return mutated(target.seeds(), choice, target.words)


def try_one(target: Target, data: bytes) -> bool:
    """Give a target an input.

    Returns:
        Whether it took it; False where it refused it with an error of lmemscope's own.

    Raises:
        TooSlow: it took more than `SECONDS`.
    """
    signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return target.run(data)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _too_slow(_signal: int, _frame: FrameType | None) -> None:
    raise TooSlow


def shares(targets: Sequence[Target], inputs: int) -> dict[str, int]:
    """How many of all inputs each target gets: by its weight, and no fewer than are asked for."""
    total = sum(target.weight for target in targets)
    return {target.name: math.ceil(inputs * target.weight / total) for target in targets}


def run(
    targets: Sequence[Target], inputs: int, *, seed: int = 1, jobs: int = 2, until: float = 0.0
) -> Result:
    """Try inputs.

    Args:
        targets: which.
        inputs: in all.
        seed: another one gives other inputs.
        jobs: processes.
        until: time after which no further input is begun; 0 for no end.
    """
    wanted = shares(targets, inputs)
    for target in targets:
        target.seeds()
    result = Result()
    workers = [_Worker(wanted, seed, job, jobs, until) for job in range(jobs)]
    while True:
        # Each is asked each time: what nobody reads fills its pipe, and the process waits.
        done = [worker.is_done(result) for worker in workers]
        if all(done):
            break
        time.sleep(0.05)
    return result


def _processor_time(process: int | None) -> float:
    """Seconds of the processor that a process has had; 0 of one that is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Worker:
    """A process that tries every ``jobs``-th input; begun again behind one that it hung on."""

    def __init__(
        self, wanted: dict[str, int], seed: int, job: int, jobs: int, until: float
    ) -> None:
        self._arguments = (wanted, seed, job, jobs, until)
        self._now = mmap.mmap(-1, _ROW.size)
        self._names = list(wanted)
        self._begin(0)

    def _begin(self, after: int) -> None:
        context = get_context("fork")
        self._reader, writer = context.Pipe(duplex=False)
        _ROW.pack_into(self._now, 0, after, time.monotonic())
        self._process = context.Process(
            target=_work, args=(writer, self._now, after, *self._arguments), daemon=True
        )
        self._process.start()
        writer.close()
        self._ended = False
        self._seen = (-1, 0.0)

    def is_done(self, result: Result) -> bool:
        if self._ended:
            return True
        try:
            for _ in range(_AT_ONCE):
                if not self._reader.poll():
                    break
                result.add(self._reader.recv())
        except EOFError:
            self._process.join()
            if self._process.exitcode == 0:
                self._ended = True
                return True
            return self._lost(result, f"killed by signal {-(self._process.exitcode or 0)}")
        at, since = _ROW.unpack_from(self._now)
        if at != self._seen[0]:
            self._seen = (at, _processor_time(self._process.pid))
        # A busy machine may leave a process waiting for longer than that.
        spent = _processor_time(self._process.pid) - self._seen[1]
        if at and time.monotonic() - since > SECONDS * _PATIENCE and spent > SECONDS:
            self._process.kill()
            self._process.join()
            return self._lost(result, "hang in code that is not Python's")
        return False

    def _lost(self, result: Result, kind: str) -> bool:
        at, _ = _ROW.unpack_from(self._now)
        name, number = _place(self._arguments[0], at)
        lost = Result(times=Counter({(name, kind): 1}), tried=Counter({name: 1}))
        lost.failures[name, kind] = Failure(name, number, kind, "the process did not survive it")
        result.add(lost)
        self._begin(at + 1)
        return False


def _place(wanted: dict[str, int], at: int) -> tuple[str, int]:
    """The target and number of the input at a place in the whole series.

    Targets take turns, so that a run that is out of time has tried each.
    """
    at = at * _STRIDE % sum(wanted.values())
    for name, count in wanted.items():
        if at < count:
            return name, at
        at -= count
    return next(reversed(wanted)), at


def _series(wanted: dict[str, int], job: int, jobs: int, after: int) -> Iterator[int]:
    """Places in the series; a stride, so that each process gets its part of every target."""
    first = job if after <= job else after + (job - after) % jobs
    return iter(range(first, sum(wanted.values()), jobs))


def _work(
    writer: object,
    now: mmap.mmap,
    after: int,
    wanted: dict[str, int],
    seed: int,
    job: int,
    jobs: int,
    until: float,
) -> None:
    by_name = {target.name: target for target in TARGETS}
    with tempfile.TemporaryDirectory() as directory, open(os.devnull, "w") as nothing:
        os.chdir(directory)
        os.dup2(nothing.fileno(), 2)
        _limit_memory()
        result = Result()
        sent = time.monotonic()
        for at in _series(wanted, job, jobs, after):
            if until and time.monotonic() > until:
                break
            name, number = _place(wanted, at)
            _ROW.pack_into(now, 0, at, time.monotonic())
            _try(by_name[name], seed, number, result)
            if time.monotonic() - sent > 1:
                writer.send(result)  # type: ignore[attr-defined]
                result, sent = Result(), time.monotonic()
        writer.send(result)  # type: ignore[attr-defined]


def _try(target: Target, seed: int, number: int, result: Result) -> None:
    data = make(target, seed, number)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.monotonic()
    result.tried[target.name] += 1
    kind = detail = ""
    try:
        result.refused[target.name] += not try_one(target, data)
    except TooSlow as error:
        kind = f"more than {SECONDS:g} s at {_where(error)}"
        detail = "".join(traceback.format_exception(error, limit=-12))
    except Exception as error:  # noqa: BLE001 - which one it is, is what is asked
        kind = f"{type(error).__name__} at {_where(error)}"
        detail = "".join(traceback.format_exception(error, limit=-12))[-6000:]
    seconds = time.monotonic() - begin
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    if not kind and grown > MEMORY // 2:
        kind, detail = "memory", f"{grown >> 20} MiB"
    result.seconds[target.name] = max(seconds, result.seconds.get(target.name, 0.0))
    result.memory = max(result.memory, grown)
    if kind:
        result.times[target.name, kind] += 1
        failure = Failure(target.name, number, kind, detail)
        result.failures.setdefault((target.name, kind), failure)


def _limit_memory() -> None:
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))


def _where(error: BaseException) -> str:
    """The innermost function of lmemscope's, which tells one mistake from another."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if f"{os.sep}lmemscope{os.sep}" in frame.filename]
    last = (own or frames)[-1]
    return f"{os.path.basename(last.filename)}:{last.name}"


def report(result: Result, seed: int) -> str:
    """What a run found, as text."""
    lines = [f"{'target':<16}{'inputs':>9}{'refused':>9}{'slowest':>10}{'failures':>10}"]
    for name in result.tried:
        failed = sum(times for (target, _), times in result.times.items() if target == name)
        lines.append(
            f"{name:<16}{result.tried[name]:>9}{result.refused[name]:>9}"
            f"{result.seconds.get(name, 0):>8.2f} s{failed:>10}"
        )
    failed = sum(result.times.values())
    lines.append(
        f"{'all':<16}{result.tried.total():>9}{result.refused.total():>9}{'':>10}{failed:>10}"
    )
    lines.append(f"most memory for one input: {result.memory >> 20} MiB")
    for (name, kind), failure in sorted(result.failures.items()):
        again = f"python -m tests.fuzz {name} --seed {seed} --number {failure.number}"
        lines.append(f"{name}: {kind} ({result.times[name, kind]} times)\n    {again}")
    return "\n".join(lines) + "\n"


def stop(message: str) -> None:
    """End the program with a message."""
    sys.exit(message)
