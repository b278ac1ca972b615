"""Whether results stay the same when workers are killed, and when fifty runs share one cache.

    python benchmarks/steady.py killed [--units 50] [--seconds 1.1] [--every 1.0] [-j 8]
    python benchmarks/steady.py shared [--runs 50]

``killed`` analyses files for which ptxas takes more than a second (it sleeps first), undisturbed
and then with a worker killed (SIGKILL) every second. A unit whose worker was killed twice is a
failure that says so; every other one has to be the same. ``shared`` starts runs at the same time on
one empty cache, and then one at a time with a cache that another user owns, a home that cannot be
written, and no home at all. For the last part it has to be started by root, who gives up the right
to pass over permissions.

Ends with 1 where something differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmemscope.tools.toolchain import INSTALLED

ROOT = Path(__file__).parent.parent
SLOW = """#!/bin/sh
[ "$1" = --version ] || sleep {seconds}
exec {tool} "$@"
"""
_DROPPED = "-dac_override,-dac_read_search"


def command(*arguments: str) -> list[str]:
    """The program, with arguments."""
    return [sys.executable, "-m", "lmemscope", *arguments]


def environment(cache: Path, **changes: str) -> dict[str, str]:
    """This process's, with a cache of the run's own."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "LMEMSCOPE_CACHE_DIR": str(cache),
        **changes,
    }


def units_of(text: str) -> dict[str, Any]:
    """What a report says, by input."""
    return {unit["input"]: unit for unit in json.loads(text)["units"]}


class Killer(threading.Thread):
    """Kills one worker of a run, every so often."""

    def __init__(self, program: int, every: float) -> None:
        super().__init__(daemon=True)
        self._program, self._every = program, every
        self.killed = 0
        self.done = threading.Event()

    def run(self) -> None:
        """Until the run is done."""
        chance = random.Random(0)
        while not self.done.wait(self._every):
            workers = children(self._program)
            if workers:
                os.kill(chance.choice(workers), signal.SIGKILL)
                self.killed += 1


def children(process: int) -> list[int]:
    """Processes that a process has started and that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == process and state != "Z":
            found.append(int(stat.parent.name))
    return found


def killed(units: int, seconds: float, every: float, jobs: str) -> int:
    """The number of units that differ."""
    with tempfile.TemporaryDirectory() as base:
        sources, bin_directory = Path(base, "sources"), Path(base, "toolkit", "bin")
        sources.mkdir()
        bin_directory.mkdir(parents=True)
        dump = command("dump", str(ROOT / "kernels" / "histogram.cu"), "--ptx", "--arch", "sm_90")
        made = subprocess.run(
            dump, env=environment(Path(base, "first")), capture_output=True, text=True, check=True
        )
        for number in range(units):
            text = made.stdout.replace("histogram", f"histogram_{number:02}")
            (sources / f"unit_{number:02}.ptx").write_text(text)
        slow = bin_directory / "ptxas"
        slow.write_text(SLOW.format(seconds=seconds, tool=INSTALLED.find("ptxas")))
        slow.chmod(0o755)
        (bin_directory / "nvdisasm").symlink_to(INSTALLED.find("nvdisasm"))
        toolkit = ("--toolkit", str(bin_directory.parent))
        scan = command("scan", ".", *toolkit, "--arch", "sm_90", "--format", "json", "-j", jobs)
        started = time.monotonic()
        reference = subprocess.run(
            scan,
            cwd=sources,
            env=environment(Path(base, "cache")),
            capture_output=True,
            text=True,
            check=True,
        )
        took = time.monotonic() - started
        print(f"undisturbed: {units} units, {took:.0f} s", flush=True)
        running = subprocess.Popen(
            scan,
            cwd=sources,
            env=environment(Path(base, "other cache")),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        killer = Killer(running.pid, every)
        killer.start()
        out, err = running.communicate()
        killer.done.set()
        expected, found = units_of(reference.stdout), units_of(out)
        twice = {
            name
            for name, unit in found.items()
            if unit["failure"] is not None and "SIGKILL), twice" in unit["failure"]["message"]
        }
        differing = [n for n in expected if n not in twice and found.get(n) != expected[n]]
        print(
            f"disturbed: {killer.killed} workers killed, exit code {running.returncode}; "
            f"{len(twice)} units failed (killed twice), {len(differing)} differ, "
            f"{len(expected) - len(twice) - len(differing)} the same; stderr: {err.strip()!r}"
        )
        return len(differing) + (running.returncode != (3 if twice else 0))


def shared(runs: int) -> int:
    """The number of runs that differ."""
    with tempfile.TemporaryDirectory() as base:
        sources = Path(base, "sources")
        sources.mkdir()
        for name in ("running_mean.cu", "histogram.cu"):
            shutil.copy(ROOT / "kernels" / name, sources)
        scan = command("scan", ".", "--arch", "sm_90", "--format", "json")
        reference = told(scan, sources, environment(Path(base, "reference")))
        cache = Path(base, "cache")
        started = [
            subprocess.Popen(
                scan,
                cwd=sources,
                env=environment(cache),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(runs)
        ]
        ended = [(one.communicate(), one.returncode) for one in started]
        wrong = sum((out, err, code) != reference for (out, err), code in ended)
        left = [str(path) for path in cache.rglob(".lmemscope-*")]
        print(f"{runs} runs at once on one cache: {wrong} differ; left beside entries: {left}")
        return wrong + len(left) + elsewhere(scan, sources, cache, Path(base), reference)


def elsewhere(
    scan: Sequence[str], sources: Path, cache: Path, base: Path, reference: tuple[str, str, int]
) -> int:
    """The number of odd places for a cache with which a run differs."""
    bare = ["setpriv", f"--bounding-set={_DROPPED}", f"--inh-caps={_DROPPED}", *scan]
    theirs, readable = base / "theirs", base / "readable"
    for copy, mode in ((theirs, 0o700), (readable, 0o755)):
        shutil.copytree(cache, copy)
        for path in (copy, *copy.rglob("*")):
            os.chown(path, 65534, 65534)
        copy.chmod(mode)
    home = base / "home"
    home.mkdir(mode=0o500)
    os.chown(home, 65534, 65534)
    home.chmod(0o555)
    nowhere = environment(cache)
    del nowhere["LMEMSCOPE_CACHE_DIR"]
    nowhere.pop("XDG_CACHE_HOME", None)
    without = {name: value for name, value in nowhere.items() if name != "HOME"}
    cases: tuple[tuple[str, Sequence[str], Mapping[str, str]], ...] = (
        ("another user's cache, closed", bare, environment(theirs)),
        ("another user's cache, readable", bare, environment(readable)),
        ("a home that cannot be written", bare, {**nowhere, "HOME": str(home)}),
        ("a home that does not exist", bare, {**nowhere, "HOME": "/nonexistent"}),
        ("HOME empty", bare, {**nowhere, "HOME": ""}),
        ("no HOME", bare, without),
    )
    wrong = 0
    for name, program, variables in cases:
        same = told(program, sources, variables) == reference
        print(f"{name}: {'the same' if same else 'DIFFERS'}")
        wrong += not same
    stray = [path.name for path in sources.iterdir() if path.suffix != ".cu"]
    print(f"left beside the sources: {stray}")
    return wrong + len(stray)


def told(program: Sequence[str], cwd: Path, variables: Mapping[str, str]) -> tuple[str, str, int]:
    """What a run prints, on both streams, and its exit code."""
    done = subprocess.run(
        program, cwd=cwd, env=dict(variables), capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr, done.returncode


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=("killed", "shared"))
    parser.add_argument("--units", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=1.1)
    parser.add_argument("--every", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("-j", "--jobs", default="8")
    given = parser.parse_args()
    if given.part == "killed":
        wrong = killed(given.units, given.seconds, given.every, given.jobs)
    else:
        wrong = shared(given.runs)
    raise SystemExit(int(wrong > 0))


if __name__ == "__main__":
    main()
