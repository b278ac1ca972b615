"""A worker's half of a scan of binaries: one file → a `UnitReport` for each file and architecture.

A library holds thousands of images, and most of their kernels use no local memory: of these only
names and registers are kept. The others, and kernels that were asked for by name, go through the
same analysis as those of a cubin.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from lmemscope.analysis.ranking import arch_order
from lmemscope.app.embedded_ptx import artifacts_of, compiled, without_ptx
from lmemscope.app.worker import ours
from lmemscope.errors import FormatError, LmemscopeError
from lmemscope.files import digest_of
from lmemscope.formats.cubin import Cubin, architecture, number_of
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.elf import ElfFile
from lmemscope.formats.kernel_names import matches
from lmemscope.lowering.binary import Image, images
from lmemscope.lowering.debugging import Debugging
from lmemscope.lowering.embedded_ptx import fitting
from lmemscope.model import (
    Artifacts,
    CleanKernel,
    Failure,
    Gap,
    InputId,
    KernelReport,
    Tool,
    Unit,
    UnitReport,
    Wanted,
    kind_of,
    listed,
)
from lmemscope.pipeline import report_of

_LARGEST_ASSEMBLED = 4 << 20
"""Bytes of a file whose PTX is assembled for the causes of all kernels. ptxas takes seconds for
those of one cubin, and larger libraries hold thousands."""
_NAMED = 5


@dataclass(slots=True)
class _Found:
    """What is known of one file and architecture so far."""

    kernels: list[KernelReport] = field(default_factory=list)
    clean: list[CleanKernel] = field(default_factory=list)
    others: dict[str, None] = field(default_factory=dict)
    gaps: dict[Gap, None] = field(default_factory=dict)
    tools: dict[Tool, None] = field(default_factory=dict)


def analyse_images(unit: Unit, wanted: Wanted) -> tuple[UnitReport, ...]:
    """The reports of a binary: for each file in it and architecture, and for what is damaged.

    Args:
        unit: the binary; with architectures, separated by blanks, only images for these are read.
        wanted: what reports are to hold.

    Raises:
        LmemscopeError: the file cannot be read at all.
    """
    with ours(unit):
        reports = tuple(_Reader(unit, wanted).reports())
        digest = digest_of(unit.path)
        return tuple(replace(report, source_digest=digest) for report in reports)


class _Reader:
    def __init__(self, unit: Unit, wanted: Wanted) -> None:
        self._unit, self._wanted = unit, wanted
        self._archs = unit.arch.split()
        self._assembles = bool(wanted.kernels) or _size(unit.path) <= _LARGEST_ASSEMBLED
        self._held: dict[str, None] = {}
        self._found: dict[tuple[str, str], _Found] = {}
        self._failed: dict[tuple[str, str], UnitReport] = {}
        self._ptx: dict[str, dict[int, None]] = {}
        self._matching: dict[str, bool] = {}
        self._unread: dict[str, str] = {}

    def reports(self) -> Iterator[UnitReport]:
        for image in images(self._unit):
            self._add(image)
        self._note_ptx()
        if not self._held and not self._failed:
            if kind_of(self._unit.path) is not None:
                raise FormatError(
                    "cubin",
                    "the file holds no CUDA machine code, though it is named as a cubin",
                    hint="a cubin comes from: nvcc -cubin",
                )
            gap = Gap("kernels", "it holds no device code")
            yield UnitReport(
                input=self._unit.name,
                frontend="binary",
                arch="",
                options=(),
                failure=None,
                gaps=(gap,),
                kernels=(),
            )
        for arch in self._archs:
            if self._held and arch not in self._held:
                gap = Gap(
                    "kernels", f"it holds no code for {arch}, but for {self._others()}", "evidence"
                )
                yield UnitReport(
                    input=self._unit.name,
                    frontend="binary",
                    arch=arch,
                    options=(),
                    failure=None,
                    gaps=(gap,),
                    kernels=(),
                )
        for (path, arch), found in self._found.items():
            yield UnitReport(
                input=self._name(path),
                frontend="binary",
                arch=arch,
                options=(),
                failure=None,
                gaps=tuple(found.gaps),
                kernels=tuple(sorted(found.kernels, key=lambda one: one.facts.name)),
                tools=tuple(found.tools),
                others=tuple(found.others),
                clean=tuple(found.clean),
            )
        yield from self._failed.values()
        if self._unread:
            yield UnitReport(
                input=self._unit.name,
                frontend="binary",
                arch="",
                options=(),
                failure=None,
                gaps=(self._of_unread(),),
                kernels=(),
            )

    def _of_unread(self) -> Gap:
        names = [f"{path} ({form})" for path, form in self._unread.items()]
        return Gap("unread", f"members that are not read: {listed(names, _NAMED)}", "note")

    def _others(self) -> str:
        return ", ".join(sorted(self._held, key=arch_order))

    def _name(self, path: str) -> str:
        return str(InputId(self._unit.input, path))

    def _add(self, image: Image) -> None:
        entry = image.entry
        if image.unread is not None:
            self._unread[image.path] = image.unread
        if entry is not None and image.ptx and entry is image.ptx[0].entry:
            self._add_ptx(image)
        if image.problem is not None:
            self._fail(image.path, "", image.problem)
        elif entry is not None and entry.kind == "cubin":
            arch = ""
            try:
                elf = ElfFile(image.data)
                arch = architecture(elf)
                self._held[arch] = None
                if not self._archs or arch in self._archs:
                    found = self._found.setdefault((image.path, arch), _Found())
                    self._read(image, Cubin(elf), found)
            except LmemscopeError as error:
                self._fail(image.path, arch, error)

    def _add_ptx(self, image: Image) -> None:
        """Assemble a fat binary's PTX for what was asked for; note for what there is PTX alone."""
        for arch in self._unit.options.compile_ptx:
            if number_of(arch) not in image.cubins:
                try:
                    self._assemble(image, arch)
                except LmemscopeError as error:
                    self._fail(image.path, arch, error)
        alone = {ptx.entry.sm: None for ptx in image.ptx if ptx.entry.sm not in image.cubins}
        if not self._unit.options.compile_ptx and alone:
            self._ptx.setdefault(image.path, {}).update(alone)

    def _assemble(self, image: Image, arch: str) -> None:
        ptx = fitting(image, arch)
        if ptx is None:
            held = ", ".join(f"compute_{one.entry.sm}" for one in image.ptx)
            raise FormatError("ptx", f"its PTX for {held} does not fit")
        artifacts = compiled(replace(self._unit, arch=arch), ptx, self._wanted.cache)
        self._held[arch] = None
        found = self._found.setdefault((image.path, arch), _Found())
        cubin = Cubin(artifacts.cubin)
        whole = self._sort(cubin, found)
        if whole:
            self._explain(artifacts, cubin, whole, found)

    def _read(self, image: Image, cubin: Cubin, found: _Found) -> None:
        whole = self._sort(cubin, found)
        if whole:
            unit = replace(self._unit, arch=cubin.arch)
            found_ptx = artifacts_of(
                unit, image, cubin, whole, self._wanted, assembles=self._assembles
            )
            for artifacts, names in found_ptx:
                try:
                    self._explain(artifacts, cubin, names, found)
                except FormatError as error:
                    if artifacts.assembled is None:
                        raise
                    self._explain(without_ptx(artifacts, error), cubin, names, found)

    def _sort(self, cubin: Cubin, found: _Found) -> list[str]:
        """The kernels to analyse; of the others, note what is told of them."""
        whole: list[str] = []
        for name, record in cubin.records.items():
            if self._wanted.kernels and not self._is_asked_for(name):
                found.others[short_name(demangle(name))] = None
            elif self._wanted.kernels or not cubin.is_clean(record):
                whole.append(name)
            else:
                found.clean.append(CleanKernel(name, record.kind, record.registers))
        return whole

    def _explain(
        self, artifacts: Artifacts, cubin: Cubin, names: Sequence[str], found: _Found
    ) -> None:
        """Add the reports of some of an image's kernels."""
        never = Debugging(lambda: None, wants_names=False)  # There is no source to compile.
        decoded = cubin, names
        report, _ = report_of(artifacts, self._wanted, set(), lambda file, word: (), never, decoded)
        found.kernels += report.kernels
        found.gaps.update((gap, None) for gap in report.gaps if gap.kind == "note")
        found.tools.update(dict.fromkeys(report.tools))

    def _is_asked_for(self, name: str) -> bool:
        if name not in self._matching:
            self._matching[name] = matches(self._wanted.kernels, name, demangle(name))
        return self._matching[name]

    def _fail(self, path: str, arch: str, error: LmemscopeError) -> None:
        self._failed.setdefault((path, arch), self._failure(path, arch, error))

    def _failure(self, path: str, arch: str, error: LmemscopeError) -> UnitReport:
        name = self._name(path)
        failure = Failure(error.stage, f"{name}: {error.message}", error.hint)
        return UnitReport(
            input=name,
            frontend="binary",
            arch=arch,
            options=(),
            failure=failure,
            gaps=(),
            kernels=(),
        )

    def _note_ptx(self) -> None:
        """Say for which architectures there is PTX and no machine code."""
        for path, sms in self._ptx.items():
            listed = ", ".join(f"compute_{sm}" for sm in sorted(sms))
            beside = [found for (own, _), found in self._found.items() if own == path]
            if beside:
                gap = Gap("ptx", f"PTX for {listed} is not compiled without --compile-ptx", "note")
                beside[-1].gaps[gap] = None
                continue
            hint = "compile it for an architecture: --compile-ptx sm_90"
            error = FormatError("ptx", f"it holds PTX alone, for {listed}", hint=hint)
            self._fail(path, "", error)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0  # Opening it says why.
