"""Read fat binaries, in which nvcc stores the cubins and PTX of one translation unit.

NVIDIA does not document the format. The fields below were determined from libraries of CUDA 11 to
13, and are compared with ``cuobjdump -lelf`` and ``-xelf all`` by
tests/toolchain/test_embedded_images.py. A section of a host object holds fat binaries one after
another, each with a header (magic, version, size of the header, bytes of its entries). An entry has
a header (kind, size of the header, stored bytes, compressed bytes, position of the options,
version, architecture, flags, unpacked bytes; then the options) and a payload.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Literal

from lmemscope.errors import FormatError

MAGIC = struct.pack("<I", 0xBA55ED50)
_HEADER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_TEXT = struct.Struct("<II")
"""Location of a text in an entry's header: offset and bytes."""
_LZ4, _ZSTD = 0x2000, 0x8000
_ALIGNMENT = 8
_LARGEST = 1 << 29
"""Maximum unpacked bytes of an entry; the largest cubins in libraries have a tenth."""
_ZSTD_WINDOW = 1 << 27

ImageKind = Literal["cubin", "ptx", "other"]
_KINDS: dict[int, ImageKind] = {1: "ptx", 2: "cubin"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One image in a fat binary.

    Attributes:
        kind: of the payload; ``other`` is neither a cubin nor PTX, such as NVVM IR.
        sm: number of the architecture; the suffix of ``sm_90a`` is not recorded.
        version: of the PTX language, for PTX.
        stored: the payload as stored.
        size: bytes when unpacked.
        codec: the compression.
        options: for PTX, the build's ptxas options, as one text.
    """

    kind: ImageKind
    sm: int
    version: tuple[int, int]
    stored: memoryview
    size: int
    codec: Literal["lz4", "zstd"] | None
    options: str = ""


@dataclass(slots=True)
class Budget:
    """Number of bytes that may still be unpacked; shared by everything in one input."""

    left: int

    def spend(self, size: int, stage: str) -> None:
        """Count bytes before they are unpacked.

        Raises:
            FormatError: there are more than any real file of that size contains.
        """
        if size > self.left:
            raise FormatError(stage, "it unpacks to more than a file of its size can hold")
        self.left -= size


@dataclass(slots=True)
class Fatbins:
    """The entries in a sequence of fat binaries, and why reading stopped early, if it did.

    ``size`` is the number of bytes examined.
    """

    entries: list[tuple[Entry, ...]] = field(default_factory=list)
    problem: str | None = None
    size: int = 0


def read_fatbins(data: memoryview) -> Fatbins:
    """The entries of consecutive fat binaries; reading stops at damage."""
    found = Fatbins(size=len(data))
    position = 0
    while position + _HEADER.size <= len(data):
        magic, version, header, size = _HEADER.unpack_from(data, position)
        if magic == 0 and version == 0:
            position += _ALIGNMENT
            continue
        where = f"the fat binary at offset {position}"
        if data[position : position + 4] != MAGIC:
            found.problem = f"offset {position} holds no fat binary"
            return found
        if version != 1 or header < _HEADER.size:
            found.problem = f"{where} has version {version}, which is not known"
            return found
        end = position + header + size
        entries: list[Entry] = []
        found.problem = _read_entries(data, position + header, min(end, len(data)), entries)
        found.entries.append(tuple(entries))
        if found.problem is None and end > len(data):
            found.problem = f"{where} is cut off"
        if found.problem is not None:
            return found
        position = end + -end % _ALIGNMENT
    return found


def read_first(data: memoryview) -> Fatbins:
    """The entries of the fat binary at the start of some data, which other data follows."""
    if len(data) < _HEADER.size:
        return Fatbins()
    _, _, header, size = _HEADER.unpack_from(data)
    return read_fatbins(data[: header + size]) if header + size <= len(data) else Fatbins()


def _read_entries(data: memoryview, position: int, end: int, entries: list[Entry]) -> str | None:
    """Read the entries of one fat binary; return what is wrong with a damaged one, or None."""
    while position < end:
        if position + _ENTRY.size > end:
            return f"the entry at offset {position} is cut off"
        (kind, _, header, size, packed, options, minor, major, sm, *_, flags, _, unpacked) = (
            _ENTRY.unpack_from(data, position)
        )
        if header < _ENTRY.size or position + header + size > end or packed > size:
            return f"the entry at offset {position} is cut off or damaged"
        codec: Literal["lz4", "zstd"] | None = None
        if packed:
            codec = "zstd" if flags & _ZSTD else "lz4" if flags & _LZ4 else None
            if codec is None:
                return f"the entry at offset {position} is compressed in an unknown way"
        stored = data[position + header : position + header + (packed or size)]
        named = _KINDS.get(kind, "other")
        unpacked = unpacked if packed else size
        given = _options(data[position : position + header], options) if named == "ptx" else ""
        entries.append(Entry(named, sm, (major, minor), stored, unpacked, codec, given))
        position += header + size
    return None


def _options(header: memoryview, at: int) -> str:
    """The text at an offset given in an entry's header; empty if there is none."""
    if at < _ENTRY.size or at + _TEXT.size > len(header):
        return ""
    start, size = _TEXT.unpack_from(header, at)
    return bytes(header[start : start + size]).decode("ascii", "replace").strip(" \0")


def reserve(entry: Entry, budget: Budget) -> None:
    """Count an entry's unpacked size.

    Raises:
        FormatError: it exceeds the budget, or any real image.
    """
    if entry.codec is not None:
        if entry.size > _LARGEST:
            raise FormatError("unpack", f"an image of {entry.size} bytes is larger than any is")
        budget.spend(entry.size, "unpack")


def unpack(entry: Entry, budget: Budget) -> bytes | memoryview:
    """The payload of an entry, unpacked.

    Raises:
        FormatError: it is damaged, or exceeds the budget when unpacked.
    """
    reserve(entry, budget)
    if entry.codec is None:
        return entry.stored
    try:
        data = _lz4(entry) if entry.codec == "lz4" else _zstd(entry)
    except MemoryError:
        raise
    except Exception as error:
        raise FormatError("unpack", f"its {entry.codec} data is damaged: {error}") from error
    if len(data) != entry.size:
        raise FormatError("unpack", f"its {entry.codec} data is cut off")
    return data


def _lz4(entry: Entry) -> bytes:
    import lz4.block

    return bytes(lz4.block.decompress(entry.stored, uncompressed_size=entry.size))


def _zstd(entry: Entry) -> bytes:
    import zstandard

    told = zstandard.frame_content_size(entry.stored)
    if told > entry.size:
        raise ValueError("the frame is larger than the entry says")
    unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    return bytes(unpacker.decompress(entry.stored, max_output_size=entry.size))
