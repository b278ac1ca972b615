"""Joins what a profiler counted with what the analysis says of the same kernels.

An instruction's counters are joined with an access only where the analysed code is what ran: the
profile and the analysis have the same ``LDL`` and ``STL`` at the same offsets, of the same widths.
Otherwise a kernel has its counters, and its variables and causes have none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lmemscope.analysis import counters
from lmemscope.analysis.cost import Grid
from lmemscope.analysis.measured_shares import Ran, measured_shares
from lmemscope.analysis.waiting import local_samples, parsed, samples
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.kernel_names import spellings, stable_name
from lmemscope.formats.ncu_csv import EXECUTED, ISSUED, LOCAL_SECTORS
from lmemscope.model import (
    JoinKind,
    KernelReport,
    MeasuredAccess,
    MeasuredKernel,
    MeasuredShare,
    Profile,
    ProfiledLaunch,
    ProfiledSource,
    UnitReport,
    ratio,
)

_WIDTH = re.compile(r"[US]?(8|16|64|128)")


@dataclass(slots=True)
class _Counted:
    """Counters of one instruction of a kernel, over its launches."""

    opcode: str
    executed: float = 0.0
    sectors: float | None = None
    waiting: float = 0.0
    issued: float = 0.0


@dataclass(slots=True)
class _Code:
    """What the source pages of a kernel's launches say, by offset.

    Attributes:
        local: its local loads and stores.
        size: bytes of code that the pages show.
        samples, waiting: of the warp sampler, all and those on local memory.
        is_one: whether all launches ran the same code.
    """

    local: dict[int, _Counted] = field(default_factory=dict)
    size: int = 0
    samples: float | None = None
    waiting: float | None = None
    is_one: bool = True


@dataclass(frozen=True, slots=True)
class _Found:
    """A kernel that the analysis knows."""

    unit: UnitReport
    kernel: KernelReport


class _Analysed:
    """The kernels of units, found by their names."""

    def __init__(self, units: Sequence[UnitReport]) -> None:
        self._known = [_Found(unit, kernel) for unit in units for kernel in unit.kernels]
        self._by_name: dict[str, list[_Found]] = defaultdict(list)
        for one in self._known:
            self._by_name[stable_name(one.kernel.name)].append(one)

    def of(self, launch: ProfiledLaunch) -> list[_Found]:
        """Those that a launch may be of: by the mangled name, else as it is spelled."""
        exact = self._by_name.get(stable_name(launch.kernel))
        return exact or self._by_spelling[_plain(short_name(demangle(launch.kernel)))]

    @cached_property
    def _by_spelling(self) -> dict[str, list[_Found]]:
        found: dict[str, list[_Found]] = defaultdict(list)
        for one in self._known:
            for spelling in {*map(_plain, spellings(one.kernel.name, one.kernel.demangled))}:
                found[spelling].append(one)
        return found

    def __bool__(self) -> bool:
        return bool(self._known)


def _plain(name: str) -> str:
    return name.replace(" ", "")


def measured_kernels(profile: Profile, units: Sequence[UnitReport]) -> tuple[MeasuredKernel, ...]:
    """The kernels of a profile, most time first.

    Args:
        profile: what was counted.
        units: what was analysed; of several that know a kernel, the first whose code ran counts.
    """
    grouped: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for number, launch in enumerate(profile.launches):
        grouped[launch.kernel, launch.capability].append(number)
    analysed = _Analysed(units)
    kernels = [_measured(profile, numbers, analysed) for numbers in grouped.values()]
    return tuple(sorted(kernels, key=lambda one: (-(one.seconds or 0.0), one.name, one.arch or "")))


def _measured(profile: Profile, numbers: Sequence[int], analysed: _Analysed) -> MeasuredKernel:
    launches = [profile.launches[n] for n in numbers]
    shown = [profile.sources[n] for n in numbers] if profile.sources else []
    code = _code(shown) if any(one.instructions for one in shown) else None
    first = launches[0]
    join, chosen, reason = _joined(first, analysed, code)
    traffic = counters.traffic(launches)
    cycles = ratio(
        counters.total(launches, (counters.CYCLES,)), counters.total(launches, (counters.WARPS,))
    )
    kernel = chosen.kernel if chosen is not None else None
    accesses: tuple[MeasuredAccess, ...] = ()
    shares: tuple[MeasuredShare, ...] = ()
    if kernel is not None:
        if join == "instructions" and code is not None:
            accesses = tuple(_accesses(kernel, code))
        ran = Ran(
            traffic,
            cycles,
            code.samples if code is not None else None,
            counters.total(launches, (counters.WARPS,)),
            _grid(launches),
            chosen.unit.arch if chosen is not None else "",
        )
        shares = measured_shares(kernel, accesses, ran, is_joined=join == "instructions")
    block, registers = (counters.largest(launches, n) for n in (counters.BLOCK, counters.REGISTERS))
    return MeasuredKernel(
        name=kernel.name if kernel is not None else first.kernel,
        demangled=kernel.demangled if kernel is not None else demangle(first.kernel),
        input=chosen.unit.input if chosen is not None else None,
        arch=arch_of(first),
        devices=tuple(sorted({one.device for one in launches if one.device is not None})),
        location=kernel.location if kernel is not None else None,
        launches=len(launches),
        block=int(block) if block is not None else None,
        registers=int(registers) if registers is not None else None,
        seconds=counters.total(launches, (counters.SECONDS,)),
        occupancy=ratio(counters.mean(launches, counters.OCCUPANCY), 100.0),
        occupancy_limit=ratio(counters.mean(launches, counters.OCCUPANCY_LIMIT), 100.0),
        traffic=traffic,
        local_share=traffic.local_share,
        l1_hit_rate=_rate(traffic.l1_hit_rate),
        l2_hit_rate=_rate(traffic.l2_hit_rate),
        samples=code.samples if code is not None else None,
        stall_samples=code.waiting if code is not None else None,
        cycles=cycles,
        joined=join,
        reason=reason,
        shares=shares,
        accesses=accesses,
    )


def _grid(launches: Sequence[ProfiledLaunch]) -> Grid | None:
    """The largest launch."""
    threads = counters.largest(launches, counters.BLOCK)
    blocks = counters.largest(launches, counters.GRID)
    if not threads:
        return None
    return Grid(int(threads), int(blocks) if blocks else None)


def _rate(found: float | None) -> float | None:
    """A hit rate; its two counters may be of different passes, so that it can exceed 1 by a few."""
    return None if found is None else min(found, 1.0)


def arch_of(launch: ProfiledLaunch) -> str | None:
    """The architecture that a launch ran on, such as ``sm_90``; None where it is not said."""
    capability = launch.capability
    digits = capability.replace(".", "") if capability is not None else ""
    return f"sm_{digits}" if digits.isascii() and digits.isdecimal() else None


def _number(arch: str | None) -> str:
    return "".join(char for char in arch or "" if char.isdigit())


def _joined(
    launch: ProfiledLaunch, analysed: _Analysed, code: _Code | None
) -> tuple[JoinKind, _Found | None, str | None]:
    """How a kernel is joined, with what, and why not by instruction."""
    if not analysed:
        return "none", None, "nothing was analysed: name the kernels' source with --source"
    found = analysed.of(launch)
    if not found:
        return "none", None, "the analysis has no kernel of this name"
    names = {one.kernel.name for one in found}
    if len(names) > 1:
        shown = ", ".join(sorted(one.kernel.demangled for one in found)[:3])
        return "none", None, f"its name may be that of several analysed kernels: {shown}"
    arch = arch_of(launch)
    same = [one for one in found if arch is None or _number(one.unit.arch) == _number(arch)]
    if not same:
        return "kernel", found[0], f"it ran on {arch}, and was analysed for {found[0].unit.arch}"
    if code is None:
        return "kernel", same[0], _without_code(launch)
    if not code.is_one:
        return "kernel", same[0], "its launches ran code of several versions"
    reasons = [_unlike(one.kernel, code) for one in same]
    for one, reason in zip(same, reasons, strict=True):
        if reason is None:
            return "instructions", one, None
    return "kernel", same[0], reasons[0]


def _without_code(launch: ProfiledLaunch) -> str:
    if counters.traffic((launch,)).local_sectors == 0:
        return "it accessed no local memory"
    return "the profile has no source page of it"


def _unlike(kernel: KernelReport, code: _Code) -> str | None:
    """Why the analysed code cannot be what ran; None where it can."""
    sites = kernel.sass.count if kernel.sass is not None else None
    if sites is None:
        return "the analysis has no machine code"
    if len(kernel.counted) != sites:
        return "the report holds no single accesses: write it with --accesses"
    ours = {one.pc: _opcode(one.opcode) for one in kernel.counted if one.pc < code.size}
    theirs = {pc: one.opcode for pc, one in code.local.items()}
    if ours == theirs:
        return None
    return (
        f"other machine code ran: {len(theirs)} local loads and stores, of which "
        f"{len(ours.items() & theirs.items())} are where the {len(ours)} of the analysis are"
    )


def _code(sources: Sequence[ProfiledSource]) -> _Code:
    code = _Code()
    for number, source in enumerate(sources):
        if not source.instructions:
            code.is_one = False
            continue
        start = source.instructions[0].address
        waiting = local_samples(source.instructions)
        local: dict[int, str] = {}
        for n, one in enumerate(source.instructions):
            sass = parsed(one.text)
            if sass is None or not sass.is_local:
                continue
            pc = one.address - start
            local[pc] = _opcode(sass.opcode)
            counted = code.local.setdefault(pc, _Counted(local[pc]))
            counted.executed += one.figures.get(EXECUTED, 0.0)
            counted.waiting += waiting.get(n, 0.0)
            counted.issued += one.figures.get(ISSUED, 0.0)
            if LOCAL_SECTORS in one.figures:
                counted.sectors = (counted.sectors or 0.0) + one.figures[LOCAL_SECTORS]
        size = source.instructions[-1].address - start + 1
        known = {pc: one.opcode for pc, one in code.local.items()}
        code.is_one &= number == 0 or (size == code.size and known == local)
        code.size = size
        taken = samples(source.instructions)
        if taken is not None:
            code.samples = (code.samples or 0.0) + taken
            code.waiting = (code.waiting or 0.0) + sum(waiting.values())
    return code


def _opcode(opcode: str) -> str:
    """An opcode with its width alone, as reports of earlier versions have it."""
    base, *suffixes = opcode.split(".")
    return ".".join([base, *(one[1] for one in map(_WIDTH.fullmatch, suffixes) if one)])


def _accesses(kernel: KernelReport, code: _Code) -> Iterator[MeasuredAccess]:
    home = kernel.location.file if kernel.location is not None else None
    for access in kernel.counted:
        counted = code.local.get(access.pc)
        if counted is None:
            continue
        yield MeasuredAccess(
            pc=access.pc,
            opcode=access.opcode,
            cause=access.cause,
            object=kernel.objects[access.object].name if access.object is not None else None,
            location=access.line(home),
            executed=counted.executed,
            requests=counted.executed * access.requests,
            sectors=counted.sectors,
            predicted=access.sectors,
            stall_samples=counted.waiting if code.samples is not None else None,
            issue_samples=counted.issued if code.samples is not None else None,
        )
