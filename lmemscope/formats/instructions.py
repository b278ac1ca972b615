"""Machine instructions found by their opcodes, sm_70 to sm_121, without decoding the others.

Instructions are 16 bytes, two little-endian 64-bit words; the opcode begins at bit 0 of the first.
So every 16th byte of the code holds an opcode's low byte, and a search of these bytes alone leads
to the few instructions that are wanted, at the speed of the search for a byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

INSTRUCTION_BYTES = 16

Instruction: TypeAlias = tuple[int, int, int, int]
"""Byte offset in the code, opcode, and the two words."""


class Opcodes:
    """Opcodes to look for.

    Args:
        opcodes: as numbers of ``bits`` bits.
        bits: how many of the low word's bits tell them apart.
    """

    def __init__(self, opcodes: Iterable[int], bits: int) -> None:
        self._opcodes = frozenset(opcodes)
        self._mask = (1 << bits) - 1
        low_bytes = {opcode & 0xFF for opcode in self._opcodes}
        self._is_low_byte = bytes(byte in low_bytes for byte in range(256))

    def find(self, code: bytes | memoryview) -> Iterator[Instruction]:
        """The instructions with one of the opcodes, in address order.

        Args:
            code: of a section; a trailing partial instruction is ignored.
        """
        usable = len(code) - len(code) % INSTRUCTION_BYTES
        hits = bytes(code[:usable])[::INSTRUCTION_BYTES].translate(self._is_low_byte)
        words = memoryview(code)[:usable].cast("Q")
        opcodes, mask, next_hit = self._opcodes, self._mask, hits.find
        at = next_hit(1)
        while at >= 0:
            low = words[2 * at]
            opcode = low & mask
            if opcode in opcodes:
                yield at * INSTRUCTION_BYTES, opcode, low, words[2 * at + 1]
            at = next_hit(1, at + 1)

    def appear_in(self, code: bytes | memoryview) -> bool:
        """Whether code holds an instruction with one of the opcodes."""
        return next(self.find(code), None) is not None


def are_alike(code: bytes | memoryview, other: bytes | memoryview) -> bool:
    """Whether two sections have the same opcodes, under the same guards, at the same places.

    Code of one function in two modules may differ in where the modules keep addresses.
    """
    return len(code) == len(other) and all(
        bytes(code[at::INSTRUCTION_BYTES]) == bytes(other[at::INSTRUCTION_BYTES]) for at in (0, 1)
    )
