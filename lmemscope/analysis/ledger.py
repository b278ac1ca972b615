"""The two ledgers: frame bytes and site bytes, by cause and object; both must add up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from lmemscope.model import (
    Cause,
    CauseShare,
    FrameRange,
    LocalAccess,
    LocalObject,
    SiteClass,
)


def shares(
    accesses: Sequence[LocalAccess],
    frame: Sequence[FrameRange],
    objects: Sequence[LocalObject],
) -> tuple[CauseShare, ...]:
    """One line per cause and object; most site bytes first, then most frame bytes."""
    sites: dict[tuple[Cause, int | None], list[LocalAccess]] = defaultdict(list)
    frames: dict[tuple[Cause, int | None], int] = defaultdict(int)
    for access in accesses:
        sites[access.cause, access.object].append(access)
    for part in frame:
        if part.cause is not None:
            frames[part.cause, part.object] += part.size
    for number, found in enumerate(objects):
        if found.cause == "promoted":
            frames[found.cause, number] += 0
    result = [
        CauseShare(cause, found, frames.get((cause, found), 0), _count(sites[cause, found]))
        for cause, found in {**frames, **sites}
    ]
    return tuple(sorted(result, key=_order))


def _order(share: CauseShare) -> tuple[int, int, str, int]:
    site_bytes = share.sites.load_bytes + share.sites.store_bytes
    number = -1 if share.object is None else share.object
    return (-site_bytes, -share.frame_bytes, share.cause, number)


def _count(accesses: Sequence[LocalAccess]) -> SiteClass:
    loads = [access.width for access in accesses if not access.is_store]
    stores = [access.width for access in accesses if access.is_store]
    return SiteClass(len(loads), len(stores), sum(loads), sum(stores))
