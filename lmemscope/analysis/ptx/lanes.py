"""What single instructions do to the lanes of a warp: share a value, or tell lanes apart.

Where nothing else is known, a warp is taken to hold 32 neighbouring threads in x: blocks of one
dimension, or whose x extent is a multiple of 32.
"""

from __future__ import annotations

from lmemscope.analysis.ptx.affine import Affine
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.forms import Iteration
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import Instruction, number_of
from lmemscope.formats.ptx_isa import Kind
from lmemscope.formats.ptx_operands import is_float

_LANES = 0x1F
_WIDTH = (1 << 64) - 1
_WHOLE_WARP = 31
"""The ``c`` operand of ``shfl`` that makes the whole warp one segment."""
_DROPPING: tuple[Kind, ...] = ("bits", "logic", "quotient", "shift")
"""What can leave out low bits."""
_THREAD_BITS = 10
"""``%tid.x`` is below 1024: CUDA C++ Programming Guide, "Compute Capabilities"."""
_STEPS = 32
"""How long a chain of bit operations is followed."""


def broadcast_lane(code: Definitions, affine: Affine, index: int) -> str | None:
    """The operand that says which one lane's value all lanes get, or None where none does."""
    instruction = code.body.instructions[index]
    if instruction.operation != "shfl" or "idx" not in instruction.modifiers:
        return None
    operands = [o for o in instruction.operands if isinstance(o, str)]
    position = len(operands) - (2 if "sync" in instruction.modifiers else 1)
    # d, a, b, c and, with sync, the mask of lanes.
    last = affine.read(index, operands[position]) if position >= 2 else None
    if last is None or last.number != _WHOLE_WARP:
        return None
    return operands[position - 1]


def is_same_in_warp(code: Definitions, values: Values, value: Value) -> bool:
    """Whether a value of ``%tid.x``, or of a thread's number, has lost the bits of lanes."""
    if value < 0 or code.body.instructions[value].isa.kind not in _DROPPING:
        return False
    return _lane_bits(code, values, value, _STEPS) == 0


def _lane_bits(code: Definitions, values: Values, value: Value, steps: int) -> int | None:
    """The bits of a value in which lanes may differ; None where it is made of anything else."""
    if value < 0 or not steps:
        return None
    instruction = code.body.instructions[value]
    biased = instruction.operation == "add"
    operands = [
        "0" if biased and _is_zero(code, values, value, operand, steps) else operand
        for operand in instruction.operands[1:]
        if isinstance(operand, str)
    ]
    registers = [operand for operand in operands if operand.startswith("%")]
    if instruction.predicate is not None or len(operands) != len(instruction.operands) - 1:
        return None
    if len(registers) != 1 or is_float(instruction) or "hi" in instruction.modifiers:
        return None
    known = [_bits_of(code, values, value, operand, steps - 1) for operand in operands]
    numbers = [number_of(operand) for operand in operands]
    return _after(instruction, known, numbers)


def _bits_of(code: Definitions, values: Values, index: int, operand: str, steps: int) -> int | None:
    if operand == "%laneid":
        return _LANES
    if operand == "%tid.x":
        return None if code.rows is False else _LANES
    if not operand.startswith("%"):
        return 0
    before = values.read(index, operand)
    if before is None:
        return None
    return _LANES if _is_number(code, values, before) else _lane_bits(code, values, before, steps)


def _is_number(code: Definitions, values: Values, value: Value) -> bool:
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


def _is_zero(code: Definitions, values: Values, index: int, operand: str, steps: int) -> bool:
    """Whether an operand is what signed division adds to a negative ``%tid.x``, which none is."""
    before = values.read(index, operand) if operand.startswith("%") else None
    if before is None or before < 0 or not steps:
        return False
    instruction = code.body.instructions[before]
    source, shift = instruction.operands[1:2], number_of(instruction.operands[-1])
    if instruction.operation != "shr" or instruction.predicate is not None or shift is None:
        return False
    if not source or not isinstance(source[0], str) or not source[0].startswith("%"):
        return False
    if shift >= _THREAD_BITS and _is_thread(code, values, before, source[0]):
        return True
    return _is_zero(code, values, before, source[0], steps - 1)


def _is_thread(code: Definitions, values: Values, index: int, operand: str) -> bool:
    """Whether an operand is ``%tid.x`` itself, or a thread's number."""
    before = values.read(index, operand)
    is_number = before is not None and _is_number(code, values, before)
    return is_number or _special_of(code, values, index, operand) == "%tid.x"


def _after(
    instruction: Instruction, known: list[int | None], numbers: list[int | None]
) -> int | None:
    """Lane bits of a result from those of its operands, of which one at most is no constant."""
    operation, first = instruction.operation, known[0] if known else None
    if first is None or any(bits is None for bits in known):
        return None
    if instruction.isa.kind == "copy" and len(known) == 1:
        return first
    second = numbers[1] if len(numbers) > 1 else None
    if second is None:
        return None
    if operation in ("add", "sub", "or", "xor") and second == 0:
        return first
    if operation == "shr" and second >= 0:
        return first >> second
    if operation == "shl" and second >= 0:
        return (first << second) & _WIDTH
    if operation == "and":
        return first & second & _WIDTH
    if operation in ("or", "xor"):
        return first
    if operation == "bfe" and len(numbers) > 2 and numbers[2] is not None:
        return (first >> second) & ((1 << numbers[2]) - 1)
    if operation == "div" and second > 0 and second & (second - 1) == 0:
        return first >> (second.bit_length() - 1)
    if operation == "div" and second > 0 and second % (_LANES + 1) == 0 and first <= _LANES:
        return 0
    if operation in ("add", "sub", "mul", "mad"):
        # A carry may reach every bit above the lowest one that differs.
        return _WIDTH & ~((first & -first) - 1) if first else 0
    return None


def counts_itself(code: Definitions, affine: Affine, index: int) -> bool:
    """Whether a sum is made of nothing but how often loops around it have begun anew, such as
    ``x - first`` in ``for (x = first; …; ++x)``: the same in all lanes that are there."""
    instruction = code.body.instructions[index]
    if instruction.isa.kind != "sum" or instruction.predicate is not None or is_float(instruction):
        return False
    terms = affine.of(index).terms
    inside = {loop.header for loop in code.flow.loops if index in loop.members} if terms else ()
    return bool(terms) and all(isinstance(t, Iteration) and t.header in inside for t in terms)


def counts_alike(code: Definitions, affine: Affine, index: int) -> bool:
    """Whether a comparison asks only how far a loop has counted, from a value of the lane to the
    same with a constant added, such as ``for (i = x - 1; i <= x + 1; ++i)``."""
    instruction = code.body.instructions[index]
    if instruction.operation != "setp" or len(instruction.operands) != 3:
        return False
    relation, kind = instruction.modifiers[1], instruction.modifiers[-1]
    if kind[:1] != "s" and relation not in ("eq", "ne"):
        return False  # Without a sign, one lane's sum may wrap where another's does not.
    first, second = (affine.read(index, one) for one in instruction.operands[1:])
    if first is None or second is None:
        return False
    terms = first.plus(second, -1).terms
    return bool(terms) and all(isinstance(one, Iteration) for one in terms)
