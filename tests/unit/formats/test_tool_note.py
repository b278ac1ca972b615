"""The options that a cubin's note says ptxas was given."""

from __future__ import annotations

import struct

from lmemscope.formats.elf import ElfFile
from lmemscope.formats.tool_note import ptxas_arguments
from tests.support.device_containers import host_object


def note(tool: str, arguments: str) -> bytes:
    strings, offsets = b"\0", []
    for text in (tool, "release 13.5", "Build", arguments):
        offsets.append(len(strings))
        strings += text.encode() + b"\0"
    contents = struct.pack("<IIIIII", 2, 0, *offsets) + strings
    head = struct.pack("<III", 12, len(contents), 2000) + b"NVIDIA Corp\0"
    return head + contents + bytes(-len(contents) % 4)


def arguments(content: bytes) -> tuple[str, ...] | None:
    return ptxas_arguments(ElfFile(host_object((".note.nv.tkinfo", content))))


def test_the_options_are_those_of_ptxas() -> None:
    made = note("ptxas", "-O 1 -arch sm_90 -m 64 ")
    assert arguments(made) == ("-O", "1", "-arch", "sm_90", "-m", "64")
    assert arguments(note("nvlink", "-arch sm_90") + made) == arguments(made)


def test_what_is_not_said_is_not_known() -> None:
    made = note("ptxas", "-O 1")
    assert arguments(note("nvlink", "-O 1")) is None
    assert arguments(made + note("ptxas", "-O 2")) is None
    assert arguments(made[:50]) is None
    assert arguments(b"x" * 200) is None
