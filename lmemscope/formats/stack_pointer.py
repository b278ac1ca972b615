"""Where machine code aligns its stack pointer, sm_75 to sm_121.

A frame whose objects need more alignment than callers give begins with ``LOP3.LUT R1, R1,
0xfffffff0, RZ, 0xc0, !PT``: an AND with the mask of 16 bytes. The encoding is not documented by
NVIDIA; `sites` has the words' layout, and it was measured against nvdisasm on sm_75 to sm_120. Low
word: bits 0-31 opcode, "always", and R1 twice, 32-63 the mask. High word: bits 0-7 ``RZ``, 8-15 the
table of AND.
"""

from __future__ import annotations

import numpy as np

from lmemscope.formats.instructions import INSTRUCTION_BYTES

_AND_OF_R1 = 0x01017812
_RZ_AND = 0xC0FF
_WORDS = INSTRUCTION_BYTES // 4


def find_stack_alignments(code: bytes | memoryview) -> dict[int, int]:
    """Bytes that the stack pointer is rounded down to a multiple of, by offset in the code."""
    words = np.frombuffer(code[: len(code) - len(code) % INSTRUCTION_BYTES], "<u4")
    found: dict[int, int] = {}
    for at in np.flatnonzero(words[::_WORDS] == _AND_OF_R1).tolist():
        _, mask, high, _ = words[at * _WORDS : (at + 1) * _WORDS].tolist()
        alignment = 2**32 - mask
        if high & 0xFFFF == _RZ_AND and alignment.bit_count() == 1:
            found[at * INSTRUCTION_BYTES] = alignment
    return found
