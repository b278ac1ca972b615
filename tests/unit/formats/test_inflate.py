"""Members of zip archives that ISA-L unpacks: as `zipfile` does, damaged ones too."""

from __future__ import annotations

import io
import random
import zipfile
import zlib

import pytest

from lmemscope.formats.inflate import open_member

_TEXT = b"".join(b"%d bottles of %d\n" % (one * one, one % 7) for one in range(60_000))


def archive(data: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as package:
        package.writestr("one.bin", data)
    return out.getvalue()


def read(packed: bytes, sizes: int = 1 << 16) -> bytes:
    package = zipfile.ZipFile(io.BytesIO(packed))
    parts = []
    with open_member(package, package.infolist()[0]) as content:
        while part := content.read(sizes):
            assert len(part) <= sizes
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("data", [b"", b"x", _TEXT, random.Random(1).randbytes(700_000)])
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2])
@pytest.mark.parametrize("sizes", [7919, 1 << 20])
def test_a_member_is_what_was_packed(data: bytes, method: int, sizes: int) -> None:
    assert read(archive(data, method), sizes) == data


def test_damage_is_said_or_hits_nothing() -> None:
    packed = archive(_TEXT)
    directory = packed.rindex(b"PK\x01\x02")
    chance = random.Random(2)
    refused = 0
    for _ in range(300):
        at = chance.randrange(30, directory)
        changed = packed[:at] + bytes([packed[at] ^ 1 << chance.randrange(8)]) + packed[at + 1 :]
        try:
            assert read(changed) == _TEXT
        except (zipfile.BadZipFile, EOFError):
            refused += 1
    assert refused > 250


@pytest.mark.parametrize("said", [-1, 1, 1 << 20])
def test_a_directory_that_gives_another_size_is_refused(said: int) -> None:
    packed = archive(_TEXT)
    size, other = (number.to_bytes(4, "little") for number in (len(_TEXT), len(_TEXT) + said))
    assert packed.count(size) == 2
    with pytest.raises((zipfile.BadZipFile, EOFError)):
        read(packed.replace(size, other))


def test_other_bytes_than_were_packed_are_refused() -> None:
    packed, told = archive(_TEXT), zlib.crc32(_TEXT).to_bytes(4, "little")
    with pytest.raises(zipfile.BadZipFile):
        read(packed.replace(told, b"\1\2\3\4"))
