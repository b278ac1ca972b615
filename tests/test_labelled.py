"""The labelled set: causes and names that a person wrote down before the classifier saw them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lmemscope.formats.demangle import short_name
from lmemscope.model import KernelReport, Unit, Wanted
from lmemscope.pipeline import analyse_unit
from tests.conftest import ROOT, Once

pytestmark = pytest.mark.toolchain

ARCHS = ("sm_80", "sm_90", "sm_120")
FILES = sorted((ROOT / "tests" / "labelled").glob("*.cu"))
_KERNEL = re.compile(r"__global__[^(;]*?(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(", re.DOTALL)
_EXPECT = re.compile(r"^// expect: (\S+)(?: (\S+))?$", re.MULTILINE)


@dataclass(frozen=True)
class Label:
    file: Path
    kernel: str
    expected: tuple[tuple[str, str | None], ...]


def labels(file: Path) -> list[Label]:
    """Each kernel with the ``expect`` lines between it and the kernel before."""
    text = file.read_text()
    result, start = [], 0
    for match in _KERNEL.finditer(text):
        expected = [(m.group(1), m.group(2)) for m in _EXPECT.finditer(text, start, match.start(1))]
        assert expected, f"{file.name}: {match.group(1)} has no label"
        result.append(Label(file, match.group(1), tuple(expected)))
        start = match.end()
    return result


LABELS = [label for file in FILES for label in labels(file)]


Instances = Callable[[Label, str], list[KernelReport]]


@pytest.fixture(scope="session")
def instances(once: Once, shared_store: str) -> Instances:
    """A labelled kernel's reports, of all its instances, on an architecture."""

    def analysed(file: Path, arch: str) -> tuple[KernelReport, ...]:
        unit = Unit(os.path.relpath(file), str(file), "auto", arch)
        report = analyse_unit(unit, Wanted(cache=shared_store))
        assert report.failure is None
        return report.kernels

    def find(label: Label, arch: str) -> list[KernelReport]:
        file = label.file
        found = [
            kernel
            for kernel in once(f"labelled-{file.stem}-{arch}", lambda: analysed(file, arch))
            if short_name(kernel.facts.demangled).partition("<")[0].rpartition("::")[2]
            == label.kernel
        ]
        assert found, label.kernel
        return found

    return find


def test_the_set_is_large() -> None:
    assert len(LABELS) >= 40


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("label", LABELS, ids=lambda label: label.kernel)
def test_causes_are_right(instances: Instances, label: Label, arch: str) -> None:
    for kernel in instances(label, arch):
        found = {share.cause for share in kernel.facts.causes} or {"clean"}
        assert found == {cause for cause, _ in label.expected}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("label", LABELS, ids=lambda label: label.kernel)
def test_no_wrong_name_is_certain(instances: Instances, label: Label, arch: str) -> None:
    wanted = {name for _, name in label.expected if name}
    for kernel in instances(label, arch):
        kept = [o for o in kernel.facts.objects if o.cause != "promoted"]
        sure = {o.name for o in kept if o.confidence == "certain"}
        assert sure <= wanted


@pytest.mark.parametrize("arch", ARCHS)
def test_names_are_right(instances: Instances, arch: str) -> None:
    right = wrong = 0
    missed = []
    for label in LABELS:
        for kernel in instances(label, arch):
            found = Counter(o.name for o in kernel.facts.objects if o.cause != "promoted")
            for _, name in label.expected:
                if name is None:
                    continue
                if found[name]:
                    right += 1
                else:
                    wrong += 1
                    missed.append((label.kernel, name, sorted(str(n) for n in found)))
    assert right >= 0.95 * (right + wrong), missed


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("label", LABELS, ids=lambda label: label.kernel)
def test_both_ledgers_close(instances: Instances, label: Label, arch: str) -> None:
    for kernel in instances(label, arch):
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
def test_unattributed_is_rare(instances: Instances, arch: str) -> None:
    total = unknown = 0
    for label in LABELS:
        for kernel in instances(label, arch):
            for share in kernel.facts.causes:
                size = share.sites.load_bytes + share.sites.store_bytes
                total += size
                unknown += size if share.cause == "unattributed" else 0
    assert unknown <= 0.01 * total
