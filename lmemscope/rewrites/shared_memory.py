"""Keep the array in shared memory

Each thread gets a column of a shared array: element `i` of thread `t` is at `[i][t]`, so that the
lanes of a warp use different banks whatever their indices are. The variable becomes a view of its
column, and an element stays what it was, something that can be assigned and bound to a reference.
What may get from one element to the next in memory is declined: pointers, a function that takes the
address of what it gets by reference, a cast to a larger type.

It is safe where every kernel that may run its function has `__launch_bounds__`, or `--block` says
the block, and no kernel uses dynamic shared memory. Otherwise, as of a function in a header that
other sources may include, it is unsafe: a launch with more threads in a block than the array has
columns would write outside of it, and one with dynamic shared memory may ask for more than there
is. Where nothing says how many threads there are, the kernels get `__launch_bounds__` as well, so
that a larger launch fails at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

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
)
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.binding import is_taken
from lmemscope.rewrites.carried import Carrier
from lmemscope.rewrites.classes import declared_as, helper_edits
from lmemscope.rewrites.reaching import is_pointed_to, steps_on
from lmemscope.rewrites.shared_room import LANE, fill_of, room_for
from lmemscope.sources.syntax import Syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = (b"lmem_column", b"lmem_plane", b"lmem_space")


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration as a view of a shared array, and functions that take it."""
    array, kind = local_array(target), element_type(target)
    room, dimensions = room_for(array, target), len(array.extents)
    if dimensions > len(_NAMES):
        raise DeclinedError("it has many dimensions")
    if any(use.kind == "size" for use in array.uses):
        raise DeclinedError("its size is asked for")

    def before(path: str, syntax: Syntax, function: Node) -> tuple[Edit, ...]:
        needed = zip(_NAMES[:dimensions], _CLASSES, strict=False)
        return tuple(
            edit
            for name, text in needed
            for edit in helper_edits(target, path, syntax, function, name, text)
        )

    def spelling(element: bytes, is_const: bool, extents: Sequence[bytes]) -> bytes:
        return b"const " + _view(element, room.threads, extents) + b" "

    def body(elements: Elements, pass_on: Callable[[Use], None]) -> tuple[Edit, ...]:
        for use in elements.uses:
            line = use.name.start_point.row + 1
            if use.kind == "passed":
                pass_on(use)
            elif (
                use.kind == "other"
                or is_pointed_to(use, elements.syntax, target.meanings)
                or is_taken(use.whole, elements.syntax, target.meanings, kind, by_address=True)
            ):
                raise DeclinedError(f"line {line} needs elements that follow each other in memory")
        return ()

    if not is_plain(target) and steps_on(target.meanings):
        raise DeclinedError("a class gets from one of its elements to the next")
    if any(is_captured(use, array.declared.scope, array.syntax) for use in array.uses):
        raise DeclinedError("a lambda captures it")
    carrier = Carrier(target, array.extents, spelling, body, before)
    body(array.elements, carrier.carry(target.path, target.syntax))
    helper = before(target.path, target.syntax, array.declared.function)
    yield Rewriting(
        "shared-memory",
        "unsafe" if room.caveat else "safe",
        joined((*helper, *_declaration(array, room.threads), *carrier.edits, *room.edits)),
        f"`{target.name}` in a column of shared memory for each of {room.threads} threads",
        room.caveat,
    )


def _view(element: bytes, threads: int, extents: Sequence[bytes]) -> bytes:
    name = _NAMES[len(extents) - 1]
    return name + b"<" + b", ".join((element, *extents[1:], b"%d" % threads)) + b">"


def _declaration(array: LocalArray, threads: int) -> tuple[Edit, ...]:
    syntax = array.syntax
    store = array.name + b"_lmem"
    if store in syntax.words():
        raise DeclinedError(f"the name {store.decode()} is taken")
    extents = b"".join(b"[" + extent + b"]" for extent in array.extents)
    end = syntax.lines_end() + syntax.indent(array.declared.statement)
    fill = fill_of(array, end)
    if fill is None:
        raise DeclinedError("its initializer is of a form that is not rewritten")
    space = b"__shared__ " + array.element + b" " + store + extents + b"[%d];" % threads + end
    view = space + b"const " + _view(array.element, threads, array.extents)
    return declared_as(array, view, b" = {" + store + b", int(" + LANE + b")}" + fill)


_CLASSES = (
    b"""\
// A thread's own column of a shared array: element i is in row i.
template <class Element, int Threads>
struct lmem_column {
    Element (*rows)[Threads];
    int lane;
    __host__ __device__ __forceinline__ Element &operator[](int i) const { return rows[i][lane]; }
};
""",
    b"""\
template <class Element, int Inner, int Threads>
struct lmem_plane {
    Element (*planes)[Inner][Threads];
    int lane;
    __host__ __device__ __forceinline__ lmem_column<Element, Threads> operator[](int i) const {
        return {planes[i], lane};
    }
};
""",
    b"""\
template <class Element, int Inner, int Innermost, int Threads>
struct lmem_space {
    Element (*spaces)[Inner][Innermost][Threads];
    int lane;
    __host__ __device__ __forceinline__ lmem_plane<Element, Innermost, Threads>
    operator[](int i) const { return {spaces[i], lane}; }
};
""",
)
"""Of an array of one, two and three dimensions; each needs those before it."""


REWRITE = Rewrite(
    "shared-memory",
    frozenset({"dynamic-index", "rolled-loop", "large-array", "const-table", "address-taken"}),
    propose,
    __name__,
)
