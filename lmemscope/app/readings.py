"""Merge what workers read from a binary into reports: one per contained file and architecture.

Workers (`lmemscope.app.binaries`) read a share of the images each. They are put back in order here,
so that reports do not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from lmemscope.errors import FormatError, LmemscopeError
from lmemscope.model import (
    CleanKernel,
    Failure,
    Gap,
    InputId,
    KernelReport,
    Tool,
    Unit,
    UnitReport,
    kind_of,
    listed,
)
from lmemscope.sources.jit_packages import instead

_NAMED = 5


class Reading(Struct):
    """What one image of a binary holds.

    Attributes:
        number: its place in the binary, as in `lmemscope.lowering.binary.Image`.
        path: of the file within the input.
        arch: the architecture of its code; empty if it has none or it is unknown.
        is_read: whether its kernels are wanted; False if it is for another architecture.
        kernels, clean, others, gaps, tools: as in `UnitReport`; others and tools as keys.
        error: why it cannot be read, in whole or in part; else None.
        ptx_alone: architectures that have PTX but no code.
        unread: a description of possible contents that are not read; else None.
    """

    number: tuple[int, int]
    path: str
    arch: str = ""
    is_read: bool = False
    kernels: list[KernelReport] = field(default_factory=list)
    clean: list[CleanKernel] = field(default_factory=list)
    others: dict[str, None] = field(default_factory=dict)
    gaps: dict[Gap, None] = field(default_factory=dict)
    tools: dict[Tool, None] = field(default_factory=dict)
    error: LmemscopeError | None = None
    ptx_alone: tuple[int, ...] = ()
    unread: str | None = None


class Readings(Struct, frozen=True):
    """What one worker read from a binary.

    Attributes:
        found: in the binary's order.
        digest: of its bytes; None if another worker computes it.
    """

    found: tuple[Reading, ...]
    digest: str | None


def reports_of(unit: Unit, parts: Sequence[Readings]) -> tuple[UnitReport, ...]:
    """The reports of a binary, one per contained file and architecture, and one per damaged part.

    Args:
        unit: the binary; if it names architectures (separated by blanks), only their images were
            read.
        parts: from all workers that read it.

    Raises:
        FormatError: it holds no cubin although its name says so.
    """
    readings = sorted((one for part in parts for one in part.found), key=lambda one: one.number)
    digest = next((part.digest for part in parts if part.digest is not None), None)
    merged = _Merged(unit)
    for reading in readings:
        merged.add(reading)
    return tuple(replace(report, source_digest=digest) for report in merged.reports())


class _Merged:
    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._archs = unit.arch.split()
        self._held: dict[str, None] = {}
        self._found: dict[tuple[str, str], Reading] = {}
        self._failed: dict[tuple[str, str], UnitReport] = {}
        self._ptx: dict[str, dict[int, None]] = {}
        self._unread: dict[str, str] = {}

    def add(self, reading: Reading) -> None:
        path, arch = reading.path, reading.arch
        if reading.unread is not None:
            self._unread[path] = reading.unread
        if reading.ptx_alone:
            self._ptx.setdefault(path, {}).update(dict.fromkeys(reading.ptx_alone))
        if arch and (reading.is_read or reading.error is None):
            self._held[arch] = None
        if reading.is_read:
            found = self._found.setdefault((path, arch), Reading(reading.number, path, arch))
            found.kernels += reading.kernels
            found.clean += reading.clean
            found.others |= reading.others
            found.gaps |= reading.gaps
            found.tools |= reading.tools
        if reading.error is not None:
            self._fail(path, arch, reading.error)

    def reports(self) -> Iterator[UnitReport]:
        self._note_ptx()
        if not self._held and not self._failed:
            if kind_of(self._unit.path) is not None:
                raise FormatError(
                    "cubin",
                    "the file contains no CUDA machine code, although its name is that of a cubin",
                    hint="a cubin comes from: nvcc -cubin",
                )
            gap = Gap("kernels", "it holds no device code")
            yield _without_kernels(self._unit.name, "", gaps=(gap,))
        for arch in self._archs:
            if self._held and arch not in self._held:
                said = f"it holds no code for {arch}, but for {self._others()}{self._made_of(arch)}"
                gap = Gap("kernels", said, "evidence")
                yield _without_kernels(self._unit.name, arch, gaps=(gap,))
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
            yield _without_kernels(self._unit.name, "", gaps=(self._of_unread(),))

    def _of_unread(self) -> Gap:
        names = [f"{path} ({form})" for path, form in self._unread.items()]
        said = f"members that are not read: {listed(names, _NAMED)}"
        return Gap("unread", f"{said}{instead(self._unread.values())}", "note")

    def _made_of(self, arch: str) -> str:
        """How to compile its PTX for an architecture, if some of it is not of a newer one."""
        from lmemscope.analysis.ranking import arch_order

        fits = any(sm <= arch_order(arch)[0] for sms in self._ptx.values() for sm in sms)
        return f"; --compile-ptx {arch} compiles its PTX" if fits else ""

    def _others(self) -> str:
        # Imported late: most binaries have code for the requested architecture.
        from lmemscope.analysis.ranking import arch_order

        return ", ".join(sorted(self._held, key=arch_order))

    def _name(self, path: str) -> str:
        return str(InputId(self._unit.input, path))

    def _fail(self, path: str, arch: str, error: LmemscopeError) -> None:
        name = self._name(path)
        failure = Failure(error.stage, f"{name}: {error.message}", error.hint)
        self._failed.setdefault((path, arch), _without_kernels(name, arch, failure))

    def _note_ptx(self) -> None:
        """Record the architectures that have PTX but no machine code."""
        for path, sms in self._ptx.items():
            listed = ", ".join(f"compute_{sm}" for sm in sorted(sms))
            beside = [found for (own, _), found in self._found.items() if own == path]
            if beside:
                gap = Gap("ptx", f"PTX for {listed} is not compiled without --compile-ptx", "note")
                beside[-1].gaps[gap] = None
                continue
            hint = "compile it for an architecture: --compile-ptx sm_90"
            self._fail(path, "", FormatError("ptx", f"it holds PTX alone, for {listed}", hint=hint))


def _without_kernels(
    name: str, arch: str, failure: Failure | None = None, gaps: tuple[Gap, ...] = ()
) -> UnitReport:
    return UnitReport(
        input=name,
        frontend="binary",
        arch=arch,
        options=(),
        failure=failure,
        gaps=gaps,
        kernels=(),
    )
