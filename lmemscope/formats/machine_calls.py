"""``CALL.REL`` instructions decoded from machine code, sm_75 to sm_121.

As in `sites`, the encoding was measured against nvdisasm. Bits 0-11 of the low word are 0x944. The
target counts from the next instruction. Up to sm_89 its bytes are bits 32-63; from sm_90 bits 16-23
have its words of 4 bytes below 1 KB, and bits 34-63 the kilobytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from lmemscope.formats.instructions import INSTRUCTION_BYTES, Opcodes

_OPCODES = Opcodes((0x944,), bits=12)
_FIRST_SPLIT_SM = 90


def find_calls(
    code: bytes | memoryview, starts: Collection[int], compute_capability: int
) -> Mapping[int, Sequence[int]]:
    """Where a code section calls functions inside it: offsets of the calls, ascending, by function.

    Args:
        code: the section's bytes; a trailing partial instruction is ignored.
        starts: byte offsets at which the functions begin.
        compute_capability: of the code, such as 90.
    """
    found: dict[int, list[int]] = defaultdict(list)
    for pc, _, low, _ in _OPCODES.find(code):
        start = pc + INSTRUCTION_BYTES + distance(low, compute_capability)
        if start in starts:
            found[start].append(pc)
    return found


def distance(low: int, compute_capability: int) -> int:
    """Signed bytes from the next instruction to the one that is called."""
    if compute_capability < _FIRST_SPLIT_SM:
        bits, distance = 32, low >> 32
    else:
        bits, distance = 40, (low >> 34) << 10 | (low >> 16 & 0xFF) << 2
    return distance - (1 << bits) if distance >> (bits - 1) else distance
