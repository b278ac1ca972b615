"""Wheels read as they are: what uses local memory, and what reading takes beside cuobjdump.

    python benchmarks/binaries.py WHEEL...

Each wheel takes one run: a plain read of all members with device code, ``cuobjdump -res-usage`` on
the same files, and our own scan of the wheel, first by one worker and then by two. Times are
processor time (user and system) of all processes; the last column is how much longer the scan of
two workers took than cuobjdump, by the clock. The memory is what our processes had at most, all
together. It prints two Markdown tables: for docs/binaries.md, and times.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from lmemscope.analysis.ranking import severity
from lmemscope.api import scan
from lmemscope.formats.containers import HEAD, budget_for, kind_of_head, read_images
from lmemscope.formats.demangle import short_name
from lmemscope.tools.toolchain import INSTALLED

_WORKERS = 2


def main() -> None:
    if sys.argv[1] == "--one":
        print(json.dumps(_ours(sys.argv[2], int(sys.argv[3]))))
        return
    rows = [_measured(Path(wheel)) for wheel in sys.argv[1:]]
    print("| package | kernels | with local memory | spilling | worst kernel |")
    print("|---|--:|--:|--:|---|")
    for name, one, *_ in rows:
        worst = f"`{one['worst']}`: {one['frame']} bytes" if one["worst"] else "—"
        print(f"| {name} | {one['kernels']} | {one['local']} | {one['spilling']} | {worst} |")
    print("\n| package | ours | by two | cuobjdump | plain read | ratio | by two, clock | memory |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, one, two, theirs, plain in rows:
        said = f"{theirs[0]:.1f} s" if theirs is not None else "refused"
        ratio = f"{one['cpu'] / theirs[0]:.1f}" if theirs else "—"
        clock = f"{two['clock'] / theirs[1]:.1f}" if theirs else "—"
        print(
            f"| {name} | {one['cpu']:.1f} s | {two['cpu']:.1f} s | {said} | {plain:.1f} s "
            f"| {ratio} | {clock} | {two['memory'] >> 10} MiB |"
        )


_Times = tuple[float, float]
"""Processor time, and time by the clock."""


def _measured(
    wheel: Path,
) -> tuple[str, dict[str, object], dict[str, object], _Times | None, float]:
    name, version = wheel.name.split("-")[:2]
    with tempfile.TemporaryDirectory() as directory:
        files, plain = _read(wheel, Path(directory))
        tool = INSTALLED.find("cuobjdump")
        before, begun, refused = _children(), time.monotonic(), False
        for file in files:
            done = subprocess.run([tool, "-res-usage", file], capture_output=True)
            refused |= done.returncode != 0
        theirs = _children() - before, time.monotonic() - begun
    one, two = (_by(str(wheel), workers) for workers in (1, _WORKERS))
    return f"{name} {version}", one, two, None if refused else theirs, plain


def _by(wheel: str, workers: int) -> dict[str, object]:
    """What a scan of a wheel by some workers gives and takes, in a process of its own."""
    command = [sys.executable, __file__, "--one", wheel, str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def _read(wheel: Path, directory: Path) -> tuple[list[Path], float]:
    """The members that hold device code, written out, and what a read of all binaries takes."""
    files: list[Path] = []
    taken = 0.0
    with zipfile.ZipFile(wheel) as package:
        for number, member in enumerate(package.infolist()):
            before = _own()
            with package.open(member) as stream:
                head = stream.read(HEAD)
                if kind_of_head(head) is None:
                    continue
                data = head + stream.read()
            taken += _own() - before
            if any(read_images(memoryview(data), budget_for(len(data)))):
                files.append(directory / f"{number}.so")
                files[-1].write_bytes(data)
    return files, taken


def _ours(wheel: str, workers: int) -> dict[str, object]:
    before, begun = _own() + _children(), time.monotonic()
    reports = scan(wheel, jobs=workers, cache=False).units
    clock, cpu = time.monotonic() - begun, _own() + _children() - before
    rows = [(unit, kernel) for unit in reports for kernel in unit.kernels]
    entries = [row for row in rows if row[1].facts.kind == "entry"]
    clean = sum(one.kind == "entry" for unit in reports for one in unit.clean)
    spilling = sum(
        any(share.cause == "register-spill" for share in kernel.facts.causes)
        for _, kernel in entries
    )
    worst = min(entries, key=severity)[1].facts if entries else None
    return {
        "kernels": clean + len(entries),
        "local": sum(kernel.facts.uses_local_memory for _, kernel in entries),
        "spilling": spilling,
        "worst": short_name(worst.demangled) if worst is not None else "",
        "frame": worst.stack_frame if worst is not None else 0,
        "failed": [unit.failure.message for unit in reports if unit.failure is not None],
        "cpu": cpu,
        "clock": clock,
        "memory": _most_memory() + workers * _largest_child(),
    }


def _most_memory() -> int:
    """KiB that this process had at most; ``ru_maxrss`` counts its parent's as well."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0])


def _largest_child() -> int:
    """KiB that any process which this one started and waited for had at most."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def _own() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
