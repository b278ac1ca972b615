"""`python -m tests.fuzz --inputs 1000000 --jobs 2`: mutated inputs against every reader.

Exits 1 if any input failed. A failure names the command that makes its input again.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.run import TooSlow, make, report, run, stop, try_one
from tests.fuzz.targets import TARGETS, Target


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    words.add_argument("targets", nargs="*", help="which; all without any")
    words.add_argument("--inputs", type=int, default=20_000, help="in all")
    words.add_argument("--jobs", type=int, default=2, help="processes")
    words.add_argument("--seed", type=int, default=1, help="another one gives other inputs")
    words.add_argument("--seconds", type=float, help="begin no input after these")
    words.add_argument("--number", type=int, help="this input of one target alone")
    words.add_argument("--save", type=Path, help="directory for the inputs that failed")
    asked = words.parse_args()
    chosen = _chosen(asked.targets)
    if asked.number is not None:
        _again(chosen[0], asked.seed, asked.number, asked.save)
        return
    begin = time.monotonic()
    until = begin + asked.seconds if asked.seconds else 0.0
    result = run(chosen, asked.inputs, seed=asked.seed, jobs=asked.jobs, until=until)
    sys.stdout.write(report(result, asked.seed))
    sys.stdout.write(f"{result.tried.total()} inputs in {time.monotonic() - begin:.0f} s\n")
    for failure in result.failures.values():
        sys.stdout.write(f"\n{failure.target} {failure.number}: {failure.kind}\n{failure.detail}\n")
    sys.exit(bool(result.failures))


def _chosen(names: list[str]) -> list[Target]:
    known = {target.name: target for target in TARGETS}
    unknown = [name for name in names if name not in known]
    if unknown:
        stop(f"no target {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in names] or list(TARGETS)


def _again(target: Target, seed: int, number: int, save: Path | None) -> None:
    save = save.absolute() if save is not None else None
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        data = make(target, seed, number)
        if save is not None:
            save.mkdir(exist_ok=True)
            (save / f"{target.name}-{seed}-{number}").write_bytes(data)
        begin = time.monotonic()
        try:
            said = "taken" if try_one(target, data) else "refused"
        except TooSlow:
            said = "too slow"
        sys.stdout.write(f"{len(data)} bytes, {said}, {time.monotonic() - begin:.2f} s\n")


if __name__ == "__main__":
    main()
