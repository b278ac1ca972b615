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

from collections.abc import Iterator

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.arrays import LocalArray, local_array
from lmemscope.rewrites.base import Rewrite, Target
from lmemscope.rewrites.classes import declared_as, helper_edit
from lmemscope.rules.shared import STATIC_BYTES, has_dynamic

_NAMES = (b"lmem_column", b"lmem_plane", b"lmem_space")
_LANE = b"threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"
_BLOCKS = ("compound_statement", "case_statement")


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration as a view of a shared array."""
    array = local_array(target)
    block = target.block
    if array is None or array.is_volatile or len(array.extents) > len(_NAMES) or block is None:
        return
    if any(use.kind == "size" for use in array.uses) or _is_recursive(target):
        return
    size = max(hit.finding.type_bytes or hit.finding.bytes for hit in target.hits)
    if size * block.threads > STATIC_BYTES:
        return
    parent = array.declared.statement.parent
    if parent is None or parent.type not in _BLOCKS:
        return
    helper = helper_edit(array, _NAMES[len(array.extents) - 1], _classes(len(array.extents)))
    made = _declaration(array, block.threads)
    if helper is None or made is None:
        return
    caveat = _caveat(target, block.threads)
    yield Rewriting(
        "shared-memory",
        "unsafe" if caveat else "safe",
        (helper, *made),
        f"`{target.name}` in shared memory, {size * block.threads} bytes for {block.threads} "
        "threads",
        caveat,
    )


def _declaration(array: LocalArray, threads: int) -> tuple[Edit, ...] | None:
    syntax = array.syntax
    store = array.name + b"_lmem"
    if store in syntax.words():
        return None
    extents = b"".join(b"[" + extent + b"]" for extent in array.extents)
    end = syntax.lines_end() + syntax.indent(array.declared.statement)
    fill = _fill(array, end)
    if fill is None:
        return None
    space = b"__shared__ " + array.element + b" " + store + extents + b"[%d];" % threads + end
    view = (
        _NAMES[len(array.extents) - 1]
        + b"<"
        + b", ".join((array.element, *array.extents[1:], b"%d" % threads))
        + b">"
    )
    return declared_as(
        array, space + b"const " + view, b" = {" + store + b", int(" + _LANE + b")}" + fill
    )


def _fill(array: LocalArray, end: bytes) -> bytes | None:
    """What follows the declaration so that the elements have their values; None: not known."""
    if array.declared.value is None:
        return b""
    values = array.values
    if values is None or (len(array.extents) > 1 and [*values] not in ([], [b"0"])):
        return None
    if array.declared.value is not None and not array.declared.is_alone:
        return None
    if not values or [*values] == [b"0"]:
        loops, inner = b"", b""
        for counter, extent in zip(b"klm", array.extents, strict=False):
            name = b"lmem_%c" % counter
            loops += b"for (int %s = 0; %s < %s; ++%s) " % (name, name, extent, name)
            inner += b"[%s]" % name
        return b";" + end + loops + array.name + inner + b" = " + array.element + b"()"
    numbers = array.numbers
    if numbers is None or len(numbers) != 1 or any(one.startswith((b"{", b".")) for one in values):
        return None
    rest = [array.element + b"()"] * (numbers[0] - len(values))
    stores = (
        b"%s[%d] = %s" % (array.name, position, value)
        for position, value in enumerate((*values, *rest))
    )
    return b"".join(b";" + end + one for one in stores)


def _caveat(target: Target, threads: int) -> str | None:
    if any(has_dynamic(hit.case) for hit in target.hits):
        return "launches ask for dynamic shared memory, which comes on top"
    if target.asked_block is not None or target.bounded == threads:
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


def _classes(dimensions: int) -> bytes:
    text = """\
// A thread's own column of a shared array: element i is in row i.
template <class T, int BLOCK>
struct lmem_column {
    T (*rows)[BLOCK];
    int lane;
    __device__ __forceinline__ T &operator[](int i) const { return rows[i][lane]; }
};
"""
    if dimensions > 1:
        text += """\
template <class T, int M, int BLOCK>
struct lmem_plane {
    T (*planes)[M][BLOCK];
    int lane;
    __device__ __forceinline__ lmem_column<T, BLOCK> operator[](int i) const {
        return {planes[i], lane};
    }
};
"""
    if dimensions > 2:
        text += """\
template <class T, int M, int L, int BLOCK>
struct lmem_space {
    T (*spaces)[M][L][BLOCK];
    int lane;
    __device__ __forceinline__ lmem_plane<T, L, BLOCK> operator[](int i) const {
        return {spaces[i], lane};
    }
};
"""
    return text.encode()


REWRITE = Rewrite(
    "shared-memory",
    frozenset({"dynamic-index", "rolled-loop", "large-array", "const-table", "address-taken"}),
    propose,
    __name__,
)
