"""Stack objects that are pieces of one variable: the compiler splits arrays into their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.analysis.candidates import Candidate
from lmemscope.analysis.ptx.objects import StackObject
from lmemscope.model import Variable


@dataclass(frozen=True, slots=True)
class Joined:
    """An object of one or more neighbouring pieces; ``pieces`` are their depot offsets."""

    found: StackObject
    pieces: tuple[int, ...]


def join_pieces(
    listed: Sequence[StackObject], candidates: Sequence[Sequence[Candidate]]
) -> list[Joined]:
    """Neighbours that can only together be a variable, as one object.

    Pieces of one variable follow each other in the depot, and no other variable is named on the
    lines of both.
    """
    result: list[Joined] = []
    begun: list[int] = []
    shared: set[Variable] = set()
    for number, found in enumerate(listed):
        mine = _larger(candidates[number])
        if begun:
            last = listed[begun[-1]]
            size = found.offset + _reached(found) - listed[begun[0]].offset
            common = shared & mine
            touching = last.offset + last.size == found.offset
            if touching and len(common) == 1 and all(size <= one.size for one in common):
                begun.append(number)
                shared = common
                continue
            result.append(_joined([listed[n] for n in begun]))
        begun, shared = [number], mine
    if begun:
        result.append(_joined([listed[n] for n in begun]))
    return result


def _larger(candidates: Sequence[Candidate]) -> set[Variable]:
    """Named aggregates that are larger than an object which no other name fits as well."""
    top = max((c.mention for c in candidates if c.is_exact and c.is_named), default=0.0)
    if any(c.is_exact and c.is_aggregate and c.is_named and c.fit == 1.0 for c in candidates):
        return set()
    return {
        c.variable
        for c in candidates
        if c.slack < 0 and not c.repeats and c.is_aggregate and c.is_named and c.mention >= top
    }


def _reached(found: StackObject) -> int:
    """Bytes up to the last one that is accessed at a constant place: what is behind is padding."""
    places = (one.offset - found.offset + one.width for one in found.accesses if one.offset)
    return max((end for end in places if 0 < end <= found.size), default=found.size)


def _joined(pieces: Sequence[StackObject]) -> Joined:
    offsets = tuple(piece.offset for piece in pieces)
    first = pieces[0]
    if len(pieces) == 1:
        return Joined(first, offsets)
    accesses = {access.index: access for piece in pieces for access in piece.accesses}
    return Joined(
        StackObject(
            first.offset,
            sum(piece.size for piece in pieces),
            [accesses[index] for index in sorted(accesses)],
            [passed for piece in pieces for passed in piece.passed_to],
            sorted({index for piece in pieces for index in piece.stored_at}),
        ),
        offsets,
    )
