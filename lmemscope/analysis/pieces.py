"""Stack objects that are pieces of one variable: the compiler splits arrays into their elements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass
from itertools import chain

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
    """Pieces that pointers are chosen between, as one object where a named array is as large.

    Compilers write an index that a loop counts as such a choice, ``p ? &a[1] : &a[0]``. What lies
    between, such as the other columns of a row, belongs to it. The lines of one element may name
    another variable as often as the array; those of ``p ? &x : &y`` name a variable for each piece.

    Args:
        listed: by depot offset.
        known: the candidates of each.
        candidates: of other objects.
    """
    fitting = {
        one.pieces: {c.variable for c in of_one if c.agrees and not c.is_aggregate}
        for one, of_one in zip(listed, known, strict=True)
    }

    def joined(run: Sequence[Joined]) -> list[Joined]:
        whole, last = _joined(run, set()), run[-1].found
        size = last.offset + (last.reached or last.size) - whole.found.offset
        scalars = set().union(*(fitting[one.pieces] for one in run))
        is_array = 1 < len(run) > len(scalars) and any(
            c.agrees and c.part.is_array and c.part.size == size for c in candidates([whole])[0]
        )
        return [whole] if is_array else list(run)

    result: list[Joined] = []
    for run in _runs(listed, far=True):
        whole = joined(run)
        result += whole if len(whole) == 1 else chain.from_iterable(map(joined, _runs(run)))
    return result


def _runs(listed: Sequence[Joined], *, far: bool = False) -> list[list[Joined]]:
    """Touching objects, each of which a pointer may lead to that may lead to the one before.

    Args:
        listed: by depot offset.
        far: whether one before that one is enough.
    """
    runs: list[list[Joined]] = []
    behind = -1  # where the last object is that a pointer may lead to
    for one in listed:
        found, last = one.found, runs[-1][-1].found if runs else None
        touches = last is not None and last.offset + last.size == found.offset
        if last is not None and touches and (behind >= found.offset):
            runs[-1].append(one)
        else:
            runs.append([one])
        chosen = _chosen_with(found)
        if far:
            behind = max(behind, *chosen)
        else:
            behind = found.offset + found.size if found.offset + found.size in chosen else -1
    return runs


def _chosen_with(found: StackObject) -> set[int]:
    """The depot offsets of what an access may be to that may be to an object, and its own."""
    offsets = [{one.offset for one in access.pointees} for access in found.accesses]
    return {found.offset}.union(*(chosen for chosen in offsets if found.offset in chosen))


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
