"""``CALL.REL`` instructions decoded from machine code, sm_75 to sm_121.

As in `sites`, the encoding was measured against nvdisasm. Bits 0-11 of the low word are 0x944. The
target counts from the next instruction. Up to sm_89 bits 34-63 have its words of 4 bytes; from
sm_90 bits 16-23 have those below 1 KB, and bits 34-63 the kilobytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from lmemscope.formats.instructions import INSTRUCTION_BYTES, Opcodes, Words

_OPCODES = Opcodes({0x944: 1}, bits=12)
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
    places, _, low, _ = _OPCODES.find(code)
    targets = places + INSTRUCTION_BYTES + distances(low, compute_capability)
    for pc, start in zip(places.tolist(), targets.tolist(), strict=True):
        if start in starts:
            found[start].append(pc)
    return found


def distances(low: Words, compute_capability: int) -> Words:
    """Signed bytes from the next instruction to the one that is called, by the low words."""
    if compute_capability < _FIRST_SPLIT_SM:
        return (low >> 34) << 2
    return (low >> 34) << 10 | (low >> 16 & 0xFF) << 2
