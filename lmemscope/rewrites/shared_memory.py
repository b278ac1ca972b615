"""Keep the array in shared memory

Each thread gets a column of a shared array: element `i` of thread `t` is at `[i][t]`, so that the
lanes of a warp use different banks whatever their indices are. The variable becomes a view of its
column, and an element stays what it was, something that can be assigned and pointed to.

It is safe where every kernel concerned has `__launch_bounds__`, or `--block` says the block, and
no kernel uses dynamic shared memory. Otherwise it is unsafe: a launch with more threads in a block
than the array has columns would write outside of it, and one with dynamic shared memory may ask for
more than there is.
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
    is_captured,
    is_for_host,
    is_pointed_to,
    local_array,
    words_of,
)
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.carried import Carrier
from lmemscope.rewrites.classes import declared_as, helper_edits
from lmemscope.rewrites.meanings import Meanings
from lmemscope.rules.shared import STATIC_BYTES, has_dynamic
from lmemscope.sources.syntax import Syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = (b"lmem_column", b"lmem_plane", b"lmem_space")
_LANE = b"threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"
_BLOCKS = ("compound_statement", "case_statement")


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration as a view of a shared array, and functions that take it."""
    array, block = local_array(target), target.block
    dimensions = len(array.extents)
    if block is None:
        raise DeclinedError("nothing says how many threads a block has (--block says it)")
    if array.is_const:
        raise DeclinedError("it is const, which elements in shared memory are not")
    if array.is_volatile or dimensions > len(_NAMES):
        raise DeclinedError("it is volatile" if array.is_volatile else "it has many dimensions")
    if any(use.kind == "size" for use in array.uses):
        raise DeclinedError("its size is asked for")
    if _is_recursive(target):
        raise DeclinedError("its function calls itself")
    size = max(hit.finding.type_bytes or hit.finding.bytes for hit in target.hits)
    if size * block.threads > STATIC_BYTES:
        raise DeclinedError(f"{size} bytes for each of {block.threads} threads do not fit")
    parent = array.declared.statement.parent
    if parent is None or parent.type not in _BLOCKS:
        raise DeclinedError("its declaration stands in no block")
    if is_for_host(array.target, array.declared):
        raise DeclinedError("its function is the host's, too")

    def before(path: str, syntax: Syntax, function: Node) -> tuple[Edit, ...]:
        needed = zip(_NAMES[:dimensions], _CLASSES, strict=False)
        return tuple(
            edit
            for name, text in needed
            for edit in helper_edits(target, path, syntax, function, name, text)
        )

    def spelling(element: bytes, is_const: bool, extents: Sequence[bytes]) -> bytes:
        return b"const " + _view(element, block.threads, extents) + b" "

    def body(elements: Elements, pass_on: Callable[[Use], None]) -> tuple[Edit, ...]:
        for use in elements.uses:
            line = use.name.start_point.row + 1
            if use.kind == "passed":
                pass_on(use)
            elif use.kind == "other" or is_pointed_to(use, elements.syntax):
                raise DeclinedError(f"line {line} needs elements that follow each other in memory")
        return ()

    if any(is_captured(use, array.declared.scope, array.syntax) for use in array.uses):
        raise DeclinedError("a lambda captures it")
    carrier = Carrier(target, array.extents, spelling, body, before)
    body(array.elements, carrier.carry(target.path, target.syntax))
    caveat = _caveat(target, block.threads)
    helper = before(target.path, target.syntax, array.declared.function)
    yield Rewriting(
        "shared-memory",
        "unsafe" if caveat else "safe",
        joined((*helper, *_declaration(array, block.threads), *carrier.edits)),
        f"`{target.name}` in shared memory, {size * block.threads} bytes for {block.threads} "
        "threads",
        caveat,
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
    fill = _fill(array, end, array.target.meanings)
    if fill is None:
        raise DeclinedError("its initializer is of a form that is not rewritten")
    space = b"__shared__ " + array.element + b" " + store + extents + b"[%d];" % threads + end
    view = space + b"const " + _view(array.element, threads, array.extents)
    return declared_as(array, view, b" = {" + store + b", int(" + _LANE + b")}" + fill)


def _fill(array: LocalArray, end: bytes, meanings: Meanings) -> bytes | None:
    """What follows the declaration so that the elements have their values; None: not known."""
    if array.declared.value is None:
        return b""
    values = array.values
    if values is None or (len(array.extents) > 1 and [*values] not in ([], [b"0"])):
        return None
    if array.declared.value is not None and not array.declared.is_alone:
        return None
    if not values or [*values] == [b"0"]:
        return b";" + end + _cleared(array, 0)
    if any(one.startswith((b"{", b".")) for one in values) or meanings.is_list(words_of(values)):
        return None
    stores = [
        b"%s[%d] = %s" % (array.name, position, value) for position, value in enumerate(values)
    ]
    # Another instance may have another size than the one that was compiled.
    if array.extents != (str(len(values)).encode(),):
        stores.append(_cleared(array, len(values)))
    return b"".join(b";" + end + one for one in stores)


def _cleared(array: LocalArray, first: int) -> bytes:
    """Loops that give the elements from one on the value that an initializer leaves them."""
    loops, inner = b"", b""
    for counter, extent in zip(b"klm", array.extents, strict=False):
        name = b"lmem_%c" % counter
        loops += b"for (int %s = %d; %s < %s; ++%s) " % (name, first, name, extent, name)
        inner += b"[%s]" % name
    return loops + array.name + inner + b" = {}"


def _caveat(target: Target, threads: int) -> str | None:
    if any(has_dynamic(hit.case) for hit in target.hits):
        return "launches ask for dynamic shared memory, which comes on top"
    if target.asked_block == threads or target.bounded == threads:
        return None
    return f"no block that runs it has more than {threads} threads"


def _is_recursive(target: Target) -> bool:
    """Whether a function that has the array may have two of them at a time."""
    return any(
        hit.case.object is not None
        and hit.facts.calls is not None
        and hit.case.object.function in hit.facts.calls.recursive
        for hit in target.hits
    )


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
