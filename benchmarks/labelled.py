"""How much of the labelled set is explained rightly, column by column and architecture.

python benchmarks/labelled.py [--arch sm_90 ...] [--file NAME ...] [--show]
python benchmarks/labelled.py --require         # fails below the shares of tests/support/scoring.py
python benchmarks/labelled.py --require 0.99    # fails where any column is below that
python benchmarks/labelled.py --experiments     # do the causes that the labels name explain all?
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from lmemscope.api import scan  # noqa: E402
from lmemscope.model import KernelReport  # noqa: E402
from tests.support import labels  # noqa: E402
from tests.support.scoring import COLUMNS, REQUIRED, Item, base_name, score, tallies  # noqa: E402

Reports = dict[tuple[str, str], tuple[KernelReport, ...]]


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    archs = tuple(given.arch or labels.ARCHS)
    files = [file for file in labels.files() if not given.file or _meant(file, given.file)]
    read = [label for file in files for label in labels.read(file)]
    if given.experiments:
        return _experiments(read, _scanned(files, archs, given.jobs, experiment=True), archs)
    reports = _scanned(files, archs, given.jobs)
    items = [
        item
        for arch in archs
        for label in read
        for item in score(label, reports[label.file.name, arch], arch)
    ]
    print(f"{len(read)} kernels in {len(files)} files\n")
    print(matrix(items, archs))
    if given.show:
        for item in items:
            if not item.right:
                print(_shown(item))
    if given.require is None:
        return 0
    low = _too_low(items, given.require)
    for line in low:
        print(line, file=sys.stderr)
    return 1 if low else 0


def matrix(items: Sequence[Item], archs: Sequence[str]) -> str:
    """Right and all, by column and architecture, as a Markdown table."""
    counted = tallies(items)
    rows = [f"| {'':12} |" + "".join(f" {arch:>16} |" for arch in archs)]
    rows.append(f"|{'-' * 14}|" + f"{'-' * 17}:|" * len(archs))
    for column in COLUMNS:
        cells = []
        for arch in archs:
            tally = counted.get((column, arch))
            figures = f"{tally.right}/{tally.total}" if tally else "-"
            cells.append(f"{figures} {tally.share:7.1%}" if tally else figures)
        rows.append(f"| {column:12} |" + "".join(f" {cell:>16} |" for cell in cells))
    return "\n".join(rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--arch", nargs="+", choices=labels.ARCHS, help="default: all of them")
    parser.add_argument(
        "--file", nargs="+", metavar="NAME", help="files, such as calls or calls.cu"
    )
    parser.add_argument("--show", action="store_true", help="every miss")
    parser.add_argument("--experiments", action="store_true", help="compile with -DEXPERIMENT")
    parser.add_argument("--require", nargs="?", type=float, const=-1.0, metavar="SHARE")
    parser.add_argument("-j", "--jobs", type=int, help="worker processes; default: one per CPU")
    return parser


def _meant(file: Path, names: Sequence[str]) -> bool:
    return file.name in {Path(name).name for name in names} or file.stem in names


def _scanned(
    files: Sequence[Path], archs: Sequence[str], jobs: int | None, *, experiment: bool = False
) -> Reports:
    """The kernels of each file on each architecture."""
    defines = ("EXPERIMENT",) if experiment else ()
    report = scan(*files, arch=archs, jobs=jobs, defines=defines, causes=not experiment)
    for unit in report.units:
        if unit.failure is not None:
            raise SystemExit(f"{unit.input}, {unit.arch}: {unit.failure.message}")
    return {(Path(unit.input).name, unit.arch): unit.kernels for unit in report.units}


def _too_low(items: Sequence[Item], share: float) -> list[str]:
    low = []
    for (column, arch), tally in sorted(tallies(items).items()):
        needed = REQUIRED[column] if share < 0 else share
        if tally.share < needed:
            low.append(f"{column}, {arch}: {tally.right} of {tally.total}, {needed:.1%} required")
    return low


def _shown(item: Item) -> str:
    where = f"{item.file} {item.kernel} {item.arch}"
    return f"{where} {item.column}: expected {item.expected}; got {item.got}"


def _experiments(read: Sequence[labels.Label], reports: Reports, archs: Sequence[str]) -> int:
    """Whether the frames fall as the labels say once the causes are gone."""
    wrong = tried = 0
    for arch in archs:
        for label in read:
            for kernel in reports[label.file.name, arch]:
                if base_name(kernel) != label.kernel:
                    continue
                tried += 1
                facts = kernel.facts
                sites = facts.sass.count if facts.sass is not None else None
                left = sites if label.experiment_frame == 0 else 0
                if (facts.stack_frame, left) != (label.experiment_frame, 0):
                    wrong += 1
                    print(
                        f"{label.file.name} {label.kernel} {arch}: expected a frame of "
                        f"{label.experiment_frame} B; got {facts.stack_frame} B, {sites} sites"
                    )
    print(f"{tried - wrong} of {tried} experiments leave the frame that their label says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
