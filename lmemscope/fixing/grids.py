"""The launches that kernels are modelled with: those of targets, and of every other kernel."""

from __future__ import annotations

from dataclasses import replace

from lmemscope.advising.targets import Files
from lmemscope.analysis.cost import DEFAULT_BLOCK, Grid, cost_of
from lmemscope.model import KernelFacts, KernelReport, SourceText, Unit
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.numba_arrays import NumbaTarget
from lmemscope.rules.launched import Block, block_of_kernel, blocks_of_kernel
from lmemscope.sources.lines import from_disk


class Grids:
    """A grid for each kernel, looked for once.

    Args:
        files: that targets are in.
        asked: threads of a block, where the user says it.
    """

    def __init__(self, files: Files, asked: int | None) -> None:
        self._files, self._asked = files, asked
        self._sources: dict[Unit, SourceText] = {}
        self._targets: dict[str, Grid] = {}
        self._others: dict[tuple[Unit, str], Grid] = {}

    def note(self, target: Target | NumbaTarget) -> None:
        """Take the grid of a target: its kernels are modelled with that."""
        for hit in target.hits:
            self._targets[hit.facts.name] = grid_of(target)

    def of(self, unit: Unit, facts: KernelFacts) -> Grid:
        """A kernel's grid; its block is the largest that is known for it."""
        known = self._targets.get(facts.name)
        if known is not None:
            return known
        key = unit, facts.name
        if key not in self._others:
            self._others[key] = self._looked_up(unit, facts)
        return self._others[key]

    def speed(self, unit: Unit, was: KernelReport, made: KernelReport) -> float | None:
        """How many times as fast a kernel is with a rewriting; None where that is not known."""
        if was.work == made.work and _taken(was.facts) == _taken(made.facts):
            return 1.0
        before, after = self.cost(unit, was), self.cost(unit, made, was.facts)
        return before / after if before and after else None

    def cost(
        self, unit: Unit, kernel: KernelReport, named: KernelFacts | None = None
    ) -> float | None:
        """A kernel's modelled cost, or None.

        Args:
            unit: of the original.
            kernel: with or without a rewriting.
            named: the original kernel.
        """
        made = cost_of(kernel, unit.arch, self.of(unit, named or kernel.facts))
        return made.total if made is not None else None

    def _looked_up(self, unit: Unit, facts: KernelFacts) -> Grid:
        if unit not in self._sources:
            mentioning = self._files.projects.mentioning
            self._sources[unit] = from_disk(None, unit.input, unit.options, mentioning)
        found = block_of_kernel(facts, self._sources[unit])
        asked = self._asked
        if asked is not None and (found is None or asked > found.threads):
            return Grid(asked, source="option")
        if found is None:
            return Grid(DEFAULT_BLOCK, blocks_of_kernel(facts, self._sources[unit]))
        grid = _of_block(found)
        return grid if asked is None else replace(grid, blocks=None)


def grid_of(target: Target | NumbaTarget) -> Grid:
    """The grid that a target's kernels are modelled with."""
    block = target.block
    if block is not None:
        return _of_block(block)
    if not isinstance(target, Target):
        return Grid(DEFAULT_BLOCK)
    grids = [blocks_of_kernel(hit.facts, hit.case.sources) for hit in target.hits]
    known = [one for one in grids if one is not None]
    return Grid(DEFAULT_BLOCK, max(known) if len(known) == len(grids) else None)


def _of_block(block: Block) -> Grid:
    return Grid(block.threads, block.blocks, block.source, block.dynamic_shared or 0)


def _taken(facts: KernelFacts) -> tuple[int | None, int | None]:
    """What a kernel takes of a multiprocessor: registers and shared memory."""
    return facts.registers, facts.ptxas.shared if facts.ptxas is not None else None
