"""Count floating-point additions, multiplications and fused operations in machine code.

`lmemscope.formats.sites` describes the encoding; `tests/toolchain/test_sites.py` compares the
opcodes with nvdisasm on sm_75 to sm_120.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lmemscope.formats.instructions import Opcodes
from lmemscope.formats.sites import RZ

_COUNTED: Final = {
    0x021: (0, 1),  # FADD
    0x020: (1, 1),  # FMUL
    0x023: (2, 1),  # FFMA
    0x04B: (0, 2),  # FADD2, of two numbers
    0x04A: (1, 2),  # FMUL2
    0x049: (2, 2),  # FFMA2
    0x029: (3, 1),  # DADD
    0x028: (4, 1),  # DMUL
    0x02B: (5, 1),  # DFMA
    0x030: (6, 1),  # HADD2
    0x032: (7, 1),  # HMUL2
    0x031: (8, 1),  # HFMA2
    0x035: (8, 1),  # HFMA2.MMA
}
"""By the low nine bits: what is counted, and how many operations."""
_OPCODES: Final = Opcodes({opcode: number for number, opcode in enumerate(_COUNTED, 1)}, bits=9)
KINDS: Final = 9


def float_operations(code: bytes | memoryview) -> tuple[int, ...]:
    """Number of additions, multiplications and fused operations: of float, double and half.

    Instructions with `RZ` as first source (bits 24-31 of the low word) are ignored: they only make
    constants and signs.

    Args:
        code: of a section, with 16-byte instructions.
    """
    _, number, low, _ = _OPCODES.find(code)
    times = np.bincount(number[low >> 24 & 0xFF != RZ], minlength=len(_COUNTED) + 1)
    found = [0] * KINDS
    for (kind, many), count in zip(_COUNTED.values(), times[1:].tolist(), strict=True):
        found[kind] += many * count
    return tuple(found)
