"""A worker's half of a scan of binaries: one file → a `UnitReport` for each file and architecture.

A library holds thousands of images, and most of their kernels use no local memory: of these only
names and registers are kept. The others, and kernels that were asked for by name, go through the
same analysis as those of a cubin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from lmemscope.analysis.ranking import arch_order
from lmemscope.app.worker import ours
from lmemscope.errors import FormatError, LmemscopeError
from lmemscope.files import digest_of
from lmemscope.formats.cubin import Cubin, CubinFunction
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.kernel_names import matches
from lmemscope.lowering.binary import Image, arch_of, images
from lmemscope.lowering.debugging import Debugging
from lmemscope.model import (
    Artifacts,
    CleanKernel,
    Failure,
    Gap,
    InputId,
    KernelReport,
    Unit,
    UnitReport,
    Wanted,
    kind_of,
)
from lmemscope.pipeline import report_of

_MACHINE_CODE = Gap("ptx", "only machine code is there: causes as far as it shows them", "note")


@dataclass(slots=True)
class _Found:
    """What is known of one file and architecture so far."""

    kernels: list[KernelReport] = field(default_factory=list)
    clean: list[CleanKernel] = field(default_factory=list)
    others: dict[str, None] = field(default_factory=dict)
    gaps: dict[Gap, None] = field(default_factory=dict)


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
        self._held: dict[str, None] = {}
        self._found: dict[tuple[str, str], _Found] = {}
        self._failed: dict[tuple[str, str], UnitReport] = {}
        self._ptx: dict[str, dict[int, None]] = {}
        self._matching: dict[str, bool] = {}

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
            yield UnitReport(self._unit.name, "binary", "", (), None, (gap,))
        for arch in self._archs:
            if self._held and arch not in self._held:
                gap = Gap(
                    "kernels", f"it holds no code for {arch}, but for {self._others()}", "evidence"
                )
                yield UnitReport(self._unit.name, "binary", arch, (), None, (gap,))
        for (path, arch), found in self._found.items():
            yield UnitReport(
                input=self._name(path),
                frontend="binary",
                arch=arch,
                options=(),
                failure=None,
                gaps=tuple(found.gaps),
                kernels=tuple(sorted(found.kernels, key=lambda one: one.facts.name)),
                others=tuple(found.others),
                clean=tuple(found.clean),
            )
        yield from self._failed.values()

    def _others(self) -> str:
        return ", ".join(sorted(self._held, key=arch_order))

    def _name(self, path: str) -> str:
        return str(InputId(self._unit.input, path))

    def _add(self, image: Image) -> None:
        entry = image.entry
        if entry is not None and entry.kind == "ptx":
            self._ptx.setdefault(image.path, {})[entry.sm] = None
        if image.problem is not None:
            self._fail(image.path, "", image.problem)
        elif entry is not None and entry.kind == "cubin":
            arch = ""
            try:
                arch = arch_of(image.data)
                self._held[arch] = None
                if not self._archs or arch in self._archs:
                    self._read(image, arch, self._found.setdefault((image.path, arch), _Found()))
            except LmemscopeError as error:
                self._fail(image.path, arch, error)

    def _read(self, image: Image, arch: str, found: _Found) -> None:
        data = bytes(image.data)
        cubin = Cubin(data)
        whole: list[str] = []
        for function in cubin.functions:
            if self._wanted.kernels and not self._is_asked_for(function.name):
                found.others[short_name(demangle(function.name))] = None
            elif self._wanted.kernels or _uses_local_memory(function):
                whole.append(function.name)
            else:
                found.clean.append(CleanKernel(function.name, function.kind, function.registers))
        if not whole:
            return
        report = self._analysed(data, arch, whole)
        found.kernels += report.kernels
        found.gaps.update((gap, None) for gap in report.gaps if gap.kind == "note")

    def _analysed(self, data: bytes, arch: str, names: Sequence[str]) -> UnitReport:
        """The report of one image, with some of its kernels."""
        unit = replace(self._unit, arch=arch)
        artifacts = Artifacts(unit, "binary", (), None, None, data, (), (_MACHINE_CODE,))
        wanted = replace(self._wanted, kernels=tuple(names))
        never = Debugging(lambda: None, wants_names=False)  # There is no source to compile.
        report, _ = report_of(artifacts, wanted, set(), lambda file, word: (), never)
        return report

    def _is_asked_for(self, name: str) -> bool:
        if name not in self._matching:
            self._matching[name] = matches(self._wanted.kernels, name, demangle(name))
        return self._matching[name]

    def _fail(self, path: str, arch: str, error: LmemscopeError) -> None:
        self._failed.setdefault((path, arch), self._failure(path, arch, error))

    def _failure(self, path: str, arch: str, error: LmemscopeError) -> UnitReport:
        name = self._name(path)
        failure = Failure(error.stage, f"{name}: {error.message}", error.hint)
        return UnitReport(name, "binary", arch, (), failure)

    def _note_ptx(self) -> None:
        """Say which PTX is there beside machine code, or in its place."""
        for path, sms in self._ptx.items():
            listed = ", ".join(f"compute_{sm}" for sm in sorted(sms))
            beside = [found for (own, _), found in self._found.items() if own == path]
            if beside:
                gap = Gap("ptx", f"PTX for {listed} is not compiled here", "note")
                beside[-1].gaps[gap] = None
                continue
            error = FormatError("ptx", f"it holds PTX alone, for {listed}")
            self._fail(path, "", error)


def _uses_local_memory(function: CubinFunction) -> bool:
    """Whether there is anything to explain; what calls something deep is no clean kernel either."""
    return bool(
        function.stack_frame
        or function.min_stack
        or function.sites
        or function.shared_spills
        or not function.stack_known
        or any(callee.sites for callee in function.callees)
    )
