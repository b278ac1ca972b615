"""Run ``tune`` in a worker: find a unit's kernels, and assemble one kernel in several ways."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.analysis.block_occupancy import most_of, shared_of
from lmemscope.analysis.cost import DEFAULT_BLOCK, Grid, cost_of
from lmemscope.analysis.explanation import explain_facts
from lmemscope.analysis.facts import gather_facts
from lmemscope.analysis.frontier import has_exploded
from lmemscope.analysis.layers import check_templates, parse
from lmemscope.analysis.occupancy import best_block
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.work import PtxWork
from lmemscope.app.worker import lower_unit, ours
from lmemscope.discover.project import Projects
from lmemscope.errors import CompileError, LmemscopeError
from lmemscope.fixing.kernel_figures import figures
from lmemscope.formats.cubin import Cubin
from lmemscope.formats.demangle import demangle
from lmemscope.formats.kernel_names import select
from lmemscope.formats.ptx_cut import PtxParts
from lmemscope.lowering.embedded_ptx import assembled
from lmemscope.model import (
    Artifacts,
    BlockSource,
    KernelFacts,
    KernelReport,
    SourceLocation,
    TunePoint,
    Unit,
)
from lmemscope.rules.launched import block_of_kernel
from lmemscope.rules.verdict import judge
from lmemscope.sources.lines import from_disk
from lmemscope.tools.ptxas import PtxasResult
from lmemscope.tools.toolchain import Toolchain
from lmemscope.tuning.settings import (
    NATURAL,
    OWN,
    PRAGMA,
    Asked,
    Directives,
    Setting,
    bounds_for,
    caps_below,
    undone_in_text,
    words_for,
)


class Surveyed(Struct, frozen=True):
    """A kernel to assemble.

    Attributes:
        unit: the unit that contains it.
        name: mangled.
        demangled: as written in C++.
        directives: in its PTX.
        ptx: of the kernel and the functions it reaches, with unchanged line numbers.
        by_nvcc: whether nvcc's toolchain assembles it.
        natural: the result of NVRTC's ptxas without a limit, if that is the same release and the
            kernel is the whole unit; else None.
    """

    unit: Unit
    name: str
    demangled: str
    directives: Directives
    ptx: bytes
    by_nvcc: bool
    natural: PtxasResult | None = None

    @property
    def is_limited(self) -> bool:
        """Whether the program limits its registers."""
        return self.directives.limits or self.unit.options.maxrregcount is not None


class Survey(Struct, frozen=True):
    """A unit's requested kernels, and the short names of the others."""

    kernels: tuple[Surveyed, ...]
    others: tuple[str, ...]


class Swept(Struct, frozen=True):
    """A kernel's points.

    Attributes:
        points: by setting: the program's own first, then by decreasing registers.
        refused: ptxas's messages about settings that it does not assemble.
        block_from: the origin of the block size.
        block: threads per block; None if each point has its own best block size.
        location: of the kernel.
        dynamic_shared: whether it uses dynamic shared memory whose size no visible launch gives;
            None if unknown.
    """

    points: tuple[tuple[Setting, TunePoint], ...]
    refused: tuple[tuple[Setting, str], ...]
    block_from: BlockSource
    block: int | None
    location: SourceLocation | None
    dynamic_shared: bool | None


def survey(unit: Unit, globs: tuple[str, ...], cache: str | None) -> Survey:
    """Compile a unit to PTX and find its kernels.

    Raises:
        LmemscopeError: it cannot be compiled, or there is no PTX.
    """
    artifacts = lower_unit(unit, cache)
    with ours(unit):
        cubin = Cubin(artifacts.cubin)
        check_templates(artifacts, cubin, [])
        if artifacts.ptx is None:
            raise LmemscopeError(
                "tune", f"{unit.input} has no PTX to assemble", hint="name the source or its .ptx"
            )
        parts = PtxParts(artifacts.ptx.rstrip(b"\0"))
        headers = parts.kernels
        names, others = select(sorted(headers), globs)
        found = []
        for name in names:
            found.append(
                Surveyed(
                    unit=unit,
                    name=name,
                    demangled=demangle(name),
                    directives=Directives.of(headers[name]),
                    ptx=parts.cut([name]),
                    by_nvcc=artifacts.frontend == "nvcc",
                )
            )
        if len(parts.names) == len(found) == 1 and not found[0].is_limited:
            found = [replace(found[0], natural=_natural(artifacts))]
        return Survey(tuple(found), others)


def _natural(artifacts: Artifacts) -> PtxasResult | None:
    """The result of NVRTC's ptxas for a unit; None if the standalone ptxas is another release."""
    tool = next((one for one in artifacts.tools if one.name == "nvrtc"), None)
    ptxas = Toolchain(artifacts.unit.toolkit).tool("ptxas")
    is_same = tool is not None and (ptxas.version or "").startswith(f"{tool.version}.")
    if tool is None or not is_same or artifacts.ptxas_log is None:
        return None
    return PtxasResult(artifacts.cubin, artifacts.ptxas_log, tool)


def sweep(kernel: Surveyed, asked: Asked, at_once: int, cache: str | None) -> Swept:
    """Assemble a kernel in several ways, by decreasing registers, until spills explode.

    Args:
        kernel: the kernel.
        asked: what to vary, and for which block size.
        at_once: number of ptxas processes to run in parallel.
        cache: directory of stored outputs, or None.

    Raises:
        LmemscopeError: ptxas rejects the unmodified kernel.
    """
    with ours(kernel.unit):
        return _Sweep(kernel, asked, at_once, cache).run()


class _Sweep:
    """One kernel's PTX, parsed once, and its machine code, parsed for each setting."""

    def __init__(self, kernel: Surveyed, asked: Asked, at_once: int, cache: str | None) -> None:
        self._kernel, self._cache = kernel, cache
        self._asked, self._at_once = asked, at_once
        toolchain = Toolchain(kernel.unit.toolkit)
        self._toolchain = toolchain.of_nvcc() if kernel.by_nvcc else toolchain
        self._points: dict[Setting, TunePoint] = {}
        self._refused: dict[Setting, str] = {}
        self._flow: ModuleFlow | None = None
        self._work: PtxWork | None = None
        self._grid: Grid | None = None
        self._location: SourceLocation | None = None
        self._dynamic_shared: bool | None = None
        self._sources = from_disk(
            None, kernel.unit.input, kernel.unit.options, Projects().mentioning
        )

    def run(self) -> Swept:
        """The points, up to the first at which spills explode."""
        self._take([NATURAL, OWN] if self._kernel.is_limited else [NATURAL])
        self._take(self._varied())
        if self._asked.smem_spilling:
            spilling = [one for one, point in self._points.items() if point.spills]
            self._take([replace(one, smem_spilling=True) for one in spilling if not one.is_own])
        grid = self._grid
        return Swept(
            tuple(self._points.items()),
            tuple(self._refused.items()),
            grid.source if grid is not None else "best",
            grid.threads if grid is not None else None,
            self._location,
            self._dynamic_shared,
        )

    def _varied(self) -> Iterable[Setting]:
        if not self._asked.launch_bounds:
            return caps_below(self._points[NATURAL].registers or 0)
        if self._grid is None:
            return ()
        return bounds_for(self._kernel.unit.arch, self._grid.threads)

    def _take(self, settings: Iterable[Setting]) -> None:
        """Compute the points of settings, up to the first at which spills explode."""
        with contextlib.closing(self._assembled(settings)) as results:
            for setting, result in results:
                try:
                    point = self._point(setting, result.result())
                except CompileError as error:
                    if setting in (NATURAL, OWN):
                        raise
                    self._refused[setting] = error.message
                    return  # lower caps do not fit either
                self._points[setting] = point
                if has_exploded(point) and setting.cap is not None:
                    return

    def _assembled(
        self, settings: Iterable[Setting]
    ) -> Generator[tuple[Setting, Future[PtxasResult]]]:
        """ptxas's result for each setting; some are assembled ahead."""
        with ThreadPoolExecutor(self._at_once) as pool:
            ahead: deque[tuple[Setting, Future[PtxasResult]]] = deque()
            for setting in settings:
                ahead.append((setting, pool.submit(self._assemble, setting)))
                if len(ahead) >= self._at_once:
                    yield ahead.popleft()
            yield from ahead

    def _text(self, setting: Setting) -> bytes:
        """The PTX to assemble, with unchanged line numbers."""
        kernel = self._kernel
        text = kernel.ptx
        if setting.smem_spilling:
            text = PtxParts(text).with_first(kernel.name, PRAGMA)
        undone = undone_in_text(setting, kernel.directives)
        return PtxParts(text).without(kernel.name, undone) if undone else text

    def _assemble(self, setting: Setting) -> PtxasResult:
        if setting == NATURAL and self._kernel.natural is not None:
            return self._kernel.natural
        unit = self._kernel.unit
        words = words_for(setting, unit.arch, unit.options, self._kernel.directives)
        return assembled(unit, self._text(setting), words, self._cache, toolchain=self._toolchain)

    def _point(self, setting: Setting, result: PtxasResult) -> TunePoint:
        """The point for ptxas's result."""
        kernel, unit, text = self._kernel, self._kernel.unit, self._text(setting)
        artifacts = Artifacts(unit, "ptx", (), text, result.log, result.cubin, (result.tool,))
        layers = parse(artifacts, os.getcwd(), self._flow)
        self._flow = layers.flow
        plain = gather_facts(layers, [kernel.name])
        (facts,) = explain_facts(layers, plain, None, self._sources)
        if self._work is None:
            self._location = facts.location
            self._grid = grid = self._block(facts)
            if facts.shared_variables is not None:
                is_counted = grid is not None and grid.shared > 0
                is_dynamic = any(one.size is None for one in facts.shared_variables)
                self._dynamic_shared = is_dynamic and not is_counted
            self._work = PtxWork.of(layers, facts)
        return self._measured(setting, facts)

    def _measured(self, setting: Setting, facts: KernelFacts) -> TunePoint:
        grid = self._grid_of(setting, facts)
        arch = self._kernel.unit.arch
        shown = figures(facts, arch, grid)
        work = self._work.with_accesses(facts) if self._work is not None else None
        cost = cost_of(KernelReport.of(facts, judge(facts), work=work), arch, grid)
        return TunePoint(
            cap=setting.cap,
            min_blocks=setting.min_blocks,
            smem_spilling=setting.smem_spilling,
            registers=shown.registers,
            spill_stores=shown.spill_stores,
            spill_loads=shown.spill_loads,
            stack_frame=shown.stack_frame,
            shared=shown.shared,
            code_bytes=shown.code_bytes,
            occupancy=shown.occupancy,
            block=shown.block,
            limited_by=shown.limited_by,
            cost=round(cost.total, 2) if cost is not None else None,
            fits=cost.fits if cost is not None else None,
        )

    def _block(self, facts: KernelFacts) -> Grid | None:
        """The block size for all points; None if each point has its own best one."""
        if self._asked.block is not None:
            return Grid(self._asked.block, source="option")
        with contextlib.suppress(OSError):
            found = block_of_kernel(facts, self._sources)
            if found is not None:
                shared = found.dynamic_shared or 0
                return Grid(found.threads, found.blocks, found.source, shared)
        return Grid(DEFAULT_BLOCK) if self._asked.launch_bounds else None

    def _grid_of(self, setting: Setting, facts: KernelFacts) -> Grid:
        if setting.threads is not None:
            return Grid(setting.threads, source=self._grid.source if self._grid else "default")
        if self._grid is not None:
            return self._grid
        most = most_of(facts)
        block = best_block(
            self._kernel.unit.arch,
            facts.registers or 0,
            shared_of(facts),
            most,
            facts.barriers or 0,
        )
        return Grid(block or most, source="best")
