"""What a ``ld`` or a ``st`` moves: bytes, and which register holds which of them."""

from __future__ import annotations

from lmemscope.analysis.ptx.flow import is_generic_access, is_local_access
from lmemscope.formats.ptx_body import Instruction, Vector

_WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


def access_width(instruction: Instruction) -> int:
    """Bytes per thread that a ``ld``/``st`` moves."""
    lanes, width = 1, 0
    for part in instruction.modifiers[1:]:
        if part in ("v2", "v4", "v8"):
            lanes = int(part[1:])
        elif part[:1] in "busf" and part[1:] in _WIDTHS:
            width = _WIDTHS[part[1:]]
    if not width:
        vector = next((o for o in instruction.operands if isinstance(o, Vector)), None)
        width, lanes = 4, len(vector.items) if vector is not None else 1
    return lanes * width


def moves_pointers(instruction: Instruction) -> bool:
    """Whether what a load or a store moves is as wide as an address, and no floating point."""
    return instruction.opcode.endswith(("b64", "u64", "s64"))


def is_pointer_load(instruction: Instruction) -> bool:
    """Whether an instruction loads, from memory that may be local, what may be an address."""
    opcode = instruction.opcode
    return (
        instruction.isa.access == "load"
        and moves_pointers(instruction)
        and (is_local_access(opcode) or is_generic_access(opcode))
    )


def stored_values(instruction: Instruction) -> list[tuple[str, int]]:
    """Registers and constants that an instruction reads by value, its first operand aside.

    Each has its position in bytes from where a ``st`` begins to write: vectors whole.
    """
    result: list[tuple[str, int]] = []
    for operand in instruction.operands[1:]:
        if isinstance(operand, Vector):
            size = access_width(instruction) // max(len(operand.items), 1)
            result += [(item, number * size) for number, item in enumerate(operand.items)]
        elif isinstance(operand, str):
            result.append((operand, 0))
    return result


def position_in(instruction: Instruction, register: str) -> int:
    """Bytes from where a load begins to read to what it puts into a register."""
    target = instruction.operands[0]
    if not isinstance(target, Vector) or register not in target.items:
        return 0
    return target.items.index(register) * access_width(instruction) // len(target.items)
