"""Whether a rewriting moves a program's own shared memory to where it is aligned less.

Code may read bytes by words of 16, or copy such pieces, because its array happens to lie so. ptxas
places a kernel's own variables in the order of their declarations, then those of the file and of
functions that are called, then dynamic shared memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import stable_name
from lmemscope.model import KernelFacts, SharedVariable, UnitReport

ALIGNMENT = 128
"""Bytes that any access to shared memory may ask for at most, but by a tensor map."""


def moved_shared(before: UnitReport, after: UnitReport) -> Iterator[str]:
    """What is promised of kernels whose shared memory may be aligned less, by kernel.

    Args:
        before, after: a unit without and with a rewriting.
    """
    later = {stable_name(one.facts.name): one.facts for one in after.kernels}
    for was in (one.facts for one in before.kernels):
        made = later.get(stable_name(was.name))
        if was.kind == "entry" and made is not None and is_moved(was, made):
            name = short_name(was.demangled)
            yield f"{name} needs no more alignment of its shared memory than it declares"


def is_moved(was: KernelFacts, made: KernelFacts) -> bool:
    """Whether shared memory of a kernel may be aligned less than without a rewriting."""
    if was.shared_variables is None or made.shared_variables is None:
        return _size(was) != _size(made) and _size(was) != 0
    if [_kind(one) for one in was.shared_variables] == [
        _kind(one) for one in made.shared_variables
    ]:
        return False  # Versions of a kernel give them other names.
    own, other = _parts(was.shared_variables)
    now, beside = _parts(made.shared_variables)
    places, end = _places(own)
    moved, size = _places(now)
    if not places.keys() <= moved.keys():
        return True  # They have other names, or are not there.
    if other:
        same = [*map(_kind, other)] == [*map(_kind, beside)] and (size - end) % ALIGNMENT == 0
        return not same or any((moved[one] - at) % ALIGNMENT for one, at in places.items())
    return any(_aligned(moved[one]) < _aligned(at) for one, at in places.items())


def _size(facts: KernelFacts) -> int | None:
    """Bytes of static shared memory as ptxas reports them, which says nothing of none."""
    return (facts.ptxas.shared or 0) if facts.ptxas is not None else None


def _parts(
    variables: Sequence[SharedVariable],
) -> tuple[Sequence[SharedVariable], Sequence[SharedVariable]]:
    """A kernel's own variables, and those that follow."""
    return [one for one in variables if one.is_own], [one for one in variables if not one.is_own]


def _places(own: Sequence[SharedVariable]) -> tuple[dict[str, int], int]:
    """Where each variable lies, and the end of the last."""
    places, end = dict[str, int](), 0
    for one in own:
        at = -(-end // one.alignment) * one.alignment
        places[stable_name(one.name)] = at
        end = at + (one.size or 0)
    return places, end


def _aligned(place: int) -> int:
    return min(place & -place or ALIGNMENT, ALIGNMENT)


def _kind(one: SharedVariable) -> tuple[int, int | None, bool]:
    return one.alignment, one.size, one.is_own
