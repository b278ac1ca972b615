"""Read the note in a cubin about the tool that made it: ``.note.nv.tkinfo``, from CUDA 12.8.

An ELF note (System V ABI, "Note Section"): length of the owner's name, length of the contents,
type, name, contents. NVIDIA does not document the contents; in cubins of ptxas 12.8 to 13.5 they
are six 32-bit numbers (version, then offsets of the object's name, the tool's name, its version,
its build and its command line) and a string table.
"""

from __future__ import annotations

import struct

from lmemscope.formats.elf import ElfFile

_HEAD = struct.Struct("<III")
_CONTENTS = struct.Struct("<IIIIII")


def ptxas_arguments(elf: ElfFile) -> tuple[str, ...] | None:
    """The options passed to ptxas, without files; None if the cubin does not record them."""
    section = elf.section(".note.nv.tkinfo")
    if section is None:
        return None
    content, position = bytes(elf.content(section)), 0
    found: list[tuple[str, ...]] = []
    while position + _HEAD.size <= len(content):
        name, size, _ = _HEAD.unpack_from(content, position)
        start = position + _HEAD.size + name + -name % 4
        found += _ptxas(content[start : start + size])
        position = start + size + -size % 4
    return found[0] if len(set(found)) == 1 else None


def _ptxas(contents: bytes) -> list[tuple[str, ...]]:
    if len(contents) < _CONTENTS.size:
        return []
    _, _, tool, _, _, arguments = _CONTENTS.unpack_from(contents)
    strings = contents[_CONTENTS.size :]
    if _at(strings, tool) != "ptxas":
        return []
    return [tuple(_at(strings, arguments).split())]


def _at(strings: bytes, offset: int) -> str:
    return strings[offset:].partition(b"\0")[0].decode("ascii", "replace")
