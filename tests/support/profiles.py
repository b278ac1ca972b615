"""Recorded profiles of Nsight Compute, and the analysis of the same kernels.

`tests/support/ncu/record_ncu.sh` makes them, and `print_ncu.sh` those of an earlier version.
"""

from __future__ import annotations

import functools
import gzip
import stat
import sys
from pathlib import Path

from lmemscope.exporters.json import SAVED
from lmemscope.formats import ncu_csv
from lmemscope.model import MeasuredKernel, Profile, Report
from tests.support.program import DATA, ROOT

VERSION, EARLIER = "2025.3.1", "2024.1.1"
"""Of the ncu that recorded all programs, and of another that printed the profile of ``kernels``."""
RECORDINGS = DATA / "ncu" / VERSION
PROGRAMS = ("running_mean", "histogram", "spill", "printing", "sectors", "kernels")


def page(program: str, kind: str, version: str = VERSION) -> str:
    """A recorded page: ``raw``, ``sass`` or ``details``."""
    path = DATA / "ncu" / version / f"{program}.{kind}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return stream.read()


@functools.cache
def profile(program: str, version: str = VERSION) -> Profile:
    raw, sass = (page(program, kind, version) for kind in ("raw", "sass"))
    found, fits = ncu_csv.profile([raw], [sass])
    assert fits
    return found


@functools.cache
def analysis() -> Report:
    """The report of all the kernels, with accesses, as it was saved."""
    with gzip.open(DATA / "ncu" / "report.json.gz") as stream:
        return SAVED.parse(stream.read(), "report.json")


def only(kernels: tuple[MeasuredKernel, ...], name: str) -> MeasuredKernel:
    (found,) = (one for one in kernels if name in one.name)
    return found


def written(directory: Path, program: str, *kinds: str) -> list[str]:
    """Recorded pages as files that ``--import`` takes."""
    words = []
    for kind in kinds:
        path = directory / f"{program}.{kind}.csv"
        path.write_text(page(program, kind), encoding="utf-8")
        words += ["--import", str(path)]
    return words


def fake_ncu(directory: Path) -> str:
    """A program that does as ncu does: see `tests/support/ncu/fake_ncu.py`."""
    path = directory / "ncu"
    script = ROOT / "tests" / "support" / "ncu" / "fake_ncu.py"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)
