"""Readers against inputs made to take long, much memory, or the interpreter's stack.

Every case failed once. None is timed: `within` ends a reader far above what it takes, and what was
quadratic took minutes or all memory there. It counts the processor's time, which a busy machine
does not lengthen.
"""

from __future__ import annotations

import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest

from lmemscope.analysis.frame import frame_map
from lmemscope.config import file
from lmemscope.errors import FormatError, InputError, LmemscopeError, UsageError
from lmemscope.formats.build_log import parse_build_log
from lmemscope.formats.cubin import Cubin
from lmemscope.formats.demangle import demangle
from lmemscope.formats.dwarf import read_variables
from lmemscope.formats.elf import ElfFile, Strings
from lmemscope.formats.numbers import decimal
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.ptx_tokens import integer
from lmemscope.formats.ptxas_log import parse_ptxas_log
from lmemscope.formats.sass import parse_json, parse_text
from lmemscope.lowering import jit_cache
from lmemscope.lowering.python import expand
from lmemscope.model import CompileOptions, CudaSource, Unit
from lmemscope.routes import Asked
from lmemscope.sources import includes
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.python import Survey, read_programs, survey
from lmemscope.sources.unlike import asked_of_nvcc
from tests.support.builders import cubin_function
from tests.support.program import ROOT

SECONDS = 5
SEEDS = ROOT / "tests" / "fuzz" / "seeds"
CUBIN = (SEEDS / "rolled_loop.cubin").read_bytes()
HEAD = ".version 8.0\n.target sm_90\n.visible .entry k()\n{\n"


@contextmanager
def within() -> Iterator[None]:
    """End what takes the processor for more than `SECONDS`."""

    def stop(_signal: int, _frame: FrameType | None) -> NoReturn:
        pytest.fail(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


CUDA = {
    "raw strings without an end": 'R"a( ' * 50_000,
    "comments without an end": "/* " * 50_000,
    "lists of __global__": "__global__ " * 12_500,
    "launch bounds without an end": "__global__ __launch_bounds__(" * 6_000,
    "templates without an end": "__global__ void " + "a<b," * 7_500,
    "functions in each other": "f(){" * 7_500,
    "kernels in braces": "{ __global__ void k(); " * 3_000,
    "namespaces in each other": "namespace a { __global__ void k(); " * 1_000,
    "conditions in each other": "#if 1\n// lmemscope: allow a\n" * 10_000,
    "macros in each other": "#define K(a) __global__ void a\n" + "K(" * 12_500,
    "lines of assembly": 'void f() { asm("' + 'mov.u32 %0, 1;\\n"\n"' * 10_000 + '"); }',
    "strings that go on for ever": '"\\' * 100_000,
    "characters that go on for ever": "'\\" * 100_000,
    "launches of many kernels": "".join(
        f"template <int N> __global__ void k{i}(); k{i}<1><<<1, 1>>>();" for i in range(1_500)
    ),
}


@pytest.mark.parametrize("text", CUDA.values(), ids=CUDA)
def test_cuda(text: str) -> None:
    with within():
        assert isinstance(read_cuda_source(text), CudaSource)


@pytest.mark.parametrize(
    ("many", "asks"),
    [
        ("#define __attribute__ ", True),
        ('"\\u', False),
        ("} A __attribute ", True),
        ("[[gnu ", False),
    ],
)
def test_what_looks_like_an_attribute_or_a_string_on_one_line(
    tmp_path: Path, many: str, asks: bool
) -> None:
    path = tmp_path / "a.cu"
    path.write_text(many * (200_000 // len(many)))
    options = CompileOptions()
    with within():
        found = asked_of_nvcc(includes.closure(str(path), options), options)
    # A macro's body with "#" in it is not followed.
    assert (found is not None) == asks


def test_includes_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text(
        '#include "one.h" ' + '#include "two.h" ' * 15_000 + '\n/* */#include "three.h"'
    )
    with within():
        found = includes.closure(str(path), Unit("a.cu", str(path), "auto", "sm_90").options)
    assert found.missing == {"one.h", "three.h"}


PTX = {
    "1200 lines of .loc": (".loc 1 2 3\n" * 1200 + "ret;\n}\n", True),
    "a comment without an end": ("/* " * 100_000, False),
    "blanks behind an access": ("ld.local.u32 %r1, [%rd1], " + " " * 200_000 + "X;\n}\n", True),
    "accesses that are not plain": ("ld.local.u32 %r1, [%rd1+4], 3;\n" * 4_000 + "}\n", True),
    "registers without number": ("{ .reg .b32 %t<999999999>; mov.u32 %t7, 1; }\nret;\n}\n", True),
    "braces in each other": ("{ " * 100_000, False),
    "an array of too many dimensions": (".local .b8 a" + "[99]" * 50_000 + ";\n}\n", False),
    "a line that is no number": (".loc 1 x 3\nret;\n}\n", False),
    "a line without an end": (".loc 1 2", False),
    "an offset of 5000 digits": (
        f".local .b8 d[8];\nmov.u64 %SPL, d;\nadd.u64 %rd2, %SPL, {'9' * 5000};\nret;\n}}\n",
        True,
    ),
    "an addition of nothing": (".local .b8 d[8];\nadd.u64;\nret;\n}\n", False),
    "a branch to nowhere": ("{ L: bra; }\nret;\n}\n", False),
    "a digit of another script": (".loc 1 \u0663 3\nret;\n}\n", False),
    "calls inlined for ever": (
        ".loc 1 2 3, function_name f, inlined_at 1 2 3\n" * 5000 + "ret;\n}\n",
        False,
    ),
}


@pytest.mark.parametrize(("body", "is_read"), PTX.values(), ids=PTX)
def test_ptx(body: str, is_read: bool) -> None:
    with within():
        (function,) = PtxModule((HEAD + body).encode()).functions
        if is_read:
            assert function.body is not None
            assert function.survey is not None
        else:
            with pytest.raises(FormatError):
                _ = function.body


def test_registers_of_a_family_belong_to_their_braces() -> None:
    body = "{ .reg .b32 %t<3>;\nmov.u32 %t2, 1;\nmov.u32 %t3, 1;\n}\nret;\n}\n"
    (function,) = PtxModule((HEAD + body).encode()).functions
    own, other, _ = function.body.instructions
    assert (own.operands[0], other.operands[0]) == ("%t2@1", "%t3")


@pytest.mark.parametrize("text", ["9" * 5000, "1_0", "x", "", "\u0663", "\u00b2", "-1", " 1"])
def test_no_decimal_numbers(text: str) -> None:
    assert decimal(text) is None


@pytest.mark.parametrize("text", ["9" * 5000, "1_0", "x", "", "\u0663", "0x1" + "0" * 16])
def test_no_integers_of_ptx(text: str) -> None:
    with pytest.raises(FormatError):
        integer(text)


def test_a_line_in_ptx_that_names_a_file_without_end() -> None:
    with within():
        module = PtxModule((HEAD + '.file 1 "a\n' * 50_000).encode())
        assert module.files == {}


def test_addresses_of_many_functions() -> None:
    text = HEAD + "ret;\n}\n" + ".func f%d()\n{\nmov.u64 %%r1, f%d;\nret;\n}\n" * 5000
    numbers = tuple(number for n in range(5000) for number in (n, n + 1))
    module = PtxModule((text % numbers).encode())
    with within():
        taken = [f.name for f in module.functions if module.takes_address(f.name)]
    assert len(taken) == 4999
    assert "f0" not in taken


def section_header(name: str) -> int:
    """Where the header of a section lies in `CUBIN`."""
    section = ElfFile(CUBIN).section(name)
    assert section is not None
    return int(struct.unpack_from("<Q", CUBIN, 40)[0]) + 64 * section.number


def with_section(name: str, data: bytes) -> bytes:
    """`CUBIN` with other bytes in a section."""
    changed = bytearray(CUBIN)
    struct.pack_into("<QQ", changed, section_header(name) + 24, len(CUBIN), len(data))
    return bytes(changed) + data


def refused(data: bytes, read: Callable[[Cubin], object]) -> str:
    with within(), pytest.raises(LmemscopeError) as caught:
        read(Cubin(data))
    return caught.value.message


def test_names_without_an_end() -> None:
    assert "without an end" in refused(
        with_section(".strtab", b"a" * 300_000), lambda cubin: cubin.records
    )


def test_names_that_overlap() -> None:
    strings = Strings(b"a" * 1_000_000 + b"\0")
    assert len([strings.at(offset) for offset in range(5)]) == 5
    with pytest.raises(FormatError, match="overlap"):
        strings.at(5)


def test_sections_that_overlap() -> None:
    changed = bytearray(CUBIN)
    table, count = struct.unpack_from("<Q", CUBIN, 40)[0], struct.unpack_from("<H", CUBIN, 60)[0]
    for index in range(1, count):
        struct.pack_into("<IQQQQ", changed, table + 64 * index + 4, 1, 0, 0, 0, len(CUBIN))
    assert "overlap" in refused(bytes(changed), lambda cubin: cubin.records)


def test_no_section_of_names() -> None:
    changed = bytearray(CUBIN)
    struct.pack_into("<H", changed, 62, 0xFFFF)
    assert "no names" in refused(bytes(changed), lambda cubin: cubin.records)


def test_symbols_whose_names_are_in_no_section() -> None:
    changed = bytearray(CUBIN)
    struct.pack_into("<I", changed, section_header(".symtab") + 40, 0xFFFF)
    assert "without names" in refused(bytes(changed), lambda cubin: cubin.records)


def test_relocations_by_no_symbol() -> None:
    relocation = struct.pack("<QQq", 0, 0xFFFFFF << 32, 0)
    data = with_section(".rela.debug_line", relocation)
    assert "relocates" in refused(data, lambda cubin: cubin.source_lines)


def line_program(header: bytes, code: bytes) -> bytes:
    body = struct.pack("<HI", 2, len(header)) + header + code
    return struct.pack("<I", len(body)) + body


GOOD_HEADER = bytes((1, 1, 255, 10, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1)) + b"\0a.cu\0\0\0\0\0"
LINES = {
    "a number without an end": line_program(GOOD_HEADER, b"\x02" + b"\x80" * 300_000),
    "a range of lines of zero": line_program(b"\x01\x01\xff\x00\x0a" + bytes(12), b"\xff" * 9),
    "a file name without an end": line_program(GOOD_HEADER[:14] + b"a" * 99, b""),
    "calls inlined into each other": line_program(
        GOOD_HEADER,
        b"".join(
            b"\x00\x05\x90" + bytes((n & 0x7F | 0x80, n >> 7 | 0x80, 0, 0)) + b"\x01"
            for n in range(3000)
        )
        + b"\x00\x01\x01",
    ),
}


@pytest.mark.parametrize("data", LINES.values(), ids=LINES)
def test_line_tables(data: bytes) -> None:
    assert refused(with_section(".debug_line", data), lambda cubin: cubin.source_lines)


DWARF = {
    "a section of nothing known": ".section .debug_info\n{\n.b8 9,9,9,9\n}\n",
    "numbers that are none": ".section .debug_info\n{\n.b32 --5, 99999999999999999999999\n}\n",
    "half of an entry": ".section .debug_info\n{\n.b32 9\n.b8 2,0\n.b32 0\n.b8 8,1,2\n}\n"
    ".section .debug_abbrev\n{\n.b8 1,17,1,37,14,0,0,0\n}\n",
    "an entry of a kind with 5000 digits": ".section .debug_info\n{\n.b32 6000\n.b8 2,0\n.b32 0\n"
    f".b8 8{',255' * 2500},1\n}}\n.section .debug_abbrev\n{{\n.b8 1,17,1,0,0,0\n}}\n",
}


@pytest.mark.parametrize("text", DWARF.values(), ids=DWARF)
def test_debug_information(text: str) -> None:
    with within(), pytest.raises(FormatError):
        read_variables(text)


def test_sections_of_debug_information_without_an_end() -> None:
    with within(), pytest.raises(FormatError):
        read_variables(".section .debug_info\n{\n.b8 1\n" * 30_000)


ANNOUNCED = "ptxas info    : Compiling entry function 'k%d' for 'sm_90'\n"
STACK = "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
NAMED = "ptxas info    : Function properties for k\n"
BUILD_LOGS = {
    "kernels that are all announced first": "".join(ANNOUNCED % i for i in range(4000))
    + NAMED * 4000
    + "ptxas info    : Used 9 registers\n" * 4000,
    "figures of nobody": (NAMED + STACK + STACK) * 10_000,
    "a very long word": "nvcc -c " + "a" * 400_000 + ".cu",
    "a line of blanks": "Building CUDA object " + " " * 200_000 + "x",
    "blanks before an error": " " * 200_000 + "error",
}


@pytest.mark.parametrize("text", BUILD_LOGS.values(), ids=BUILD_LOGS)
def test_build_logs(text: str) -> None:
    with within():
        assert parse_build_log(text) is not None


def test_reports_of_ptxas() -> None:
    warning = "ptxas warning : Registers are spilled to local memory in function 'f%d', "
    warning += "4 bytes spill stores, 4 bytes spill loads\n"
    with within():
        parse_ptxas_log("ptxas info : " + "Stack size for entry function '" * 12_000)
        log = parse_ptxas_log("".join(warning % i for i in range(20_000)))
    assert len(log.functions) == 20_000
    assert parse_ptxas_log(f"ptxas info : Used {'9' * 5000} registers").functions == []


def test_listings() -> None:
    with within():
        blanks = ".text.k:\n        /*0000*/ STL R1, " + " " * 200_000 + "x;"
        assert len(parse_text(blanks)["k"]) == 1
    with pytest.raises(FormatError):
        parse_json("[" * 100_000)


def test_metadata_that_is_nested_too_deeply(tmp_path: Path) -> None:
    (tmp_path / "k.json").write_text("[" * 100_000)
    assert jit_cache.beside(str(tmp_path / "k.cubin")) == jit_cache.Neighbours()


def python_file(directory: Path, text: str) -> str:
    path = directory / "program.py"
    path.write_text(f"import cupy as cp\n{text}")
    return str(path)


DOUBLES = "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(60))
SQUARES = "".join(f"a{i + 1} = a{i} * a{i}\n" for i in range(60))
UNKNOWN = {
    "strings of double size": f"a0 = 'x'\n{DOUBLES}k = cp.RawKernel(a60, 'k')",
    "numbers of double size": f"a0 = 9\n{SQUARES}k = cp.RawKernel('a', 'k', options=a60)",
    "a name that is its own": "a = a\nk = cp.RawKernel(a, 'k', options=a)",
    "half of a surrogate pair": "k = cp.RawKernel('\\ud800', 'k')",
    "a path with NUL": "k = cp.RawKernel(open('\\0').read(), 'k')",
    "a reduction without output": "k = cp.ReductionKernel('T x', '', 'x', 'a + b', 'y', '0', 'k')",
}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_strings_that_nobody_finds_out(tmp_path: Path, text: str) -> None:
    with within():
        (program,) = read_programs(python_file(tmp_path, text), "program.py")
    assert program.problem is not None  # type: ignore[union-attr]


def test_a_sum_of_many_strings(tmp_path: Path) -> None:
    terms = " + ".join(["'a\\n'"] * 600)
    with within():
        (program,) = read_programs(python_file(tmp_path, f"k = cp.RawKernel({terms}, 'k')"), "p.py")
    assert program.source is not None  # type: ignore[union-attr]
    assert program.source.count("a\n") == 600  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        "k = " + "-" * 50_000 + "1",
        "if 1: pass\n" + "elif 2: pass\n" * 50_000,
        "x = " + "a." * 50_000 + "b",
    ],
    ids=["signs", "elif", "attributes"],
)
def test_python_that_is_nested_too_deeply(tmp_path: Path, text: str) -> None:
    path = python_file(tmp_path, text)
    with within(), pytest.raises(InputError, match=r"nested too deeply|no Python"):
        read_programs(path, "program.py")
    assert survey(path, "program.py") == Survey(None)


def test_a_python_file_that_is_too_large(tmp_path: Path) -> None:
    path = python_file(tmp_path, "#" * (17 << 20))
    with pytest.raises(InputError, match="larger than 16 MiB"):
        read_programs(path, "program.py")


def test_planning_reads_no_python_that_a_worker_has_read() -> None:
    unit = Unit("gone.py", "/gone.py", "auto", "")
    known = {"/gone.py": Survey((("k", False), ("window", True)))}
    asked = Asked(("sm_90",), explicit=True, frontend="auto", walked=True, surveys=known)
    expansion = expand(unit, asked)
    assert [one.program for one in expansion.units] == ["k"]
    assert [note.kind for note in expansion.notes] == ["uninstantiated"]  # type: ignore[union-attr]


def test_a_frame_that_no_thread_has() -> None:
    function = cubin_function("k")
    (whole,) = frame_map(2**31, function, [], [], [])
    assert (whole.offset, whole.size, whole.cause) == (0, 2**31, "unattributed")


def doubling(levels: int) -> str:
    """A mangled name: a pair of pairs of pairs, each level of which doubles the spelling."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    pairs = (f"S_IS{digit}_S{digit}_E" for digit in digits[:levels])
    return f"_Z1fSt4pairIiiE{''.join(pairs)}"


def test_a_name_that_has_no_end_is_its_own_spelling() -> None:
    assert len(demangle(doubling(4))) < len(demangle(doubling(8))) < 20_000
    endless = doubling(30)
    assert demangle(endless) == endless
    # The next one is spelled all the same.
    assert demangle(doubling(7)).startswith("f(std::pair<int, int>, std::pair<std::pair<")


def test_long_names_are_spelled_as_short_ones_are() -> None:
    many = f"_Z1fSt4pairIiiE{'S0_' * 40}"
    assert demangle(many) == f"f({', '.join(['std::pair<int, int>'] * 41)})"


@pytest.mark.parametrize(
    "many",
    [
        "#define P(a, b) a##b\n" + "P(" * 100_000,
        "#define P(a, b) a##b\n" + ("P(" * 2_500 + ")" * 2_500 + "\n") * 20,
        "#define P(a, b) a##b\n" + "P " * 100_000,
        "#define A " + "a##" * 50_000 + "a\n",
        "#define P(a, b) a##b\nint x = P(" + ", ".join(f"_{n}" for n in range(1000)) + ");\n",
        "#if F(<" * 25_000,
        "".join(f"#define A{n} A{n + 1} A{n + 2}\n" for n in range(10_000)) + "#if A0\n#endif\n",
        "#ifdef X\n#endif\nint n = NULL + RAND_MAX + EOF;\n" * 5_000,
        "' \" /* ' " * 25_000,
        "//" + "\\\n" * 50_000,
        "x" * 200_000 + " __GNUC_MINOR" * 5_000,
    ],
)
def test_macros(tmp_path: Path, many: str) -> None:
    path = tmp_path / "a.cu"
    path.write_text(many)
    with within():
        includes.closure(str(path), Unit("a.cu", str(path), "auto", "sm_90").options)


def test_a_key_of_a_configuration_with_thousands_of_parts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lmemscope.toml").write_text("a." * 30_000 + "b = 1\n")
    with pytest.raises(UsageError, match="parts"):
        file.read(tmp_path)


def test_a_name_is_compared_in_place_whatever_its_encoding() -> None:
    strings = Strings(b"\0ab\0\xff\0")
    assert [strings.is_at(1, name) for name in ("ab", "a", "b", "abc")] == [
        True,
        False,
        False,
        False,
    ]
    assert strings.is_at(2, "b")
    assert strings.is_at(4, strings.at(4))
    assert not strings.is_at(99, "ab")
