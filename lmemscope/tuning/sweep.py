"""A worker's half of ``tune``: kernels of a unit, and one kernel assembled in several ways."""

from __future__ import annotations

import contextlib
import os

from msgspec import Struct

from lmemscope.analysis.block_occupancy import most_of, shared_of
from lmemscope.analysis.cost import Grid, cost_of
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
from lmemscope.tools.toolchain import Toolchain
from lmemscope.tuning.settings import (
    NATURAL,
    OWN,
    PRAGMA,
    Directives,
    Setting,
    undone_in_text,
    words_for,
)


class Surveyed(Struct, frozen=True):
    """A kernel that is to be assembled.

    Attributes:
        unit: that it is in.
        name: mangled.
        demangled: as C++ writes it.
        registers: as its program compiles it, or None.
        directives: that its PTX has.
        ptx: of the kernel and of what it reaches; lines are where they were.
        by_nvcc: whether nvcc's toolchain assembles it.
    """

    unit: Unit
    name: str
    demangled: str
    registers: int | None
    directives: Directives
    ptx: bytes
    by_nvcc: bool


class Survey(Struct, frozen=True):
    """The kernels of a unit that were asked for, and the short names of the others."""

    kernels: tuple[Surveyed, ...]
    others: tuple[str, ...]


class Swept(Struct, frozen=True):
    """What came of some settings.

    Attributes:
        points: by setting; those that ptxas takes for another are left out.
        refused: what ptxas says of those that it does not assemble.
        block_from: what says the block.
        block: threads of it; None where each point has its best one.
        location: of the kernel.
        dynamic_shared: whether the kernel uses shared memory whose size its launch gives; None
            where that is not known.
    """

    points: tuple[tuple[Setting, TunePoint], ...]
    refused: tuple[tuple[Setting, str], ...]
    block_from: BlockSource
    block: int | None
    location: SourceLocation | None
    dynamic_shared: bool | None


def survey(unit: Unit, globs: tuple[str, ...], cache: str | None) -> Survey:
    """Compile a unit to PTX, and find its kernels.

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
            record = cubin.records.get(name)
            found.append(
                Surveyed(
                    unit=unit,
                    name=name,
                    demangled=demangle(name),
                    registers=record.registers if record is not None else None,
                    directives=Directives.of(headers[name]),
                    ptx=parts.cut([name]),
                    by_nvcc=artifacts.frontend == "nvcc",
                )
            )
        return Survey(tuple(found), others)


def sweep(
    kernel: Surveyed,
    settings: tuple[Setting, ...],
    asked: int | None,
    otherwise: int | None,
    cache: str | None,
) -> Swept:
    """Assemble a kernel in several ways, the most registers first, until spills explode.

    Args:
        kernel: what.
        settings: the ways.
        asked: threads of a block that the user says, or None.
        otherwise: threads of a block where nothing says them; None for each point's best block.
        cache: directory where outputs are kept, or None.

    Raises:
        LmemscopeError: ptxas refuses the kernel as it is.
    """
    with ours(kernel.unit):
        return _Sweep(kernel, asked, otherwise, cache).run(settings)


class _Sweep:
    """One kernel's PTX, read once, and its machine code, read for each setting."""

    def __init__(
        self, kernel: Surveyed, asked: int | None, otherwise: int | None, cache: str | None
    ) -> None:
        self._kernel, self._cache = kernel, cache
        self._asked, self._otherwise = asked, otherwise
        toolchain = Toolchain(kernel.unit.toolkit)
        self._toolchain = toolchain.of_nvcc() if kernel.by_nvcc else toolchain
        self._flow: ModuleFlow | None = None
        self._work: PtxWork | None = None
        self._grid: Grid | None = None
        self._location: SourceLocation | None = None
        self._dynamic_shared: bool | None = None
        self._sources = from_disk(
            None, kernel.unit.input, kernel.unit.options, Projects().mentioning
        )

    def run(self, settings: tuple[Setting, ...]) -> Swept:
        """The points, up to the first at which spills explode."""
        points: list[tuple[Setting, TunePoint]] = []
        refused: list[tuple[Setting, str]] = []
        if settings[:1] != (NATURAL,):
            # What the cost takes from the PTX is then the same, whoever assembles which settings.
            with contextlib.suppress(CompileError):
                self._point(NATURAL)
        for setting in settings:
            try:
                point = self._point(setting)
            except CompileError as error:
                if setting in (NATURAL, OWN):
                    raise
                refused.append((setting, error.message))
                point = None
            if point is None:
                break  # It has no room for a lower cap either.
            points.append((setting, point))
            if has_exploded(point) and setting.cap is not None:
                break
        grid = self._grid
        return Swept(
            tuple(points),
            tuple(refused),
            grid.source if grid is not None else "best",
            grid.threads if grid is not None else None,
            self._location,
            self._dynamic_shared,
        )

    def _point(self, setting: Setting) -> TunePoint | None:
        """What ptxas makes of the kernel; None where it raises the cap to its lower bound."""
        kernel, unit = self._kernel, self._kernel.unit
        text = kernel.ptx
        if setting.smem_spilling:
            text = PtxParts(text).with_first(kernel.name, PRAGMA)
        undone = undone_in_text(setting, kernel.directives)
        if undone:
            text = PtxParts(text).without(kernel.name, undone)
        words = words_for(setting, unit.arch, unit.options, kernel.directives)
        result = assembled(unit, text, words, self._cache, toolchain=self._toolchain)
        artifacts = Artifacts(unit, "ptx", words, text, result.log, result.cubin, (result.tool,))
        layers = parse(artifacts, os.getcwd(), self._flow)
        is_raised = layers.log is not None and layers.log.cap_adjusted is not None
        if is_raised and setting.cap is not None:
            return None
        self._flow = layers.flow
        plain = gather_facts(layers, [kernel.name])
        (facts,) = explain_facts(layers, plain, None, self._sources)
        if self._work is None:
            self._location = facts.location
            if facts.shared_variables is not None:
                self._dynamic_shared = any(one.size is None for one in facts.shared_variables)
            self._grid = self._block(facts)
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
        """The block that all points are of; None where each has its best one."""
        if self._asked is not None:
            return Grid(self._asked, source="option")
        with contextlib.suppress(OSError):
            found = block_of_kernel(facts, self._sources)
            if found is not None:
                return Grid(found.threads, found.blocks, found.source)
        return Grid(self._otherwise) if self._otherwise is not None else None

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
