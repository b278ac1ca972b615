"""What each variable and cause of a kernel moved and cost, as its accesses were counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.analysis.cost import Grid, cost
from lmemscope.analysis.work import frame_of, local_work
from lmemscope.model import (
    SECTOR_BYTES,
    CauseShare,
    KernelReport,
    LocalAccess,
    MeasuredAccess,
    MeasuredShare,
    SourceLocation,
    Traffic,
    ratio,
)

_Own = Sequence[tuple[LocalAccess, MeasuredAccess]]


@dataclass(frozen=True, slots=True)
class Ran:
    """How a kernel ran, which its shares are parts of.

    Attributes:
        traffic: its counters.
        cycles: of a multiprocessor per warp.
        samples: of the warp sampler.
        warps: that were launched.
        grid: of the largest launch; None where not known.
        arch: that its code is for.
    """

    traffic: Traffic
    cycles: float | None
    samples: float | None
    warps: float | None
    grid: Grid | None
    arch: str

    def cost(self, taken: float | None) -> float | None:
        """Cycles per warp that some of the samples stand for."""
        part = ratio(taken, self.samples)
        return None if part is None or self.cycles is None else part * self.cycles


def measured_shares(
    kernel: KernelReport, accesses: Sequence[MeasuredAccess], ran: Ran, *, is_joined: bool
) -> tuple[MeasuredShare, ...]:
    """The shares of a kernel, most sectors first.

    What the kernel moved and none of its own instructions did, as in functions that the driver
    links, is ``unattributed``: the shares add up to the kernel.

    Args:
        kernel: as analysed.
        accesses: that were counted.
        ran: how it ran.
        is_joined: whether accesses were counted at all.
    """
    by_pc = {one.pc: one for one in accesses}
    made: list[MeasuredShare] = []
    for share in kernel.causes:
        if not share.sites.count:
            continue
        own = [
            (one, by_pc[one.pc])
            for one in kernel.counted
            if one.pc in by_pc and (one.cause, one.object) == (share.cause, share.object_index)
        ]
        place = share.location or _location(kernel, share, own)
        if is_joined:
            made.append(_share(kernel, share, own, place, ran))
        else:
            modelled = (*(None,) * 9, share.cost, None)
            made.append(MeasuredShare(share.cause, share.object, place, *modelled))
    if is_joined:
        made += _rest(accesses, ran)
    return tuple(sorted(made, key=lambda one: (-(one.sectors or 0.0), -(one.modelled_cost or 0.0))))


def _share(
    kernel: KernelReport, share: CauseShare, own: _Own, place: SourceLocation | None, ran: Ran
) -> MeasuredShare:
    counted = [one for _, one in own]
    requests = sum(one.requests for one in counted)
    sectors = _known_sum(one.sectors for one in counted)
    waiting = _known_sum(one.stall_samples for one in counted)
    issued = _known_sum(one.issue_samples for one in counted)
    predicted = _known_sum(
        None if one.predicted is None else one.predicted * one.requests for one in counted
    )
    return MeasuredShare(
        cause=share.cause,
        object=share.object,
        location=place,
        executed=sum(one.executed for one in counted),
        requests=requests,
        sectors=sectors,
        bytes=None if sectors is None else sectors * SECTOR_BYTES,
        of_local=ratio(sectors, ran.traffic.local_sectors),
        of_traffic=ratio(sectors, ran.traffic.sectors),
        predicted=ratio(predicted, requests),
        measured=ratio(sectors, requests),
        stall_samples=waiting,
        modelled_cost=_modelled(kernel, own, ran),
        measured_cost=ran.cost(_known_sum((waiting, issued))),
    )


def _modelled(kernel: KernelReport, own: _Own, ran: Ran) -> float | None:
    """The cost model's answer for accesses that ran as often as was counted, not as assumed."""
    if not ran.warps or ran.grid is None or kernel.registers is None:
        return None
    # The model takes weights by lines: each access has one of its own.
    accesses = [replace(one, ptx_line=n) for n, (one, _) in enumerate(own)]
    weights = {n: counted.executed / ran.warps for n, (_, counted) in enumerate(own)}
    work = local_work(accesses, weights, frame_of(kernel), kernel.objects)
    found = cost(work, ran.arch, ran.grid, kernel.registers, kernel.shared or 0)
    return round(found.local, 2) if found is not None else None


def _rest(accesses: Sequence[MeasuredAccess], ran: Ran) -> Iterator[MeasuredShare]:
    seen, whole = _known_sum(one.sectors for one in accesses), ran.traffic.local_sectors
    if seen is None or whole is None or whole <= seen:
        return
    rest = whole - seen
    shares = ratio(rest, whole), ratio(rest, ran.traffic.sectors)
    moved = rest, rest * SECTOR_BYTES
    yield MeasuredShare("unattributed", *(None,) * 4, *moved, *shares, *(None,) * 5)


def _location(kernel: KernelReport, share: CauseShare, own: _Own) -> SourceLocation | None:
    """The variable's declaration, else the line of the access that ran most."""
    if share.object_index is not None:
        declared = kernel.objects[share.object_index].declared
        if declared is not None:
            return declared
    home = kernel.location.file if kernel.location is not None else None
    ran = sorted(own, key=lambda one: -one[1].executed)
    lines = [one for one, _ in ran] or [one for one in kernel.counted if share.concerns(one)]
    return next((place for one in lines if (place := one.line(home)) is not None), None)


def _known_sum(figures: Iterable[float | None]) -> float | None:
    total = 0.0
    for one in figures:
        if one is None:
            return None
        total += one
    return total
