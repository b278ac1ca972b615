"""Find where machine code aligns its stack pointer, sm_75 to sm_121.

A frame whose objects need more alignment than callers provide begins with ``LOP3.LUT R1, R1,
0xfffffff0, RZ, 0xc0, !PT``: an AND with a mask for 16 bytes. NVIDIA does not document the encoding;
`sites` describes the words, and it was measured against nvdisasm on sm_75 to sm_120. Low word: bits
0-31 opcode, "always", and R1 twice, 32-63 the mask. High word: bits 0-7 ``RZ``, 8-15 the truth
table of AND.
"""

from __future__ import annotations

import numpy as np

from lmemscope.formats.instructions import INSTRUCTION_BYTES

_AND_OF_R1 = 0x01017812
_RZ_AND = 0xC0FF
_WORDS = INSTRUCTION_BYTES // 4


def find_stack_alignments(code: bytes | memoryview) -> dict[int, int]:
    """The alignment in bytes to which the stack pointer is rounded down, by code offset."""
    words = np.frombuffer(code[: len(code) - len(code) % INSTRUCTION_BYTES], "<u4")
    found: dict[int, int] = {}
    for at in np.flatnonzero(words[::_WORDS] == _AND_OF_R1).tolist():
        _, mask, high, _ = words[at * _WORDS : (at + 1) * _WORDS].tolist()
        alignment = 2**32 - mask
        if high & 0xFFFF == _RZ_AND and alignment.bit_count() == 1:
            found[at * INSTRUCTION_BYTES] = alignment
    return found
