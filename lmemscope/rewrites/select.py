"""Select the element by comparing

The array becomes a class whose elements are only ever named by constants: a run-time index is
compared with each of them, in loops that are unrolled. Nothing needs an address any more, so the
elements can be in registers.

It is safe: an index within the array selects the same element, one outside was undefined before;
uses that would need the element itself (a pointer, a reference, `&a[i]`) do not compile with it
and are not offered, nor is what could bind a reference to the copy of an element. It costs as many
comparisons as the array has elements at each access with a run-time index, and registers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from lmemscope.model import Rewriting
from lmemscope.rewrites.accessors import accessor_edits
from lmemscope.rewrites.arrays import LocalArray, local_array
from lmemscope.rewrites.base import Rewrite, Target
from lmemscope.rewrites.classes import declared_as, helper_edit, texts_of

MOST = 128
"""Elements: beyond these neither registers nor comparisons would do."""


_INDENT = " " * 8


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration as a class, and its uses."""
    array = local_array(target)
    if array is None or array.is_volatile or len(array.extents) > 3:
        return
    numbers = array.numbers
    if numbers is not None and math.prod(numbers) > MOST:
        return
    if array.declared.value is not None and array.declared.value.type != "initializer_list":
        return
    uses = accessor_edits(array, texts_of(target))
    if uses is None:
        return
    name = b"lmem_select" if len(array.extents) == 1 else b"lmem_select%d" % len(array.extents)
    helper = helper_edit(array, name, _class(len(array.extents), name))
    if helper is None:
        return
    made = declared_as(array, _type(array, name), _initial(array))
    if made is None:
        return
    yield Rewriting(
        "select",
        "safe",
        (helper, *made, *uses),
        f"compare the index with each element of `{target.name}`",
    )


def _type(array: LocalArray, name: bytes) -> bytes:
    const = b"const " if array.is_const else b""
    return const + name + b"<" + b", ".join((array.element, *array.extents)) + b">"


def _initial(array: LocalArray) -> bytes:
    value = array.declared.value
    return b"" if value is None else b" = {" + array.syntax.text(value) + b"}"


def _class(dimensions: int, name: bytes) -> bytes:
    """The class, written for an array of some dimensions."""
    extents = ["N", "M", "L"][:dimensions]
    counters = ["k", "m", "l"][:dimensions]
    indices = ["i", "j", "h"][:dimensions]
    inner = "".join(f"[{counter}]" for counter in counters)
    whole = "".join(f"[{extent}]" for extent in extents)
    zero = "[0]" * dimensions
    given = ", ".join(f"int {index}" for index in indices)
    condition = " && ".join(f"{i} == {k}" for i, k in zip(indices, counters, strict=True))
    loops = "".join(
        f"#pragma unroll\n{_INDENT}for (int {counter} = 0; {counter} < {extent}; ++{counter})\n"
        f"{_INDENT}"
        for counter, extent in zip(counters, extents, strict=True)
    )
    parameters = ", ".join(f"int {extent}" for extent in extents)
    plain = (
        "    __device__ __forceinline__ const T operator[](int i) const { return get(i); }\n"
        if dimensions == 1
        else ""
    )
    return f"""\
// An array whose elements stay in registers: the index is compared with each.
template <class T, {parameters}>
struct {name.decode()} {{
    T e{whole};
    __device__ __forceinline__ const T get({given}) const {{
        T value = e{zero};
        {loops}    value = {condition} ? e{inner} : value;
        return value;
    }}
    __device__ __forceinline__ T set({given}, T value) {{
        {loops}    e{inner} = {condition} ? value : e{inner};
        return value;
    }}
{plain}}};
""".encode()


REWRITE = Rewrite(
    "select",
    frozenset({"dynamic-index", "rolled-loop", "large-array", "const-table", "address-taken"}),
    propose,
    __name__,
)
