"""The bits of integers in which the lanes of a warp differ by their place in the warp alone.

Where the shapes of blocks are not known, a warp is taken to hold 32 neighbouring threads in x. The
five lowest bits of ``%tid.x`` then tell lanes apart, and the others are the same. What adds a
multiple of 32 keeps that, in each iteration of a loop too, and what drops those bits gives all
lanes one value: ``idx / 256`` in ``for (idx = threadIdx.x; idx < n; idx += 256)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lmemscope.analysis.ptx.components import strong_components
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.inputs import Node
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import Instruction, number_of
from lmemscope.formats.ptx_isa import Kind, shifted_by
from lmemscope.formats.ptx_operands import INEXACT, is_float, result_bits

_ALL = (1 << 64) - 1
_WIDEST, _WORD = 64, 32
_DROPPING: tuple[Kind, ...] = ("bits", "comparison", "logic", "quotient", "shift")
"""What can leave out low bits."""


class Bits(NamedTuple):
    """What is known of the bits of an integer.

    Attributes:
        lanes: those that lanes may have different by their place in the warp.
        ones: those that may be 1.
        is_positive: whether it is not negative, unless it has wrapped.
    """

    lanes: int = 0
    ones: int = _ALL
    is_positive: bool = False

    @property
    def zeros(self) -> int:
        """How many of the lowest are 0."""
        return (self.ones & -self.ones).bit_length() - 1 if self.ones else _WIDEST

    @property
    def span(self) -> int:
        """How many of the lowest bits hold all in which lanes differ."""
        return self.lanes.bit_length()

    @property
    def is_zero(self) -> bool:
        """Whether it is 0."""
        return not self.ones

    def keeps(self, other: Bits) -> bool:
        """Whether what is added to it is the same in all lanes, and carries nothing."""
        return not other.lanes and other.zeros >= self.span


_ZERO = Bits(0, 0, is_positive=True)
_LANE = Bits(0x1F, is_positive=True)
_COMMON = Bits(0, is_positive=True)
_BIT = Bits(1, 1, is_positive=True)


class LaneBits:
    """Lane bits of one function's values.

    Args:
        code: its definitions.
        values: its values.
        node: what a value depends on.
    """

    def __init__(self, code: Definitions, values: Values, node: Callable[[Value], Node]) -> None:
        self._code, self._values, self._node = code, values, node
        self._instructions = code.body.instructions
        self._bits: dict[Value, Bits] = {}
        self._beside: dict[Value, frozenset[Value]] = {}
        self._parts: dict[Value, tuple[Value, ...] | None] = {}

    def between(self, value: Value) -> tuple[Value, ...]:
        """What a value can differ between lanes with: not by their place, where it drops that."""
        node = self._node(value)
        if not 0 <= value < len(self._instructions):
            return node.between
        if self._instructions[value].isa.kind not in _DROPPING or self._made_of(value) is None:
            return node.between
        self._find(value)
        return node.between if self._bits[value].lanes else tuple(self._beside[value])

    def _find(self, value: Value) -> None:
        """Find the bits of a value, and beside which values they are the same in all lanes."""
        for group in strong_components([value], lambda one: self._made_of(one) or (), self._bits):
            bits: dict[Value, Bits] = {}
            changed = True
            while changed:
                changed = False
                for member in group:
                    new = self._bits_of(member, bits)
                    if new is not None and new != bits.get(member):
                        bits[member], changed = new, True
            beside: set[Value] = set()
            for member in group:
                parts = self._made_of(member)
                node = self._node(member)
                if parts is None:
                    beside.add(member)
                elif not (node.shared or is_thread_number(self._code, self._values, member)):
                    beside.update(one for one in node.between if one not in parts)
                    beside.update(*(self._beside[one] for one in parts if one not in group))
            self._bits |= {member: bits.get(member, Bits()) for member in group}
            self._beside |= dict.fromkeys(group, frozenset(beside))

    def _bits_of(self, value: Value, found: Mapping[Value, Bits]) -> Bits | None:
        """The bits of a value by those of its parts; None as long as none of these is known."""
        if self._made_of(value) is None:
            return Bits()
        if self._values.join(value) is None:
            return self._computed(value, found)
        met = [self._known(one, found) for one in self._made_of(value) or ()]
        known = [one for one in met if one is not None]
        return _either(known) if known else None

    def _computed(self, index: int, found: Mapping[Value, Bits]) -> Bits | None:
        instruction = self._instructions[index]
        operands = [one for one in instruction.operands[1:] if isinstance(one, str)]
        if is_thread_number(self._code, self._values, index):
            return _LANE
        read = [self._read(index, operand, found) for operand in operands]
        known = [one for one in read if one is not None]
        if len(known) < len(read):
            return None
        after = _after(instruction, known, [number_of(one) for one in operands])
        return after._replace(lanes=0) if self._node(index).shared else after

    def _read(self, index: int, operand: str, found: Mapping[Value, Bits]) -> Bits | None:
        number = number_of(operand)
        if number is not None:
            return _number(number)
        value = self._values.read(index, operand) if operand.startswith("%") else None
        if value is not None:
            return self._known(value, found)
        if operand in _THREAD:
            return Bits(*self._code.blocks.thread(operand), is_positive=True)
        extent = self._code.blocks.extent(operand) if operand in _EXTENT else None
        if extent is not None:
            return _number(extent)
        return _LANE if operand == "%laneid" else _COMMON

    def _known(self, value: Value, found: Mapping[Value, Bits]) -> Bits | None:
        known = self._bits.get(value)
        return known if known is not None else found.get(value)

    def _made_of(self, value: Value) -> tuple[Value, ...] | None:
        """Values that one is computed from bit by bit; None where nothing is known of its bits."""
        if value not in self._parts:
            join = self._values.join(value)
            if join is not None:
                self._parts[value] = self._values.met(join)
            else:
                is_held = value >= len(self._instructions)
                self._parts[value] = None if is_held else self._operands(value)
        return self._parts[value]

    def _operands(self, index: int) -> tuple[Value, ...] | None:
        instruction = self._instructions[index]
        operands = [one for one in instruction.operands[1:] if isinstance(one, str)]
        if instruction.operation not in _FOLLOWED or len(operands) != len(instruction.operands) - 1:
            return None
        if instruction.predicate is not None or not isinstance(instruction.operands[0], str):
            return None
        if instruction.operation == "setp" and len(operands) != 2:
            return None
        if is_float(instruction) or not INEXACT.isdisjoint(instruction.modifiers):
            return None
        node = self._node(index)
        read = [self._values.read(index, one) for one in operands]
        values = tuple(one for one in read if one is not None)
        if not set(values) <= {*node.values, *node.lanes}:
            return None
        specials = [one for one, value in zip(operands, read, strict=True) if value is None]
        return values if all(map(self._is_followed, specials)) else None

    def _is_followed(self, operand: str) -> bool:
        """Whether lanes have one value in what no instruction computes, or their place."""
        if operand in _THREAD:
            return self._code.blocks.knows(operand)
        known = self._code.special(operand)
        return operand == "%laneid" or known is None or known[1] == "uniform"


def is_thread_number(code: Definitions, values: Values, value: Value) -> bool:
    """Whether a value is a thread's number, ``(z * ny + y) * nx + x``, by which warps are filled.

    CUDA C++ Programming Guide, "Thread Hierarchy". Without ``z`` it is that of a block of two
    dimensions.
    """
    if value < 0:
        return False
    instruction = code.body.instructions[value]
    if instruction.operation != "mad" or "lo" not in instruction.modifiers:
        return False
    operands = [one for one in instruction.operands[1:] if isinstance(one, str)]
    if instruction.predicate is not None or len(operands) != 3:
        return False
    first, second, added = (_special_of(code, values, value, one) for one in operands)
    if added != "%tid.x" or "%ntid.x" not in (first, second):
        return False
    row, said = (operands[1], second) if first == "%ntid.x" else (operands[0], first)
    before = values.read(value, row) if row.startswith("%") else None
    return said == "%tid.y" or (before is not None and _is_row(code, values, before))


def _is_row(code: Definitions, values: Values, value: Value) -> bool:
    """Whether a value is ``z * ny + y``."""
    if value < 0:
        return False
    instruction = code.body.instructions[value]
    if instruction.operation != "mad" or instruction.predicate is not None:
        return False
    names = [
        _special_of(code, values, value, one)
        for one in instruction.operands[1:]
        if isinstance(one, str)
    ]
    return names[2:] == ["%tid.y"] and set(names[:2]) == {"%tid.z", "%ntid.y"}


def _special_of(code: Definitions, values: Values, index: int, operand: str) -> str | None:
    """The special register that an operand is a copy of, or itself."""
    before = values.read(index, operand) if operand.startswith("%") else None
    if before is None or before < 0:
        return operand
    instruction = code.body.instructions[before]
    copied = instruction.operands[-1]
    return copied if instruction.operation == "mov" and isinstance(copied, str) else None


# What follows are the rules of single instructions: the bits of a result from those of operands.


def _number(number: int) -> Bits:
    return Bits(0, number & _ALL, 0 <= number < 1 << 31)


def _either(known: Sequence[Bits]) -> Bits:
    """One of several values; what chooses between them is known to be the same in all lanes."""
    lanes = ones = 0
    for one in known:
        lanes |= one.lanes
        ones |= one.ones
    return Bits(lanes, ones, all(one.is_positive for one in known))


def _multiple(zeros: int) -> int:
    """Bits that may be 1 of what has some of the lowest 0."""
    return _ALL << zeros & _ALL


def _carried(lanes: int) -> int:
    """Lane bits once a carry may have reached every bit above the lowest of them."""
    return _ALL & ~((lanes & -lanes) - 1) if lanes else 0


def _signed(lanes: int, bits: int) -> int:
    """Lane bits of a number that is extended from some bits by its sign."""
    return lanes | (_ALL & ~((1 << bits) - 1)) if lanes >> (bits - 1) & 1 else lanes


def _sum(first: Bits, second: Bits) -> Bits:
    is_positive = first.is_positive and second.is_positive
    if not first.ones & second.ones:
        return Bits(first.lanes | second.lanes, first.ones | second.ones, is_positive)
    lanes = _carried(first.lanes | second.lanes)
    if first.keeps(second) or second.keeps(first):
        lanes = first.lanes | second.lanes
    return Bits(lanes, _multiple(min(first.zeros, second.zeros)), is_positive)


def _difference(first: Bits, second: Bits) -> Bits:
    lanes = first.lanes if first.keeps(second) else _carried(first.lanes | second.lanes)
    return Bits(lanes, _multiple(min(first.zeros, second.zeros)))


def _product(first: Bits, second: Bits, factor: int | None) -> Bits:
    ones = _multiple(first.zeros + second.zeros)
    if factor is not None and factor > 0 and factor & (factor - 1) == 0:
        lanes = (first.lanes << second.zeros) & _ALL
        ones = (first.ones << second.zeros) & _ALL
    elif first.lanes and second.lanes:
        lanes = _ALL
    else:
        shift = second.zeros if first.lanes else first.zeros
        lanes = _carried((first.lanes | second.lanes) << shift & _ALL)
    return Bits(lanes, ones, first.is_positive and second.is_positive)


def _and(first: Bits, second: Bits) -> Bits:
    ones = first.ones & second.ones
    lanes = (first.lanes | second.lanes) & ones
    return Bits(lanes, ones, first.is_positive or second.is_positive)


def _or(first: Bits, second: Bits) -> Bits:
    is_positive = first.is_positive and second.is_positive
    return Bits(first.lanes | second.lanes, first.ones | second.ones, is_positive)


def _shifted_left(first: Bits, by: int | None) -> Bits:
    if by is None:
        return Bits(_carried(first.lanes), _multiple(first.zeros), first.is_positive)
    by = shifted_by(by)
    return Bits(first.lanes << by & _ALL, first.ones << by & _ALL, first.is_positive)


def _shifted_right(first: Bits, by: int | None, bits: int, *, signed: bool) -> Bits:
    if first.is_zero or (by is not None and by >= bits - signed and first.is_positive):
        return _ZERO
    if by is None:
        return Bits(_ALL if first.lanes else 0, _ALL, first.is_positive)
    by = shifted_by(by)
    lanes = _signed(first.lanes, bits) if signed else first.lanes
    ones = _signed(first.ones, bits) if signed else first.ones
    is_positive = first.is_positive or (by > 0 and not signed)
    return Bits(lanes >> by, ones >> by, is_positive)


def _quotient(first: Bits, second: Bits, divisor: int | None, *, signed: bool) -> Bits:
    """Towards zero: of what may be negative, the quotients of neighbours differ."""
    is_positive = first.is_positive and second.is_positive
    if not (first.lanes or second.lanes):
        return Bits(0, _ALL, is_positive)
    if signed and not first.is_positive:
        return Bits(_ALL)
    if first.keeps(second):
        return Bits(0, _ALL, is_positive)
    if divisor is None or divisor <= 0 or divisor & (divisor - 1):
        return Bits(_ALL, _ALL, is_positive)
    return Bits(first.lanes >> (divisor.bit_length() - 1), _ALL, is_positive)


def _remainder(first: Bits, second: Bits, *, signed: bool) -> Bits:
    ones = _multiple(min(first.zeros, second.zeros))
    if first.keeps(second) and (first.is_positive or not (signed and first.lanes)):
        return Bits(first.lanes, ones, first.is_positive)
    return Bits(_ALL if first.lanes | second.lanes else 0, ones, first.is_positive)


def _field(first: Bits, start: int | None, length: int | None, *, signed: bool) -> Bits:
    if start is None or length is None or not 0 < length <= _WIDEST:
        return Bits(_ALL if first.lanes else 0)
    lanes, ones = (one >> shifted_by(start) & ((1 << length) - 1) for one in first[:2])
    if signed:
        return Bits(_signed(lanes, length), _signed(ones, length))
    return Bits(lanes, ones, is_positive=True)


def _comparison(relation: str, first: Bits, second: Bits, number: int | None) -> Bits:
    """Whether one is less than a multiple of 32 that all lanes share, they all find alike."""
    if not (first.lanes or second.lanes):
        return _BIT._replace(lanes=0)
    if second.lanes:
        return _BIT
    if relation in ("le", "gt", "ls", "hi"):
        # x <= 31 is x < 32.
        second = _number(number + 1) if number is not None else _COMMON
    is_order = relation in ("lt", "ge", "lo", "hs", "le", "gt", "ls", "hi")
    return _BIT._replace(lanes=0) if is_order and first.keeps(second) else _BIT


def _chosen(first: Bits, second: Bits, asked: Bits) -> Bits:
    return Bits(_ALL) if asked.lanes else _either((first, second))


def _converted(first: Bits, source: str) -> Bits:
    """Bits extended from a type of fewer."""
    if source[:1] != "s":
        return first
    bits = int(source[1:])
    is_positive = first.is_positive and bits >= _WORD
    return Bits(_signed(first.lanes, bits), _signed(first.ones, bits), is_positive)


def _after(instruction: Instruction, known: Sequence[Bits], numbers: Sequence[int | None]) -> Bits:
    """Bits of a result from those of its operands."""
    operation, kind = instruction.operation, instruction.modifiers[-1]
    first, last, number = known[0], known[-1], numbers[-1]
    bits, signed = result_bits(instruction), kind[:1] == "s"
    if "wide" in instruction.modifiers:
        known = [_converted(one, kind) for one in known[:2]]
        known, first = [*known, last], known[0]
    if operation in _MOVED and any(one.lanes for one in known[1:]):
        return Bits((1 << bits) - 1)  # Each lane moves its bits elsewhere.
    match operation:
        case "mov":
            found = first
        case "cvt":
            found = _converted(first, kind)
        case "add":
            found = _sum(first, last)
        case "sub":
            found = _difference(first, last)
        case "neg":
            found = _difference(_ZERO, first)
        case "mul":
            found = _product(first, known[1], number)
        case "mad":
            found = _sum(_product(first, known[1], numbers[1]), last)
        case "and":
            found = _and(first, last)
        case "or" | "xor":
            found = _or(first, last)
        case "not":
            found = Bits(first.lanes)
        case "shl":
            found = _shifted_left(first, number)
        case "shr":
            found = _shifted_right(first, number, bits, signed=signed)
        case "bfe":
            found = _field(first, numbers[1], number, signed=signed)
        case "div":
            found = _quotient(first, last, number, signed=signed)
        case "rem":
            found = _remainder(first, last, signed=signed)
        case "selp":
            found = _chosen(first, known[1], last)
        case "setp":
            found = _comparison(instruction.modifiers[1], first, last, number)
        case _:  # min, max
            found = Bits(_ALL) if first.lanes | last.lanes else _either((first, last))
    lanes, ones = (one & ((1 << bits) - 1) for one in found[:2])
    return Bits(lanes, ones, found.is_positive and not lanes >> (bits - 1))


_THREAD = frozenset({"%tid.x", "%tid.y", "%tid.z"})
_EXTENT = frozenset({"%ntid.x", "%ntid.y", "%ntid.z"})
_MOVED = frozenset({"shl", "shr", "bfe"})
"""Operations whose other operands say by how many bits the first is moved."""
_FOLLOWED = frozenset(
    {
        *("mov", "cvt", "add", "sub", "neg", "mul", "mad", "and", "or", "xor", "not", "shl", "shr"),
        *("bfe", "div", "rem", "selp", "setp", "min", "max"),
    }
)
"""Operations of which that is known."""
