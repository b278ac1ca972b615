"""Find machine instructions by opcode, sm_70 to sm_121, without decoding the others.

Instructions are 16 bytes, two little-endian 64-bit words; the opcode starts at bit 0 of the first.
So the first two bytes of each are enough to find the few instructions of interest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

INSTRUCTION_BYTES = 16

Words: TypeAlias = NDArray[np.int64]
"""A number per instruction; right shifts of fields that end at bit 63 are signed."""


class Opcodes:
    """Opcodes to look for.

    Args:
        meanings: a number from 1 to 255 for each opcode.
        bits: number of bits of the low word that distinguish them, at most 16.
    """

    def __init__(self, meanings: Mapping[int, int], bits: int) -> None:
        mask = (1 << bits) - 1
        # Indexed by all values of the first two bytes: masking each first would double the time.
        self._meanings = np.array([meanings.get(one & mask, 0) for one in range(1 << 16)], np.uint8)
        low_bytes = {opcode & 0xFF for opcode in meanings}
        self._is_low_byte = bytes(byte in low_bytes for byte in range(256))

    def find(self, code: bytes | memoryview) -> tuple[Words, Words, Words, Words]:
        """The instructions with one of the opcodes, in address order.

        Args:
            code: of a section; a trailing partial instruction is ignored.

        Returns:
            For each: byte offset in the code, meaning of the opcode, and the two words.
        """
        usable = code[: len(code) - len(code) % INSTRUCTION_BYTES]
        meanings = self._of_each(usable)
        at = np.flatnonzero(meanings != 0)
        words = np.frombuffer(usable, "<i8").reshape(-1, 2)[at]
        return at * INSTRUCTION_BYTES, meanings[at].astype(np.int64), words[:, 0], words[:, 1]

    def appear_in(self, code: bytes | memoryview) -> bool:
        """Whether code contains an instruction with one of the opcodes."""
        usable = code[: len(code) - len(code) % INSTRUCTION_BYTES]
        # Most code contains none, and every function of a library is checked.
        hits = bytes(usable)[::INSTRUCTION_BYTES].translate(self._is_low_byte)
        return 1 in hits and bool(self._of_each(usable).any())

    def _of_each(self, code: bytes | memoryview) -> NDArray[np.uint8]:
        """The meaning of each instruction's opcode; 0 for most."""
        return self._meanings.take(np.frombuffer(code, "<u2")[:: INSTRUCTION_BYTES // 2])


def are_alike(code: bytes | memoryview, other: bytes | memoryview) -> bool:
    """Whether two sections have the same opcodes with the same guards at the same offsets.

    A function's code may differ between modules in where they place addresses.
    """
    return len(code) == len(other) and all(
        bytes(code[at::INSTRUCTION_BYTES]) == bytes(other[at::INSTRUCTION_BYTES]) for at in (0, 1)
    )
