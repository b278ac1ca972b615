"""What findings ask to be removed: one target for each variable or line, not each copy."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from lmemscope.discover.project import Projects
from lmemscope.files import read_input
from lmemscope.formats.kernel_names import matches
from lmemscope.model import (
    CompileOptions,
    Declined,
    DeclinedRewrite,
    KernelFacts,
    KernelReport,
    SourceLocation,
    SourceText,
    Unit,
    UnitReport,
    Untried,
    is_library,
    traits_of,
)
from lmemscope.rewrites import of_cause, said
from lmemscope.rewrites.base import Hit, Target
from lmemscope.rewrites.numba_arrays import NumbaTarget
from lmemscope.rules import cases
from lmemscope.sources.lines import from_disk
from lmemscope.sources.python_literals import masked
from lmemscope.sources.python_places import PythonText
from lmemscope.sources.syntax import Syntax

_SOURCES = (".cu", ".cuh", ".py")
_Key = tuple[str, str | None, SourceLocation | None]


class Files:
    """Files that targets are in, each read and parsed once.

    Args:
        asked: where to note the name of each file that is read.
        projects: around the files.
    """

    def __init__(self, asked: set[str] | None = None, projects: Projects | None = None) -> None:
        self._data: dict[str, bytes | None] = {}
        self._trees: dict[tuple[str, bytes], Syntax] = {}
        self._python: dict[str, PythonText | None] = {}
        self._sources: dict[tuple[str | None, CompileOptions], SourceText] = {}
        self.asked = asked
        self.projects = projects or Projects()

    def python(self, path: str) -> PythonText | None:
        """A Python file's own tree; None where it cannot be read."""
        if path not in self._python:
            try:
                self._python[path] = PythonText(read_input(path))
            except (OSError, ValueError):
                self._python[path] = None
        return self._python[path]

    def data(self, path: str) -> bytes | None:
        """A file's bytes; None where it cannot be read."""
        if path not in self._data:
            if self.asked is not None:
                self.asked.add(path)
            try:
                self._data[path] = read_input(path)
            except (OSError, ValueError):
                self._data[path] = None
        return self._data[path]

    def syntax(self, path: str, line: int = 0) -> Syntax | None:
        """The file's tree; of a Python file that of the literal that a line is in.

        None where it cannot be read, or no such literal is there.
        """
        data = self.data(path)
        if data is not None and path.endswith(".py"):
            data = masked(data, line)
        if data is None:
            return None
        key = (path, data)
        if key not in self._trees:
            self._trees[key] = Syntax(data)
        return self._trees[key]

    def sources(self, main: str | None, options: CompileOptions) -> SourceText:
        """The texts of a unit's files, for the units of all its architectures."""
        key = (main, options)
        if key not in self._sources:
            mentioning = self.projects.mentioning
            self._sources[key] = from_disk(self.asked, main, options, mentioning)
        return self._sources[key]


def targets_of(
    results: Sequence[tuple[Unit, UnitReport]],
    files: Files,
    *,
    kernels: Sequence[str] = (),
    names: Sequence[str] = (),
    block: int | None = None,
    wanted: Callable[[UnitReport, KernelReport], bool] = lambda report, kernel: True,
) -> Iterator[Target | NumbaTarget | Untried]:
    """The targets of units, those with most bytes first; a header's is one for all its inputs.

    Args:
        results: the units, one for each input, architecture and set of options, with their reports.
        files: takes the trees.
        kernels: globs; targets of other kernels are left out. None means all.
        names: of objects; others are left out. None means all.
        block: threads of a block, where the user says it.
        wanted: whether a target is asked for, of a kernel that has it; others that have it count.
    """
    alike = {
        (one.cause, one.object)
        for _, report in results
        for kernel in report.kernels
        if wanted(report, kernel)
        for one in kernel.findings
    }
    found: dict[_Key, list[tuple[int, Hit]]] = defaultdict(list)
    asked: set[_Key] = set()
    for number, (unit, report) in enumerate(results):
        main = unit.input if unit.path.endswith(_SOURCES) else None
        sources = files.sources(main, unit.options)
        for kernel in report.kernels:
            is_asked = wanted(report, kernel)
            is_like = any((one.cause, one.object) in alike for one in kernel.findings)
            if (is_asked or is_like) and matches(
                kernels, kernel.facts.name, kernel.facts.demangled
            ):
                for hit in _hits(kernel, report.arch, sources):
                    found[_key(hit)].append((number, hit))
                    asked.update((_key(hit),) if is_asked else ())
    ordered = sorted(
        (found[key] for key in found if key in asked),
        key=lambda hits: -max(hit.finding.bytes for _, hit in hits),
    )
    for every in ordered:
        numbers, hits = zip(*every, strict=True)
        if names and hits[0].finding.object not in names:
            continue
        unit, report = results[numbers[0]]
        if report.frontend == "numba":
            yield _numba_target(hits, unit, files, block)
            continue
        yield _target(hits, unit, files, block, _kernels_of(numbers, results))


def _kernels_of(
    numbers: Iterable[int], results: Sequence[tuple[Unit, UnitReport]]
) -> tuple[KernelFacts, ...]:
    """The kernels of the inputs of some units."""
    inputs = {(results[one][0].path, results[one][0].variant) for one in numbers}
    return tuple(
        kernel.facts
        for unit, report in results
        if (unit.path, unit.variant) in inputs
        for kernel in report.kernels
    )


def _hits(kernel: KernelReport, arch: str, sources: SourceText) -> Iterator[Hit]:
    for case, finding in cases(kernel.facts, sources):
        if traits_of(finding.cause).verdict != "promoted":
            yield Hit(kernel.facts, finding, case, arch)


def _key(hit: Hit) -> _Key:
    found = hit.case.object
    declared = found.declared if found is not None else None
    return hit.finding.cause, hit.finding.object, declared or hit.finding.location


def _target(
    hits: Sequence[Hit],
    unit: Unit,
    files: Files,
    block: int | None,
    every: tuple[KernelFacts, ...],
) -> Target | Untried:
    first = hits[0]
    found = first.case.object
    declared = found.declared if found is not None else None
    place = declared or first.finding.location
    why = None
    if place is None:
        why = Declined("nothing says which line it is")
    elif is_library(place.file):
        why = Declined("it is the code of a library", is_ruled_out=True)
    elif any(_is_handed(hit) for hit in hits):
        grid = "its address is handed to a grid that is launched, which needs global memory"
        why = Declined(grid, is_ruled_out=True)
    path = os.path.abspath(place.file) if place is not None else ""
    syntax = files.syntax(path, place.line) if place is not None and why is None else None
    if why is None and syntax is None:
        why = Declined("its file cannot be read")
        if path.endswith(".py"):
            text = "it stands in no plain string: no f-string, no backslash but in a raw one"
            why = Declined(text)
    if place is None or syntax is None or why is not None:
        return untried(hits, unit, *((why,) if why is not None else ()))
    return Target(
        cause=first.finding.cause,
        name=first.finding.object,
        type=first.finding.type,
        place=first.finding.location,
        declared_at=declared,
        path=path,
        syntax=syntax,
        hits=tuple(hits),
        asked_block=block,
        tree=lambda file: syntax if file == path else files.syntax(file),
        kernels=every,
        defines=unit.options.defines,
    )


def _numba_target(
    hits: Sequence[Hit], unit: Unit, files: Files, block: int | None
) -> NumbaTarget | Untried:
    first = hits[0]
    found = first.case.object
    declared = found.declared if found is not None else None
    text = files.python(unit.path)
    if text is None or unit.program is None:
        return untried(hits, unit, Declined("its file is no UTF-8 without a mark"))
    if declared is None or os.path.abspath(declared.file) != unit.path:
        return untried(
            hits, unit, Declined("of Numba kernels only local arrays of their own are rewritten")
        )
    return NumbaTarget(
        cause=first.finding.cause,
        name=first.finding.object,
        type=first.finding.type,
        place=first.finding.location,
        declared_at=declared,
        path=unit.path,
        text=text,
        kernel=unit.program,
        hits=tuple(hits),
        asked_block=block,
        signatures=unit.options.signatures,
    )


def _is_handed(hit: Hit) -> bool:
    """Whether a child gets an object's address: in shared memory that is as wrong as before."""
    found = hit.case.object
    pointers = (pointer for launch in hit.facts.launches for pointer in launch.handed)
    return found is not None and any(
        (pointer.function, pointer.declared) == (found.function, found.declared)
        for pointer in pointers
    )


def untried(hits: Iterable[Hit], unit: Unit, *declined: Declined) -> Untried:
    """That nothing is tried on findings of one target, and why."""
    first = next(iter(hits))
    return Untried(
        unit.name,
        unit.arch,
        first.facts.demangled,
        first.finding.object,
        first.finding.cause,
        first.finding.location,
        said(declined),
        first.case.object.declared if first.case.object is not None else None,
        declined,
    )


def declined_rewrites(one: Untried) -> Iterator[DeclinedRewrite]:
    """Each rewrite of a finding's cause that has nothing to propose, with its reason.

    A reason that names no rewrite is that of all of them.
    """
    own = one.declared or one.place
    for why in one.declined:
        every = tuple(known.name for known in of_cause(one.cause))
        for name in why.rewrites or every:
            yield DeclinedRewrite(
                one.input,
                one.arch,
                one.kernel,
                one.object,
                one.cause,
                one.place,
                one.declared,
                name,
                why.reason,
                why.line if why.line is not None else own.line if own is not None else None,
                why.is_absent,
            )
