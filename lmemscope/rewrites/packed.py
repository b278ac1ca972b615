"""Pack small elements into one 64-bit register

An array of at most 64 bits becomes one integer; elements are accessed by shifts and masks, whatever
the index.

Safe: an index within the array selects the same integer, and code that needs the element itself
does not compile, nor does an instance with a larger array. It costs a few integer instructions per
access, and two registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.accessors import accessor_edits, joined
from lmemscope.rewrites.arrays import Elements, LocalArray, Use, local_array
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.carried import Carrier
from lmemscope.rewrites.classes import declared_as, helper_edits, listed_values
from lmemscope.sources.syntax import Syntax

if TYPE_CHECKING:
    from tree_sitter import Node

BITS = {
    b"bool": 1,
    b"char": 8,
    b"signed char": 8,
    b"unsigned char": 8,
    b"int8_t": 8,
    b"uint8_t": 8,
    b"uchar": 8,
    b"short": 16,
    b"unsigned short": 16,
    b"int16_t": 16,
    b"uint16_t": 16,
    b"ushort": 16,
    b"int": 32,
    b"unsigned": 32,
    b"unsigned int": 32,
    b"int32_t": 32,
    b"uint32_t": 32,
    b"uint": 32,
}
"""Bits of an element; those of a `bool` are one."""
_WORD = 64
_NAME = b"lmem_packed"
_CLASS = b"""\
// At most 64 bits of small integers in one register.
template <class Element, int Bits, int Count>
struct lmem_packed {
    static_assert(Bits * Count <= 64, "its elements need more than one register");
    unsigned long long bits;
    __host__ __device__ __forceinline__ Element get(int i) const {
        return static_cast<Element>(bits >> (i * Bits) & (~0ull >> (64 - Bits)));
    }
    __host__ __device__ __forceinline__ Element set(int i, Element value) {
        const unsigned long long mask = ~0ull >> (64 - Bits);
        bits = (bits & ~(mask << (i * Bits)))
             | (static_cast<unsigned long long>(value) & mask) << (i * Bits);
        return value;
    }
    __host__ __device__ __forceinline__ const Element operator[](int i) const { return get(i); }
};
"""


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration as one integer, its uses, and functions that take it."""
    array = local_array(target)
    bits, numbers = BITS.get(array.element), array.numbers
    if bits is None or numbers is None or len(numbers) > 1 or numbers[0] * bits > _WORD:
        return
    sizes = {hit.finding.type_bytes for hit in target.hits}
    if sizes - {None, numbers[0] * max(bits, 8) // 8}:
        raise DeclinedError(f"`{array.element.decode()}` is a type of the program's own")
    if array.is_volatile or array.is_const:
        raise DeclinedError(f"it is {'volatile' if array.is_volatile else 'const'}")
    for use in array.uses:
        if use.kind == "size":
            raise DeclinedError(f"line {use.name.start_point.row + 1} asks for its size")
    fill = _fill(array)

    def before(path: str, syntax: Syntax, function: Node) -> tuple[Edit, ...]:
        return helper_edits(target, path, syntax, function, _NAME, _CLASS)

    def spelling(element: bytes, is_const: bool, extents: Sequence[bytes]) -> bytes:
        return (b"const " if is_const else b"") + _type(element, bits, extents) + b" &"

    def body(elements: Elements, pass_on: Callable[[Use], None]) -> tuple[Edit, ...]:
        return accessor_edits(elements, target, pass_on, is_plain=True)

    carrier = Carrier(target, array.extents, spelling, body, before)
    uses = body(array.elements, carrier.carry(target.path, target.syntax))
    made = declared_as(array, _type(array.element, bits, array.extents), fill)
    helper = before(target.path, target.syntax, array.declared.function)
    yield Rewriting(
        "packed",
        "safe",
        joined((*helper, *made, *uses, *carrier.edits)),
        f"pack `{target.name}` into one 64-bit register",
    )


def _type(element: bytes, bits: int, extents: Sequence[bytes]) -> bytes:
    """The class; with the extent as written, so that no instance of another size fits it."""
    return b"%s<%s, %d, %s>" % (_NAME, element, bits, extents[0])


def _fill(array: LocalArray) -> bytes:
    if array.declared.value is None:
        return b" = {0}"
    values = listed_values(array)
    end = array.syntax.lines_end() + array.syntax.indent(array.declared.statement)
    stores = (
        b";%s%s.set(%d, %s)" % (end, array.name, position, value)
        for position, value in enumerate(values)
        if value not in (b"0", b"false")
    )
    return b" = {0}" + b"".join(stores)


REWRITE = Rewrite(
    "packed",
    frozenset({"dynamic-index", "rolled-loop", "const-table", "address-taken"}),
    propose,
    __name__,
    nothing="it is not declared as one row of integers that fit 64 bits together",
)
