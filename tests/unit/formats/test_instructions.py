"""Instructions found by their opcodes: held to a look at every instruction."""

from __future__ import annotations

import random
import struct

import pytest

from lmemscope.formats.instructions import INSTRUCTION_BYTES, Opcodes, are_alike

WANTED = (0x183, 0x187, 0x947)


@pytest.mark.parametrize("bits", [9, 12])
def test_every_instruction_with_an_opcode_is_found(bits: int) -> None:
    chance = random.Random(bits)
    opcodes = [one & (1 << bits) - 1 for one in WANTED]
    # Other instructions have the low byte of a wanted opcode, too, and words hold it elsewhere.
    lows = [
        chance.choice((*opcodes, 0x083, 0x247, 0x18300)) | chance.getrandbits(40) << 24
        for _ in range(400)
    ]
    code = b"".join(struct.pack("<QQ", low, chance.getrandbits(64)) for low in lows)
    expected = [
        (INSTRUCTION_BYTES * at, low & (1 << bits) - 1, low)
        for at, low in enumerate(lows)
        if low & (1 << bits) - 1 in opcodes
    ]
    numbers = {opcode: number for number, opcode in enumerate(opcodes, 1)}
    found = Opcodes(numbers, bits).find(memoryview(code))
    assert [*zip(*(one.tolist() for one in found), strict=True)] == [
        (pc, numbers[opcode], *struct.unpack_from("<qq", code, pc)) for pc, opcode, _ in expected
    ]


def test_a_partial_instruction_at_the_end_is_ignored() -> None:
    local = Opcodes({0x183: 1}, bits=9)
    code = struct.pack("<QQ", 0x983, 0)
    assert local.appear_in(code)
    assert not local.appear_in(code[:-1])
    assert local.find(code + code[:8])[0].tolist() == [0]


@pytest.mark.parametrize(
    ("bit", "alike"),
    [(0, False), (11, False), (12, False), (15, False), (16, True), (63, True), (64, True)],
)
def test_code_is_alike_where_opcodes_and_guards_are(bit: int, alike: bool) -> None:
    first = 0x7FF_F183.to_bytes(INSTRUCTION_BYTES, "little")
    other = (int.from_bytes(first, "little") ^ 1 << bit).to_bytes(INSTRUCTION_BYTES, "little")
    assert are_alike(first * 2, first + other) is alike
    assert not are_alike(first, first * 2)
