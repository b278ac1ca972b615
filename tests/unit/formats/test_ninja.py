"""Ninja's record of a build: commands as it evaluates them, their hashes, what they read."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import pytest

from lmemscope.formats.ninja_commands import NinjaFile
from lmemscope.formats.ninja_log import parse_ninja_deps, parse_ninja_log

LETTERS = "abcdefghij" * 100


def logged(version: int, name: str, hashed: str) -> bytes:
    return f"# ninja log v{version}\n1\t24\t1795940766649674272\t{name}\t{hashed}\n".encode()


@pytest.mark.parametrize(
    ("version", "command", "hashed"),
    [
        # As ninja 1.11.1 and 1.13.2 wrote them.
        (5, f"touch o0;: {LETTERS[:0]}", "d0b64a07f64593c3"),
        (5, f"touch o1;: {LETTERS[:1]}", "d2a3ffa5d531ffa3"),
        (5, f"touch o4;: {LETTERS[:4]}", "b77c1629aac996c"),
        (5, f"touch o20;: {LETTERS[:20]}", "13bc631497e48cf0"),
        (5, f"touch o33;: {LETTERS[:33]}", "36841bb1d7d19f19"),
        (5, f"touch o100;: {LETTERS[:100]}", "c0648a0412385f37"),
        (5, f"touch o1000;: {LETTERS[:1000]}", "bf3e6160cabedea3"),
        (7, f"touch o0;: {LETTERS[:0]}", "82caaab4291751b9"),
        (7, f"touch o1;: {LETTERS[:1]}", "633fccbcc7466d5b"),
        (7, f"touch o4;: {LETTERS[:4]}", "7b1891a909e88f6f"),
        (7, f"touch o20;: {LETTERS[:20]}", "b8d825a1c0e63933"),
        (7, f"touch o33;: {LETTERS[:33]}", "fc3b141b6e845843"),
        (7, f"touch o100;: {LETTERS[:100]}", "6730a32bde1c0db3"),
        (7, f"touch o1000;: {LETTERS[:1000]}", "f2e2ca7a57bb9526"),
    ],
)
def test_the_hash_of_a_command(version: int, command: str, hashed: str) -> None:
    log = parse_ninja_log(logged(version, "a.o", hashed))
    assert log.shows("a.o", command) is True
    assert log.shows("a.o", f"{command} ") is False
    assert log.shows("b.o", command) is None


def test_a_log_of_an_unknown_version_shows_nothing() -> None:
    assert parse_ninja_log(logged(8, "a.o", "0")).shows("a.o", "touch a.o") is None
    assert parse_ninja_log(b"").runs == {}


def test_the_last_run_of_an_output_counts_and_other_lines_do_not() -> None:
    log = parse_ninja_log(
        b"# ninja log v6\n1\t2\t30\ta.o\tff\n1\t2\tthree\ta.o\tee\na.o\n1\t2\t40\ta.o\tdd\n"
    )
    assert (log.runs["a.o"].time, log.runs["a.o"].command) == (40, 0xDD)


def deps(version: int, paths: Sequence[str], records: Mapping[int, tuple[int, list[int]]]) -> bytes:
    written = b"# ninjadeps\n" + struct.pack("<i", version)
    for number, path in enumerate(paths):
        name = path.encode()
        name += b"\0" * (-len(name) % 4)
        written += struct.pack("<I", len(name) + 4) + name + struct.pack("<i", ~number)
    for output, (time, files) in records.items():
        head = struct.pack("<iq" if version == 4 else "<ii", output, time)
        body = head + struct.pack(f"<{len(files)}i", *files)
        written += struct.pack("<I", len(body) | 1 << 31) + body
    return written


@pytest.mark.parametrize("version", [3, 4])
def test_what_a_compilation_read(version: int) -> None:
    time = 1795940766649674272 if version == 4 else 1795940766
    found = parse_ninja_deps(deps(version, ["a.o", "a.cu", "size.h"], {0: (time, [1, 2])}))
    assert found["a.o"].files == ("a.cu", "size.h")
    assert found["a.o"].time == time


def test_a_damaged_record_ends_the_reading() -> None:
    whole = deps(4, ["a.o", "b.o", "a.cu"], {0: (5, [2]), 1: (6, [2])})
    assert set(parse_ninja_deps(whole)) == {"a.o", "b.o"}
    assert set(parse_ninja_deps(whole[:-1])) == {"a.o"}
    assert parse_ninja_deps(deps(4, ["a.o"], {0: (5, [7])})) == {}
    assert parse_ninja_deps(deps(9, ["a.o"], {0: (5, [0])})) == {}


BUILD = """
include rules.ninja
root = /project
flags = -I$root/include
build CMakeFiles/a$ b.o: CUDA /project/a$ b.cu | $root/made.h || order
  DEFINES = -DNAME="\\"x y\\"" -DPRICE=$$5
  FLAGS = $flags -O3 $
    -std=c++17
  DEP_FILE = ${out}.d
"""
RULES = """
rule CUDA
  depfile = $DEP_FILE
  deps = gcc
  command = ${LAUNCHER}nvcc $DEFINES $FLAGS -MD -MF $DEP_FILE -c $in -o $out
rule RESPONSE
  command = nvcc @$out.rsp -c $in
  rspfile = $out.rsp
  rspfile_content = $FLAGS
rule ROUND
  command = nvcc $again
  again = $command
"""


def ninja(text: str, **others: str) -> NinjaFile:
    """A build file, with the others that it names."""
    file = NinjaFile(lambda name: others[name.removesuffix(".ninja")])
    file.add(text)
    return file


def test_a_command_has_the_values_of_its_variables() -> None:
    assert ninja(BUILD, rules=RULES).command("CMakeFiles/a b.o") == (
        'nvcc -DNAME="\\"x y\\"" -DPRICE=$5 -I/project/include -O3 -std=c++17 '
        "-MD -MF .d -c '/project/a b.cu' -o 'CMakeFiles/a b.o'"
    )


def test_a_response_file_counts_as_part_of_the_command() -> None:
    file = ninja(RULES + "build a.o: RESPONSE a.cu\n  FLAGS = -O2\n")
    assert file.command("a.o") == "nvcc @a.o.rsp -c a.cu;rspfile=-O2"
    assert file.command("a.o", with_response=False) == "nvcc -O2 -c a.cu"


def test_paths_have_the_values_of_variables_and_their_escapes() -> None:
    file = ninja(
        "rule cc\n  # why\n  command = nvcc -c $in -o $out\n"
        "root = /my project\nbuild ${root}/$name.o x$$ y$:: cc $root/a.cu b$$ $\n | c\n  name = a\n"
        "root = /other\n"
    )
    assert list(file.edges) == ["/my project/a.o", "x$", "y:"]
    assert file.command("x$") == ("nvcc -c '/my project/a.cu' 'b$' -o '/my project/a.o' 'x$' 'y:'")


def test_a_subninja_sees_what_is_above_it_and_changes_nothing_there() -> None:
    text = (
        "dir = sub\nflags = -O1\n" + RULES + "subninja $dir.ninja\n"
        "build a.o: CUDA a.cu\n  FLAGS = $flags\n"
    )
    sub = "flags = $flags -O2\ninclude deeper.ninja\n"
    file = ninja(text, sub=sub, deeper="build b.o: CUDA b.cu\n  FLAGS = $flags\n")
    commands = [file.command(name) for name in ("a.o", "b.o")]
    assert [command and command.split(" -MD")[0] for command in commands] == [
        "nvcc  -O1",
        "nvcc  -O1 -O2",
    ]


def test_files_that_include_one_another_are_refused() -> None:
    with pytest.raises(ValueError, match="one another"):
        ninja("include self.ninja\n", self="include self.ninja\n")


def test_what_has_no_command_or_no_end() -> None:
    file = ninja(RULES + "build a.o: GONE a.cu\nbuild b.o: ROUND b.cu\n")
    assert file.command("a.o") is None
    assert file.command("c.o") is None
    assert file.command("b.o") == "nvcc "


def test_values_that_grow_without_bound_are_refused() -> None:
    rules = "\n".join(f"  v{n} = $v{n + 1}$v{n + 1}" for n in range(60))
    file = ninja(f"rule LONG\n  command = $v0\n{rules}\n  v60 = x\nbuild a.o: LONG a.cu\n")
    with pytest.raises(ValueError, match="longer"):
        file.command("a.o")
    with pytest.raises(ValueError, match="longer"):
        ninja("\n".join([f"a = {'x' * (1 << 20)}", *(f"b{n} = $a" for n in range(200))]))
