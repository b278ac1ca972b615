"""Profiler counters from a GPU, and their join with the analysis of the code."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from lmemscope.model.cause_table import Cause
from lmemscope.model.request import SourceLocation, Tool

SECTOR_BYTES = 32
"""Bytes in a sector, the smallest unit that L1 and L2 transfer."""

JoinKind = Literal["instructions", "kernel", "none"]
"""``instructions``: the analysed code is what ran, so each counter belongs to an access.
``kernel``: the kernel was analysed from other code. ``none``: it was not analysed."""


class ProfiledLaunch(Struct, frozen=True):
    """A profiled launch.

    Attributes:
        kernel: its name, mangled or as the profiler writes it.
        id: number of the launch in the profile.
        process, process_name: the launching process; None if not recorded.
        device: number of the GPU; None if not recorded.
        capability: compute capability, such as ``9.0``; None if not recorded.
        metrics: by name, in seconds, bytes or counts.
    """

    kernel: str
    id: str
    process: str | None
    process_name: str | None
    device: str | None
    capability: str | None
    metrics: dict[str, float]


class ProfiledInstruction(Struct, frozen=True):
    """A profiled instruction.

    Attributes:
        address: as in the profile: absolute, or from the start of the function.
        text: SASS.
        figures: by column name of the source page.
    """

    address: int
    text: str
    figures: dict[str, float]


class ProfiledSource(Struct, frozen=True):
    """The instructions of one launch, in address order."""

    kernel: str
    instructions: tuple[ProfiledInstruction, ...]


class Profile(Struct, frozen=True):
    """A profile as written by a profiler.

    Attributes:
        launches: in their order.
        sources: the instructions of each launch, in the same order; empty if not recorded.
    """

    launches: tuple[ProfiledLaunch, ...]
    sources: tuple[ProfiledSource, ...] = ()


class Traffic(Struct, frozen=True):
    """Counters of a kernel, summed over its profiled launches; None if not collected.

    Instructions and requests are counted per warp. A sector is 32 bytes.
    `lmemscope.analysis.counters` lists the names of Nsight Compute's metrics.

    Attributes:
        load_instructions, store_instructions: local loads and stores executed.
        load_requests, store_requests: their requests to L1.
        load_sectors, store_sectors: sectors of these requests.
        load_hits, store_hits: sectors that hit in L1.
        sectors: of all requests to L1: local, global, texture and surface.
        l2_sectors, l2_hits: sectors that L1 requested from L2, and those that hit there.
        dram_bytes: read from and written to device memory.
        instructions: all instructions executed by warps.
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
        """Bytes of local memory moved between the multiprocessor and L1."""
        sectors = self.local_sectors
        return None if sectors is None else sectors * SECTOR_BYTES

    @property
    def local_share(self) -> float | None:
        """Local memory's fraction of the kernel's L1 sectors, from 0 to 1."""
        return ratio(self.local_sectors, self.sectors)

    @property
    def l1_hit_rate(self) -> float | None:
        """Fraction of local memory sectors that hit in L1, from 0 to 1."""
        return ratio(_sum(self.load_hits, self.store_hits), self.local_sectors)

    @property
    def l2_hit_rate(self) -> float | None:
        """Fraction of all sectors requested from L2 that hit there, from 0 to 1."""
        return ratio(self.l2_hits, self.l2_sectors)


class MeasuredAccess(Struct, frozen=True):
    """A local load or store, with its counters.

    Attributes:
        pc: bytes from the start of the kernel's code.
        opcode: with its width, as SASS writes it.
        cause, object, location: from the analysis; None if it has none.
        executed: how often warps executed it.
        requests: to L1; one per 32-bit word that a thread accesses.
        sectors: of these requests; None if not collected.
        predicted: predicted maximum sectors per request; None if unknown.
        stall_samples: samples of warps waiting for its result or to issue it; None if not
            collected.
        issue_samples: samples of warps issuing it.
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
    """The traffic of a variable, or of a cause without a variable.

    Attributes:
        cause, object, location: from the analysis.
        executed, requests, sectors: sums over `MeasuredAccess`; None if not known per instruction.
        bytes: moved between the multiprocessor and L1: 32 per sector.
        of_local, of_traffic: fraction of the kernel's local sectors, and of all its L1 sectors,
            from 0 to 1.
        predicted, measured: sectors per request, weighted by requests.
        stall_samples: as in `MeasuredAccess`.
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
    """A kernel on one kind of GPU, summed over its profiled launches.

    Attributes:
        name: mangled, or as the profiler writes it if nothing else is known.
        demangled: as written in C++.
        input: where the analysis found it; None if it did not.
        arch: real architecture, such as ``sm_90``; None if the profile does not record it.
        devices: numbers of the GPUs it ran on.
        location: of its definition.
        launches: number of profiled launches.
        block: threads of the largest block.
        registers: per thread.
        seconds: of all launches, as timed by the profiler.
        occupancy, occupancy_limit: resident warps as a fraction of the maximum: as measured, and as
            limited by resources; from 0 to 1.
        traffic: counters.
        local_share, l1_hit_rate, l2_hit_rate: as in `Traffic`.
        samples: of the warp sampler.
        stall_samples: those of warps waiting for local memory; None if not collected.
        cycles: of a multiprocessor per warp, for the whole kernel.
        joined: how counters and analysis are joined.
        reason: why they are not joined by instruction; None if they are.
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
    """The result of ``lmemscope measure``.

    Attributes:
        schema: of the document.
        version: of lmemscope.
        profiler: the profiler; None for a CSV file, which does not name it.
        command: the program that was run; empty if a profile was read.
        exit_status: of the program, negative for a signal; None if none was run, or it timed out.
        profiles: files that were read.
        kernels: by time, longest first.
        notes: remarks for the reader, in sentences.
    """

    version: str
    profiler: Tool | None
    command: tuple[str, ...] = ()
    exit_status: int | None = None
    profiles: tuple[str, ...] = ()
    kernels: tuple[MeasuredKernel, ...] = ()
    notes: tuple[str, ...] = ()


def ratio(part: float | None, whole: float | None) -> float | None:
    """A quotient; None if either number is unknown or the divisor is 0."""
    return None if part is None or not whole else part / whole


def _sum(*figures: float | None) -> float | None:
    known = [one for one in figures if one is not None]
    return sum(known) if len(known) == len(figures) else None
