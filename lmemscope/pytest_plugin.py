"""A pytest plugin: local memory as an assertion.

The fixture ``lmem`` scans; the marker ``lmem`` limits what a test's scans may find::

    def test_frame(lmem):
        assert lmem.scan("k.cu")["kernel"].frame == 0

    @pytest.mark.lmem("k.cu", max_frame=0, forbid=["register-spill"])
    def test_no_local_memory():
        pass
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

_LIMITS = ("max_frame", "max_spill", "max_sites", "max_registers")


@dataclass(frozen=True, slots=True)
class KernelView:
    """A kernel's figures under short names; ``report`` has everything.

    Attributes:
        name: demangled and shortened.
        frame, spill, registers: bytes per thread, bytes at instruction sites, count; None where
            not known.
        sites: ``LDL`` and ``STL`` instructions.
        causes: names of the causes found.
        report: the `lmemscope.model.KernelReport`.
    """

    name: str
    frame: int | None
    spill: int | None
    registers: int | None
    sites: int | None
    causes: frozenset[str]
    report: Any


class Kernels(Mapping[str, KernelView]):
    """Kernels of a scan by name: mangled, shortened, or the bare function name if it is unique."""

    def __init__(self, views: list[tuple[tuple[str, ...], KernelView]]) -> None:
        self._views = views

    def __getitem__(self, name: str) -> KernelView:
        found = [view for names, view in self._views if name in names]
        if len(found) != 1:
            known = ", ".join(view.name for _, view in self._views) or "none"
            raise KeyError(f"{len(found)} kernels are called {name}; there are: {known}")
        return found[0]

    def __iter__(self) -> Iterator[str]:
        return (view.name for _, view in self._views)

    def __len__(self) -> int:
        return len(self._views)


class Scanner:
    """The fixture's value."""

    def __init__(self, marks: list[pytest.Mark]) -> None:
        self._marks = marks

    def scan(self, *paths: str, **options: Any) -> Kernels:
        """Scan as `lmemscope.scan` does; fails the test where an input cannot be analysed."""
        import lmemscope
        from lmemscope.formats.demangle import short_name

        report = lmemscope.scan(*paths, **options)
        views = []
        for unit in report.units:
            if unit.failure is not None:
                failure = unit.failure
                pytest.fail(f"[{failure.stage}] {failure.message}\n{failure.log or ''}", False)
            for kernel in unit.kernels:
                facts = kernel.facts
                short = short_name(facts.demangled)
                view = KernelView(
                    name=short,
                    frame=facts.stack_frame,
                    spill=facts.spill_bytes,
                    registers=facts.registers,
                    sites=None if facts.sass is None else facts.sass.count,
                    causes=frozenset(share.cause for share in facts.causes),
                    report=kernel,
                )
                base = short.partition("<")[0].rpartition("::")[2]
                views.append((tuple(dict.fromkeys((facts.name, short, base))), view))
        kernels = Kernels(views)
        for mark in self._marks:
            _check(kernels, mark)
        return kernels


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "lmem(*paths, max_frame=, max_spill=, max_sites=, max_registers=, forbid=): limits of "
        "local memory for the kernels that the test scans, and for those in the paths",
    )


@pytest.fixture
def lmem(request: pytest.FixtureRequest) -> Scanner:
    """Scans CUDA sources: ``lmem.scan("k.cu")["kernel"].frame``."""
    return Scanner(list(request.node.iter_markers("lmem")))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Scan the paths of the marker before the test runs."""
    for mark in item.iter_markers("lmem"):
        unknown = mark.kwargs.keys() - {*_LIMITS, "forbid"}
        if unknown:
            raise pytest.UsageError(f"mark.lmem takes no {', '.join(sorted(unknown))}")
        if mark.args:
            Scanner([mark]).scan(*mark.args)


def _check(kernels: Kernels, mark: pytest.Mark) -> None:
    for name in kernels:
        view = kernels[name]
        for limit in _LIMITS:
            allowed = mark.kwargs.get(limit)
            found = getattr(view, limit.removeprefix("max_"))
            if allowed is not None and (found is None or found > allowed):
                pytest.fail(f"{name}: {limit} is {allowed}, found {found}{_why(view)}", False)
        forbidden = view.causes & set(mark.kwargs.get("forbid", ()))
        if forbidden:
            pytest.fail(f"{name}: {', '.join(sorted(forbidden))} is forbidden{_why(view)}", False)


def _why(view: KernelView) -> str:
    lines = [
        f"\n  {finding.rule} {finding.message}"
        + (f"\n    {finding.advice[0].text}" if finding.advice else "")
        for finding in view.report.findings
    ]
    return "".join(lines)
