"""Interpret a PTX instruction's operands: defined, read, pointers, offsets, constant folding.

`ptx_isa` gives the effect of the opcode.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from lmemscope.formats.ptx_body import Address, Instruction, Operand, Vector, number_of
from lmemscope.formats.ptx_isa import parts_of_opcode

CARRY = "%cc.cf"
"""The carry flag as a register: ``add.cc`` defines it, ``addc`` reads it."""
_PART = re.compile(r"(%[\w$@]+)\.(?:[bh]\d|[xyzwrgba])")
"""A part of a register: ``%r1.h0`` in video instructions, ``%v.x`` in vectors."""
_SPECIAL = re.compile(r"%n?(?:tid|ctaid|clusterid)\.|%cluster_n?ctaid\.")
_INTEGER = re.compile(r"([bus])(8|16|32|64|128)")
_FLOAT = re.compile(r"(?:u?e\d+m\d+|b?f16|tf32|f32|f64)(?:x\d)?|ftz")
INEXACT = frozenset({"hi", "pack", "sat"})
"""Modifiers that make an integer result differ from the plain operation."""
_WIDEST = 64


@lru_cache(maxsize=1 << 12)
def is_float_opcode(opcode: str) -> bool:
    """Whether instructions of an opcode compute with floating-point numbers."""
    return any(map(_FLOAT.fullmatch, parts_of_opcode(opcode)[1:]))


def is_float(instruction: Instruction) -> bool:
    """Whether an instruction computes with floating-point numbers."""
    return is_float_opcode(instruction.opcode)


def may_change(instruction: Instruction) -> bool:
    """Whether repeated execution with equal operands may give different results."""
    return instruction.isa.origin != "operands"


def defined(instruction: Instruction) -> tuple[str, ...]:
    """Registers that an instruction defines or, for an unknown opcode, may define.

    ``_`` stands for an unused result.
    """
    if instruction.isa.results == 1 and ".cc" not in instruction.opcode and instruction.operands:
        # The usual case: one complete register.
        only = instruction.operands[0]
        if isinstance(only, str) and only[:1] == "%" and "." not in only:
            return (only,)
    results = tuple(
        register
        for operand in _results(instruction)
        if not isinstance(operand, Address)
        for register in registers_of(operand)
    )
    return (*results, CARRY) if "cc" in instruction.modifiers else results


def read(instruction: Instruction) -> tuple[str, ...]:
    """Registers that an instruction reads, its guard predicate first.

    Values kept when the predicate is false are not included.
    """
    row, results = instruction.isa, len(_results(instruction))
    found = registers_of(instruction.predicate or "")
    for position, operand in enumerate(instruction.operands):
        is_result = position < results and not isinstance(operand, Address)
        if not is_result or row.updates:
            found += registers_of(operand)
        else:
            found += _partly_kept(operand)
    if row.carries:
        found.append(CARRY)
    return tuple(found)


def registers_of(operand: Operand | None) -> list[str]:
    """Registers named by an operand; for a part, the complete register."""
    if isinstance(operand, str) and operand[:1] == "%" and "." not in operand:
        return [operand]  # the usual case
    if isinstance(operand, Address):
        return [operand.base] if operand.base is not None and operand.base[:1] == "%" else []
    if isinstance(operand, Vector):
        return [_whole(item) for item in operand.items if item.startswith("%")]
    if isinstance(operand, str):
        name = operand.lstrip("!-")
        return [_whole(name)] if name.startswith("%") else []
    return []


def _results(instruction: Instruction) -> tuple[Operand, ...]:
    """Operands that an instruction defines, including addresses."""
    operands, row = instruction.operands, instruction.isa
    if row.control == "call":
        # The list of results, if there is one, precedes the callee.
        return operands[:1] if operands and isinstance(operands[0], Vector) else ()
    return operands[: row.results]


def _partly_kept(operand: Operand) -> list[str]:
    """Result registers of which only a part is written."""
    items = operand.items if isinstance(operand, Vector) else (operand,)
    return [_whole(item) for item in items if isinstance(item, str) and _whole(item) != item]


def _whole(name: str) -> str:
    """The register that a name is a part of, or the name."""
    if "." not in name or _SPECIAL.match(name):
        return name
    part = _PART.fullmatch(name)
    return part[1] if part is not None else name


def pointers(instruction: Instruction) -> list[str]:
    """Registers and symbols into whose memory an instruction's result may point."""
    found: list[str] = []
    for position in instruction.isa.pointers:
        for operand in instruction.operands[position : position + 1]:
            items = operand.items if isinstance(operand, Vector) else (operand,)
            found += [one for one in items if isinstance(one, str) and number_of(one) is None]
    return found


def displaced(instruction: Instruction) -> tuple[str, int] | None:
    """The register or symbol to which the result adds a constant, and the constant; else None."""
    if is_float(instruction):
        return None
    operands = instruction.operands[1:]
    if instruction.isa.kind == "copy" and len(operands) == 1:
        return _moved(operands[0], 0)
    if instruction.operation not in ("add", "sub") or len(operands) != 2:
        return None
    first, second = map(number_of, operands)
    if second is not None:
        return _moved(operands[0], second if instruction.operation == "add" else -second)
    return _moved(operands[1], first) if first is not None and instruction.isa.commutes else None


def _moved(operand: Operand, by: int) -> tuple[str, int] | None:
    return (operand, by) if isinstance(operand, str) and number_of(operand) is None else None


def result_bits(instruction: Instruction) -> int:
    """Number of bits in an integer result; 64 if the opcode does not say."""
    return _result_bits(instruction.opcode)


@lru_cache(maxsize=1 << 12)
def _result_bits(opcode: str) -> int:
    modifiers = parts_of_opcode(opcode)[1:]
    kinds = [found for one in modifiers if (found := _INTEGER.fullmatch(one)) is not None]
    bits = int(kinds[0][2]) if kinds else _WIDEST
    return min(_WIDEST, 2 * bits if "wide" in modifiers else bits)


def folded(instruction: Instruction, numbers: Sequence[int | None]) -> int | None:
    """The integer that an instruction computes from integers, wrapped to its type.

    Args:
        instruction: its predicate is ignored.
        numbers: its operands after the result; None for unknown ones.

    Returns:
        None if an operand or the operation is unknown, or the result is not an integer. Numbers of
            64 bits, and untyped bits, are signed.
    """
    fold, modifiers = instruction.isa.fold, instruction.modifiers
    kinds = [found for one in modifiers if (found := _INTEGER.fullmatch(one)) is not None]
    known = [number for number in numbers if number is not None]
    is_scalar = bool(instruction.operands) and isinstance(instruction.operands[0], str)
    if fold is None or not kinds or not is_scalar or len(known) != len(numbers):
        return None
    if is_float(instruction) or not INEXACT.isdisjoint(modifiers):
        return None
    target, source = ((one[1], int(one[2])) for one in (kinds[0], kinds[-1]))
    if "wide" in modifiers:
        target = target[0], 2 * target[1]
    # A shift amount is always unsigned; the addend of a product has the result's width.
    types = {"shift": [source, ("u", 32)], "product": [source, source, target]}
    given = types.get(instruction.isa.kind or "", [source] * len(known))
    try:
        return _wrapped(fold([_wrapped(*one) for one in zip(known, given, strict=False)]), target)
    except ZeroDivisionError:
        return None


def _wrapped(number: int, kind: tuple[str, int]) -> int:
    sign, bits = kind
    low = number & ((1 << bits) - 1)
    is_signed = sign != "u" or bits >= _WIDEST
    return low - (1 << bits) if is_signed and low >> (bits - 1) else low
