"""Machine instructions found by their opcodes, sm_70 to sm_121, without decoding the others.

Instructions are 16 bytes, two little-endian 64-bit words; the opcode begins at bit 0 of the first.
So the first two bytes of each lead to the few instructions that are wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

INSTRUCTION_BYTES = 16

Words: TypeAlias = NDArray[np.int64]
"""A number for each of some instructions: shifted right, what bit 63 ends is signed."""


class Opcodes:
    """Opcodes to look for.

    Args:
        meanings: a number from 1 to 255 for each opcode.
        bits: how many of the low word's bits tell them apart, at most 16.
    """

    def __init__(self, meanings: Mapping[int, int], bits: int) -> None:
        mask = (1 << bits) - 1
        # Of all that the first two bytes may be: to take a part of each first costs as much again.
        self._meanings = np.array([meanings.get(one & mask, 0) for one in range(1 << 16)], np.uint8)
        low_bytes = {opcode & 0xFF for opcode in meanings}
        self._is_low_byte = bytes(byte in low_bytes for byte in range(256))

    def find(self, code: bytes | memoryview) -> tuple[Words, Words, Words, Words]:
        """The instructions with one of the opcodes, in address order.

        Args:
            code: of a section; a trailing partial instruction is ignored.

        Returns:
            Byte offset in the code, meaning of the opcode, and the two words, of each.
        """
        usable = code[: len(code) - len(code) % INSTRUCTION_BYTES]
        firsts = np.frombuffer(usable, "<u2")[:: INSTRUCTION_BYTES // 2]
        meanings = self._meanings.take(firsts)
        at = np.flatnonzero(meanings != 0)
        words = np.frombuffer(usable, "<i8").reshape(-1, 2)[at]
        return at * INSTRUCTION_BYTES, meanings[at].astype(np.int64), words[:, 0], words[:, 1]

    def appear_in(self, code: bytes | memoryview) -> bool:
        """Whether code holds an instruction with one of the opcodes."""
        usable = len(code) - len(code) % INSTRUCTION_BYTES
        # Most code has none, and this is asked of each function of a library.
        hits = bytes(code[:usable])[::INSTRUCTION_BYTES].translate(self._is_low_byte)
        return 1 in hits and bool(len(self.find(code)[0]))


def are_alike(code: bytes | memoryview, other: bytes | memoryview) -> bool:
    """Whether two sections have the same opcodes, under the same guards, at the same places.

    Code of one function in two modules may differ in where the modules keep addresses.
    """
    return len(code) == len(other) and all(
        bytes(code[at::INSTRUCTION_BYTES]) == bytes(other[at::INSTRUCTION_BYTES]) for at in (0, 1)
    )
