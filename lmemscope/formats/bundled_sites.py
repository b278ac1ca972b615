"""Decode ``LDL``/``STL`` instructions in machine code of sm_50 to sm_62.

Instructions are 8 bytes, in bundles of three after a control word of 8 bytes. NVIDIA does not
document the encoding; every field here was measured against nvdisasm 12.4 (see
docs/how-it-works.md, "Reading machine code").

Bits 0-7 data register, 8-15 address register (255 is ``RZ``), 16-19 guard predicate (7 is
"always"), 20-43 signed byte offset, 48-50 width code, 51-63 opcode.
"""

from __future__ import annotations

from lmemscope.formats.sites import RZ, SIGNED, WIDTHS, Site

_WORD = 8
_BUNDLE = 4
"""Words per bundle, including the control word."""
_OPCODE = 51
_LDL, _STL = 0xEF40 >> 3, 0xEF50 >> 3
_ALWAYS = 7


def find_bundled_sites(code: memoryview, spill_offsets: frozenset[int]) -> tuple[Site, ...]:
    """Decode every ``LDL``/``STL`` of a code section; as `lmemscope.formats.sites.find_sites`."""
    words = code[: len(code) - len(code) % _WORD].cast("Q")
    return tuple(
        _decode(index * _WORD, word, spill_offsets)
        for index, word in enumerate(words.tolist())
        if index % _BUNDLE and word >> _OPCODE in (_LDL, _STL)
    )


def _decode(pc: int, word: int, spill_offsets: frozenset[int]) -> Site:
    base = word >> 8 & 0xFF
    displacement = word >> 20 & 0xFFFFFF
    return Site(
        pc=pc,
        is_store=word >> _OPCODE == _STL,
        width=WIDTHS[word >> 48 & 7],
        register=word & 0xFF,
        base=None if base == RZ else base,
        uniform_base=None,
        displacement=displacement - (1 << 24) if displacement >> 23 else displacement,
        predicated=word >> 16 & 0xF != _ALWAYS,
        spill_refill=pc in spill_offsets,
        is_signed=word >> 48 & 7 in SIGNED,
    )
