"""A structure's indexed arrays as objects of their own, and the rest of it beside them."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.analysis.layout import Part, arrays_at, parts_of
from lmemscope.analysis.mentions import has_no_name
from lmemscope.analysis.names import NamedObject, Names, ObjectName, relative
from lmemscope.analysis.ptx.copying import is_copying
from lmemscope.analysis.ptx.guards import copy_around, guard_of_copy
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
    """

    found: StackObject
    name: ObjectName | None
    extent: Extent | None
    size: int
    selecting: frozenset[int] = frozenset()

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
    arrays = sorted(set(indexed.values()), key=lambda part: part.offset)
    size = min(found.size, name.size)
    members: list[Member] = []
    places = names.places(objects)
    inside: dict[Part, list[int]] = defaultdict(list)
    for number, access in enumerate(found.accesses):
        array = indexed.get(access.index)
        place = relative(places.of(access), found)
        start = place.start
        # What a loop copies or clears goes on behind the array that it begins in.
        if array is None and start is not None and not place.step:
            array = next((part for part in arrays if part.offset <= start < part.end), None)
        if array is not None:
            inside[array].append(number)
    taken = {number for numbers in inside.values() for number in numbers}
    for array in arrays:
        own = StackObject(
            found.offset + array.offset, array.size, [found.accesses[n] for n in inside[array]]
        )
        called = names.name(name.variable, array, name.confidence)
        selecting = frozenset(
            index
            for index, part in indexed.items()
            if part == array and _is_selecting(names, objects, named, index, part)
        )
        members.append(Member(own, called, "whole", array.size, selecting))
    rest = size - sum(array.size for array in arrays)
    if rest > 0:
        left = [a for n, a in enumerate(found.accesses) if n not in taken]
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


def _indexed_arrays(names: Names, objects: FunctionObjects, named: NamedObject) -> dict[int, Part]:
    """The array of a structure that each indexed access selects from; empty if not clear."""
    found, name = named.found, named.name
    assert name is not None
    if name.path or found.passed_to or found.stored_at or found.size < name.variable.size:
        return {}
    parts = parts_of(name.variable)
    if parts[0].is_array or not name.variable.members:
        return {}
    places = names.places(objects)
    arrays: dict[int, Part] = {}
    total: Counter[Part] = Counter()
    for access in found.accesses:
        place = relative(places.of(access), found)
        # A copy of the whole structure begins in its first array, which nobody need index.
        if not place.step or is_copying(objects, access):
            continue
        near = arrays_at(parts, place)
        if not near:
            return {}
        said = {part: names.said(objects, [access], _word(part)) for part in near}
        best = max(near, key=lambda part: said[part])
        arrays[access.index] = best
        total[best] += said[best]
    if any(total.values()):
        # A loop that sets all of a structure to zero begins in its first array.
        arrays = {index: part for index, part in arrays.items() if total[part]}
    ordered = sorted(set(arrays.values()), key=lambda part: part.offset)
    if any(left.end > right.offset for left, right in pairwise(ordered)):
        return {}  # a union's
    if len(ordered) == 1 and ordered[0].size == name.variable.size:
        # All that a class holds: who writes `v[i]` knows it by the name of the whole.
        word = _word(ordered[0])
        indexed = [access for access in found.accesses if access.index in arrays]
        if not has_no_name(name.variable) and not names.said(objects, indexed, word):
            return {}
    return arrays


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
    if names.says_member(objects, access, _word(array)):
        return True
    if copy_around(objects, index) is not None:
        return _is_copied(names, objects, named, access, array)
    loc, around = objects.body.instructions[index].loc, flow.innermost(frozenset({index}))
    if loc is None or loc.line:
        return False
    own = around.header if around is not None else -1
    return all(leaf.kind != "loop-counter" or leaf.header != own for leaf in access.leaves)


def _is_copied(
    names: Names, objects: FunctionObjects, named: NamedObject, access: PtxAccess, array: Part
) -> bool:
    """Whether a copy begins in an array: its call says so, or the first byte that it may reach is
    the array's and of nothing larger, as in ``&s.data[n]``."""
    found, name, word = named.found, named.name, _word(array)
    assert name is not None
    start = relative(names.places(objects).of(access), found).start
    if start == array.offset and all(
        part.offset != start or part.end <= array.end for part in parts_of(name.variable)
    ):
        return True
    guard = guard_of_copy(objects, access.index)
    return guard is not None and names.copies_member(objects, guard, word, is_store=access.is_store)


def _word(part: Part) -> str:
    return part.path.rpartition(".")[2]
