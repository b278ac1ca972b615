"""Time of the kernels that launch kernels, against what does the same in one grid.

    python benchmarks/launch_times.py > benchmarks/data/launch_times.json

Needs a GPU and CuPy. The kernels are those of kernels/, which docs/questions speaks of. Each time
is a median, by events, with what was computed checked once.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cupy
from cupy.cuda import runtime
from device_code import load

KERNELS = Path(__file__).parent.parent / "kernels"
PENDING = 4, 32768
"""cudaLimitDevRuntimePendingLaunchCount, and more of them than any measurement but the first
launches: what is launched beyond the limit is lost, with an error that only the device sees."""
LENGTH = 32
"""Elements of a row."""
FEWEST, MOST, SECONDS = 3, 21, 0.1
"""Runs of one measurement, and the time after which no further one is begun."""


def timed(work: Callable[[], None]) -> float:
    """Median time in microseconds, after a run to warm up."""
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    times: list[float] = []
    began = time.perf_counter()
    while len(times) <= FEWEST or (len(times) <= MOST and time.perf_counter() - began < SECONDS):
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) * 1000)
    return round(statistics.median(times[1:]), 2)


def note(found: list[dict[str, Any]], row: dict[str, Any]) -> None:
    """Keep a row, and show that the measurement goes on."""
    found.append(row)
    print(json.dumps(row), file=sys.stderr, flush=True)


def rows(module: Any) -> list[dict[str, Any]]:
    """One child per row against one warp per row, up to more than may be pending by default."""
    by_children, by_warps = map(module.get_function, ("rows_by_children", "rows_by_warps"))
    found: list[dict[str, Any]] = []
    for count in (1, 16, 256, 2048, 4096):
        x = cupy.ones(count * LENGTH, dtype=cupy.float32)
        starts = cupy.arange(count + 1, dtype=cupy.int32) * LENGTH
        sums = cupy.zeros(count, dtype=cupy.float32)
        arguments = (x, starts, sums, cupy.int32(count))
        children = partial(by_children, ((count + 31) // 32,), (32,), arguments)
        warps = partial(by_warps, ((count + 7) // 8,), (256,), arguments)
        row: dict[str, Any] = {"rows": count, "limit": runtime.deviceGetLimit(PENDING[0])}
        for name, work in (("children", children), ("warps", warps)):
            sums.fill(0)
            work()
            runtime.deviceSynchronize()
            row[f"summed_by_{name}"] = int((sums == LENGTH).sum())
        note(found, {**row, "children": timed(children), "warps": timed(warps)})
    return found


def steps(module: Any) -> list[dict[str, Any]]:
    """Children launched in a loop, the loop in one grid, and launches from the host."""
    names = ("steps_by_children", "steps_in_a_loop", "one_step")
    by_children, in_a_loop, one_step = map(module.get_function, names)
    found: list[dict[str, Any]] = []
    for size in (1 << 10, 1 << 16, 1 << 22):
        for count in (1, 16, 256, 1024):
            x = cupy.zeros(size, dtype=cupy.float32)
            blocks, sized = ((size + 255) // 256,), cupy.int32(size)
            arguments = (x, sized, cupy.int32(count))
            children = partial(by_children, (1,), (1,), arguments)
            loop = partial(in_a_loop, blocks, (256,), arguments)
            host = partial(repeated, count, partial(one_step, blocks, (256,), (x, sized)))
            answers = []
            for work in (host, loop, children):
                x.fill(0)
                work()
                answers.append(float(x[-1]))
            row = {"size": size, "steps": count, "same": len(set(answers)) == 1}
            times = {"children": timed(children), "loop": timed(loop), "host": timed(host)}
            note(found, {**row, **times})
    return found


def repeated(count: int, work: Callable[[], None]) -> None:
    """The same launch, several times."""
    for _ in range(count):
        work()


def tiles(module: Any) -> list[dict[str, Any]]:
    """A child grid per tile of 64 floats, against slices of one block's shared memory."""
    by_slices, by_children = map(module.get_function, ("tiles_by_slices", "tiles_by_children"))
    found: list[dict[str, Any]] = []
    for count in (4, 64, 1024, 16384):
        x = cupy.arange(count * 64, dtype=cupy.float32)
        slices = partial(by_slices, (count // 4,), (256,), (x,))
        children = partial(by_children, ((count + 31) // 32,), (32,), (x, cupy.int32(count)))
        right = []
        for work in (children, slices):
            expected = x.reshape(count, 64)[:, ::-1].copy()
            work()
            right.append(bool((x.reshape(count, 64) == expected).all()))
        row = {"tiles": count, "same": all(right)}
        note(found, {**row, "children": timed(children), "slices": timed(slices)})
    return found


def sums(module: Any) -> list[dict[str, Any]]:
    """The sum that launches itself, against the loop over the levels in one block."""
    recursive, iterative = map(module.get_function, ("sum_recursive", "sum_iterative"))
    found: list[dict[str, Any]] = []
    for power in (4, 10, 14, 18, 22):
        size = 1 << power
        x = cupy.zeros(size, dtype=cupy.float32)
        sized = cupy.int32(size)
        by_launches = partial(recursive, ((size // 2 + 255) // 256,), (256,), (x, sized))
        by_loop = partial(iterative, (1,), (1024,), (x, sized))
        answers = []
        for work in (by_launches, by_loop):
            x.fill(1)
            work()
            answers.append(float(x[0]))
        x.fill(0)
        row = {"size": size, "same": answers == [size, size]}
        note(found, {**row, "recursive": timed(by_launches), "iterative": timed(by_loop)})
    return found


def main() -> None:
    """All times, as JSON on standard output; what fails is said in its place."""
    found: dict[str, Any] = {"device": runtime.getDeviceProperties(0)["name"].decode()}
    for measure, name in (
        (rows, "child_per_element"),
        (steps, "launch_in_loop"),
        (tiles, "shared_partition"),
        (sums, "recursive_launch"),
    ):
        try:
            if measure is not rows:
                runtime.deviceSetLimit(*PENDING)
            found[name] = measure(load((KERNELS / f"{name}.cu").read_text()))
        except (RuntimeError, OSError) as error:
            found[name] = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
