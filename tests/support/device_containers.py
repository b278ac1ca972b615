"""Files with device code inside, made by hand: fat binaries, host objects, archives, packages."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile

import lz4.block
import zstandard

LZ4, ZSTD = 0x2000, 0x8000


def entry(payload: bytes, sm: int = 90, *, kind: int = 2, codec: int = 0) -> bytes:
    """An entry of a fat binary: kind 1 is PTX, 2 a cubin."""
    stored = payload
    if codec == LZ4:
        stored = lz4.block.compress(payload, store_size=False)
    elif codec == ZSTD:
        stored = zstandard.ZstdCompressor().compress(payload)
    packed = len(stored) if codec else 0
    padded = stored + bytes(-len(stored) % 8)
    size = len(payload) if codec else 0
    header = struct.pack(
        "<HHIQIIHHIIIQQQ",
        kind, 0x101, 64, len(padded), packed, 0, 8, 1, sm, 0, 0, codec | 0x11, 0, size,
    )  # fmt: skip
    return header + padded


def fatbin(*entries: bytes) -> bytes:
    """A fat binary."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def host_object(*sections: tuple[str, bytes]) -> bytes:
    """An x86-64 object with some sections, which are loaded."""
    return _elf(62, sections)


def cubin(sm: int = 90) -> bytes:
    """A cubin without code."""
    return _elf(190, (), flags=sm | sm << 16, abi=7)


def _elf(
    machine: int, sections: tuple[tuple[str, bytes], ...], flags: int = 0, abi: int = 0
) -> bytes:
    names, body, headers = b"\0", b"", [bytes(64)]
    for name, content in (*sections, (".shstrtab", b"")):
        at = len(names)
        names += name.encode() + b"\0"
        content = content or (names if name == ".shstrtab" else b"")
        headers.append(
            struct.pack("<IIQQQQIIQQ", at, 1, 2, 0, 64 + len(body), len(content), 0, 0, 8, 0)
        )
        body += content + bytes(-len(content) % 8)
    ident = b"\x7fELF\x02\x01\x01\0" + bytes([abi]) + bytes(7)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        ident, 1, machine, 1, 0, 0, 64 + len(body), flags, 64, 0, 0, 64, len(headers),
        len(headers) - 1,
    )  # fmt: skip
    return header + body + b"".join(headers)


def archive(*members: tuple[str, bytes]) -> bytes:
    """A static library; names of more than 15 letters are in GNU's table."""
    table, said = b"", b""
    for name, content in members:
        short = f"{name}/"
        if len(short) > 16:
            short = f"/{len(table)}"
            table += f"{name}/\n".encode()
        said += _member(short, content)
    return b"!<arch>\n" + (_member("//", table) if table else b"") + said


def _member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode()
    return header + content + b"\n" * (len(content) % 2)


def package(*members: tuple[str, bytes]) -> bytes:
    """A wheel or another zip file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members:
            made.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def conda_package(*members: tuple[str, bytes]) -> bytes:
    """A ``.conda`` package: a zip file around a tar archive packed by zstd."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    packed = zstandard.ZstdCompressor().compress(stream.getvalue())
    return package(("pkg-a-1.tar.zst", packed), ("metadata.json", b"{}"))
