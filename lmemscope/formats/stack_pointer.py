"""Where machine code aligns its stack pointer, sm_75 to sm_121.

A frame whose objects need more alignment than callers give begins with ``LOP3.LUT R1, R1,
0xfffffff0, RZ, 0xc0, !PT``: an AND with the mask of 16 bytes. The encoding is not documented by
NVIDIA; `sites` has the words' layout, and it was measured against nvdisasm on sm_75 to sm_120. Low
word: bits 0-31 opcode, "always", and R1 twice, 32-63 the mask. High word: bits 0-7 ``RZ``, 8-15 the
table of AND.
"""

from __future__ import annotations

from lmemscope.formats.instructions import INSTRUCTION_BYTES

_AND_OF_R1 = bytes((0x12, 0x78, 0x01, 0x01))
_RZ_AND = bytes((0xFF, 0xC0))
_WORD = 8


def find_stack_alignments(code: bytes | memoryview) -> dict[int, int]:
    """Bytes that the stack pointer is rounded down to a multiple of, by offset in the code."""
    text = bytes(code)
    found: dict[int, int] = {}
    at = text.find(_AND_OF_R1)
    while at >= 0:
        high = text[at + _WORD : at + _WORD + len(_RZ_AND)]
        alignment = 2**32 - int.from_bytes(text[at + 4 : at + _WORD], "little")
        if at % INSTRUCTION_BYTES == 0 and high == _RZ_AND and alignment.bit_count() == 1:
            found[at] = alignment
        at = text.find(_AND_OF_R1, at + 1)
    return found
