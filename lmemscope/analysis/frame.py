"""The frame map: who owns which bytes of a kernel's stack frame.

Where ptxas put an object is read off its accesses: a site ``[R1+0x30]`` whose PTX address is byte
16 of the depot says that the depot begins at 0x20. One depot keeps its order in the frame
(measured), so one such site places all objects of a function. What stays unowned is padding where
it only aligns the next range, and otherwise ``unknown``: nothing is forced to fit.

A body that aligns its stack pointer itself rounds it down, so its frame ends with what that can
take (measured, sm_75 to sm_120): a multiple of the alignment, and behind it as much as the
alignment is larger than what the stack pointer has before: 16 bytes in a kernel, 8 in a function.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from msgspec import Struct

from lmemscope.formats.cubin import LARGEST_FRAME, CubinFunction
from lmemscope.formats.sites import STACK_POINTER, Site
from lmemscope.model import (
    Cause,
    FrameOwner,
    FrameRange,
    KernelKind,
    LocalAccess,
    LocalObject,
    traits_of,
)

_ALIGNMENT = 16
_ALIGNED_BEFORE: dict[KernelKind, int] = {"entry": 16, "function": 8}
"""Bytes that the stack pointer is a multiple of where a body begins."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A site at a constant place of an object: it tells where ptxas put the object's depot.

    Attributes:
        function: mangled name of the PTX function that owns the depot.
        site: the machine instruction.
        offset: byte of the depot that the PTX access behind it begins at.
        width: bytes of that access; None where not known. ptxas joins neighbouring accesses into
            a wider one, which then may begin before ``offset``.
        alignment: bytes that the depot begins at a multiple of.
    """

    function: str
    site: Site
    offset: int
    width: int | None = None
    alignment: int = 1

    @property
    def starts(self) -> range:
        """Bytes of the frame where the depot may begin, for the site to cover the access."""
        first = self.site.displacement - self.offset
        width = self.width or self.site.width
        return range(first, first + max(self.site.width - width, 0) + 1, width)


@dataclass(frozen=True, slots=True)
class ResultBuffer:
    """A structure that a called function returns in its caller's frame.

    Attributes:
        starts: bytes of the frame that it may begin at.
        size, alignment: bytes of the result.
    """

    starts: frozenset[int]
    size: int
    alignment: int


class _Owner(Struct, frozen=True):
    """Who owns a byte of the frame: as in `FrameRange`."""

    kind: FrameOwner
    cause: Cause | None
    object: int | None


_RETURNED = _Owner(traits_of("call-frame").owner, "call-frame", None)
_PADDING = _Owner("padding", None, None)


def frame_map(
    frame: int | None,
    function: CubinFunction,
    accesses: Sequence[LocalAccess],
    objects: Sequence[LocalObject],
    placements: Sequence[Placement],
    results: Sequence[ResultBuffer] = (),
) -> tuple[FrameRange, ...]:
    """Ranges that add up to the frame exactly; empty without a frame.

    Args:
        frame: bytes per thread of the kernel's own frame.
        function: the kernel's machine code.
        accesses: with their causes, one for each of its sites.
        objects: its stack objects.
        placements: sites at constant places of objects.
        results: what its calls return in memory.
    """
    if not frame:
        return ()
    if frame > LARGEST_FRAME:
        return (FrameRange.of(0, frame, "unknown", "unattributed"),)
    alignment, reserve = _aligned(frame, function)
    frame -= reserve
    owners: list[_Owner | None] = [None] * frame
    starts = _depot_starts(frame, objects, placements)
    # What is left of a structure has what its members have not; of those that have a place in turn,
    # the largest has it, and a variable before what a library keeps there.
    ordered = sorted(
        enumerate(objects),
        key=lambda item: (
            item[1].extent == "rest",
            -item[1].size,
            not traits_of(item[1].cause).named,
        ),
    )
    for number, found in ordered:
        if found.function in starts:
            _place(owners, number, found, starts[found.function])
    _give_slots(owners, function, accesses)
    _pad(owners, starts, _depot_ends(objects), placements)
    _place_results(owners, results)
    # The one depot that no site places has what is left, where that is as large as it.
    unplaced = [(name, end) for name, end in _depot_ends(objects).items() if name not in starts]
    if len(unplaced) == 1:
        (name, end) = unplaced[0]
        gaps = _gaps(owners, end, alignment)
        for number, found in ordered:
            if found.function == name and len(gaps) == 1:
                _place(owners, number, found, gaps[0])
                unplaced = []
    if not unplaced:
        _fill_between_slots(owners)
    return _with_reserve(_ranges(owners, alignment, objects), reserve)


def _give_slots(
    owners: list[_Owner | None], function: CubinFunction, accesses: Sequence[LocalAccess]
) -> None:
    """Give what ptxas accesses for itself its bytes, where nothing has them yet."""
    made: dict[tuple[Cause, int, int], None] = {}
    for access, site in zip(accesses, function.all_sites, strict=True):
        if access.object is not None or site.base != STACK_POINTER:
            continue
        # A callee that moves the stack pointer has a frame of its own.
        if access.function == function.name or traits_of(access.cause).owner == "spill slots":
            made[access.cause, site.displacement, site.width] = None
    for cause, start, width in made:
        owner = _Owner(traits_of(cause).owner, cause, None)
        _give(owners, range(start, start + width), owner)


def _give(owners: list[_Owner | None], bytes_: range, owner: _Owner) -> None:
    """Give bytes of the frame to an owner, where nothing has them yet."""
    for at in range(max(bytes_.start, 0), min(bytes_.stop, len(owners))):
        if owners[at] is None:
            owners[at] = owner


def _aligned(frame: int, function: CubinFunction) -> tuple[int, int]:
    """What a frame's used part is a multiple of, and the bytes kept to align the stack pointer."""
    alignment = function.stack_alignment or 0
    reserve = max(alignment - _ALIGNED_BEFORE[function.kind], 0)
    if alignment <= 0 or reserve >= frame or (frame - reserve) % alignment:
        return _ALIGNMENT, 0
    return max(alignment, _ALIGNMENT), reserve


def _with_reserve(ranges: tuple[FrameRange, ...], reserve: int) -> tuple[FrameRange, ...]:
    """Ranges with the bytes behind them that align the stack pointer."""
    if not reserve:
        return ranges
    *before, last = ranges
    start = last.offset if last.owner == "padding" else last.offset + last.size
    kept = before if last.owner == "padding" else ranges
    end = last.offset + last.size + reserve
    return (*kept, FrameRange.of(start, end - start, "padding", None))


def _place(owners: list[_Owner | None], number: int, found: LocalObject, start: int) -> None:
    """Give an object its bytes, where nothing has them yet."""
    first = start + found.offset
    _give(owners, range(first, first + found.span), _Owner("object", found.cause, number))


def _pad(
    owners: list[_Owner | None],
    starts: Mapping[str, int],
    ends: Mapping[str, int],
    placements: Sequence[Placement],
) -> None:
    """Give depots what rounds them up: NVVM makes each a multiple of its alignment."""
    aligned: dict[str, int] = defaultdict(int)
    for placed in placements:
        aligned[placed.function] = max(aligned[placed.function], placed.alignment)
    for name, start in starts.items():
        size = ends.get(name, 0)
        end = start + size
        padded = end + -size % max(aligned[name], 1)
        if end >= 0 and padded <= len(owners) and not any(owners[end:padded]):
            owners[end:padded] = [_PADDING] * (padded - end)


def _place_results(owners: list[_Owner | None], results: Sequence[ResultBuffer]) -> None:
    """Give what calls return its bytes, where one place alone is free for it."""
    for found in results:
        free = [
            at
            for at in found.starts
            if at + found.size <= len(owners)
            and all(owner in (None, _RETURNED) for owner in owners[at : at + found.size])
        ]
        if len(free) == 1:
            owners[free[0] : free[0] + found.size] = [_RETURNED] * found.size


def _fill_between_slots(owners: list[_Owner | None]) -> None:
    """Spill slots lie side by side: what lies between two, and nothing uses, is one of them.

    Only where every depot has its place: one that has none may lie anywhere.
    """
    slots = [at for at, owner in enumerate(owners) if owner and owner.kind == "spill slots"]
    for before, after in pairwise(slots):
        if after - before > 1 and all(owner is None for owner in owners[before + 1 : after]):
            owners[before + 1 : after] = [owners[before]] * (after - before - 1)


def _gaps(owners: Sequence[_Owner | None], size: int, alignment: int) -> list[int]:
    """Where ranges of a size begin that nobody owns, padding behind them aside."""
    found: list[int] = []
    start = 0
    for at in range(len(owners) + 1):
        if at < len(owners) and owners[at] is None:
            continue
        most = alignment if at == len(owners) else _ALIGNMENT
        if size <= at - start < size + most:
            found.append(start)
        start = at + 1
    return found


def _depot_starts(
    frame: int, objects: Sequence[LocalObject], placements: Sequence[Placement]
) -> dict[str, int]:
    """Where each function's depot begins in the frame, by the votes of its sites."""
    votes: dict[str, Counter[int]] = defaultdict(Counter)
    single: dict[str, Counter[int]] = defaultdict(Counter)
    widest: dict[str, int] = defaultdict(int)
    for placed in placements:
        if placed.site.base == STACK_POINTER:
            starts_at = [at for at in placed.starts if at % placed.alignment == 0]
            votes[placed.function].update(starts_at)
            if len(placed.starts) == 1:
                single[placed.function].update(starts_at)
            widest[placed.function] = max(widest[placed.function], placed.site.width)
    ends, firsts = _depot_ends(objects), _depot_beginnings(objects)
    starts = {}
    for name, counter in votes.items():
        least, room = -firsts.get(name, 0), frame - ends.get(name, 0)
        if not counter:
            continue
        # A joined access has several places to begin at; one that was not joined has one. Of
        # equals, one in the frame, and aligned as the depot's widest access has to be.
        starts[name] = max(
            counter,
            key=lambda at: (
                least <= at <= room,
                counter[at],
                single[name][at],
                at % widest[name] == 0,
                -at,
            ),
        )
    return starts


def _depot_beginnings(objects: Sequence[LocalObject]) -> dict[str, int]:
    """Where the first object of each function's depot begins, from the depot's beginning."""
    beginnings: dict[str, int] = {}
    for found in objects:
        beginnings[found.function] = min(beginnings.get(found.function, found.offset), found.offset)
    return beginnings


def _depot_ends(objects: Sequence[LocalObject]) -> dict[str, int]:
    """Where the last object of each function's depot ends, from the depot's beginning."""
    ends: dict[str, int] = {}
    for found in objects:
        ends[found.function] = max(ends.get(found.function, 0), found.offset + found.span)
    return ends


def _ranges(
    owners: Sequence[_Owner | None], alignment: int, objects: Sequence[LocalObject]
) -> tuple[FrameRange, ...]:
    result: list[FrameRange] = []
    start = 0
    for at in range(1, len(owners) + 1):
        owner = owners[start]
        # Bytes of one object share one owner: comparing it field by field takes twice the time.
        if at < len(owners) and (owners[at] is owner or owners[at] == owner):
            continue
        size = at - start
        if owner is not None:
            number = owner.object
            known = (number, objects[number]) if number is not None else None
            result.append(FrameRange.of(start, size, owner.kind, owner.cause, known))
        elif size < (alignment if at == len(owners) else _ALIGNMENT) and (
            result or at == len(owners)
        ):
            result.append(FrameRange.of(start, size, "padding", None))
        else:
            result.append(FrameRange.of(start, size, "unknown", "unattributed"))
        start = at
    return tuple(result)
