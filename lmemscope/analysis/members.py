"""A structure's indexed arrays as objects of their own, and the rest of it beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.analysis.layout import Part, arrays_at, parts_of
from lmemscope.analysis.mentions import has_no_name
from lmemscope.analysis.names import NamedObject, Names, ObjectName
from lmemscope.analysis.ptx.copying import is_copying
from lmemscope.analysis.ptx.guards import copy_around
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject
from lmemscope.model import Extent


class Member(Struct, frozen=True):
    """What becomes an object: all of a variable, or an array in it, or what such arrays leave.

    Attributes:
        found: with its own accesses.
        name: or None.
        extent: what of the named type it is; None without a name.
        size: bytes of its own in the depot.
        selecting: instructions that select an element of it for sure: their lines say its name.
        chosen: its accesses that may be another member's.
    """

    found: StackObject
    name: ObjectName | None
    extent: Extent | None
    size: int
    selecting: frozenset[int] = frozenset()
    chosen: frozenset[int] = frozenset()

    @property
    def confined(self) -> dict[int, range]:
        """Bytes of the depot that the instructions stay in which select an element of it.

        What is selected through a pointer to one object or another stays in neither.
        """
        own = range(self.found.offset, self.found.offset + self.size)
        return {
            access.index: own
            for access in self.found.accesses
            if access.index in self.selecting and len(access.pointees) == 1
        }


def split(names: Names | None, objects: FunctionObjects, named: NamedObject) -> list[Member]:
    """The arrays that indexed accesses lie in, then the rest; the whole where they do not tell.

    Variables that share the object are objects of their own.

    A structure whose address goes elsewhere stays whole: what is done to it there is not seen.
    """
    found, name = named.found, named.name
    if named.turns:
        return [whole(turn) for turn in named.turns]
    if name is None or names is None:
        return [whole(named)]
    indexed = _indexed_arrays(names, objects, named)
    if not indexed:
        return [whole(named)]
    arrays = sorted({part for parts in indexed.values() for part in parts}, key=lambda p: p.offset)
    size = min(found.size, name.size)
    members: list[Member] = []
    places = names.places(objects)
    inside: dict[Part, list[PtxAccess]] = defaultdict(list)
    left = []
    for access in found.accesses:
        own = list(indexed.get(access.index, ()))
        # What a loop copies or clears goes on behind the array that it begins in.
        for place in () if own else places.each(access, found):
            start = place.start
            if start is not None and not place.step:
                own += [part for part in arrays if part.offset <= start < part.end]
        for part in own:
            inside[part].append(access)
        if not own:
            left.append(access)
    chosen = frozenset(index for index, parts in indexed.items() if len(parts) > 1)
    for array in arrays:
        one = StackObject(found.offset + array.offset, array.size, inside[array])
        called = names.name(name.variable, array, name.confidence)
        selecting = frozenset(
            index
            for index, parts in indexed.items()
            if parts == (array,) and _is_selecting(names, objects, named, index, array)
        )
        shared = frozenset(access.index for access in one.accesses) & chosen
        members.append(Member(one, called, "whole", array.size, selecting, shared))
    rest = size - sum(array.size for array in arrays)
    if rest > 0:
        other = StackObject(found.offset, found.size, left)
        sure = "likely" if name.confidence == "certain" else name.confidence
        members.append(Member(other, replace(name, confidence=sure), "rest", rest))
    return members


def whole(named: NamedObject) -> Member:
    """An object that is not divided."""
    found, name = named.found, named.name
    if name is None:
        return Member(found, None, None, found.size)
    size = min(found.size, name.size)
    return Member(found, name, "part" if size < name.size else "whole", size)


def _indexed_arrays(
    names: Names, objects: FunctionObjects, named: NamedObject
) -> dict[int, tuple[Part, ...]]:
    """The arrays of a structure that each indexed access selects from; empty if not clear.

    More than one of an access through a pointer that is chosen between them.
    """
    found, name = named.found, named.name
    assert name is not None
    if name.path or found.passed_to or found.stored_at or found.size < name.variable.size:
        return {}
    parts = parts_of(name.variable)
    if parts[0].is_array or not name.variable.members:
        return {}
    places = names.places(objects)
    arrays: dict[int, tuple[Part, ...]] = {}
    known: set[Part] = set()
    for access in found.accesses:
        each = [place for place in places.each(access, found) if place.step]
        # A copy of the whole structure begins in its first array, which nobody need index.
        if not each or is_copying(objects, access):
            continue
        own: dict[Part, None] = {}
        for place in each:
            near = arrays_at(parts, place)
            if not near:
                return {}
            said = {part: names.said(objects, [access], name.variable, part) for part in near}
            best = max(near, key=lambda part: said[part])
            own[best] = None
            if said[best] or len(each) > 1 or _begins_alone(parts, best, place.start):
                known.add(best)
        arrays[access.index] = tuple(own)
    if known:
        # A loop that sets all of a structure to zero begins in its first array.
        arrays = {index: own for index, own in arrays.items() if known.issuperset(own)}
    ordered = sorted({part for own in arrays.values() for part in own}, key=lambda p: p.offset)
    if any(left.end > right.offset for left, right in pairwise(ordered)):
        return {}  # a union's
    if len(ordered) == 1 and ordered[0].size == name.variable.size:
        # All that a class holds: who writes `v[i]` knows it by the name of the whole.
        indexed = [access for access in found.accesses if access.index in arrays]
        if not has_no_name(name.variable) and not names.said(
            objects, indexed, name.variable, ordered[0]
        ):
            return {}
    return arrays


def _begins_alone(parts: Sequence[Part], array: Part, start: int | None) -> bool:
    """Whether an address is where an array begins, and nothing larger: not that of the whole."""
    return start == array.offset and all(
        part.offset != start or part.end <= array.end for part in parts
    )


def _is_selecting(
    names: Names, objects: FunctionObjects, named: NamedObject, index: int, array: Part
) -> bool:
    """Whether an access is for sure one of an array, and not of more that lies behind it.

    Its line says so; a function that gets the whole as bytes may call them by the same name. Stores
    that are merged have no line; nor has a loop that copies or clears a structure up to a length of
    run time, but that has the counter of its own loop as the index. A copy that is told to begin in
    the array does not leave it.
    """
    access, flow = objects.access_at[index], objects.dataflow.flow
    if names.says_member(objects, access, array.word):
        return True
    if copy_around(objects, index) is not None:
        assert named.name is not None
        start = names.places(objects).of(access, named.found).start
        return _begins_alone(parts_of(named.name.variable), array, start)
    loc, around = objects.body.instructions[index].loc, flow.innermost(frozenset({index}))
    if loc is None or loc.line:
        return False
    own = around.header if around is not None else -1
    return all(leaf.kind != "loop-counter" or leaf.header != own for leaf in access.leaves)
