"""Readers that go away, full disks, closed streams, files that are written whole."""

from __future__ import annotations

import json
import os
import resource
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lmemscope import whole
from lmemscope.commands import output, streams
from lmemscope.commands.streams import HeldOutput
from lmemscope.errors import OutputError, UsageError
from lmemscope.exporters.json import render_json
from lmemscope.model import Report
from tests.support.program import ROOT

PROGRAM = "from lmemscope.__main__ import main; main()"
FAULTY = """
from lmemscope.commands import group
def broken(**_):
    raise {error}
group.cli = broken
from lmemscope.__main__ import main
main()
"""
full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")


def shell(redirected: str, code: str = PROGRAM, **environment: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of ``python -c CODE`` and what follows."""
    done = subprocess.run(
        ["sh", "-c", f'"$0" -c "$1" {redirected}', sys.executable, code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr or environment
    return done.returncode, done.stdout, done.stderr


def test_held_output_waits_for_a_slow_reader() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    code = f"import os, sys, time; time.sleep(0.1)\nwhile os.read({reader}, 65536): pass"
    slow = subprocess.Popen([sys.executable, "-Sc", code], pass_fds=(reader,))
    os.close(reader)
    held = HeldOutput(is_closed=False)
    held.write(b"x" * 300_000)
    assert held.pass_on(writer) is None
    os.close(writer)
    assert slow.wait(20) == 0


def test_a_reader_that_goes_away_changes_nothing(tmp_path: Path) -> None:
    code = tmp_path / "code"
    done = subprocess.run(
        [
            "sh",
            "-c",
            f'{{ "$0" -c "$1" rules; echo $? > {code}; }} | true',
            sys.executable,
            PROGRAM,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (code.read_text(), done.stderr) == ("0\n", "")


@full
@pytest.mark.parametrize("command", ["rules", "--help", "rules LM201"])
def test_a_full_disk_is_said_and_is_3(command: str) -> None:
    said = "error: [output] standard output cannot be written: No space left on device\n"
    assert shell(f"{command} > /dev/full") == (3, "", said)


def test_closed_streams() -> None:
    said = "error: [output] standard output cannot be written: it is closed\n"
    assert shell("rules >&-") == (3, "", said)
    code, out, _ = shell("rules 2>&-")
    assert (code, out[:5]) == (0, "LM101")
    assert shell("rules nonsense 2>&-")[0] == 2, "what is wrong stays wrong, if nobody hears it"
    assert shell("scan nothing.cu <&- >&- 2>&-") == (3, "", "")


@pytest.mark.parametrize("error", ["RecursionError('deep')", "MemoryError", "ValueError('odd')"])
def test_a_mistake_of_ours_is_3_and_asks_for_a_report(error: str) -> None:
    code, out, err = shell("rules", FAULTY.format(error=error))
    name = error.partition("(")[0]
    assert (code, out) == (3, "")
    assert err.startswith(f"error: [internal] lmemscope failed: {name}")
    assert err.splitlines()[1].startswith("hint: this is a bug in lmemscope; please report it")
    assert len(err.splitlines()) == 2


def test_the_traceback_is_there_for_who_asks() -> None:
    code, _, err = shell("rules", FAULTY.format(error="ValueError('odd')"), LMEMSCOPE_DEBUG="1")
    assert code == 3
    assert "in broken" in err


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """As on a full disk: no file can grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_old_file_whole(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text("old")
    sink = output.Sink.open(str(file), "json")
    with file_size_limit(10), pytest.raises(OutputError, match=r"report\.json cannot be written"):
        sink.write("x" * 1000)
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_replaced_file_stays_the_same_to_others(tmp_path: Path) -> None:
    file, link = tmp_path / "report", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to("report")
    whole.write(str(link), b"new")
    assert (link.is_symlink(), file.read_text()) == (True, "new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    made = tmp_path / "made"
    previous = os.umask(0o027)
    try:
        whole.write(str(made), b"")
    finally:
        os.umask(previous)
    assert stat.S_IMODE(made.stat().st_mode) == 0o640


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    whole.write(str(pipe), b"report")
    assert os.read(reader, 100) == b"report"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    for write in (whole.write, whole.append):
        with pytest.raises(BrokenPipeError):
            write(str(pipe), b"report")
    with pytest.raises(OutputError, match="nobody reads"):
        output.append(str(pipe), "summary")


@pytest.mark.parametrize("name", ["pipe.json", "link.json", "socket.json", "device.json"])
def test_an_output_that_may_never_be_taken_is_refused_at_once(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link.json").symlink_to("pipe.json")
    (tmp_path / "device.json").symlink_to("/dev/urandom")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket.json"))
        with pytest.raises(UsageError, match=f"{name} cannot be written: it is a "):
            output.Sink.open(str(tmp_path / name), "json")


def test_an_output_that_somebody_has_opened_is_taken(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    (tmp_path / "link.json").symlink_to(f"/dev/fd/{writing}")
    for path in (f"/dev/fd/{writing}", f"/proc/self/fd/{writing}", str(tmp_path / "link.json")):
        # What the program opened itself is nobody's output.
        with pytest.raises(UsageError, match="it is not open"):
            output.Sink.open(path, "json")
    os.set_inheritable(writing, True)
    for path in (f"/dev/fd/{writing}", f"/proc/self/fd/{writing}", str(tmp_path / "link.json")):
        output.Sink.open(path, "json").write("report")
        assert os.read(reading, 100) == b"report"
    os.close(reading)
    output.Sink.open(f"/dev/fd/{writing}", "json").write("nobody reads it any more")
    os.close(writing)
    with pytest.raises(UsageError, match="it is not open"):
        output.Sink.open(f"/dev/fd/{writing}", "json")
    output.Sink.open("/dev/null", "json").write("report")


def test_a_terminal_is_an_output() -> None:
    master, terminal = os.openpty()
    sink = output.Sink.open(os.ttyname(terminal), "json")
    sink.write("report")
    assert os.read(master, 100) == b"report"
    os.close(terminal)
    os.close(master)


def test_a_shells_process_substitution_is_an_output(tmp_path: Path) -> None:
    saved, taken = tmp_path / "saved.json", tmp_path / "taken"
    saved.write_text(render_json(Report(version="1", toolchain={}, units=())))
    os.mkfifo(taken)
    reading = os.open(taken, os.O_RDONLY | os.O_NONBLOCK)
    command = '"$0" -c "$1" scan "$2" --format json -o >(cat > "$3")'
    words = [sys.executable, PROGRAM, str(saved), str(taken)]
    done = subprocess.run(
        ["bash", "-c", command, *words], cwd=ROOT, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    os.set_blocking(reading, True)
    with open(reading, "rb") as stream:
        assert json.loads(stream.read())["units"] == []


def test_names_that_are_no_utf8_are_written_visibly(tmp_path: Path) -> None:
    name = os.fsdecode(b"report\xff.md")
    sink = output.Sink.open(str(tmp_path / name), "markdown")
    sink.write(f"of {os.fsdecode(b'a' + bytes([0xE9]) + b'.cu')}")
    written = Path(os.fsencode(tmp_path).decode(), name)
    assert written.read_bytes() == rb"of a\xe9.cu"
    assert "a✓".encode("ascii", streams.ESCAPED) == b"a?"
