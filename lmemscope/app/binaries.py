"""Read device code images from one binary in a worker process, giving `Reading`s.

A library holds thousands of images, and most of their kernels use no local memory: only the names
and registers of these are kept. Kernels that do, or that were requested by name, are analysed like
those of a cubin.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from lmemscope.app.embedded_ptx import artifacts_of, compiled, without_ptx
from lmemscope.app.readings import Reading, Readings
from lmemscope.app.worker import ours, proposed
from lmemscope.discover.project import Projects
from lmemscope.errors import FormatError, LmemscopeError
from lmemscope.files import digest_of
from lmemscope.formats.cubin import Cubin, architecture, number_of
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.elf import ElfFile
from lmemscope.formats.kernel_names import matches
from lmemscope.lowering.binary import Image, images, ptx_beside_cubins
from lmemscope.lowering.debugging import Debugging
from lmemscope.lowering.embedded_ptx import fitting
from lmemscope.model import NOT_GIVEN, Artifacts, CleanKernel, Share, Unit, UnitReport, Wanted
from lmemscope.pipeline import prepared, report_of

_LARGEST_ASSEMBLED = 4 << 20
"""PTX is assembled to explain all kernels only in binaries of up to this many bytes with up to as
many of PTX, which counts for each cubin: ptxas takes up to 20 seconds for a megabyte."""


def read_binary(unit: Unit, wanted: Wanted, share: Share) -> Readings:
    """Read images of a binary, each separately.

    Args:
        unit: the binary; if it names architectures (separated by blanks), only their images are
            read.
        wanted: what the reports should contain.
        share: which of the images to read.

    Raises:
        LmemscopeError: the file cannot be read at all.
    """
    with ours(unit):
        # First, because the other workers then take more of the images.
        digest = digest_of(unit.path) if share.is_first else None
        return Readings(tuple(_Reader(unit, wanted).readings(share)), digest)


def as_wanted(report: UnitReport, wanted: Wanted) -> UnitReport:
    """The report of a binary's image, without its accesses unless they are wanted."""
    if wanted.accesses:
        return report
    kernels = tuple(replace(one, accesses=NOT_GIVEN) for one in report.kernels)
    return replace(report, kernels=kernels)


class _Reader:
    def __init__(self, unit: Unit, wanted: Wanted) -> None:
        self._unit, self._wanted = unit, wanted
        self._archs = unit.arch.split()
        self._assembles = bool(wanted.kernels) or _is_quickly_assembled(unit)
        self._matching: dict[str, bool] = {}
        self._projects = Projects()

    def readings(self, share: Share) -> Iterator[Reading]:
        for image in images(self._unit, share):
            yield from self._read(image)
            del image  # free it, and its file's bytes, before reading the next

    def _read(self, image: Image) -> Iterator[Reading]:
        entry = image.entry
        if image.unread is not None:
            yield Reading(image.number, image.path, unread=image.unread)
        if entry is not None and image.ptx and entry is image.ptx[0].entry:
            yield from self._read_ptx(image)
        if image.problem is not None:
            yield Reading(image.number, image.path, error=image.problem)
        elif entry is not None and entry.kind == "cubin":
            found = Reading(image.number, image.path)
            try:
                elf = ElfFile(image.data)
                found.arch = architecture(elf)
                if not self._archs or found.arch in self._archs:
                    found.is_read = True
                    self._read_cubin(image, Cubin(elf), found)
            except LmemscopeError as error:
                found.error = error
            yield found

    def _read_ptx(self, image: Image) -> Iterator[Reading]:
        """Assemble a fat binary's PTX if requested; record the architectures that have only PTX."""
        for arch in self._unit.options.compile_ptx:
            if number_of(arch) not in image.cubins:
                found = Reading(image.number, image.path, arch)
                try:
                    self._assemble(image, found)
                except LmemscopeError as error:
                    found.error = error
                yield found
        alone = {ptx.entry.sm: None for ptx in image.ptx if ptx.entry.sm not in image.cubins}
        if not self._unit.options.compile_ptx and alone:
            yield Reading(image.number, image.path, ptx_alone=tuple(alone))

    def _assemble(self, image: Image, found: Reading) -> None:
        ptx = fitting(image, found.arch)
        if ptx is None:
            held = ", ".join(f"compute_{one.entry.sm}" for one in image.ptx)
            raise FormatError("ptx", f"its PTX for {held} does not fit")
        artifacts = compiled(replace(self._unit, arch=found.arch), ptx, self._wanted.cache)
        found.is_read = True
        cubin = Cubin(artifacts.cubin)
        whole = self._sort(cubin, found)
        if whole:
            self._explain(artifacts, cubin, whole, found)

    def _read_cubin(self, image: Image, cubin: Cubin, found: Reading) -> None:
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

    def _sort(self, cubin: Cubin, found: Reading) -> list[str]:
        """Choose the kernels to analyse; record the names and registers of the others."""
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
        self, artifacts: Artifacts, cubin: Cubin, names: Sequence[str], found: Reading
    ) -> None:
        """Analyse some kernels of an image and add them to the reading."""
        never = Debugging(lambda: None, wants_names=False)  # There is no source to recompile.
        known = prepared(artifacts, self._wanted, set(), lambda file, word: ())
        report, _ = report_of(artifacts, self._wanted, known, never, (cubin, names))
        report = proposed(report, artifacts.unit, self._wanted, set(), self._projects)
        found.kernels += as_wanted(report, self._wanted).kernels
        found.gaps.update((gap, None) for gap in report.gaps if gap.kind == "note")
        found.tools.update(dict.fromkeys(report.tools))

    def _is_asked_for(self, name: str) -> bool:
        if name not in self._matching:
            self._matching[name] = matches(self._wanted.kernels, name, demangle(name))
        return self._matching[name]


def _is_quickly_assembled(unit: Unit) -> bool:
    try:
        if os.stat(unit.path).st_size > _LARGEST_ASSEMBLED:
            return False
    except OSError:
        return True  # The error is reported when the file is opened.
    return ptx_beside_cubins(unit) <= _LARGEST_ASSEMBLED
