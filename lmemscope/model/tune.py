"""Results of `tune`: registers, spills and occupancy of a kernel under each register cap."""

from __future__ import annotations

from msgspec import Struct

from lmemscope.model.fix import FailedInput
from lmemscope.model.occupancy import BlockSource, Limiter
from lmemscope.model.request import SourceLocation


class TunePoint(Struct, frozen=True, kw_only=True):
    """What ptxas produces for a kernel under one cap. Sizes are bytes per thread; None is unknown.

    Attributes:
        cap: ``-maxrregcount``, or the registers that ``min_blocks`` permits; None without a cap.
        min_blocks: blocks per multiprocessor requested with ``--launch-bounds``.
        smem_spilling: whether registers are spilled to shared memory first.
        registers: per thread.
        spill_stores, spill_loads: bytes at sites, including called functions.
        stack_frame: of the kernel and the functions in its section.
        shared: static shared memory in bytes per block.
        code_bytes: machine code size.
        occupancy: resident warps per multiprocessor, as a fraction of the maximum.
        block: threads per block assumed.
        limited_by: the resource that prevents a further block.
        cost: modelled cycles of a multiprocessor per warp (docs/fix.md).
        fits: whether the model predicts that the frames of all resident threads fit in the L1
            cache.
        is_pareto: whether no other point has fewer spills at no lower occupancy, or higher
            occupancy with no more spills.
        is_knee: whether it is the recommended point.
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
    """A kernel's trade-off between registers, spills and occupancy.

    Attributes:
        input, arch: as in `Unit`.
        name: mangled.
        demangled: as written in C++.
        location: of its definition, or None.
        natural: registers without a cap.
        knee: the recommended cap; ``natural`` if no cap is better, None if the model has no cost
            for the kernel.
        reason: the reason, in a sentence.
        block_from: the origin of the points' block size.
        dynamic_shared: whether it uses dynamic shared memory whose size no visible launch gives, so
            that occupancy and cost do not count it; None if unknown.
        overrides: directives in the kernel that limit its registers, removed for these points.
        own: the kernel as the program compiles it, if that limits its registers; else None.
        points: the natural one first, then by decreasing registers.
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
        """The recommended point, or None."""
        return next((one for one in self.points if one.is_knee), None)


class TuneReport(Struct, frozen=True, tag_field="schema", tag="lmemscope.tune/1"):
    """The result of ``lmemscope tune``.

    Attributes:
        schema: of the document.
        version: of lmemscope.
        kernels: those with most spills as compiled first.
        failures: inputs that could not be analysed.
        default_arch: why an architecture was chosen when none was requested.
        notes: what was left out of the inputs, and caps that ptxas rejects.
    """

    version: str
    kernels: tuple[TunedKernel, ...]
    failures: tuple[FailedInput, ...] = ()
    default_arch: str | None = None
    notes: tuple[str, ...] = ()
