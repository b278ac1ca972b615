"""Device code that a source holds as the bytes of an array is seen, and nothing else is."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from lmemscope.discover.device_bytes import holds_image
from lmemscope.discover.walk import Globs, discover

CUBIN = b"\x7fELF\x02\x01\x01\x33\x07" + bytes(7) + b"\x02\x00\xbe\x00" + bytes(12)
FATBIN = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64) + bytes(16)
PTX = b"//\n.version 9.0\n.target sm_90\n"
HOST = CUBIN.replace(b"\xbe", b"\x3e")


def hexadecimal(data: bytes) -> str:
    return ", ".join(f"0x{byte:02X}" for byte in data)


def decimal(data: bytes) -> str:
    return ",".join(f"(char){byte}" for byte in data)


def lines(data: bytes) -> str:
    return ",\n  ".join(f"{byte:#x}u" for byte in data)


def escaped(data: bytes) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'


def octal(data: bytes) -> str:
    return '"' + "".join(f"\\{byte:03o}" for byte in data) + '"'


def words(data: bytes) -> str:
    return ", ".join(f"0x{word:08x}" for word in struct.unpack("<8I", data[:32]))


def long_words(data: bytes) -> str:
    return ",\n".join(f"0x{word:016x}ull" for word in struct.unpack("<4Q", data[:32]))


WRITERS = (hexadecimal, decimal, lines, escaped, octal, words, long_words)


@pytest.mark.parametrize("written", WRITERS)
@pytest.mark.parametrize("data", [CUBIN, FATBIN])
def test_images_are_seen_however_they_are_written(
    tmp_path: Path, written: Callable[[bytes], str], data: bytes
) -> None:
    source = tmp_path / "image.h"
    source.write_text(f"const unsigned char image[] = {{\n{written(data)}}};\n")
    assert holds_image(str(source))


@pytest.mark.parametrize("written", WRITERS[:5])
def test_ptx_as_bytes_is_seen(tmp_path: Path, written: Callable[[bytes], str]) -> None:
    source = tmp_path / "ptx.h"
    source.write_text(f"char ptx[] = {{{written(PTX)}}};\n")
    assert holds_image(str(source))


@pytest.mark.parametrize(
    "text",
    [
        *(f"char host[] = {{{written(HOST)}}};" for written in WRITERS),
        r'return !memcmp(data, "\177ELF", 4);',
        "if (magic == 0xBA55ED50) return FATBIN; // or 0x464c457f, of ELF",
        "const int codes[] = {127, 190, 237, 186, 46, 32, 118, 101, 114, 115, 105, 111, 110};",
    ],
)
def test_nothing_else_is_taken_for_device_code(tmp_path: Path, text: str) -> None:
    source = tmp_path / "host.cpp"
    source.write_text(text)
    assert not holds_image(str(source))


@pytest.mark.parametrize(
    "text", ['asm("image: .incbin \\"bin/k.bin\\"");', 'char k[] = {\n# embed "k.bin"\n};']
)
def test_files_are_followed_whose_bytes_a_source_takes(tmp_path: Path, text: str) -> None:
    source, image = tmp_path / "src" / "bin" / "k.cu", tmp_path / "src" / "bin" / "k.bin"
    source.parent.mkdir(parents=True)
    source.write_text(text)
    image.write_bytes(b"pixels")
    assert not holds_image(str(source))
    image.write_bytes(CUBIN)
    assert holds_image(str(source))


def test_a_directory_says_which_of_its_sources_hold_device_code(tmp_path: Path) -> None:
    (tmp_path / "image.cpp").write_text(f"char image[] = {{{hexadecimal(CUBIN)}}};\n")
    (tmp_path / "plain.cpp").write_text("int n;\n")
    (tmp_path / "k.cu").write_text("__global__ void k() {}\n")
    found = discover([str(tmp_path)], Globs(str(tmp_path)))
    assert {Path(name).name for name in found.others} == {"image.cpp"}
