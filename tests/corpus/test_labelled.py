"""The labelled set: what a person found out about kernels before the classifier saw them.

``python benchmarks/labelled.py`` shows the same as a table.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lmemscope.app.worker import analyse_unit
from lmemscope.model import KernelReport, Unit, Wanted
from tests.conftest import Once
from tests.support.labels import ARCHS, Label, files, read
from tests.support.scoring import COLUMNS, REQUIRED, Item, base_name, score, tallies

pytestmark = pytest.mark.toolchain

FILES = files()

Kernels = Callable[[Path, str], tuple[KernelReport, ...]]
Scores = Callable[[Path, str], list[Item]]


@pytest.fixture(scope="session")
def kernels(once: Once, shared_store: str) -> Kernels:
    """The reports of a labelled file's kernels on an architecture."""

    def analysed(file: Path, arch: str) -> tuple[KernelReport, ...]:
        unit = Unit(os.path.relpath(file), str(file), "auto", arch)
        report = analyse_unit(unit, Wanted(cache=shared_store))
        assert report.failure is None
        return report.kernels

    return lambda file, arch: once(f"labelled-{file.stem}-{arch}", lambda: analysed(file, arch))


@pytest.fixture(scope="session")
def scores(kernels: Kernels) -> Scores:
    """The scores of a labelled file's kernels on an architecture."""

    @functools.cache
    def scored(file: Path, arch: str) -> list[Item]:
        return [item for label in read(file) for item in score(label, kernels(file, arch), arch)]

    return scored


def test_the_set_is_large() -> None:
    assert len([label for file in FILES for label in read(file)]) >= 40


def test_a_kernel_has_one_label() -> None:
    for file in FILES:
        names = [label.kernel for label in read(file)]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_both_ledgers_close(kernels: Kernels, file: Path, arch: str) -> None:
    for kernel in kernels(file, arch):
        facts = kernel.facts
        assert facts.sass is not None
        sites = [share.sites for share in facts.causes]
        assert sum(s.load_bytes for s in sites) == facts.sass.load_bytes
        assert sum(s.store_bytes for s in sites) == facts.sass.store_bytes
        assert sum(part.size for part in facts.frame) == (facts.stack_frame or 0)
        position = 0
        for part in facts.frame:
            assert part.offset == position
            position += part.size


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_wrong_name_is_certain(kernels: Kernels, file: Path, arch: str) -> None:
    named = {label.kernel: names(label) for label in read(file)}
    for kernel in kernels(file, arch):
        sure = {o.name for o in kernel.facts.objects if o.confidence == "certain"}
        assert sure <= named[base_name(kernel)]


def names(label: Label) -> set[str | None]:
    return {find.object for find in label.finds} | set(label.promoted)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("column", COLUMNS)
def test_what_is_said_is_right(scores: Scores, column: str, arch: str) -> None:
    items = [item for file in FILES for item in scores(file, arch) if item.column == column]
    missed = [item for item in items if not item.right]
    for tally in tallies(items).values():
        assert tally.share >= REQUIRED[column], missed
