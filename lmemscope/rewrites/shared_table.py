"""One table for each block

A constant table is kept in shared memory: a block's first thread writes it at the beginning of the
kernel, before a barrier; above 64 elements it copies from device memory. Tried if lanes read
different elements.

Safe: elements that are not constant expressions do not compile. Nothing precedes the barrier, so
all threads reach it; declined as static-table. Unsafe if a launch may use dynamic shared memory.
Only kernels' own tables are moved. It costs a barrier and one thread's stores.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.arrays import LocalArray, is_plain, local_array, words_of
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.classes import declared_as, helper_edits
from lmemscope.rewrites.dynamic import may_be_dynamic
from lmemscope.rewrites.places import is_declared_name
from lmemscope.rewrites.rows import check_indices
from lmemscope.rewrites.shared_room import has_own_lanes
from lmemscope.rewrites.static_table import can_be_const
from lmemscope.rewrites.unevaluated import asks_type
from lmemscope.rewrites.wider import aligned
from lmemscope.rewrites.written import in_arguments, is_continued
from lmemscope.sources.syntax import BRANCHES, Declared, around, walk

MOST = 256
"""Elements that one thread writes: beyond these all wait for it for long."""
_WRITTEN = 64
"""Elements up to which the stores hold their values: none of them waits for memory."""
_CAVEAT = "launches may ask for dynamic shared memory, which comes on top"
_BARRIER = re.compile(rb"#[ \t]*define[ \t]+__syncthreads\b")
_DEFINED = re.compile(rb"#[ \t]*(?:define|undef)[ \t]+(\w+)")
_COUNTING = frozenset({b"__COUNTER__", b"__LINE__"})
_USING = re.compile(rb"\busing\b")
_NAME = b"lmem_table_rows"
_MEMBER = b"lmem_elements"
ALIGNMENT = 128
"""Bytes that any access to shared memory may ask for at most, but by a tensor map."""
_CLASS = b"""\
// A table of rows: element j of row i is computed as one number, which several tables may share.
template <class Element, int Columns>
struct lmem_table_rows {
    const Element *first;
    struct row {
        const Element *first;
        int start;
        __host__ __device__ __forceinline__ const Element &operator[](int j) const {
            return first[start + j];
        }
    };
    __host__ __device__ __forceinline__ row operator[](int i) const {
        row made = {first, i * Columns};
        return made;
    }
};
"""


def propose(target: Target) -> Iterator[Rewriting]:
    """The table at the kernel's beginning, and its declaration as a reference to that."""
    declared = target.declared
    if declared is None or declared.array is None or declared.value is None:
        return
    if declared.value.type != "initializer_list":
        return
    if _is_uniform(target) or not can_be_const(target, declared):
        return
    array = _plain_array(target)
    numbers = array.numbers
    if numbers is None or len(numbers) != len(array.extents) or math.prod(numbers) > MOST:
        return
    _check_place(target, declared)
    asked = (may_be_dynamic(one.facts, one.case.sources, target.files) for one in target.hits)
    caveat = _CAVEAT if any(asked) else None
    yield Rewriting(
        "shared-table",
        "unsafe" if caveat else "safe",
        _edits(array),
        f"`{target.name}` once for the block, in shared memory",
        caveat,
    )


def _is_uniform(target: Target) -> bool:
    """Whether all lanes read one element: constant memory does better."""
    indices = [hit.finding.index for hit in target.hits]
    return all(one is not None and one.uniformity == "uniform" for one in indices)


def _plain_array(target: Target) -> LocalArray:
    # A class may do something where it is made, or hold what is not the same for all threads.
    declared = target.declared
    is_constexpr = declared is not None and b"constexpr" in target.syntax.text(declared.statement)
    if is_constexpr or not is_plain(target):
        raise DeclinedError("its elements may be needed while it is compiled, or are no numbers")
    array = local_array(target)
    if b"*" in array.element:
        raise DeclinedError("its elements are pointers")
    if array.is_volatile or array.values is None:
        raise DeclinedError("it is volatile" if array.is_volatile else "its list has directives")
    if asks_type(array.name, array.declared.scope, array.syntax):
        raise DeclinedError("its type is asked for, which becomes that of a reference")
    return array


def _check_place(target: Target, declared: Declared) -> None:
    """That the table can be moved to where the kernel begins.

    Raises:
        DeclinedError: it cannot.
    """
    syntax, function = target.syntax, declared.function
    body = function.child_by_field_name("body")
    declarator = function.child_by_field_name("declarator")
    if body is None or declarator is None or function.type != "function_definition":
        raise DeclinedError("its function has no body of its own")
    head = syntax.code[function.start_byte : declarator.start_byte]
    if b"__global__" not in words_of([head]):
        raise DeclinedError("its function is no kernel, whose threads all begin together")
    if syntax.text(body)[:1] != b"{":
        raise DeclinedError("its function has no body of its own")
    inside = (*BRANCHES, "lambda_expression", "class_specifier", "struct_specifier")
    for above in around(declared.statement, *inside):
        if above.start_byte > function.start_byte:
            raise DeclinedError("it stands in a branch of the preprocessor, a lambda or a class")
    if in_arguments(declared.statement, target) or is_continued(
        target, syntax.line_start(body.start_byte)
    ):
        raise DeclinedError("its function stands in a macro")
    if has_own_lanes(target) or target.meanings.has(_BARRIER):
        raise DeclinedError("`threadIdx` or `__syncthreads` is something of the program's own")
    words = words_of([syntax.text(declared.statement)])
    own = {
        syntax.text(node)
        for node in walk(function)
        if node.type in ("identifier", "type_identifier")
        and node != declared.name
        and is_declared_name(node)
    }
    before = syntax.code[body.start_byte : declared.statement.start_byte]
    own.update(_DEFINED.findall(before))
    if words & own or target.meanings.is_redefined(words) or words & _COUNTING:
        raise DeclinedError("its declaration has names that mean something else before it")
    if _USING.search(before) is not None:
        raise DeclinedError("a `using` before it may say what its names mean")


def _edits(array: LocalArray) -> tuple[Edit, ...]:
    target, syntax, declared = array.target, array.syntax, array.declared
    space, table = array.name + b"_lmem", array.name + b"_lmem_table"
    if {space, table} & (syntax.words() | target.meanings.words):
        raise DeclinedError(f"the name {space.decode()} is taken")
    body = declared.function.child_by_field_name("body")
    assert body is not None
    assert declared.value is not None
    first = next((one for one in body.named_children if one.type != "comment"), None)
    indent = syntax.indent(first) if first is not None else b"  "
    extents = b"".join(b"[" + extent + b"]" for extent in array.extents)
    value = syntax.text(declared.value)
    end = syntax.lines_end()
    counters = [b"lmem_" + one for one in (b"k", b"l", b"m", b"n")[: len(array.extents)]]
    if len(counters) < len(array.extents):
        raise DeclinedError("it has many dimensions")
    deep, lines = indent * 2, []
    for counter, extent in zip(counters, array.extents, strict=True):
        lines.append(deep + b"#pragma unroll")
        lines.append(
            deep + b"for (int %s = 0; %s < %s; ++%s)" % (counter, counter, extent, counter)
        )
    place = b"".join(b"[" + counter + b"]" for counter in counters)
    room = aligned(target, declared) + array.element + b" " + space + extents
    values = space
    if any(hit.facts.shared_variables != () for hit in target.hits):
        # Whole pieces leave what follows aligned as it was.
        room = b"struct __align__(%d) { %s %s%s; } %s" % (
            *(ALIGNMENT, array.element, _MEMBER, extents, space),
        )
        values = space + b"." + _MEMBER
    is_short = math.prod(array.numbers or (_WRITTEN + 1,)) <= _WRITTEN
    made = [
        indent
        # What differs between threads is no constant, and compiles as neither.
        + (b"constexpr " if is_short else b"static __device__ const ")
        + array.element
        + b" "
        + table
        + extents,
        indent + b"__shared__ " + room + b";",
        indent + b"if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {",
        *lines,
        deep + indent + values + place + b" = " + table + place + b";",
        indent + b"}",
        indent + b"__syncthreads();",
    ]
    made[0] += b" = " + value + b";"
    at = body.start_byte + 1
    type_, name = b"const " + array.element, b"(&" + array.name + b")" + extents
    given = b" = " + values
    before: tuple[Edit, ...] = ()
    if _is_subscripted(array):
        before = helper_edits(target, target.path, syntax, declared.function, _NAME, _CLASS)
        type_ = b"const %s<%s, %s>" % (_NAME, array.element, array.extents[1])
        name, given = array.name, b" = {" + values + b"[0]}"
    return (
        *before,
        target.edit(at, at, end + end.join(made)),
        *declared_as(array, type_, given, name),
    )


def _is_subscripted(array: LocalArray) -> bool:
    """Whether it has rows, and all that is used of it are its elements."""
    if len(array.extents) != 2:
        return False
    try:
        check_indices(array.elements, array.target)
        return all(use.element is not None for use in array.elements.uses)
    except DeclinedError:
        return False  # A macro may use it otherwise, or the class would take another index.


REWRITE = Rewrite(
    "shared-table",
    frozenset({"const-table", "dynamic-index", "large-array"}),
    propose,
    __name__,
    nothing="it is not read as a constant table, of a size that fits, whose index differs "
    "between lanes",
)
