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

_ALWAYS = 7
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
    result = []
    for pc, opcode, low, high in _OPCODES.find(code):
        kind, target, barrier = _KINDS[opcode], None, None
        following = pc + INSTRUCTION_BYTES
        always = low >> 12 & 0xF == _ALWAYS
        if kind == "branch":
            target = following + distance(low, compute_capability)
            always = always and opcode == _BRA and high >> 23 & 0xF == _ALWAYS
        elif kind == "barrier":
            away = low >> 32
            target = following + (away - (1 << 32) if away >> 31 else away)
            barrier = low >> 16 & 0xF
        elif kind == "meet":
            barrier = low >> 16 & 0xF
        result.append(Branch(pc, kind, target, barrier, always))
    return tuple(result)
