"""How well the modelled cost predicts measured times: kernels, every version that `fix` tried.

    python benchmarks/model.py [--set SET]... [--worst N] [--findings]

Needs what `lmemscope doctor` asks for, and no GPU: data/model_times.json.gz has the times, which
`benchmarks/model_times.py` measured. Each version is analysed anew by the model as it is now, its
loops told as `fix` tells them, and ranked by the ranking of `fix`. Results of compilers are kept in
lmemscope's cache.

Sets: ``calibration`` and ``held-out`` are halves by a hash of the names, made before anybody saw a
time; only the first was looked at while the model was changed. ``adversary`` holds kernels written
to break rewrites, which the model was changed on, too. ``later`` was written and timed afterwards;
of its launches with few blocks the model has since learnt what such share. ``fresh`` holds whole
programs in the manner of public repositories, written and timed after all of that, and so does
``unseen``, whose misses then showed how often the bodies of loops run in all.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import os
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from fix_times import apply_patch, spearman  # noqa: E402

from lmemscope.analysis.cost import Grid, cost_of  # noqa: E402
from lmemscope.analysis.leaving import leave_reason  # noqa: E402
from lmemscope.app.worker import analyse_unit  # noqa: E402
from lmemscope.fixing.kernel_figures import figures  # noqa: E402
from lmemscope.fixing.rank import ranked  # noqa: E402
from lmemscope.fixing.trials import counts_of  # noqa: E402
from lmemscope.model import (  # noqa: E402
    CompileOptions,
    Cost,
    Edit,
    Figures,
    LoopCounts,
    Rewriting,
    Trial,
    Unit,
    Wanted,
)
from lmemscope.model.fix import NOTICED  # noqa: E402
from lmemscope.rewrites import ADDITIONS, REWRITES  # noqa: E402

KERNELS = ROOT / "benchmarks" / "data" / "model_kernels"
TIMES = ROOT / "benchmarks" / "data" / "model_times.json.gz"
ARCH, NEAR = "sm_90", 1.10
_KNOWN = {one.name for one in REWRITES} | {one.name for one in ADDITIONS}
"""Names of the rewrites that there are today: some were removed after they were timed."""
SETS = ("calibration", "held-out", "adversary", "later", "fresh", "unseen")


@dataclass
class Version:
    """A version of a kernel.

    Attributes:
        number: its place among the kernel's.
        row: what was measured, and for which findings `fix` tried it.
        cost: modelled; None where it is not known.
        figures: the kernel's.
    """

    number: int
    row: dict[str, Any]
    cost: Cost | None = None
    figures: Figures | None = None
    modelled: float | None = None
    measured: float | None = None

    @property
    def is_unsafe(self) -> bool:
        """Whether all that it was tried for needs a promise."""
        rows = self.row.get("candidates", ())
        return bool(rows) and all(one["applicability"] == "unsafe" for one in rows)

    @property
    def is_fix(self) -> bool:
        """Whether a user can get it from `fix`."""
        return self.row["kind"] in ("fix", "together")


@dataclass
class Kernel:
    """A kernel with its versions, the original first."""

    name: str
    file: str
    grid: Grid
    versions: list[Version] = field(default_factory=list)

    @property
    def set(self) -> str:
        """Which of `SETS` it is in."""
        folder, _, _ = self.file.partition("/")
        if folder in SETS:
            return folder
        digest = hashlib.sha256(f"new.{Path(self.file).stem}.{self.name}".encode()).hexdigest()
        return SETS[int(digest, 16) % 2]


def kernels(path: Path = TIMES) -> list[Kernel]:
    """The kernels that were timed."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = json.load(stream)["kernels"]
    return [
        Kernel(
            row["kernel"],
            row["file"],
            _grid(row),
            [Version(number, one) for number, one in enumerate(row["versions"])],
        )
        for row in rows
    ]


def _grid(row: dict[str, Any]) -> Grid:
    """What a kernel is taken to be launched with: its blocks are known if its file launches it."""
    launch = row["launch"]
    is_launched = "<<<" in (KERNELS / row["file"]).read_text()
    return Grid(launch["block"], launch["grid"] if is_launched else None)


def analysed(kernel: Kernel) -> Kernel:
    """A kernel whose versions have their modelled costs and speed-ups."""
    text = (KERNELS / kernel.file).read_text()
    counts: tuple[LoopCounts, ...] = ()
    cache = os.environ.get("LMEMSCOPE_CACHE_DIR")
    # Always the same, so that what was compiled of a version is found again.
    directory = Path(tempfile.gettempdir()) / "lmemscope-model" / kernel.file / kernel.name
    for version in kernel.versions:
        patch, cap = version.row.get("patch"), version.row.get("cap")
        folder = directory / str(version.number)
        folder.mkdir(parents=True, exist_ok=True)
        path = str(folder / Path(kernel.file).name)
        Path(path).write_text(apply_patch(text, patch) if patch else text)
        unit = Unit(path, path, "auto", ARCH, CompileOptions(maxrregcount=cap))
        is_original = version.number == 0
        wanted = Wanted(names=is_original, work=True, cache=cache, counts=counts)
        report = analyse_unit(unit, wanted)
        if is_original:
            counts = counts_of(report)
        found = [one for one in report.kernels if kernel.name in one.facts.name]
        if found:
            version.cost = cost_of(found[0], ARCH, kernel.grid)
            version.figures = figures(found[0].facts, ARCH, kernel.grid)
    first = kernel.versions[0]
    for version in kernel.versions:
        version.modelled = ratio(total(first), total(version))
        version.measured = ratio(first.row["ms"], version.row["ms"])
    return kernel


def total(version: Version) -> float | None:
    """Its modelled cost."""
    return version.cost.total if version.cost is not None else None


def ratio(before: float | None, after: float | None) -> float | None:
    """A speed-up; None where a time is not known."""
    return before / after if before and after else None


@dataclass
class Choice:
    """What `fix` comes to for one finding: its first, or None, all that it offers, and whether it
    says to leave the finding as it is."""

    kernel: Kernel
    object: str | None
    first: Version | None
    offered: list[Version]
    says_leave: bool

    @property
    def measured(self) -> float:
        """The speed-up of what is ranked first."""
        return (self.first.measured or 1.0) if self.first is not None else 1.0

    @property
    def best(self) -> float:
        """The fastest of what is offered, and of the original."""
        return max(1.0, *(one.measured or 0.0 for one in self.offered))

    @property
    def best_safe(self) -> float:
        """The same, of what keeps as many promises as the first; the original is one."""
        unsafe = self.first is not None and self.first.is_unsafe
        own = (one.measured or 0.0 for one in self.offered if unsafe or not one.is_unsafe)
        return max([1.0, *own])


def choices(kernel: Kernel) -> list[Choice]:
    """What `fix` ranks first for each finding of a kernel."""
    found: dict[tuple[str, str | None], list[tuple[Trial, Version]]] = defaultdict(list)
    original = kernel.versions[0]
    for version in kernel.versions:
        for row in version.row.get("candidates", ()):
            is_gone = not _KNOWN.issuperset(row["rewrite"].split("+"))
            if version.measured is None or original.figures is None or is_gone:
                continue
            edit = Edit(kernel.file, version.number, version.number, b"")
            trial = Trial(
                kernel.file,
                ARCH,
                kernel.name,
                row["object"],
                row["finding"],
                "",
                None,
                Rewriting(row["rewrite"], row["applicability"], (edit,), ""),
                row["verdict"],
                None,
                original.figures,
                version.figures,
                total(original),
                total(version),
                version.row.get("patch"),
                modelled=original.cost,
                made=version.cost,
            )
            found[row["finding"], row["object"]].append((trial, version))
    made: list[Choice] = []
    for (_, name), group in sorted(found.items(), key=lambda item: str(item[0])):
        offered = [version for trial, version in group if trial.is_offered]
        if offered:
            by_edits = {trial.rewriting.edits: version for trial, version in group}
            order = ranked([trial for trial, _ in group])
            first = next((one for one in order if one.rank == 1), None)
            chosen = by_edits[first.rewriting.edits] if first is not None else None
            leave = leave_reason([trial for trial, _ in group]) is not None
            made.append(Choice(kernel, name, chosen, offered, leave))
    return made


def judged(found: Sequence[Kernel]) -> dict[str, float | int | None]:
    """The figures of the table."""
    fixes = [
        one
        for kernel in found
        for one in kernel.versions
        if one.is_fix and one.modelled and one.measured
    ]
    within: list[float] = []
    for kernel in found:
        own = [one for one in kernel.versions if one.modelled and one.measured]
        one = correlation(own) if len(own) > 3 else None
        within += [one] if one is not None else []
    chosen = [one for kernel in found for one in choices(kernel)]
    left = [one for one in chosen if one.says_leave]
    hopeless = [one for one in chosen if one.best <= NOTICED]
    errors = sorted(abs(math.log((one.modelled or 1) / (one.measured or 1))) for one in fixes)
    return {
        "kernels": len(found),
        "fixes": len(fixes),
        "Spearman": correlation(fixes),
        "Spearman within a kernel": statistics.mean(within) if within else None,
        "median error, times": math.exp(statistics.median(errors)) if errors else None,
        "findings": len(chosen),
        "speed of the first": statistics.geometric_mean(one.measured for one in chosen),
        "of the fastest": statistics.geometric_mean(one.best for one in chosen),
        "first slower": sum(one.measured * NOTICED < 1 for one in chosen),
        "first near the fastest": sum(one.measured * NEAR >= one.best for one in chosen),
        "of those as safe": sum(one.measured * NEAR >= one.best_safe for one in chosen),
        "left": len(left),
        "rightly": sum(one.best <= NEAR for one in left),
        "to be left": len(hopeless),
        "and left": sum(one.says_leave for one in hopeless),
    }


def listed(kernel: Kernel) -> list[str]:
    """A line for each finding: what is ranked first, modelled and measured, and the fastest."""
    lines = []
    for choice in choices(kernel):
        first = choice.first
        shown = "nothing" if first is None else f"{first.row['name']} × {first.modelled or 0:.2f}"
        left = ", left" if choice.says_leave else ""
        slower = ", SLOWER" if choice.measured * NOTICED < 1 else ""
        lines.append(
            f"{kernel.file}: {choice.object}: {shown}, measured × {choice.measured:.2f}"
            f" of × {choice.best:.2f}{left}{slower}"
        )
    return lines


def correlation(versions: Iterable[Version]) -> float | None:
    """Of modelled and measured speed-ups, Spearman's."""
    own = [(one.modelled or 0.0, one.measured or 0.0) for one in versions]
    return spearman([one for one, _ in own], [other for _, other in own])


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--set", action="append", choices=SETS, help="only these")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="largest errors to list")
    parser.add_argument("--findings", action="store_true", help="list what is ranked first")
    asked = parser.parse_args()
    wanted = [one for one in kernels() if one.set in (asked.set or SETS)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(analysed, wanted))
    table = {name: judged([one for one in found if one.set == name]) for name in asked.set or SETS}
    for figure in next(iter(table.values())):
        cells = (row[figure] for row in table.values())
        shown = (
            "–" if one is None else f"{one:.2f}" if isinstance(one, float) else f"{one}"
            for one in cells
        )
        print(f"{figure:26}", *(f"{one:>12}" for one in shown))
    for line in (line for kernel in found for line in listed(kernel) if asked.findings):
        print(line)
    errors = [
        (abs(math.log(one.modelled / one.measured)), kernel, one)
        for kernel in found
        for one in kernel.versions
        if one.is_fix and one.modelled and one.measured
    ]
    for _, kernel, one in sorted(errors, key=lambda row: -row[0])[: asked.worst]:
        print(f"{kernel.file}: {one.row['name']}: × {one.modelled:.2f}, {one.measured:.2f}")


if __name__ == "__main__":
    main()
