"""Stack objects that are pieces of one variable: the compiler splits arrays into their elements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass

from lmemscope.analysis.candidates import Candidate
from lmemscope.analysis.ptx.objects import StackObject
from lmemscope.model import Variable


@dataclass(frozen=True, slots=True)
class Joined:
    """An object of one or more neighbouring pieces.

    Attributes:
        found: the object, with the accesses of all pieces.
        pieces: their depot offsets.
        variable: what they can only together be; None where that is not known.
    """

    found: StackObject
    pieces: tuple[int, ...]
    variable: Variable | None = None


def join_pieces(
    listed: Sequence[Joined],
    candidates: Sequence[Sequence[Candidate]],
    apart: Collection[tuple[int, Variable]] = (),
) -> list[Joined]:
    """Neighbours that can only together be a variable, as one object.

    Pieces of one variable follow each other in the depot, and no other variable is named on the
    lines of both.

    Args:
        listed: by depot offset.
        candidates: of each.
        apart: depot offsets of pieces, with a variable that they are no part of.
    """
    result: list[Joined] = []
    begun: list[Joined] = []
    shared: set[Variable] = set()
    for one, known in zip(listed, candidates, strict=True):
        found = one.found
        mine = {v for v in _larger(known) if all((at, v) not in apart for at in one.pieces)}
        if begun:
            first, last = begun[0].found, begun[-1].found
            size = found.offset + (found.reached or found.size) - first.offset
            common = shared & mine
            touching = last.offset + last.size == found.offset
            if touching and len(common) == 1 and all(size <= v.size for v in common):
                begun.append(one)
                shared = common
                continue
            result.append(_joined(begun, shared))
        begun, shared = [one], mine
    if begun:
        result.append(_joined(begun, shared))
    return result


def misjoined(
    joined: Sequence[Joined], chosen: Sequence[Candidate | None]
) -> set[tuple[int, Variable]]:
    """Pieces that were joined for a variable which they turn out not to be, with that variable."""
    return {
        (offset, one.variable)
        for one, best in zip(joined, chosen, strict=True)
        if one.variable is not None and best is not None and best.variable != one.variable
        for offset in one.pieces
    }


def join_arrays(
    listed: Sequence[Joined],
    known: Sequence[Sequence[Candidate]],
    candidates: Callable[[Sequence[Joined]], Sequence[Sequence[Candidate]]],
) -> list[Joined]:
    """Pieces that a pointer is chosen between, as one object where a named array is as large.

    Compilers write an index that a loop counts as such a choice, ``p ? &a[1] : &a[0]``. The lines
    of one element may name another variable as often as the array; those of ``p ? &x : &y`` name a
    variable for each piece.

    Args:
        listed: by depot offset.
        known: the candidates of each.
        candidates: of other objects.
    """
    runs: list[list[int]] = []
    for number, one in enumerate(listed):
        if number and _is_chosen_between(listed[number - 1].found, one.found):
            runs[-1].append(number)
        else:
            runs.append([number])
    result: list[Joined] = []
    for run in runs:
        pieces = [listed[number] for number in run]
        whole, last = _joined(pieces, set()), pieces[-1].found
        size = last.offset + (last.reached or last.size) - whole.found.offset
        scalars = {c.variable for n in run for c in known[n] if c.agrees and not c.is_aggregate}
        is_array = 1 < len(run) > len(scalars) and any(
            c.agrees and c.part.is_array and c.part.size == size for c in candidates([whole])[0]
        )
        result += [whole] if is_array else pieces
    return result


def _is_chosen_between(left: StackObject, right: StackObject) -> bool:
    """Whether two objects touch, and an access may be of either."""
    if left.offset + left.size != right.offset:
        return False
    pointees = ({one.offset for one in access.pointees} for access in left.accesses)
    return any({left.offset, right.offset} <= offsets for offsets in pointees)


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


def _joined(pieces: Sequence[Joined], variables: Set[Variable]) -> Joined:
    """Pieces as one object; ``variables`` are those that they can only together be."""
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
        next(iter(variables)) if len(variables) == 1 else None,
    )
