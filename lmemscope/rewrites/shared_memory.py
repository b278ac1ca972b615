"""Keep the array in shared memory

Each thread gets a column of a shared array: element `i` of thread `t` is at `[i][t]`, so the lanes
of a warp use different banks whatever their indices. Elements narrower than a word are grouped by
words. The variable becomes a view of its column, and functions that take the array get an overload
for the view, or change in place if nothing else uses them. Local pointers into the array become a
class with the usual pointer arithmetic.

Declined if the address could escape (a pointer that may also refer to another array, members,
arrays of pointers, lambdas, return values, casts, `sizeof`, references and pointers to pointers,
functions without a body in sight), or if code may step between elements in memory (the address of a
reference parameter, a class that returns its own address, a cast to a larger type). Also declined
if code asks which memory a pointer leads to, or if the function may be re-entered: by its name, a
function pointer, an operator or a constructor.

Safe if every kernel that may run the function has `__launch_bounds__` of a number that no `#if`,
`-D` or other source changes, or `--block` gives the block, and no kernel uses dynamic shared
memory. Otherwise unsafe: a larger block would write
outside the array, dynamic shared memory may not fit, and other shared memory may be aligned less.
Block sizes are also read from launches in the project, of all sources that include a header. If
nothing gives one, the kernels get `__launch_bounds__`, so that a larger launch fails; they override
`--maxrregcount`, so their minimum of blocks leaves no more registers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.accessors import joined
from lmemscope.rewrites.arrays import (
    Elements,
    LocalArray,
    Use,
    element_type,
    is_captured,
    is_plain,
    local_array,
    words_of,
)
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.binding import is_taken
from lmemscope.rewrites.carried import Carrier
from lmemscope.rewrites.classes import declared_as, helper_edits
from lmemscope.rewrites.reaching import is_pointed_to, steps_on
from lmemscope.rewrites.rows import check_indices, check_rows
from lmemscope.rewrites.shared_pointers import propose_pointers
from lmemscope.rewrites.shared_room import LANE, Room, fill_of, for_threads, room_for
from lmemscope.rewrites.value_uses import is_asked
from lmemscope.sources.syntax import Syntax, around

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = (b"lmem_column", b"lmem_plane", b"lmem_space")
_NARROW_NAMES = (b"lmem_narrow_column", b"lmem_narrow_plane", b"lmem_narrow_space")
_WORD = 4
_NARROW = {
    b"bool": 1,
    b"char": 1,
    b"signed char": 1,
    b"unsigned char": 1,
    b"short": 2,
    b"unsigned short": 2,
    b"__half": 2,
    b"__nv_bfloat16": 2,
}
"""Types that several of are in a 32-bit word of a bank, by their bytes."""


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration as a view of a shared array, and functions and pointers that take it."""
    array = local_array(target)
    room, dimensions = room_for(array, target), len(array.extents)
    if dimensions > len(_NAMES):
        raise DeclinedError("it has many dimensions")
    for use in array.uses:
        if use.kind == "size":
            raise DeclinedError(f"line {use.name.start_point.row + 1} asks for its size")
    if not is_plain(target) and steps_on(target.meanings):
        raise DeclinedError("a class gets from one of its elements to the next")
    if any(is_captured(use, array.declared.scope, array.syntax) for use in array.uses):
        raise DeclinedError("a lambda captures it")
    together = _together(target)
    try:
        found = _viewed(target, array, room, together)
    except DeclinedError:
        yield from propose_pointers(target, array, room, together)
    else:
        yield found


def _viewed(target: Target, array: LocalArray, room: Room, together: int | None) -> Rewriting:
    """The array as a view whose elements are reached by subscripts alone.

    Raises:
        DeclinedError: something else reaches them.
    """
    dimensions, kind = len(array.extents), element_type(target)

    def before(path: str, syntax: Syntax, function: Node) -> tuple[Edit, ...]:
        names, classes = (_NARROW_NAMES, _NARROW_CLASSES) if together else (_NAMES, _CLASSES)
        needed = zip(names[:dimensions], classes, strict=False)
        return tuple(
            edit
            for name, text in needed
            for edit in helper_edits(target, path, syntax, function, name, text)
        )

    def spelling(element: bytes, is_const: bool, extents: Sequence[bytes]) -> bytes:
        return b"const " + _view(element, room.threads, extents, together) + b" "

    def body(elements: Elements, pass_on: Callable[[Use], None]) -> tuple[Edit, ...]:
        if together:
            check_rows(elements, array.numbers, target)  # A row's last word may be filled up.
        if elements.is_const and _tells_const(elements, target):
            raise DeclinedError("a view does not say that a function's parameter is const")
        home = replace(target, path=elements.path, syntax=elements.syntax)
        check_indices(elements, home)
        for use in elements.uses:
            line = use.name.start_point.row + 1
            if use.kind != "size" and is_asked(use.name, home):
                raise DeclinedError(f"line {line} asks more of it than its value")
            if use.kind == "passed":
                pass_on(use)
            elif use.kind == "other":
                raise DeclinedError(f"line {line} uses it in another way than by one element")
            elif is_pointed_to(use, elements.syntax, target.meanings) or is_taken(
                use.whole, elements.syntax, target.meanings, kind, by_address=True
            ):
                raise DeclinedError(f"line {line} may take the address of an element")
        return ()

    carrier = Carrier(target, array.extents, spelling, body, before, is_view=True)
    body(array.elements, carrier.carry(target.path, target.syntax))
    helper = before(target.path, target.syntax, array.declared.function)
    return Rewriting(
        "shared-memory",
        "unsafe" if room.caveat else "safe",
        joined(
            (*helper, *_declaration(array, room.threads, together), *carrier.edits, *room.edits)
        ),
        f"keep `{target.name}` in a column of shared memory {for_threads(room.threads)}",
        room.caveat,
        room=room.claimed,
    )


def _tells_const(elements: Elements, target: Target) -> bool:
    """Whether what is done with an element that is const may be another thing if it is not."""
    if not is_plain(target):
        return True
    texts = (
        elements.syntax.text(called)
        for use in elements.uses
        for call in around(use.name, "call_expression")
        for called in [call.child_by_field_name("function")]
        if called is not None
    )
    taking = (target.meanings.taking(word) for word in words_of(texts))
    return any({"mutable", "anything"} & one for one in taking)


def _together(target: Target) -> int | None:
    """How many elements are in a word, where that is known and more than one.

    None also where all lanes use one index: lanes that share a word of a row then read it at once,
    and its place takes fewer instructions to compute.
    """
    indices = [hit.finding.index for hit in target.hits]
    if all(one is not None and one.least_uniform == "uniform" for one in indices):
        return None
    types = {(hit.finding.type or "").partition("[")[0].strip().encode() for hit in target.hits}
    sizes = {_NARROW.get(one) for one in types}
    size = sizes.pop() if len(sizes) == 1 else None
    return _WORD // size if size is not None else None


def _view(element: bytes, threads: int, extents: Sequence[bytes], together: int | None) -> bytes:
    name = (_NARROW_NAMES if together else _NAMES)[len(extents) - 1]
    return name + b"<" + b", ".join((element, *extents[1:], b"%d" % threads)) + b">"


def _declaration(array: LocalArray, threads: int, together: int | None) -> tuple[Edit, ...]:
    syntax = array.syntax
    store = array.name + b"_lmem"
    if store in syntax.words():
        raise DeclinedError(f"the name {store.decode()} is taken")
    extents, rows, word = array.extents, b"[%d]" % threads, b""
    if together:
        last = b"((" + extents[-1] + b") + %d) / %d" % (together - 1, together)
        if extents[-1].isdigit():
            last = b"%d" % -(-int(extents[-1]) // together)
        extents = (*extents[:-1], last)
        rows, word = rows + b"[%d]" % together, b"__align__(%d) " % _WORD
    space_of = b"".join(b"[" + extent + b"]" for extent in extents) + rows
    end = syntax.lines_end() + syntax.indent(array.declared.statement)
    fill = fill_of(array, end)
    space = b"__shared__ " + word + array.element + b" " + store + space_of + b";" + end
    view = space + b"const " + _view(array.element, threads, array.extents, together)
    column = store + b"[0]" * len(array.extents) + b"[" + LANE + b"]"
    return declared_as(array, view, b" = {" + as_rows(store, column) + b"}" + fill)


def as_rows(store: bytes, column: bytes) -> bytes:
    """The address of a thread's own column, as one of rows: no lane is added at each access."""
    return b"(decltype(&" + store + b"[0])) &" + column


_CLASSES = (
    b"""\
// A thread's own column of a shared array, by its element in the first row: element i is in row i.
template <class Element, int Threads>
struct lmem_column {
    Element (*rows)[Threads];
    __host__ __device__ __forceinline__ Element &operator[](int i) const noexcept {
        return rows[i][0];
    }
};
""",
    b"""\
template <class Element, int Inner, int Threads>
struct lmem_plane {
    Element (*planes)[Inner][Threads];
    __host__ __device__ __forceinline__ lmem_column<Element, Threads>
    operator[](int i) const noexcept {
        return {planes[i]};
    }
};
""",
    b"""\
template <class Element, int Inner, int Innermost, int Threads>
struct lmem_space {
    Element (*spaces)[Inner][Innermost][Threads];
    __host__ __device__ __forceinline__ lmem_plane<Element, Innermost, Threads>
    operator[](int i) const noexcept { return {spaces[i]}; }
};
""",
)
"""Of an array of one, two and three dimensions; each needs those before it."""


def _narrowed(text: bytes) -> bytes:
    """A class's text for elements of which several are in a word."""
    text = text.replace(b"lmem_", b"lmem_narrow_")
    text = text.replace(b" {\n", b" {\n    enum { each = 4 / sizeof(Element) };\n", 1)
    return re.sub(rb"\[(\w+)\](\[Threads\]);", rb"[(\1 + each - 1) / each]\2[each];", text)


_NARROW_CLASSES = (
    b"""\
// A thread's own column of words of a shared array, each of several elements.
template <class Element, int Threads>
struct lmem_narrow_column {
    enum { each = 4 / sizeof(Element) };
    Element (*words)[Threads][each];
    __host__ __device__ __forceinline__ Element &operator[](int i) const noexcept {
        return words[unsigned(i) / each][0][unsigned(i) % each];
    }
};
""",
    *map(_narrowed, _CLASSES[1:]),
)
"""The same of elements narrower than a word."""


REWRITE = Rewrite(
    "shared-memory",
    frozenset({"dynamic-index", "rolled-loop", "large-array", "const-table", "address-taken"}),
    propose,
    __name__,
    nothing="its declaration is not read as an array",
)
