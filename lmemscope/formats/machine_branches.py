"""Instructions that decide where control goes on, decoded from machine code, sm_75 to sm_121.

As in `sites`, the encoding was measured against nvdisasm. Bits 0-11 of the low word are the opcode,
12-15 the guard (7 is "always"), and of the high word bits 23-26 are a second condition of ``BRA``;
``BRA.U`` has one of its own.
A target counts from the next instruction: of ``BRA`` as of ``CALL`` (`machine_calls`), of ``BSSY``
in bits 32-63. ``BSSY`` and ``BSYNC`` have their barrier's number in bits 16-19.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from lmemscope.formats.instructions import INSTRUCTION_BYTES, Instruction, Opcodes
from lmemscope.formats.machine_calls import distance

_ALWAYS = 7
_BRA, _BRA_U, _BSSY, _BSYNC, _BRX = 0x947, 0x547, 0x945, 0x941, 0x949
_ENDS = frozenset({0x94D, 0x950, 0x94A, 0x94C})
"""``EXIT``, ``RET``, ``JMP``, ``JMX``."""
_OPCODES = Opcodes(_ENDS | {_BRA, _BRA_U, _BSSY, _BSYNC, _BRX}, bits=12)

BranchKind = Literal["branch", "barrier", "meet", "end", "table"]


class Branch(NamedTuple):
    """One such instruction.

    Attributes:
        pc: byte offset in the code section.
        kind: ``branch`` (``BRA``), ``barrier`` (``BSSY``: says where lanes meet), ``meet``
            (``BSYNC``: goes there), ``end`` of the function, or ``table``.
        target: byte offset that a ``branch`` goes to, or a ``barrier`` names; else None.
        barrier: number of the barrier, of ``barrier`` and ``meet``.
        always: whether it is executed in any case.
    """

    pc: int
    kind: BranchKind
    target: int | None
    barrier: int | None
    always: bool


def find_branches(code: bytes | memoryview, compute_capability: int) -> tuple[Branch, ...]:
    """Decode them all, in address order.

    Args:
        code: a section's bytes; a trailing partial instruction is ignored.
        compute_capability: of the code, such as 90.
    """
    return tuple(_decode(found, compute_capability) for found in _OPCODES.find(code))


def _decode(found: Instruction, compute_capability: int) -> Branch:
    pc, opcode, low, high = found
    following = pc + INSTRUCTION_BYTES
    always = low >> 12 & 0xF == _ALWAYS
    if opcode in (_BRA, _BRA_U):
        target = following + distance(low, compute_capability)
        always = always and opcode == _BRA and high >> 23 & 0xF == _ALWAYS
        return Branch(pc, "branch", target, None, always)
    if opcode == _BSSY:
        away = low >> 32
        target = following + (away - (1 << 32) if away >> 31 else away)
        return Branch(pc, "barrier", target, low >> 16 & 0xF, always)
    if opcode == _BSYNC:
        return Branch(pc, "meet", None, low >> 16 & 0xF, always)
    if opcode in _ENDS:
        return Branch(pc, "end", None, None, always)
    return Branch(pc, "table", None, None, always)
