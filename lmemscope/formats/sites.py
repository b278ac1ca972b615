"""Decode ``LDL``/``STL`` instructions in machine code, sm_70 to sm_121.

Instructions are 16 bytes, two little-endian 64-bit words. NVIDIA does not document the encoding;
every field here was measured against nvdisasm, and `tests/toolchain/test_sites.py` compares it with
nvdisasm on nine architectures (see docs/how-it-works.md, "Reading machine code").

Low word: bits 0-8 opcode class (0x183 ``LDL``, 0x187 ``STL``, 0x180 ``LD``, 0x185 ``ST``), 12-15
guard predicate (7 is "always"), 16-23 destination of a load, 24-31 address register (255 is
``RZ``), 32-39 source of a store or uniform address register of a load, 40-63 signed byte offset.
High word: bits 0-7 uniform address register of a store, 9-11 width code, 27 set if there is a
uniform address register.
"""

from __future__ import annotations

from itertools import repeat
from sys import intern

import numpy as np
from msgspec import Struct

from lmemscope.formats.instructions import Opcodes

RZ = 255
STACK_POINTER = 1

_LOAD, _STORE = 1, 2
LOCAL_OPCODES = Opcodes({0x183: _LOAD, 0x187: _STORE}, bits=9)
_GENERIC_OPCODES = Opcodes({0x180: _LOAD, 0x185: _STORE}, bits=9)
WIDTHS = (1, 1, 2, 2, 4, 8, 16, 32)
"""Bytes by width code."""
_SUFFIXES = {4: "", 8: ".64", 16: ".128"}
SIGNED = (1, 3)
"""Width codes of what a load extends by its sign."""
_WORD = 4
_WIDTH_OF = np.array(WIDTHS)
_IS_SIGNED = np.array([code in SIGNED for code in range(len(WIDTHS))])
_ALWAYS = 7
_REGISTERS = (*range(RZ), None)
_UNIFORM_REGISTERS = (*range(256), None)
"""Values of an address register field; the last means that there is none."""


class Site(Struct, frozen=True, gc=False):
    """One ``LDL`` or ``STL``; if generic, an ``LD`` or ``ST``.

    Attributes:
        pc: byte offset in the code section.
        is_store: whether it is an ``STL``.
        width: bytes accessed per thread.
        register: number of the data register (first of several).
        base: number of the address register, or None (``RZ``).
        uniform_base: number of the uniform address register, or None. Blackwell adds both kinds of
            register (``[R34+UR14+0x40]``); see `is_uniform`.
        displacement: constant byte offset added to the registers.
        predicated: whether it executes under a guard predicate.
        spill_refill: whether ptxas marked it as a register spill or refill.
        is_generic: whether it is an ``LD``/``ST`` through a generic address, which may be local.
        is_signed: of one or two bytes: whether they are taken as a signed number.
    """

    pc: int
    is_store: bool
    width: int
    register: int
    base: int | None
    uniform_base: int | None
    displacement: int
    predicated: bool
    spill_refill: bool
    is_generic: bool = False
    is_signed: bool = False

    @property
    def is_uniform(self) -> bool:
        """Whether all lanes provably use the same address: no per-thread register except R1."""
        return self.base in (None, STACK_POINTER)

    @property
    def opcode(self) -> str:
        """``LDL`` or ``STL`` with the width as in SASS."""
        letters = ("ST" if self.is_store else "LD") + ("" if self.is_generic else "L")
        narrow = f".{'S' if self.is_signed else 'U'}{8 * self.width}"
        # Interned: a report has one for every access.
        return intern(letters + _SUFFIXES.get(self.width, narrow if self.width < _WORD else ""))


def find_sites(code: bytes | memoryview, spill_offsets: frozenset[int]) -> tuple[Site, ...]:
    """Decode every ``LDL``/``STL`` in a code section.

    Args:
        code: the section's bytes; a trailing partial instruction is ignored.
        spill_offsets: byte offsets that ptxas marked ``SpillRefill``.
    """
    return _decode(LOCAL_OPCODES, code, spill_offsets)


def find_generic_sites(code: bytes | memoryview) -> tuple[Site, ...]:
    """Decode every ``LD``/``ST`` in a code section; the fields are those of ``LDL``."""
    return _decode(_GENERIC_OPCODES, code, frozenset())


def _decode(
    opcodes: Opcodes, code: bytes | memoryview, spill_offsets: frozenset[int]
) -> tuple[Site, ...]:
    pc, kind, low, high = opcodes.find(code)
    is_store = kind == _STORE
    places = pc.tolist()
    uniform = np.where(is_store, high, low >> 32) & 0xFF
    codes = high >> 9 & 7
    columns = (
        is_store.tolist(),
        _WIDTH_OF[codes].tolist(),
        (np.where(is_store, low >> 32, low >> 16) & 0xFF).tolist(),
        map(_REGISTERS.__getitem__, (low >> 24 & 0xFF).tolist()),
        map(_UNIFORM_REGISTERS.__getitem__, np.where(high >> 27 & 1, uniform, -1).tolist()),
        (low >> 40).tolist(),
        (low >> 12 & 0xF != _ALWAYS).tolist(),
        map(spill_offsets.__contains__, places),
    )
    is_generic = repeat(opcodes is _GENERIC_OPCODES)
    return tuple(map(Site, places, *columns, is_generic, _IS_SIGNED[codes].tolist()))
