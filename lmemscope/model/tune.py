"""Registers against spills against occupancy: a kernel assembled under one register cap each."""

from __future__ import annotations

from msgspec import Struct

from lmemscope.model.fix import FailedInput
from lmemscope.model.occupancy import BlockSource, Limiter
from lmemscope.model.request import SourceLocation


class TunePoint(Struct, frozen=True, kw_only=True):
    """What ptxas makes of a kernel under one cap. Sizes are bytes per thread, None is not known.

    Attributes:
        cap: ``-maxrregcount``, or the registers that ``min_blocks`` leaves; None without a cap.
        min_blocks: blocks per multiprocessor that were asked for, with ``--launch-bounds``.
        smem_spilling: whether registers are spilled to shared memory first.
        registers: per thread.
        spill_stores, spill_loads: bytes at sites, those of called functions included.
        stack_frame: of the kernel and of the functions in its section.
        shared: static shared memory in bytes per block.
        code_bytes: of machine code.
        occupancy: warps that a multiprocessor holds, of those that it could.
        block: threads of a block that this is for.
        limited_by: what keeps one more block from being resident.
        cost: modelled cycles of a multiprocessor per warp (docs/fix.md).
        fits: whether the frames of all resident threads fit the L1 cache, by the model.
        is_pareto: whether no other point has fewer spills and as much occupancy, or more of it and
            no more spills.
        is_knee: whether it is the one to take.
    """

    cap: int | None
    min_blocks: int | None = None
    smem_spilling: bool = False
    registers: int | None
    spill_stores: int | None
    spill_loads: int | None
    stack_frame: int | None
    shared: int | None
    code_bytes: int | None
    occupancy: float | None
    block: int | None
    limited_by: tuple[Limiter, ...]
    cost: float | None
    fits: bool | None
    is_pareto: bool = False
    is_knee: bool = False

    @property
    def spills(self) -> int | None:
        """Bytes of spill stores and loads together."""
        if self.spill_stores is None or self.spill_loads is None:
            return None
        return self.spill_stores + self.spill_loads


class TunedKernel(Struct, frozen=True, kw_only=True):
    """A kernel's frontier.

    Attributes:
        input, arch: as in `Unit`.
        name: mangled.
        demangled: as C++ writes it.
        location: of its definition, or None.
        natural: registers without any cap.
        knee: registers to cap it at; ``natural`` where no cap is better, None where the model has
            no cost for it.
        reason: why, in a sentence.
        block_from: what says the threads of the points' blocks.
        dynamic_shared: whether it uses shared memory whose size no launch in sight gives, which
            occupancy and cost do not count; None where that is not known.
        overrides: directives of the kernel that limit its registers, undone for these points.
        own: the kernel as its program compiles it, where that limits its registers; else None.
        points: the natural one first, then by falling registers.
    """

    input: str
    arch: str
    name: str
    demangled: str
    location: SourceLocation | None
    natural: int
    knee: int | None
    reason: str
    block_from: BlockSource
    dynamic_shared: bool | None = None
    overrides: tuple[str, ...]
    own: TunePoint | None
    points: tuple[TunePoint, ...]

    @property
    def best(self) -> TunePoint | None:
        """The point to take, or None."""
        return next((one for one in self.points if one.is_knee), None)


class TuneReport(Struct, frozen=True, tag_field="schema", tag="lmemscope.tune/1"):
    """What ``lmemscope tune`` found.

    Attributes:
        schema: of the document.
        version: of lmemscope.
        kernels: those that spill most as they are compiled first.
        failures: inputs that could not be analysed.
        default_arch: why an architecture was chosen, when none was asked for.
        notes: what was left out of the inputs, and caps that ptxas refuses.
    """

    version: str
    kernels: tuple[TunedKernel, ...]
    failures: tuple[FailedInput, ...] = ()
    default_arch: str | None = None
    notes: tuple[str, ...] = ()
