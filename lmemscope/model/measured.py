"""What a profiler counted on a GPU, and that joined with what the analysis says of the code."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from lmemscope.model.cause_table import Cause
from lmemscope.model.request import SourceLocation, Tool

SECTOR_BYTES = 32
"""Of a sector, the smallest piece that L1 and L2 move."""

JoinKind = Literal["instructions", "kernel", "none"]
"""``instructions``: the analysed code is what ran, so that each counter has its access. ``kernel``:
the kernel was analysed from other code. ``none``: it was not analysed."""


class ProfiledLaunch(Struct, frozen=True):
    """A launch that was profiled.

    Attributes:
        kernel: its name, mangled or as the profiler spells it.
        id: number of the launch in the profile.
        process, process_name: that launched it; None where not said.
        device: number of the GPU; None where not said.
        capability: compute capability, such as ``9.0``; None where not said.
        metrics: by their names, in seconds, bytes or counts.
    """

    kernel: str
    id: str
    process: str | None
    process_name: str | None
    device: str | None
    capability: str | None
    metrics: dict[str, float]


class ProfiledInstruction(Struct, frozen=True):
    """An instruction that was profiled.

    Attributes:
        address: as the profiler says it, absolute or from the start of the function.
        text: SASS.
        figures: by the names of the source page's columns.
    """

    address: int
    text: str
    figures: dict[str, float]


class ProfiledSource(Struct, frozen=True):
    """The instructions of a launch, in address order."""

    kernel: str
    instructions: tuple[ProfiledInstruction, ...]


class Profile(Struct, frozen=True):
    """What a profiler wrote.

    Attributes:
        launches: in their order.
        sources: the instructions of each launch in the same order; empty where there are none.
    """

    launches: tuple[ProfiledLaunch, ...]
    sources: tuple[ProfiledSource, ...] = ()


class Traffic(Struct, frozen=True):
    """Counters of a kernel, summed over its profiled launches; None: not collected.

    Instructions and requests are those of warps. A sector is 32 bytes. The names of Nsight
    Compute's metrics are in `lmemscope.analysis.counters`.

    Attributes:
        load_instructions, store_instructions: local loads and stores that were executed.
        load_requests, store_requests: requests that they made to L1.
        load_sectors, store_sectors: sectors of these requests.
        load_hits, store_hits: those of the sectors that were in L1.
        sectors: of all requests to L1: local, global, texture and surface.
        l2_sectors, l2_hits: sectors that L1 asked L2 for, and those that were in L2.
        dram_bytes: read from and written to device memory.
        instructions: all that warps executed.
    """

    load_instructions: float | None = None
    store_instructions: float | None = None
    load_requests: float | None = None
    store_requests: float | None = None
    load_sectors: float | None = None
    store_sectors: float | None = None
    load_hits: float | None = None
    store_hits: float | None = None
    sectors: float | None = None
    l2_sectors: float | None = None
    l2_hits: float | None = None
    dram_bytes: float | None = None
    instructions: float | None = None

    @property
    def local_sectors(self) -> float | None:
        """Sectors of local loads and stores."""
        return _sum(self.load_sectors, self.store_sectors)

    @property
    def local_bytes(self) -> float | None:
        """Bytes that local memory moves between the multiprocessor and L1."""
        sectors = self.local_sectors
        return None if sectors is None else sectors * SECTOR_BYTES

    @property
    def local_share(self) -> float | None:
        """Which part of the kernel's sectors in L1 is of local memory, from 0 to 1."""
        return ratio(self.local_sectors, self.sectors)

    @property
    def l1_hit_rate(self) -> float | None:
        """Which part of the sectors of local memory was in L1, from 0 to 1."""
        return ratio(_sum(self.load_hits, self.store_hits), self.local_sectors)

    @property
    def l2_hit_rate(self) -> float | None:
        """Which part of all sectors that L1 asked L2 for was in L2, from 0 to 1."""
        return ratio(self.l2_hits, self.l2_sectors)


class MeasuredAccess(Struct, frozen=True):
    """A local load or store as it ran.

    Attributes:
        pc: bytes from the start of the kernel's code.
        opcode: with its width, as SASS writes it.
        cause, object, location: of the analysis; None where it has none.
        executed: times that a warp executed it.
        requests: of L1; one for each 32-bit word that a thread accesses.
        sectors: of these requests; None where not collected.
        predicted: sectors per request, at most; None where not known.
        stall_samples: of warps that waited for its result, or to issue it; None where not
            collected.
        issue_samples: of warps that issued it.
    """

    pc: int
    opcode: str
    cause: Cause
    object: str | None
    location: SourceLocation | None
    executed: float
    requests: float
    sectors: float | None
    predicted: int | None
    stall_samples: float | None
    issue_samples: float | None


class MeasuredShare(Struct, frozen=True):
    """What a variable, or a cause without one, moved.

    Attributes:
        cause, object, location: of the analysis.
        executed, requests, sectors: as of `MeasuredAccess`, summed; None: not known by instruction.
        bytes: moved between the multiprocessor and L1: 32 for each sector.
        of_local, of_traffic: which part of the kernel's local sectors, and of all its sectors in
            L1, from 0 to 1.
        predicted, measured: sectors per request, weighted by requests.
        stall_samples: as of `MeasuredAccess`.
        modelled_cost, measured_cost: cycles of a multiprocessor per warp (docs/measure.md).
    """

    cause: Cause
    object: str | None
    location: SourceLocation | None
    executed: float | None
    requests: float | None
    sectors: float | None
    bytes: float | None
    of_local: float | None
    of_traffic: float | None
    predicted: float | None
    measured: float | None
    stall_samples: float | None
    modelled_cost: float | None
    measured_cost: float | None


class MeasuredKernel(Struct, frozen=True, kw_only=True):
    """A kernel on one kind of GPU, all of its profiled launches together.

    Attributes:
        name: mangled, or as the profiler spells it where that is all there is.
        demangled: as C++ writes it.
        input: where the analysis found it; None where it did not.
        arch: real architecture, such as ``sm_90``; None where the profile does not say.
        devices: numbers of the GPUs that it ran on.
        location: of its definition.
        launches: that were profiled.
        block: threads of the largest block.
        registers: per thread.
        seconds: of all launches, as the profiler timed them.
        occupancy, occupancy_limit: resident warps, of those that a multiprocessor can hold: as
            measured, and at most; from 0 to 1.
        traffic: counters.
        local_share, l1_hit_rate, l2_hit_rate: as of `Traffic`.
        samples: of the warp sampler.
        stall_samples: of these, warps that waited for local memory; None where not collected.
        cycles: of a multiprocessor per warp, of the whole kernel.
        joined: how counters and analysis are joined.
        reason: why they are not joined by instruction; None where they are.
        shares: by variable and cause, most sectors first.
        accesses: each local load and store, in address order.
    """

    name: str
    demangled: str
    input: str | None
    arch: str | None
    devices: tuple[str, ...]
    location: SourceLocation | None
    launches: int
    block: int | None
    registers: int | None
    seconds: float | None
    occupancy: float | None
    occupancy_limit: float | None
    traffic: Traffic
    local_share: float | None
    l1_hit_rate: float | None
    l2_hit_rate: float | None
    samples: float | None
    stall_samples: float | None
    cycles: float | None
    joined: JoinKind
    reason: str | None
    shares: tuple[MeasuredShare, ...] = ()
    accesses: tuple[MeasuredAccess, ...] = ()


class Measurement(Struct, frozen=True, kw_only=True, tag_field="schema", tag="lmemscope.measure/1"):
    """What ``lmemscope measure`` found.

    Attributes:
        schema: of the document.
        version: of the lmemscope that wrote it.
        profiler: that counted; None where a CSV was read, which does not name it.
        command: the program that was run; empty where a profile was read.
        exit_status: of the program, negative for a signal; None where none was run, or it was
            ended at its time limit.
        profiles: files that were read.
        kernels: most time first.
        notes: what a reader should know, in sentences.
    """

    version: str
    profiler: Tool | None
    command: tuple[str, ...] = ()
    exit_status: int | None = None
    profiles: tuple[str, ...] = ()
    kernels: tuple[MeasuredKernel, ...] = ()
    notes: tuple[str, ...] = ()


def ratio(part: float | None, whole: float | None) -> float | None:
    """A quotient; None where either is not known, or the whole is 0."""
    return None if part is None or not whole else part / whole


def _sum(*figures: float | None) -> float | None:
    known = [one for one in figures if one is not None]
    return sum(known) if len(known) == len(figures) else None
