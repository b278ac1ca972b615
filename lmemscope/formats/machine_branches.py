"""Instructions that decide where control goes on, decoded from machine code, sm_75 to sm_121.

As in `sites`, the encoding was measured against nvdisasm. Bits 0-11 of the low word are the opcode,
12-15 the guard (7 is "always"), and of the high word bits 23-26 are a second condition of ``BRA``;
``BRA.U`` has one of its own.
A target counts from the next instruction: of ``BRA`` as of ``CALL`` (`machine_calls`), of ``BSSY``
in bits 32-63. ``BSSY`` and ``BSYNC`` have their barrier's number in bits 16-19.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from lmemscope.formats.instructions import INSTRUCTION_BYTES, Opcodes
from lmemscope.formats.machine_calls import distance

_GUARD, _UNGUARDED = 0xF << 12, 7 << 12
_CONDITION, _UNCONDITIONAL = 0xF << 23, 7 << 23
_BRA, _BRA_U, _BSSY, _BSYNC, _BRX = 0x947, 0x547, 0x945, 0x941, 0x949
_EXIT, _RET, _JMP, _JMX = 0x94D, 0x950, 0x94A, 0x94C

BranchKind = Literal["branch", "barrier", "meet", "end", "table"]
_KINDS: dict[int, BranchKind] = {
    _BRA: "branch",
    _BRA_U: "branch",
    _BSSY: "barrier",
    _BSYNC: "meet",
    _BRX: "table",
    **dict.fromkeys((_EXIT, _RET, _JMP, _JMX), "end"),
}
_OPCODES = Opcodes(_KINDS, bits=12)


class Branch(Struct, frozen=True, gc=False):
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
    result: list[Branch] = []
    add = result.append
    for pc, opcode, low, high in _OPCODES.find(code):
        kind, always = _KINDS[opcode], low & _GUARD == _UNGUARDED
        if kind == "branch":
            target = pc + INSTRUCTION_BYTES + distance(low, compute_capability)
            always = always and opcode == _BRA and high & _CONDITION == _UNCONDITIONAL
            add(Branch(pc, kind, target, None, always))
        elif kind == "meet":
            add(Branch(pc, kind, None, low >> 16 & 0xF, always))
        elif kind == "barrier":
            away = low >> 32
            target = pc + INSTRUCTION_BYTES + (away - (1 << 32) if away >> 31 else away)
            add(Branch(pc, kind, target, low >> 16 & 0xF, always))
        else:
            add(Branch(pc, kind, None, None, always))
    return tuple(result)
