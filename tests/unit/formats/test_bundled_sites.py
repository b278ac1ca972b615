"""Local accesses of sm_50 to sm_62, against words that ptxas 12.9 wrote and nvdisasm 12.4 read."""

from __future__ import annotations

import struct

import pytest

from lmemscope.errors import FormatError
from lmemscope.formats.bundled_sites import find_bundled_sites
from lmemscope.formats.cubin import Cubin
from tests.support.device_containers import cubin

CONTROL = 0x001F8000FC0007E0
OTHER = (0x4C98078000870001, 0xEF48000000071600, 0xEF58000000071600, 0xEF90000000071600)
"""``MOV``, ``LDS``, ``STS``, ``LDC``."""
WORDS = {
    "LDL.U8 R0, [R22+0x1]": 0xEF40000000171600,
    "LDL.S8 R13, [R22+0x2]": 0xEF4100000027160D,
    "LDL.U16 R14, [R22+0x4]": 0xEF4200000047160E,
    "LDL.S16 R15, [R22+0x6]": 0xEF4300000067160F,
    "LDL R21, [R1+0x30]": 0xEF44000003070115,
    "LDL.LU.64 R22, [R1+0x30]": 0xEF45100003070116,
    "LDL.128 R4, [R22+0x30]": 0xEF46000003071604,
    "@P0 LDL R17, [R22-0x4]": 0xEF440FFFFFC01611,
    "STL.U8 [R22+0x0], R8": 0xEF50000000071608,
    "STL.U16 [R22-0x2], R9": 0xEF520FFFFFE71609,
    "@P0 STL [R22+0x4], R9": 0xEF54000000401609,
    "STL.64 [R22+0x18], R8": 0xEF55000001871608,
    "STL.128 [R22+0x20], R8": 0xEF56000002071608,
}
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


def code(*words: int) -> memoryview:
    """Words in bundles of three, each behind a control word."""
    bundles = [words[at : at + 3] for at in range(0, len(words), 3)]
    return memoryview(b"".join(struct.pack(f"<{len(b) + 1}Q", CONTROL, *b) for b in bundles))


@pytest.mark.parametrize("text", WORDS)
def test_an_access_is_what_nvdisasm_prints(text: str) -> None:
    (site,) = find_bundled_sites(code(*OTHER, WORDS[text]), frozenset({0x30}))
    assert (site.pc, site.spill_refill) == (0x30, True)
    guard, _, rest = text.rpartition("@P0 ")
    opcode, _, operands = rest.partition(" ")
    assert site.predicated == (guard != "" or text.startswith("@P0"))
    assert site.is_store == opcode.startswith("STL")
    assert site.width == WIDTHS.get(opcode.rpartition(".")[2], 4)
    sign = "-" if site.displacement < 0 else "+"
    address = f"[R{site.base}{sign}{abs(site.displacement):#x}]"
    named = (address, f"R{site.register}")
    assert operands == ", ".join(named if site.is_store else reversed(named))


def test_no_register_is_none_and_control_words_are_no_instructions() -> None:
    load = WORDS["LDL R21, [R1+0x30]"]
    (site,) = find_bundled_sites(code(load & ~0xFF00 | 0xFF00), frozenset())
    assert site.base is None
    assert find_bundled_sites(memoryview(struct.pack("<2Q", load, OTHER[0])), frozenset()) == ()
    assert find_bundled_sites(code(load)[:-1], frozenset()) == ()


def test_what_is_older_is_refused() -> None:
    assert Cubin(cubin(52)).arch == "sm_52"
    with pytest.raises(FormatError, match="sm_37"):
        Cubin(cubin(37))
