"""A variable's type as bytes: which of its arrays an access lies in, and whether it fits there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from lmemscope.analysis.ptx.places import Place
from lmemscope.model import Member, Variable

NumberKind = Literal["float", "integer"]
"""Pointers are integers."""

_UNROLLED = 4
"""Loops are unrolled so often by default: their pointers run that many elements ahead."""
_DIMENSION = re.compile(r"\[(\d{1,18})\]")
_POINTER = re.compile(r"\*(?:\s*(?:const|volatile|__restrict__|__restrict|restrict)\b)*$")
_FLOAT = re.compile(r"(?:(?:const|volatile) )*(?:float|double)")
_INTEGER = re.compile(
    r"(?:(?:const|volatile) )*(?:(?:(?:un)?signed|long|short) )*"
    r"(?:int|char|long|short|bool|unsigned|__int128|u?int\d+_t|size_t|uint|ushort|uchar)"
)
_HALF = 2
"""Bytes of half precision, which classes hold as an integer."""
_DIMENSIONS = re.compile(r"(?<!\])(?:\[\d{1,18}\])+$")


@dataclass(frozen=True, slots=True)
class Part:
    """A variable, or an array or record inside it that no array is around.

    Attributes:
        path: behind the variable's name: ``.a.b``, empty for the variable itself.
        type: as the source says.
        offset, size: bytes from the variable's beginning.
        units: sizes of the scalars that it is made of, ascending.
        is_array: whether an index selects among its elements.
    """

    path: str
    type: str
    offset: int
    size: int
    units: tuple[int, ...]
    is_array: bool

    @property
    def end(self) -> int:
        """Behind its last byte."""
        return self.offset + self.size

    @property
    def word(self) -> str:
        """The last name in its path."""
        return self.path.rpartition(".")[2]

    def takes(self, place: Place) -> bool:
        """Whether an access moves whole scalars of it, from scalar to scalar."""
        return any(
            place.width % unit == 0 and (place.step % unit == 0 or place.step == 1)
            for unit in self.units
        )


def is_array(kind: str) -> bool:
    """Whether a type's name is an array's."""
    return kind.endswith("]")


def dimensions(kind: str) -> tuple[int, ...]:
    """The dimensions at the end of a type's name, outermost first; none of what is no array."""
    found = _DIMENSIONS.search(kind)
    return tuple(map(int, _DIMENSION.findall(found[0]))) if found is not None else ()


def without_dimensions(kind: str) -> str:
    """The type of an array's elements; a type that is no array's as it is."""
    return _DIMENSIONS.sub("", kind)


def is_reference(kind: str) -> bool:
    """Whether a type's name is a reference's."""
    return kind.endswith("&")


def is_pointer(kind: str) -> bool:
    """Whether a type's name is a pointer's, which may itself be constant."""
    return _POINTER.search(kind) is not None


def dimensions_to_pointers(kind: str, members: Sequence[Member]) -> int:
    """How many subscripts lead to the pointers that an array holds; 0 where it holds none.

    A class that is nothing but one such array, as ``std::array`` is, has that one's, too.
    """
    own = kind.count("[")
    if "*" in kind:
        return own
    inner = dimensions_to_pointers(members[0].type, members[0].members) if len(members) == 1 else 0
    return own + inner if inner else 0


def parts_of(variable: Variable) -> tuple[Part, ...]:
    """The variable itself, then what is inside it, outermost first."""
    return tuple(_parts("", variable.type, 0, variable.size, variable.members))


def arrays_at(parts: Sequence[Part], place: Place) -> list[Part]:
    """The arrays that an indexed access may lie in, likeliest first; the lines tell which.

    Those that its first byte is in; of the members of a union those whose elements are as wide as
    the access. Then the next ones: ``items[top - 1]`` begins one element before ``items``.
    """
    start = place.start
    if start is None:
        return []
    reach = _UNROLLED * max(place.step, place.width)
    inside: list[Part] = []
    beside: list[Part] = []
    for part in parts:
        if part.is_array and part.offset <= start < part.end:
            inside.append(part)
        elif (
            part.is_array and part.takes(place) and part.offset - reach <= start < part.end + reach
        ):
            beside.append(part)

    def misfit(part: Part) -> tuple[bool, bool, int]:
        return not part.takes(place), place.width not in part.units, part.size

    inside.sort(key=misfit)
    fitting = [part for part in inside if misfit(part)[:2] == misfit(inside[0])[:2]]
    return [*fitting, *sorted(beside, key=misfit)]


def fits(parts: Sequence[Part], place: Place) -> bool:
    """Whether a type has an array, or a scalar at a constant place, for an access to lie in."""
    if place.step:
        arrays = arrays_at(parts, place)
        return arrays[0].takes(place) if arrays else place.start is None
    start = place.start
    around = [part for part in parts if start is None or part.offset <= start < part.end]
    return bool(around) and any(part.takes(place) for part in around)


def number_at(
    variable: Variable, at: int | None, step: int, width: int
) -> tuple[int | None, NumberKind] | None:
    """The kind of number at a byte of a variable, and the byte of an element where that kind is.

    The byte is None where all of the variable is of one kind. None where the type does not tell: in
    unions, in enumerations, of numbers of another width.

    Args:
        variable: whose.
        at, step: the byte, and what an index adds multiples of; None where not known.
        width: bytes of the number.
    """
    kind, size, members = variable.type, variable.size, variable.members
    numbers = set(_numbers(kind, size, members))
    if len(numbers) == 1:
        size, only = numbers.pop()
        return (None, only) if only is not None and size == width else None
    element = _element_size(kind, size)
    if at is None or step % element:
        return None
    at = place = at % element
    while members:
        size = _element_size(kind, size)
        place %= size
        around = [one for one in members if one.offset <= place < one.offset + one.size]
        if len(around) != 1:
            return None
        kind, size, members = around[0].type, around[0].size, around[0].members
        place -= around[0].offset
    known = number_kind(kind)
    size = _element_size(kind, size)
    return (at, known) if known is not None and size == width and not place % size else None


def has_union(members: Sequence[Member]) -> bool:
    """Whether members of a type lie in each other's bytes."""
    return any(
        one.offset + one.size > other.offset for one, other in pairwise(members) if one.size
    ) or any(has_union(one.members) for one in members)


def _numbers(
    kind: str, size: int, members: Sequence[Member]
) -> Iterator[tuple[int, NumberKind | None]]:
    """Sizes and kinds of the scalars of a type."""
    if has_union(members):
        yield size, None
        return
    for member in members:
        for width, number in _numbers(member.type, member.size, member.members):
            # Classes hold half precision as an integer.
            yield width, None if width == _HALF else number
    if not members:
        yield _element_size(kind, size), number_kind(kind)


def number_kind(kind: str) -> NumberKind | None:
    """Whether a scalar type, or an array of it, is of integers, pointers, or of floats."""
    scalar = without_dimensions(kind)
    if is_pointer(scalar) or _INTEGER.fullmatch(scalar):
        return "integer"
    return "float" if _FLOAT.fullmatch(scalar) else None


def is_volatile(kind: str) -> bool | None:
    """Whether a number, a pointer, or an array of them is volatile; None of any other type."""
    scalar = without_dimensions(kind)
    return "volatile" in scalar.rpartition("*")[2] if number_kind(scalar) is not None else None


def _element_size(kind: str, size: int) -> int:
    for dimension in dimensions(kind):
        size //= max(dimension, 1)
    return max(size, 1)


def _parts(
    path: str, kind: str, offset: int, size: int, members: Sequence[Member]
) -> Iterator[Part]:
    units = tuple(sorted(set(_units(kind, size, members))))
    yield Part(path, kind, offset, size, units, is_array(kind))
    if is_array(kind):
        return
    for member in members:
        if member.members or is_array(member.type):
            at = offset + member.offset
            inner = f"{path}.{member.name}"
            yield from _parts(inner, member.type, at, member.size, member.members)


def _units(kind: str, size: int, members: Sequence[Member]) -> Iterator[int]:
    if members:
        for member in members:
            yield from _units(member.type, member.size, member.members)
        return
    yield _element_size(kind, size)
