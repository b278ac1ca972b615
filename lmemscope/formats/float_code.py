"""How many floating-point additions, multiplications and fused ones there are in machine code.

`lmemscope.formats.sites` says how instructions are encoded; `tests/toolchain/test_sites.py` holds
the opcodes to nvdisasm on sm_75 to sm_120.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from lmemscope.formats.instructions import INSTRUCTION_BYTES
from lmemscope.formats.sites import RZ

_OPCODES: Final = {
    0x021: (0, 1),
    0x020: (1, 1),
    0x023: (2, 1),  # FADD, FMUL, FFMA
    0x04B: (0, 2),
    0x04A: (1, 2),
    0x049: (2, 2),  # FADD2, FMUL2, FFMA2: of two numbers
    0x029: (3, 1),
    0x028: (4, 1),
    0x02B: (5, 1),  # DADD, DMUL, DFMA
    0x030: (6, 1),
    0x032: (7, 1),
    0x031: (8, 1),
    0x035: (8, 1),  # HADD2, HMUL2, HFMA2[.MMA]
}
"""By the low nine bits: what is counted, and how many of it."""
KINDS: Final = 9


def float_operations(code: bytes | memoryview) -> tuple[int, ...]:
    """Additions, multiplications and fused ones: of float, of double, of half.

    What has `RZ` for its first source computes nothing: so constants and signs are made.

    Args:
        code: of a section, in instructions of 16 bytes.
    """
    usable = len(code) - len(code) % INSTRUCTION_BYTES
    # The low word: bits 0-8 the opcode, 24-31 the first source.
    words = Counter(memoryview(code)[:usable].cast("B").cast("I")[:: INSTRUCTION_BYTES // 4])
    found = [0] * KINDS
    for word, times in words.items():
        counted = _OPCODES.get(word & 0x1FF)
        if counted is not None and word >> 24 != RZ:
            kind, many = counted
            found[kind] += many * times
    return tuple(found)
