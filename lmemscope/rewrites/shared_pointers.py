"""Columns of shared memory for an array that pointers go through.

The array and each local pointer into it become a pointer of a class that counts elements: a step is
one element of the thread's own column, in the order that the elements have in memory, rows of a row
included. Two of them compare by that count, so that one before the first element is less than it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.accessors import joined
from lmemscope.rewrites.arrays import Elements, LocalArray, element_type, is_captured
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.carried import Carrier, Passing
from lmemscope.rewrites.classes import declared_as, helper_edits
from lmemscope.rewrites.followed import Places, places
from lmemscope.rewrites.pointers import Pointer, redeclared
from lmemscope.rewrites.rows import check_indices
from lmemscope.rewrites.shared_room import LANE, Room, fill_of, for_threads
from lmemscope.sources.syntax import Syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = (b"lmem_pointer", b"lmem_pointer_plane", b"lmem_pointer_space")
_NARROW_NAMES = tuple(one.replace(b"lmem_", b"lmem_narrow_") for one in _NAMES)
_WORD = 4
_TypeOf = Callable[[bytes, bool, Sequence[bytes]], bytes]
"""The class by the elements' type, whether they are const, and the extents of an element."""


def propose_pointers(
    target: Target, array: LocalArray, room: Room, together: int | None
) -> Iterator[Rewriting]:
    """The declaration as a pointer into a shared array, and the pointers that get its places.

    Args:
        target: whose array it is.
        array: of at most three dimensions.
        room: for it.
        together: how many of its elements share a word; None where no two have to.

    Raises:
        DeclinedError: a place of it goes where it cannot be followed.
    """
    dimensions = len(array.extents)
    names = _NARROW_NAMES if together else _NAMES

    def before(path: str, syntax: Syntax, function: Node) -> tuple[Edit, ...]:
        return tuple(
            edit
            for name, text in zip(names[:dimensions], _CLASSES, strict=False)
            for edit in helper_edits(
                target, path, syntax, function, name, _spelled(text, narrow=bool(together))
            )
        )

    def type_of(element: bytes, is_const: bool, extents: Sequence[bytes]) -> bytes:
        return _type(names, element, is_const, extents, room.threads)

    def spelling(element: bytes, is_const: bool, extents: Sequence[bytes]) -> bytes:
        return type_of(element, is_const, extents) + b" "

    def passed(found: Places, passing: Passing) -> None:
        for call, given in found.calls:
            passing.places(call, given)

    def bodies(given: Sequence[Elements], passing: Passing, is_beside: bool) -> tuple[Edit, ...]:
        for one in given:
            check_indices(one, replace(target, path=one.path, syntax=one.syntax))
        found = places(given, target, element_type(target))
        if found.addresses and is_beside:
            # A copy for the other array would have them as they are.
            raise DeclinedError(
                "a function that gets other arrays, too, takes an element's address"
            )
        passed(found, passing)
        pointers, types = _types(found.pointers, type_of)
        own = given[0]
        return (*found.addresses, *redeclared(own.path, own.syntax, pointers, types))

    if any(is_captured(use, array.declared.scope, array.syntax) for use in array.uses):
        raise DeclinedError("a lambda captures it")
    found = places([array.elements], target, element_type(target), in_lambdas=True)
    carrier = Carrier(target, array.extents, spelling, None, before, is_view=True, bodies=bodies)
    passed(found, carrier.carry(target.path, target.syntax))
    pointers, types = _types(found.pointers, type_of)
    space, rest = _declaration(array, type_of, room.threads, together)
    declared = (
        *declared_as(array, space.rstrip(), rest),
        *redeclared(target.path, target.syntax, pointers, types),
    )
    helper = before(target.path, target.syntax, array.declared.function)
    yield Rewriting(
        "shared-memory",
        "unsafe" if room.caveat else "safe",
        joined((*helper, *declared, *found.addresses, *carrier.edits, *room.edits)),
        f"keep `{target.name}` in a column of shared memory "
        f"{for_threads(room.threads)}, with pointers that step through it",
        room.caveat,
        room=room.claimed,
    )


def _types(
    pointers: Sequence[Pointer], type_of: _TypeOf
) -> tuple[tuple[Pointer, ...], dict[int, bytes]]:
    """Pointers that are declared anew, and as what, by where their names begin."""
    starred = tuple(one for one in pointers if one.is_starred)
    types = {}
    for one in starred:
        type_ = type_of(one.element, one.is_const, ()) if one.element else b"auto"
        types[one.declared.name.start_byte] = (b"const " if one.is_fixed else b"") + type_
    return starred, types


def _type(
    names: Sequence[bytes], element: bytes, is_const: bool, extents: Sequence[bytes], threads: int
) -> bytes:
    """The class of a place, by the extents that its subscripts have."""
    name = names[max(len(extents), 1) - 1]
    own = b"const " + element if is_const else element
    return name + b"<" + b", ".join((own, *extents[1:], b"%d" % threads)) + b">"


def _declaration(
    array: LocalArray, type_of: _TypeOf, threads: int, together: int | None
) -> tuple[bytes, bytes]:
    """What stands before the array's name, and behind it, without a semicolon."""
    syntax = array.syntax
    store = array.name + b"_lmem"
    if store in syntax.words():
        raise DeclinedError(f"the name {store.decode()} is taken")
    end = syntax.lines_end() + syntax.indent(array.declared.statement)
    fill = fill_of(array, end)
    rows = array.extents[0]
    if len(array.extents) > 1:
        rows = b" * ".join(one if one.isdigit() else b"(" + one + b")" for one in array.extents)
    own, word = b"[%d]" % threads, b""
    if together:
        rows = b"(%b + %d) / %d" % (_grouped(rows), together - 1, together)
        own, word = own + b"[%d]" % together, b"__align__(%d) " % _WORD
    space = b"__shared__ " + word + array.element + b" " + store + b"[" + rows + b"]" + own + b";"
    type_ = type_of(array.element, False, array.extents)
    lane = store + b"[0]" + (b"[" + LANE + b"]" if together else b" + " + LANE)
    return space + end + b"const auto ", b" = " + type_ + b"::of(" + lane + b", 0)" + fill


def _grouped(rows: bytes) -> bytes:
    return rows if rows.isdigit() else b"(" + rows + b")"


def _spelled(text: bytes, *, narrow: bool) -> bytes:
    """A class's text, for elements of which several are in a word, or one."""
    if not narrow:
        return text
    each = b"    enum { each = 4 / sizeof(Element) };\n"
    text = text.replace(b"lmem_", b"lmem_narrow_").replace(_STEP, _NARROW_STEP)
    return text.replace(b"    Element *column;\n", each + b"    Element *column;\n")


_STEP = b"column + i * Threads;"
_NARROW_STEP = b"column + unsigned(i) / each * (Threads * each) + unsigned(i) % each;"
_POINTER = b"""\
template <class Element, class Other> struct lmem_pointer_to_const;
template <class Element>
struct lmem_pointer_to_const<const Element, Element> { typedef int type; };

// A pointer into a thread's own column of a shared array: a place is an element of that thread.
template <class Element, int Threads>
struct lmem_pointer {
    Element *column;
    int place;
    lmem_pointer() = default;
    template <class Other, class = typename lmem_pointer_to_const<Element, Other>::type>
    __host__ __device__ __forceinline__
    lmem_pointer(const lmem_pointer<Other, Threads> &other) noexcept
        : column(other.column), place(other.place) {}
    static __host__ __device__ __forceinline__
    lmem_pointer of(Element *column, int place) noexcept {
        lmem_pointer made;
        made.column = column;
        made.place = place;
        return made;
    }
    __host__ __device__ __forceinline__ Element *at(int i) const noexcept {
        return column + i * Threads;
    }
    __host__ __device__ __forceinline__ Element &operator[](int i) const noexcept {
        return *at(place + i);
    }
    __host__ __device__ __forceinline__ Element &operator*() const noexcept { return *at(place); }
    __host__ __device__ __forceinline__ Element *operator->() const noexcept { return at(place); }
    __host__ __device__ __forceinline__ lmem_pointer &operator+=(int n) noexcept {
        place += n;
        return *this;
    }
    __host__ __device__ __forceinline__ lmem_pointer &operator-=(int n) noexcept {
        return *this += -n;
    }
    __host__ __device__ __forceinline__ lmem_pointer &operator++() noexcept { return *this += 1; }
    __host__ __device__ __forceinline__ lmem_pointer &operator--() noexcept { return *this += -1; }
    __host__ __device__ __forceinline__ lmem_pointer operator++(int) noexcept {
        return of(column, place++);
    }
    __host__ __device__ __forceinline__ lmem_pointer operator--(int) noexcept {
        return of(column, place--);
    }
    __host__ __device__ __forceinline__ lmem_pointer operator+(int n) const noexcept {
        return of(column, place + n);
    }
    __host__ __device__ __forceinline__ lmem_pointer operator-(int n) const noexcept {
        return of(column, place - n);
    }
    friend __host__ __device__ __forceinline__
    lmem_pointer operator+(int n, lmem_pointer to) noexcept {
        return to + n;
    }
    template <class Other>
    __host__ __device__ __forceinline__ decltype((char *)0 - (char *)0)
    operator-(const lmem_pointer<Other, Threads> &other) const noexcept {
        return place - other.place;
    }
%s};
"""
_COMPARED = b"""\
    template <class Other> __host__ __device__ __forceinline__
    bool operator%s(const lmem_pointer<Other, Threads> &other) const noexcept {
        return place %s other.place;
    }
"""
_ROWS = b"""\
// What `lmem_pointer` is for an array of more dimensions: its rows follow each other.
template <class Element, %(extents)s, int Threads>
struct %(name)s {
    Element *column;
    int place;
    %(name)s() = default;
    template <class Other, class = typename lmem_pointer_to_const<Element, Other>::type>
    __host__ __device__ __forceinline__
    %(name)s(const %(name)s<Other, %(own)s, Threads> &other) noexcept
        : column(other.column), place(other.place) {}
    static __host__ __device__ __forceinline__ %(name)s of(Element *column, int place) noexcept {
        %(name)s made;
        made.column = column;
        made.place = place;
        return made;
    }
    __host__ __device__ __forceinline__ %(row)s operator[](int i) const noexcept {
        return %(row)s::of(column, place + i * (%(size)s));
    }
};
"""


def _rows(name: bytes, row: bytes, *extents: bytes) -> bytes:
    """The class of places of rows, which are of a class of a dimension less."""
    own, size = b", ".join(extents), b" * ".join(extents)
    declared = b", ".join(b"int " + one for one in extents)
    fields = {b"name": name, b"row": row, b"own": own, b"extents": declared, b"size": size}
    return _ROWS % fields


_PLANE = _rows(_NAMES[1], b"lmem_pointer<Element, Threads>", b"Inner")
_SPACE = _rows(
    _NAMES[2], b"lmem_pointer_plane<Element, Innermost, Threads>", b"Inner", b"Innermost"
)
_SIGNS = (b"<", b"<=", b">", b">=", b"==", b"!=")
_CLASSES = (_POINTER % b"".join(_COMPARED % (sign, sign) for sign in _SIGNS), _PLANE, _SPACE)
"""Of an array of one, two and three dimensions; each needs those before it."""
