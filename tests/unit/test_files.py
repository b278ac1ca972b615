"""What lies in a scanned tree under an input's name is opened only where it is a regular file."""

from __future__ import annotations

import io
import os
import shutil
import socket
from pathlib import Path

import pytest

from lmemscope import files
from lmemscope.files import cached_while_unchanged
from tests.support.program import ROOT, run_program

LOG = ROOT / "tests/support/data/build_log/make-j2.log"
ODD = ("pipe", "link to a device", "socket")


def make(kind: str, path: Path) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        # A socket's path may have 107 bytes, which those of tests exceed.
        with socket.socket(socket.AF_UNIX) as one:
            here = os.getcwd()
            os.chdir(path.parent)
            try:
                one.bind(path.name)
            finally:
                os.chdir(here)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ODD)
def test_only_regular_files_are_opened(kind: str, tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    make(kind, odd)
    with pytest.raises(OSError, match=r"not a regular file|No such device or address"):
        files.open_regular(odd)
    with pytest.raises(OSError, match=r"not a regular file|No such device or address"):
        files.read_beside(odd)


def test_a_link_to_a_regular_file_is_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    assert files.read_input(tmp_path / "link") == b"text"


def test_files_that_have_no_size_before_they_are_read() -> None:
    assert files.read_beside("/proc/self/cmdline")


def test_the_limit(tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as stream:
        stream.truncate((1 << 20) + 1)
    with pytest.raises(files.UnreadableFileError, match="larger than 1 MiB"):
        files.read_input(sparse, 1)
    assert len(files.read_input(sparse)) == (1 << 20) + 1


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", ["a.cu", "a.cuh", "a.ptx", "a.cubin", "a.py", "a.log"])
def test_an_odd_input_is_an_error_and_the_others_are_read(
    kind: str, name: str, tmp_path: Path
) -> None:
    make(kind, tmp_path / name)
    shutil.copy(LOG, tmp_path / "build.log")
    done = run_program("scan", name, "build.log", cwd=tmp_path)
    assert done.code == 3
    assert f"{name} cannot be read" in done.out
    assert "1 input could not be analysed" in done.out


@pytest.mark.parametrize(
    "name",
    ["lmemscope.toml", "pyproject.toml", "compile_commands.json", "CMakeCache.txt", "a.json"],
)
def test_odd_files_that_belong_to_a_project(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    shutil.copy(LOG, tmp_path / "build.log")
    done = run_program("scan", ".", "build.log", cwd=tmp_path)
    assert "holds no .cu file" in done.out
    assert "spilling" in done.out


@pytest.mark.parametrize("command", ["report", "check", "diff"])
def test_a_saved_report_that_is_a_pipe(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "saved.json")
    saved = {"diff": ["saved.json"] * 2, "report": ["saved.json", "-o", "page.html"]}
    done = run_program(command, *saved.get(command, ["saved.json"]), cwd=tmp_path)
    assert done.code in (2, 3), done.err
    assert "not a regular file" in done.err


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_include_reaches_no_compiler(kind: str, tmp_path: Path) -> None:
    make(kind, tmp_path / "odd.h")
    (tmp_path / "a.cu").write_text('#include "odd.h"\n__global__ void k() {}\n')
    shutil.copy(LOG, tmp_path / "build.log")
    done = run_program("scan", "a.cu", "build.log", "--no-cache", cwd=tmp_path)
    assert done.code == 3
    assert "a.cu includes" in done.out
    assert "not a regular file" in done.out
    assert "spilling" in done.out


def test_an_include_that_has_nothing_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So are some files of /proc: regular by name, and reading one gives None at once.
    (tmp_path / "odd.h").write_text("")
    (tmp_path / "a.cu").write_text('#include "odd.h"\n__global__ void k() {}\n')

    class Nothing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            del size
            return None  # type: ignore[return-value]

        def fileno(self) -> int:
            return given.fileno()

    with open(tmp_path / "odd.h", "rb") as given:
        monkeypatch.setattr(files, "open_regular", lambda path: Nothing())
        with pytest.raises(files.UnreadableFileError, match="nothing to read"):
            files.read_input(tmp_path / "odd.h")


def test_an_odd_file_that_is_included_by_option(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    forced = ("--nvcc-arg", "-include", "--nvcc-arg", "/dev/zero")
    done = run_program("scan", "a.cu", "--frontend", "nvcc", *forced, cwd=tmp_path)
    assert done.code == 3
    assert "a.cu includes /dev/zero" in done.out


@pytest.mark.toolchain
def test_an_odd_entry_of_the_cache_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    cache = tmp_path / "cache"
    first = run_program("scan", "a.cu", cwd=tmp_path, LMEMSCOPE_CACHE_DIR=str(cache))
    assert first.code == 0
    entries = [one for one in cache.rglob("*") if one.is_file()]
    assert entries
    for entry in entries:
        entry.unlink()
        os.mkfifo(entry)
    again = run_program("scan", "a.cu", cwd=tmp_path, LMEMSCOPE_CACHE_DIR=str(cache))
    assert (again.code, again.out) == (0, first.out)


def test_a_name_that_no_file_can_have_is_not_odd() -> None:
    files.refuse_odd("a\0b")


def test_what_a_file_led_to_is_read_again_when_another_file_that_it_uses_changes(
    tmp_path: Path,
) -> None:
    first, second, missing = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    first.write_text("one")
    second.write_text("two")
    reads = []

    @cached_while_unchanged(8, reads=lambda text: (str(second), str(missing)))
    def joined(path: str) -> str:
        reads.append(path)
        also = missing.read_text() if missing.exists() else ""
        return Path(path).read_text() + second.read_text() + also

    assert [joined(str(first)) for _ in range(3)] == ["onetwo"] * 3
    assert len(reads) == 1
    second.write_text("three")
    assert joined(str(first)) == joined(str(first)) == "onethree"
    missing.write_text("!")
    assert joined(str(first)) == joined(str(first)) == "onethree!"
    first.write_text("four")
    assert joined(str(first)) == "fourthree!"
    assert len(reads) == 4
