"""The instructions that one warp of a kernel executes, as input to the cost model."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Pipe = Literal["fp32", "integer", "fp64", "special", "conversion", "memory", "none"]
"""The pipe that executes an instruction, following the rows of "Arithmetic Instructions" in the
CUDA C++ Programming Guide; ``memory`` is the load/store unit, ``none`` takes only an issue slot."""

Stall = Literal["arithmetic", "fp64", "special", "shared", "local", "global"]
"""What the next instruction waits for."""

PIPES: tuple[Pipe, ...] = (
    "fp32",
    "integer",
    "fp64",
    "special",
    "conversion",
    "memory",
    "none",
)
STALLS: tuple[Stall, ...] = ("arithmetic", "fp64", "special", "shared", "local", "global")


class LoopTurns(Struct, frozen=True):
    """How often the body of a loop of the source is assumed to run for each call of the kernel.

    Attributes:
        turns: in all, wherever the compiler has put it.
        exits: exits that its own line has.
        nth: number of its head among those of `LoopCounts`.
    """

    turns: float
    exits: int
    nth: int


class LoopCounts(Struct, frozen=True):
    """The trip counts of a kernel's loops.

    Attributes:
        kernel: its mangled name.
        largest: as in its `Work`.
        loops, heads: as in its `Work`.
    """

    kernel: str
    largest: tuple[tuple[str, int], ...] = ()
    loops: tuple[LoopTurns, ...] = ()
    heads: tuple[str, ...] = ()


class ObjectWork(Struct, frozen=True):
    """The part of a warp's work that accesses one stack object.

    Attributes:
        object: its index in the kernel.
        loads, stores: instructions that the warp executes.
        lines, sectors, stored_lines, stored_sectors, varying_lines: as in `Work`.
    """

    object: int
    loads: float
    stores: float
    lines: float
    sectors: float
    stored_lines: float
    stored_sectors: float
    varying_lines: float


class Work(Struct, frozen=True):
    """What one warp executes, with loops weighted by their trip counts (docs/fix.md).

    Attributes:
        pipes: instructions by pipe, in the order of `PIPES`.
        stalls: stalls on the longest chain of dependent instructions, by what is waited for, in the
            order of `STALLS`.
        local_lines: 128-byte lines touched by local memory accesses: one per 32-bit word if all
            lanes use the same word index.
        local_sectors: 32-byte sectors of these lines.
        stored_lines, stored_sectors: the part of these that belongs to stores.
        varying_lines: the part of these lines where lanes may use different words.
        shared_wavefronts: shared memory wavefronts, ignoring bank conflicts.
        cached_lines: lines of global and constant memory that are used again, such as tables.
        repeated_sectors: 32-byte sectors of global memory that the warp uses repeatedly.
        streamed_sectors: 32-byte sectors of global memory that it uses once.
        frame: bytes per thread of stack frames that the warp reuses.
        looped_code: bytes of machine code in loops, estimated by the share of the PTX in loops;
            None if the code size is unknown.
        largest: kernel parameters, by their PTX names, with the values assumed: arrays that loops
            walk up to them hold no more.
        loops: the kernel's own loops. Those of a rewriting run as often.
        heads: heads of loops in the source, without spaces.
        effects: kinds of externally visible effects, with how often each occurs in the code.
        objects: local memory accesses by stack object.
        floats: machine instructions (not executions): additions, multiplications and fused ones,
            for float, double and half; empty if unknown.
    """

    pipes: tuple[float, ...] = (0.0,) * len(PIPES)
    stalls: tuple[float, ...] = (0.0,) * len(STALLS)
    local_lines: float = 0.0
    local_sectors: float = 0.0
    stored_lines: float = 0.0
    stored_sectors: float = 0.0
    varying_lines: float = 0.0
    shared_wavefronts: float = 0.0
    cached_lines: float = 0.0
    repeated_sectors: float = 0.0
    streamed_sectors: float = 0.0
    frame: int = 0
    looped_code: float | None = None
    largest: tuple[tuple[str, int], ...] = ()
    loops: tuple[LoopTurns, ...] = ()
    heads: tuple[str, ...] = ()
    effects: tuple[tuple[str, int], ...] = ()
    objects: tuple[ObjectWork, ...] = ()
    floats: tuple[int, ...] = ()

    @property
    def instructions(self) -> float:
        """Issue slots."""
        return sum(self.pipes)

    def stalled(self, stall: Stall) -> float:
        """Stall cycles of one kind on the longest dependent chain."""
        return self.stalls[STALLS.index(stall)]


class Cost(Struct, frozen=True):
    """A kernel's modelled cost and its parts, in cycles of a multiprocessor per warp.

    Attributes:
        total: combined cost; the parts overlap.
        issue: of the busiest pipe or scheduler.
        memory: of the busiest of L1, L2 and device memory.
        waiting: latency that resident warps do not hide.
        local: the part of ``memory`` that local memory alone would take.
        fits: whether the frames of the resident threads fit in L1.
        is_uniform: whether all lanes use one address in every local memory access.
    """

    total: float
    issue: float
    memory: float
    waiting: float
    local: float
    fits: bool
    is_uniform: bool
