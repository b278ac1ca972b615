"""Select the element by comparing

The array becomes a class that compares a run-time index with each constant, in unrolled loops. No
element needs an address, so they can be in registers.

Safe: an index within the array selects the same element, and one outside was undefined. Code that
needs the element itself (a pointer, a reference, `&a[i]`) is not offered, nor is code that could
tell a copy from an element or step from one row to the next. It costs as many comparisons per
access as the array has elements, and registers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.accessors import accessor_edits, joined
from lmemscope.rewrites.arrays import Elements, LocalArray, Use, is_plain, local_array
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.carried import Carrier
from lmemscope.rewrites.classes import declared_as, helper_edits
from lmemscope.rewrites.rows import check_rows
from lmemscope.sources.syntax import Syntax

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 128
"""Elements: beyond these neither registers nor comparisons would do."""


_INDENT = " " * 8
_INLINE = "__host__ __device__ __forceinline__"
_NAMES = (b"lmem_select", b"lmem_select2", b"lmem_select3")


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration as a class, its uses, and functions that take it."""
    array = local_array(target, aligned=True)
    dimensions, numbers = len(array.extents), array.numbers
    if array.is_volatile or dimensions > len(_NAMES):
        raise DeclinedError("it is volatile" if array.is_volatile else "it has many dimensions")
    if numbers is not None and math.prod(numbers) > MOST:
        raise DeclinedError(f"{math.prod(numbers)} elements are too many to compare with")
    value = array.declared.value
    if value is not None and value.type != "initializer_list":
        raise DeclinedError("its initializer is no list")
    name = _NAMES[dimensions - 1]
    plain = is_plain(target)
    text = _class(dimensions, name)

    def before(path: str, syntax: Syntax, function: Node) -> tuple[Edit, ...]:
        return helper_edits(target, path, syntax, function, name, text)

    def spelling(element: bytes, is_const: bool, extents: Sequence[bytes]) -> bytes:
        return (b"const " if is_const else b"") + _type(name, element, extents) + b" &"

    def body(elements: Elements, pass_on: Callable[[Use], None]) -> tuple[Edit, ...]:
        check_rows(elements, numbers, target)
        return accessor_edits(elements, target, pass_on, is_plain=plain)

    carrier = Carrier(target, array.extents, spelling, body, before)
    uses = body(array.elements, carrier.carry(target.path, target.syntax))
    const = b"const " if array.is_const else b""
    made = declared_as(array, const + _type(name, array.element, array.extents), _initial(array))
    helper = before(target.path, target.syntax, array.declared.function)
    yield Rewriting(
        "select",
        "safe",
        joined((*helper, *made, *uses, *carrier.edits)),
        f"compare the index with each element of `{target.name}`",
    )


def _type(name: bytes, element: bytes, extents: Sequence[bytes]) -> bytes:
    return name + b"<" + b", ".join((element, *extents)) + b">"


def _initial(array: LocalArray) -> bytes:
    value = array.declared.value
    return b"" if value is None else b" = {" + array.syntax.text(value) + b"}"


def _class(dimensions: int, name: bytes) -> bytes:
    """The class, written for an array of some dimensions."""
    extents = ["Count", "Inner", "Innermost"][:dimensions]
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
    plain = f"    {_INLINE} const Element operator[](int i) const {{ return get(i); }}\n"
    plain = plain if dimensions == 1 else ""
    return f"""\
// An array whose elements stay in registers: the index is compared with each.
template <class Element, {parameters}>
struct {name.decode()} {{
    Element e{whole};
    {_INLINE} const Element get({given}) const {{
        Element value = e{zero};
        {loops}    value = {condition} ? e{inner} : value;
        return value;
    }}
    {_INLINE} Element set({given}, Element value) {{
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
    nothing="its declaration is not read as an array",
)
