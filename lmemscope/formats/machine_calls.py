"""Decode ``CALL.REL`` instructions in machine code, sm_75 to sm_121.

As in `sites`, the encoding was measured against nvdisasm. Bits 0-11 of the low word are 0x944. The
target is relative to the next instruction. Up to sm_89, bits 34-63 contain it in 4-byte words; from
sm_90, bits 16-23 contain the words below 1 KB, and bits 34-63 the kilobytes.
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
    """Calls in a code section to functions inside it: ascending call offsets, by function.

    Args:
        code: the section's bytes; a trailing partial instruction is ignored.
        starts: byte offsets of the functions.
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
    """Signed distance in bytes from the next instruction to the callee, from the low words."""
    if compute_capability < _FIRST_SPLIT_SM:
        return (low >> 34) << 2
    return (low >> 34) << 10 | (low >> 16 & 0xFF) << 2
