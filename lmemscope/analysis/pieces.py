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
    listed: Sequence[Joined], candidates: Sequence[Sequence[Candidate]]
) -> list[Joined]:
    """Neighbours that can only together be a variable, as one object.

    Pieces of one variable follow each other in the depot, and no other variable is named on the
    lines of both.
    """
    result: list[Joined] = []
    begun: list[Joined] = []
    shared: set[Variable] = set()
    for one, known in zip(listed, candidates, strict=True):
        found, mine = one.found, _larger(known)
        if begun:
            first, last = begun[0].found, begun[-1].found
            size = found.offset + _reached(found) - first.offset
            common = shared & mine
            touching = last.offset + last.size == found.offset
            if touching and len(common) == 1 and all(size <= v.size for v in common):
                begun.append(one)
                shared = common
                continue
            result.append(_joined(begun))
        begun, shared = [one], mine
    if begun:
        result.append(_joined(begun))
    return result


def _larger(candidates: Sequence[Candidate]) -> set[Variable]:
    """Named aggregates that are larger than an object which no other name fits as well."""
    top = max((c.mention for c in candidates if c.is_exact and c.is_named), default=0.0)
    if any(c.is_exact and c.stays_in_memory and c.is_named and c.fit == 1.0 for c in candidates):
        return set()
    return {
        c.variable
        for c in candidates
        if c.slack < 0 and not c.repeats and c.stays_in_memory and c.is_named and c.mention >= top
    }


def _reached(found: StackObject) -> int:
    """Bytes up to the last one that is accessed at a constant place: what is behind is padding."""
    places = (one.offset - found.offset + one.width for one in found.accesses if one.offset)
    return max((end for end in places if 0 < end <= found.size), default=found.size)


def _joined(pieces: Sequence[Joined]) -> Joined:
    if len(pieces) == 1:
        return pieces[0]
    parts = [piece.found for piece in pieces]
    accesses = {access.index: access for part in parts for access in part.accesses}
    return Joined(
        StackObject(
            parts[0].offset,
            sum(part.size for part in parts),
            [accesses[index] for index in sorted(accesses)],
            [passed for part in parts for passed in part.passed_to],
            sorted({index for part in parts for index in part.stored_at}),
        ),
        tuple(offset for piece in pieces for offset in piece.pieces),
    )
