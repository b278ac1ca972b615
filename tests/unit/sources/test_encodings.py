"""Sources that are not UTF-8: bytes reach the compiler, lines stay, people can read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.errors import InputError
from lmemscope.lowering.reading import encoding_gaps, read_text
from lmemscope.model import CompileOptions, Unit
from lmemscope.sources.encoding import decoded, encoded, readable, shown_lines
from tests.support.program import run_program

LATIN = b"// caf\xe9 \x85 \x0c\r\n// two\n"


def unit(path: Path, data: bytes) -> Unit:
    path.write_bytes(data)
    return Unit(path.name, str(path), "auto", "sm_90", CompileOptions())


@pytest.mark.parametrize("data", [b"", b"plain\n", "größe\n".encode(), LATIN, b"\xff\x80\xe2\x82"])
def test_bytes_come_back(data: bytes) -> None:
    assert encoded(decoded(data).text) == data


def test_the_first_odd_byte_counts_the_mark() -> None:
    assert decoded(b"\xef\xbb\xbfa\xe9").odd_byte == 4
    assert decoded("\ufeffé".encode()).odd_byte is None
    assert decoded("\ufeffé".encode()).text == "é"


def test_lines_are_those_of_compilers() -> None:
    assert shown_lines(LATIN) == ["// café \x85 \x0c", "// two"]
    assert shown_lines("a\u2028b\x0c\nc".encode()) == ["a\u2028b\x0c", "c"]
    assert readable(decoded(LATIN).text).count("\n") == 2


def test_what_is_said_of_it(tmp_path: Path) -> None:
    odd = unit(tmp_path / "odd.cu", b"int a;\n" + LATIN)
    (gap,) = encoding_gaps(odd, read_text(odd, "source"))
    assert "odd.cu: byte 0xe9 in line 2 is not UTF-8" in gap.reason
    assert "Latin-1" in gap.reason
    plain = unit(tmp_path / "plain.cu", "größe".encode())
    assert encoding_gaps(plain, read_text(plain, "source")) == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_wide_text_is_named(tmp_path: Path, encoding: str) -> None:
    wide = unit(tmp_path / "wide.cu", "int a;".encode(encoding))
    with pytest.raises(InputError, match=f"{encoding.upper()}, which nvcc does not take"):
        read_text(wide, "source")


@pytest.mark.toolchain
class TestCompiled:
    DEVICE = (
        b"// caf\xe9 \x85 \x0c\n"
        b'__device__ const char word[] = "caf\xe9";\n'
        b"__global__ void pick(const int *at, float *out) {  // \xfcber\n"
        b"  float bins[40] = {};  // \xdf\n"
        b"  for (int i = 0; i < 999; ++i) bins[at[i]] += word[3];\n"
        b"  for (int i = 0; i < 40; ++i) out[i] = bins[i];\n"
        b"}\n"
    )

    def scan(self, directory: Path, data: bytes) -> dict[str, object]:
        (directory / "odd.cu").write_bytes(data)
        done = run_program("scan", "odd.cu", "--format", "json", cwd=directory)
        assert done.code == 0, done.out + done.err
        (result,) = done.document["units"]
        assert isinstance(result, dict)
        return result

    def test_by_nvrtc_bytes_of_literals_are_kept(self, tmp_path: Path) -> None:
        result = self.scan(tmp_path, self.DEVICE)
        assert result["frontend"] == "nvrtc"
        (kernel,) = result["kernels"]  # type: ignore[misc]
        (finding,) = kernel["findings"]
        assert (finding["object"], finding["location"]["line"]) == ("bins", 5)
        assert "Latin-1" in result["gaps"][0]["reason"]  # type: ignore[index]
        dumped = run_program("dump", "odd.cu", "--ptx", cwd=tmp_path)
        assert "{99, 97, 102, 233}" in dumped.out
        shown = run_program("explain", "odd.cu", cwd=tmp_path)
        assert "float bins[40] = {};  // ß" in shown.out

    def test_by_nvcc_comments_are_taken(self, tmp_path: Path) -> None:
        host = b"#include <cstdio>\n" + self.DEVICE.replace(b'"caf\xe9"', b'"cafe"')
        result = self.scan(tmp_path, host + b"int main() { std::puts(word); }\n")
        assert result["frontend"] == "nvcc"
        (kernel,) = result["kernels"]  # type: ignore[misc]
        assert kernel["findings"][0]["location"]["line"] == 6

    def test_a_directory_whose_name_is_not_utf_8(self, tmp_path: Path) -> None:
        odd = tmp_path / "caf\udce9"
        odd.mkdir()
        (odd / "n.h").write_text("#define N 40\n")
        (odd / "k.cu").write_text('#include "n.h"\n__global__ void k(int *p) { *p = N; }\n')
        done = run_program("scan", "k.cu", "--no-causes", cwd=odd)
        assert done.code == 0, done.out + done.err
