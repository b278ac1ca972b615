"""Instructions that decide where control goes on, decoded from machine code, sm_75 to sm_121.

As in `sites`, the encoding was measured against nvdisasm. Bits 0-11 of the low word are the opcode,
12-15 the guard (7 is "always"), and of the high word bits 23-26 are a second condition of ``BRA``;
``BRA.U`` has one of its own.
A target counts from the next instruction: of ``BRA`` as of ``CALL`` (`machine_calls`), of ``BSSY``
in bits 32-63. ``BSSY`` and ``BSYNC`` have their barrier's number in bits 16-19.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Literal

from msgspec import Struct

from lmemscope.formats.instructions import INSTRUCTION_BYTES, Opcodes
from lmemscope.formats.machine_calls import distance

_GUARD, _UNGUARDED = 0xF << 12, 7 << 12
_CONDITION, _UNCONDITIONAL = 0xF << 23, 7 << 23
_BRA, _BRA_U, _BSSY, _BSYNC, _BRX = 0x947, 0x547, 0x945, 0x941, 0x949
_EXIT, _RET, _JMP, _JMX = 0x94D, 0x950, 0x94A, 0x94C

BranchKind = Literal["branch", "barrier", "meet", "end", "table"]
_BRANCHES = frozenset({_BRA, _BRA_U})
_OPCODES = Opcodes((_BRA, _BRA_U, _BSSY, _BSYNC, _BRX, _EXIT, _RET, _JMP, _JMX), bits=12)


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
    """Decode those that lead anywhere but to the next instruction, in address order.

    Most lanes meet where ``BSYNC`` ends: of a barrier whose lanes all do, nothing is told.

    Args:
        code: a section's bytes; a trailing partial instruction is ignored.
        compute_capability: of the code, such as 90.
    """
    result: list[Branch] = []
    barriers: list[tuple[int, int, bool]] = []
    meets: list[tuple[int, int, bool]] = []
    add = result.append
    for pc, opcode, low, high in _OPCODES.find(code):
        always = low & _GUARD == _UNGUARDED
        if opcode == _BSYNC:
            meets.append((pc, low >> 16 & 0xF, always))
        elif opcode == _BSSY:
            barriers.append((pc, low, always))
        elif opcode in _BRANCHES:
            target = pc + INSTRUCTION_BYTES + distance(low, compute_capability)
            always = always and opcode == _BRA and high & _CONDITION == _UNCONDITIONAL
            add(Branch(pc, "branch", target, None, always))
        else:
            add(Branch(pc, "table" if opcode == _BRX else "end", None, None, always))
    if meets:
        result += _meeting_elsewhere(barriers, meets)
        result.sort(key=_pc_of)
    return tuple(result)


def _meeting_elsewhere(
    barriers: Sequence[tuple[int, int, bool]], meets: Sequence[tuple[int, int, bool]]
) -> Iterator[Branch]:
    """What sets and what waits at barriers where some lanes go elsewhere when they meet.

    Args:
        barriers: offset, low word and whether it is executed in any case, of each ``BSSY``.
        meets: offset, number of the barrier, and the same, of each ``BSYNC``.
    """
    places: dict[int, set[int]] = {}
    set_at: list[Branch] = []
    for pc, low, always in barriers:
        number, away = low >> 16 & 0xF, low >> 32
        target = pc + INSTRUCTION_BYTES + (away - (1 << 32) if away >> 31 else away)
        places.setdefault(number, set()).add(target)
        set_at.append(Branch(pc, "barrier", target, number, always))
    elsewhere = {
        number for pc, number, _ in meets if pc + INSTRUCTION_BYTES not in places.get(number, ())
    }
    yield from (one for one in set_at if one.barrier in elsewhere)
    for pc, number, always in meets:
        if number in elsewhere:
            yield Branch(pc, "meet", None, number, always)


_pc_of = attrgetter("pc")
