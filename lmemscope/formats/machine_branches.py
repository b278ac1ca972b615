"""Decode control-flow instructions in machine code, sm_75 to sm_121.

As in `sites`, the encoding was measured against nvdisasm. Bits 0-11 of the low word are the opcode,
12-15 the guard (7 is "always"); bit 33 is set if ``BRA`` tests whether lanes diverge (``.DIV``,
``.CONV``). In the high word, bits 23-26 are a second condition of ``BRA``; ``BRA.U`` has its own. A
target is relative to the next instruction: encoded for ``BRA`` as for ``CALL`` (`machine_calls`),
for ``BSSY`` in bits 32-63. ``BSSY`` and ``BSYNC`` have their barrier's number in bits 16-19.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lmemscope.formats.instructions import INSTRUCTION_BYTES, Opcodes
from lmemscope.formats.machine_calls import distances

_GUARD, _UNGUARDED = 0xF << 12, 7 << 12
_CONDITION, _UNCONDITIONAL = 0xF << 23, 7 << 23
_OF_LANES = 1 << 33
_BRA, _BRA_U, _BSSY, _BSYNC, _BRX = 0x947, 0x547, 0x945, 0x941, 0x949
_EXIT, _RET, _JMP, _JMX = 0x94D, 0x950, 0x94A, 0x94C

BRANCH, BARRIER, MEET, END, TABLE = range(1, 6)
"""Kinds: ``BRA``; ``BSSY``, which states where lanes reconverge; ``BSYNC``, which goes there; the
end of the function; a jump through a table."""
_OPCODES = Opcodes(
    {
        _BRA: BRANCH,
        _BRA_U: BRANCH,
        _BSSY: BARRIER,
        _BSYNC: MEET,
        _BRX: TABLE,
        **dict.fromkeys((_EXIT, _RET, _JMP, _JMX), END),
    },
    bits=12,
)

BRANCH_FIELDS = np.dtype(
    [("pc", "<i8"), ("target", "<i8"), ("kind", "u1"), ("barrier", "u1"), ("always", "?")]
)
"""One such instruction: its byte offset in the code section; the target offset of a branch or
barrier, else -1; its kind; the barrier's number; whether it is unconditional."""
Branches: TypeAlias = NDArray[np.void]
"""Records of `BRANCH_FIELDS`, in address order."""


def find_branches(code: bytes | memoryview, compute_capability: int) -> Branches:
    """Decode all control-flow instructions.

    Args:
        code: a section's bytes; a trailing partial instruction is ignored.
        compute_capability: of the code, such as 90.
    """
    pc, kind, low, high = _OPCODES.find(code)
    found = np.empty(len(pc), BRANCH_FIELDS)
    is_branch, is_barrier = kind == BRANCH, kind == BARRIER
    away = np.where(is_branch, distances(low, compute_capability), low >> 32)
    is_plain = (
        (low & 0xFFF != _BRA_U) & (high & _CONDITION == _UNCONDITIONAL) & (low & _OF_LANES == 0)
    )
    found["pc"], found["kind"] = pc, kind
    found["target"] = np.where(is_branch | is_barrier, pc + INSTRUCTION_BYTES + away, -1)
    found["barrier"] = np.where(is_barrier | (kind == MEET), low >> 16 & 0xF, 0)
    found["always"] = (low & _GUARD == _UNGUARDED) & (is_plain | ~is_branch)
    return found
