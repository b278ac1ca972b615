"""Numbers of some bits in shared memory: the classes, and what declares one.

A byte holds 8 bits' worth of elements of one thread, four bytes of a thread stand in a word, and a
warp's words side by side. A row of an array of two dimensions begins in a byte, or several whole
rows stand in one, so that a loop over it that is unrolled knows each element's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.model import Edit, count
from lmemscope.rewrites.arrays import LocalArray
from lmemscope.rewrites.base import DeclinedError
from lmemscope.rewrites.classes import declared_as
from lmemscope.rewrites.shared_memory import as_rows
from lmemscope.rewrites.shared_room import LANE

BITS = (1, 2, 4, 8)
"""Of a field: a byte holds a whole number of them."""
_BYTE, _WORD = 8, 4
CLASSES = {
    b"lmem_fields": b"""\
// A thread's own column of words of a shared array, whose elements have some bits of a Kept each.
template <class Element, class Kept, int Bits, int Threads>
struct lmem_fields {
    enum { size = 8 * sizeof(Kept), each = size / Bits, near = 4 / sizeof(Kept) };
    Kept (*words)[Threads][near];
    __host__ __device__ __forceinline__ Element read(unsigned at, unsigned place) const {
        const Kept own = words[at / near][0][at % near];
        return static_cast<Element>(Bits < size ? own >> place & ((1 << Bits) - 1) : own);
    }
    __host__ __device__ __forceinline__ void write(unsigned at, unsigned place,
                                                   Element value) const {
        const unsigned mask = (1u << Bits) - 1, kept = static_cast<unsigned>(value) & mask;
        Kept &own = words[at / near][0][at % near];
        own = static_cast<Kept>(Bits < size ? (own & ~(mask << place)) | kept << place : kept);
    }
    __host__ __device__ __forceinline__ Element get(int i) const {
        return read(unsigned(i) / each, unsigned(i) % each * Bits);
    }
    __host__ __device__ __forceinline__ Element set(int i, Element value) const {
        write(unsigned(i) / each, unsigned(i) % each * Bits, value);
        return value;
    }
    __host__ __device__ __forceinline__ const Element operator[](int i) const { return get(i); }
};
""",
    b"lmem_field_rows": b"""\
// The same of an array of rows: a byte holds whole rows, or a row whole bytes.
template <class Element, int Bits, int Inner, int Threads>
struct lmem_field_rows {
    enum { each = 8 / Bits, near = Inner > 4 ? 8 : Inner > 2 ? 4 : Inner };
    enum { row = Inner < each ? near : each, rows = each / row, bytes = (Inner + each - 1) / each };
    unsigned char (*words)[Threads][4];
    __host__ __device__ __forceinline__ lmem_fields<Element, unsigned char, Bits, Threads>
    all() const { return {words}; }
    __host__ __device__ __forceinline__ unsigned byte(int i, int j) const {
        return unsigned(i) / rows * bytes + unsigned(j) / each;
    }
    __host__ __device__ __forceinline__ unsigned place(int i, int j) const {
        return (unsigned(i) % rows * row + unsigned(j) % each) * Bits;
    }
    __host__ __device__ __forceinline__ Element get(int i, int j) const {
        return all().read(byte(i, j), place(i, j));
    }
    __host__ __device__ __forceinline__ Element set(int i, int j, Element value) const {
        all().write(byte(i, j), place(i, j), value);
        return value;
    }
};
""",
}
"""Of an array of one and of two dimensions: the second needs the first."""


@dataclass(frozen=True, slots=True)
class Fields:
    """How an array's elements are kept.

    Attributes:
        bits: of each.
        extents: of the array, in numbers.
        promises: what has to be so for them to fit.
        kept: the type that holds one or several of them.
        width: bits of that.
    """

    bits: int
    extents: tuple[int, ...]
    promises: tuple[str, ...]
    kept: bytes = b"unsigned char"
    width: int = _BYTE

    @property
    def what(self) -> str:
        """How an element is kept, for a person."""
        is_plain = self.bits == self.width and len(self.extents) == 1
        return self.kept.decode() if is_plain else f"{count(self.bits, 'bit')} for each element"

    @property
    def size(self) -> int:
        """Bytes of the array for each thread, in whole words."""
        rows, units = self._shape
        near = _WORD * _BYTE // self.width
        return -(-(-(-self.extents[0] // rows) * units) // near) * _WORD

    @property
    def _shape(self) -> tuple[int, int]:
        """Rows in a unit of the kept type and units of a row, one of which is 1."""
        each = self.width // self.bits
        if len(self.extents) == 1:
            return each, 1
        inner = self.extents[1]
        if inner >= each:
            return 1, -(-inner // each)
        return each // next(near for near in (1, 2, 4, 8) if inner <= near), 1

    def view(self, element: bytes, extents: Sequence[bytes], threads: int) -> bytes:
        """The class of an array whose extents are called so where it stands."""
        kept = (self.kept,) if len(extents) == 1 else ()
        parts = (element, *kept, b"%d" % self.bits, *extents[1:], b"%d" % threads)
        return names(len(extents))[-1] + b"<" + b", ".join(parts) + b">"

    def declaration(self, array: LocalArray, threads: int) -> tuple[Edit, ...]:
        """The words of a block's threads, and the array as the view of one column of them.

        Args:
            array: what is declared.
            threads: of a block.

        Raises:
            DeclinedError: a name is taken, or the declaration cannot be taken apart.
        """
        syntax, store = array.syntax, array.name + b"_lmem"
        if store in syntax.words():
            raise DeclinedError(f"the name {store.decode()} is taken")
        view = self.view(array.element, array.extents, threads)
        words, near = b"%d" % (self.size // _WORD), _WORD * _BYTE // self.width
        if not all(one.isdigit() for one in array.extents):
            # Another instance may have other extents than the one that was compiled.
            rows, bytes_ = b"%d" % (self.width // self.bits), b"1"
            if len(array.extents) > 1:
                rows, bytes_ = view + b"::rows", view + b"::bytes"
            whole = b"((%s) + %s - 1) / %s * %s" % (array.extents[0], rows, rows, bytes_)
            words = b"(%s + %d) / %d" % (whole, near - 1, near)
        end = syntax.lines_end() + syntax.indent(array.declared.statement)
        space = b"__shared__ __align__(%d) %s " % (_WORD, self.kept) + store
        space += b"[" + words + b"][%d][%d];" % (threads, near) + end + b"const " + view
        column = store + b"[0][" + LANE + b"]"
        return declared_as(array, space, b" = {" + as_rows(store, column) + b"}")


def names(dimensions: int) -> tuple[bytes, ...]:
    """The classes that an array of some dimensions needs, its own last."""
    return tuple(CLASSES)[:dimensions]
