"""Wheels read as they are: what uses local memory, and what reading takes beside cuobjdump.

    python benchmarks/binaries.py WHEEL...

Each wheel takes one run: a plain read of all members with device code, ``cuobjdump -res-usage`` on
the same files, and our own analysis of the wheel in a process of its own. Times are processor time
(user and system), and the memory is our process's largest. It prints two Markdown tables: for
docs/binaries.md, and times.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from lmemscope.analysis.ranking import severity
from lmemscope.app.binaries import analyse_images
from lmemscope.formats.containers import HEAD, budget_for, kind_of_head, read_images
from lmemscope.formats.demangle import short_name
from lmemscope.model import Unit, Wanted
from lmemscope.tools.toolchain import INSTALLED

_CAUSES = Wanted()


def main() -> None:
    if sys.argv[1] == "--one":
        print(json.dumps(_ours(sys.argv[2])))
        return
    rows = [_measured(Path(wheel)) for wheel in sys.argv[1:]]
    print("| package | kernels | with local memory | spilling | worst kernel |")
    print("|---|--:|--:|--:|---|")
    for name, one, *_ in rows:
        worst = f"`{one['worst']}`: {one['frame']} bytes" if one["worst"] else "—"
        print(f"| {name} | {one['kernels']} | {one['local']} | {one['spilling']} | {worst} |")
    print("\n| package | ours | cuobjdump | plain read | ours / cuobjdump | memory |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, one, theirs, plain in rows:
        said = f"{theirs:.1f} s" if theirs is not None else "refused"
        ratio = f"{one['cpu'] / theirs:.1f}" if theirs else "—"
        print(
            f"| {name} | {one['cpu']:.1f} s | {said} | {plain:.1f} s | {ratio} "
            f"| {one['memory'] >> 10} MiB |"
        )


def _measured(wheel: Path) -> tuple[str, dict[str, object], float | None, float]:
    name, version = wheel.name.split("-")[:2]
    with tempfile.TemporaryDirectory() as directory:
        files, plain = _read(wheel, Path(directory))
        tool = INSTALLED.find("cuobjdump")
        before, refused = _children(), False
        for file in files:
            done = subprocess.run([tool, "-res-usage", file], capture_output=True)
            refused |= done.returncode != 0
        theirs = _children() - before
    command = [sys.executable, __file__, "--one", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return f"{name} {version}", json.loads(done.stdout), None if refused else theirs, plain


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


def _ours(wheel: str) -> dict[str, object]:
    before = _own()
    reports = analyse_images(Unit(wheel, wheel, "auto", ""), _CAUSES)
    cpu = _own() - before
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
        "memory": _most_memory(),
    }


def _most_memory() -> int:
    """KiB that this process had at most; ``ru_maxrss`` counts its parent's as well."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0])


def _own() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
