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
    accesses: Sequence[LocalAccess], frame: Sequence[FrameRange], objects: Sequence[LocalObject]
) -> tuple[CauseShare, ...]:
    """One line per cause and object; most site bytes first, then most frame bytes.

    The bytes of an access that may touch several objects are the first one's; the others have a
    line all the same.
    """
    sites: dict[tuple[Cause, int | None], list[LocalAccess]] = defaultdict(list)
    frames: dict[tuple[Cause, int | None], int] = defaultdict(int)
    for access in accesses:
        sites[access.cause, access.object].append(access)
        for other in access.others if access.object is not None else ():
            sites.setdefault((objects[other].cause, other), [])
    for part in frame:
        if part.cause is not None:
            frames[part.cause, part.object_index] += part.size
    result = [
        CauseShare.of(
            cause,
            (number, objects[number]) if number is not None else None,
            frames.get((cause, number), 0),
            SiteClass.of(sites[cause, number]),
        )
        for cause, number in {**frames, **sites}
    ]
    return tuple(sorted(result, key=_order))


def _order(share: CauseShare) -> tuple[int, int, str, int]:
    number = -1 if share.object_index is None else share.object_index
    return (-share.sites.bytes, -share.frame_bytes, share.cause, number)
