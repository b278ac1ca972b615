"""A pytest plugin: local memory as an assertion.

The fixture ``lmem`` scans; the marker ``lmem`` limits what a test's scans may find::

    def test_frame(lmem):
        assert lmem.scan("k.cu")["kernel"].frame == 0

    @pytest.mark.lmem("k.cu", max_frame=0, forbid=["register-spill"])
    def test_no_local_memory():
        pass

A limit that is exceeded fails the test, as an assertion does; so does missing evidence, by the rule
of `check`: an input that cannot be analysed, no kernel, a template without an instance. A marker
without a path needs a scan by the test. One that says what is not accepted, or forbids nothing, is
an error of the test's set-up.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from msgspec.structs import replace

if TYPE_CHECKING:
    from lmemscope.exporters.escape_terminal import Part
    from lmemscope.model import Report


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

    @property
    def views(self) -> list[KernelView]:
        """Every kernel, those of one name on several architectures too."""
        return [view for _, view in self._views]


class Scanner:
    """The fixture's value."""

    def __init__(self, marks: list[pytest.Mark]) -> None:
        self._marks = marks
        self.scans = 0

    def scan(self, *paths: str, **options: Any) -> Kernels:
        """Scan as `lmemscope.scan` does; fails the test where an input cannot be analysed.

        Under a marker it fails as the gate does: where a limit is exceeded, or evidence missing.
        """
        import lmemscope
        from lmemscope.formats.demangle import short_name
        from lmemscope.formats.kernel_names import spellings

        self.scans += 1
        report = lmemscope.scan(*paths, **options)
        views = []
        for unit in report.units:
            if unit.failure is not None:
                failure = unit.failure
                failed(f"[{failure.stage}] {failure.message}", *(failure.log or "").splitlines())
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
                views.append((spellings(facts.name, facts.demangled), view))
        kernels = Kernels(views)
        for mark in self._marks:
            _check(report, _limits(mark))
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
    scanner = Scanner(list(request.node.iter_markers("lmem")))
    request.node.stash[_SCANNER] = scanner
    return scanner


_SCANNER = pytest.StashKey[Scanner]()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a wrong marker before anything is set up for the test."""
    for mark in item.iter_markers("lmem"):
        if not any(value or name != "forbid" for name, value in _limits(mark).items()):
            failed(
                "usage: mark.lmem forbids nothing, so that its test could not fail: give it a "
                "limit, such as max_frame=0, or forbid=[…] with a cause"
            )


# Of the call, not of the set-up, for what fails there is an error and never an expected failure;
# and before the test itself, which may be slow.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Scan the paths of the markers first; a marker without one needs a scan by the test."""
    marks = list(item.iter_markers("lmem"))
    for mark in marks:
        if mark.args:
            Scanner([mark]).scan(*mark.args)
    result = yield
    scanner = item.stash.get(_SCANNER, None)
    if any(not mark.args for mark in marks) and (scanner is None or not scanner.scans):
        failed("mark.lmem names no path, and the test scanned nothing: nothing was checked")
    return result


def _limits(mark: pytest.Mark) -> dict[str, Any]:
    """A marker's limits, checked as those of the configuration file are; a wrong one fails."""
    from lmemscope.config.kinds import Place
    from lmemscope.config.options import LIMIT
    from lmemscope.errors import UsageError

    rows = {row.name: row for row in LIMIT if row.name == "forbid" or row.name.startswith("max_")}
    limits = {}
    for name, value in mark.kwargs.items():
        if name not in rows:
            failed(f"usage: mark.lmem takes no {name}, but: {', '.join(rows)}")
        if value is not None:
            place = Place(f"usage: mark.lmem: {name}")
            wrong: list[str] = []
            try:
                limits[name] = rows[name].kind.check(value, place)
            except UsageError as error:
                wrong = [error.message, *([error.hint] if error.hint else [])]
            if wrong:
                failed(*wrong)
    return limits


def _check(report: Report, limits: Mapping[str, Any]) -> None:
    """Judge a report by the gate of `check`; without a limit on causes, none is forbidden."""
    from lmemscope.exporters.alike import alike
    from lmemscope.exporters.gate_text import described
    from lmemscope.gate.compare import compare
    from lmemscope.model import Limit, Policy

    given = {**limits, "forbid": tuple(limits.get("forbid", ()))}
    # What the marker names, and nothing else: comments in sources are for the gate of the project.
    units = tuple(replace(unit, directives=()) for unit in report.units)
    result = compare(replace(report, units=units), Policy((Limit(**given),)), None)
    parts = [part for one, *rest in alike(result.failures) for part in described(one, rest=rest)]
    parts += [f"evidence is missing: {piece.text}" for piece in result.missing]
    if parts:
        failed(*parts)


def failed(*parts: Part) -> NoReturn:
    """Fail the test; names and logs in the text are foreign, and pytest prints them as they are."""
    from lmemscope.exporters.escape_terminal import document

    pytest.fail(document(parts).removesuffix("\n"), False)
