"""What one warp of a kernel does, counted from its code: the input of the cost model."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Pipe = Literal["fp32", "integer", "fp64", "special", "conversion", "memory", "none"]
"""Where an instruction executes, as the rows of "Arithmetic Instructions" in the CUDA C++
Programming Guide distinguish it; ``memory`` is the load/store unit, ``none`` takes an issue slot
alone."""

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
    """How often a loop runs.

    Attributes:
        head: of the loop in the source, without its spaces.
        turns: iterations that it is taken to run.
        exits: ways out of it that its own line has.
    """

    head: str
    turns: float
    exits: int


class LoopCounts(Struct, frozen=True):
    """What tells how often the loops of a kernel run.

    Attributes:
        kernel: its mangled name.
        largest: as in its `Work`.
        loops: as in its `Work`.
    """

    kernel: str
    largest: tuple[tuple[str, int], ...] = ()
    loops: tuple[LoopTurns, ...] = ()


class ObjectWork(Struct, frozen=True):
    """What of a warp's work is a stack object's accesses.

    Attributes:
        object: its number among the kernel's.
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
    """What one warp executes, loops weighted by how often they run (docs/fix.md).

    Attributes:
        pipes: instructions by pipe, in the order of `PIPES`.
        stalls: on the longest chain of dependent instructions, by what is waited for, in the order
            of `STALLS`.
        local_lines: 128-byte lines that accesses of local memory touch: where all lanes use one
            word index, one for each 32-bit word.
        local_sectors: sectors of 32 bytes of these lines.
        stored_lines, stored_sectors: of these, those of stores.
        varying_lines: of these lines, where lanes may use different words.
        shared_wavefronts: of accesses of shared memory, conflicts between banks aside.
        cached_lines: lines of global and constant memory that are used again, such as of tables.
        repeated_sectors: sectors of 32 bytes of global memory that the warp comes back to.
        streamed_sectors: the same that it uses once.
        frame: bytes per thread of stack frames that the warp goes through again and again.
        looped_code: bytes of machine code in loops, by the share of the PTX that is in them;
            None where the size of the code is not known.
        largest: parameters of the kernel, by their PTX names, with the numbers that they are taken
            to be: the arrays that loops walk up to them hold no more.
        loops: the kernel's own loops, of each head the one that runs most often: those of a
            rewriting run as often.
        effects: kinds of what it does that others can see, with how often each stands there.
        objects: of the accesses of local memory, those of each stack object.
        floats: instructions of the machine code, not of a warp: additions, multiplications and
            fused ones of float, double and half; empty where not known.
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
    effects: tuple[tuple[str, int], ...] = ()
    objects: tuple[ObjectWork, ...] = ()
    floats: tuple[int, ...] = ()

    @property
    def instructions(self) -> float:
        """Issue slots."""
        return sum(self.pipes)

    def stalled(self, stall: Stall) -> float:
        """How often the longest chain waits for something."""
        return self.stalls[STALLS.index(stall)]


class Cost(Struct, frozen=True):
    """A kernel's modelled cost with what it is made of, in cycles that a multiprocessor spends on a
    warp.

    Attributes:
        total: of all parts, which overlap.
        issue: by the busiest of pipes and schedulers.
        memory: by the busiest of L1, L2 and device memory.
        waiting: what resident warps do not hide.
        local: of ``memory``, what local memory alone would take.
        fits: whether the frames of the resident threads fit L1.
        is_uniform: whether all lanes use one address wherever local memory is accessed.
    """

    total: float
    issue: float
    memory: float
    waiting: float
    local: float
    fits: bool
    is_uniform: bool
