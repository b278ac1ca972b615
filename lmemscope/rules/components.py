"""Vectors that are indexed as if they were arrays."""

from __future__ import annotations

import re

from lmemscope.model import Advice, LocalAccess, SourceLocation
from lmemscope.rules.base import Case
from lmemscope.rules.declared import declaration_of

_VECTOR = re.compile(
    r"(?:char|uchar|short|ushort|int|uint|long|ulong|longlong|ulonglong|float|double)"
    r"(?P<components>[234])"
)


def of_components(case: Case) -> tuple[Advice, ...]:
    """A comparison with each component of a vector that is indexed as if it were an array."""
    found, made = case.object, declaration_of(case)
    vector = _VECTOR.fullmatch(made.element) if made is not None else None
    if found is None or made is None or vector is None or made.extents or found.also:
        return ()
    count = int(vector["components"])
    width = (made.element_bytes or 0) // count
    indexed = _accesses_on(case, case.location)
    if case.generic or not indexed or any(access.width != width for access in indexed):
        return ()
    names = ", ".join(f"`.{letter}`" for letter in "xyzw"[:count])
    return (
        Advice(
            f"Select among the {count} components ({names}) by comparing with the index, in "
            f"an unrolled loop or one by one, instead of indexing {case.name}: it can then "
            "stay in registers."
        ),
    )


def _accesses_on(case: Case, place: SourceLocation | None) -> list[LocalAccess]:
    """The accesses of a line, wherever it is inlined, and of what is inlined into it."""
    return [one for one in case.accesses if any(frame.location == place for frame in one.chain)]
