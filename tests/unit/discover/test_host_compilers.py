"""What a build's compiler gets and ours does not: passed on, or a doubt where a text asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmemscope.config.settings import Settings
from lmemscope.discover.build_database import BuildDatabase, read_database, sources
from lmemscope.discover.build_flags import read_flags
from lmemscope.discover.plan import make_units
from lmemscope.discover.walk import Found
from lmemscope.model import CompileOptions
from lmemscope.sources.host_options import DROPPED, PASSED, PASSED_ALIKE
from lmemscope.sources.includes import closure

PLAIN = "#ifdef __CUDA_ARCH__\n__global__ void k(float *o) { o[0] = 1; }\n#endif\n"


def asking(name: str) -> str:
    return f"__global__ void k(float *o) {{\n#ifdef {name}\n  o[0] = 1;\n#endif\n}}\n"


def nvcc_args(line: str) -> tuple[str, ...]:
    return read_flags(line.split(), "/b").options.nvcc_args


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("-O3", "-Xcompiler=-O3"),
        ("--optimize=2", "-Xcompiler=-O2"),
        ("-Xcompiler -Wall,-O2", "-Xcompiler=-O2"),
        ("-Xcompiler -pthread", "-Xcompiler=-pthread"),
        ("-pthread", "-Xcompiler=-pthread"),
        ("-Xcompiler -fno-rtti", "-Xcompiler=-fno-rtti"),
        ("-Xcompiler -funsigned-char", "-Xcompiler=-funsigned-char"),
        ("-Xcompiler -ffreestanding", "-Xcompiler=-ffreestanding"),
        ("-Xcompiler -Wno-deprecated", "-Xcompiler=-Wno-deprecated"),
        ("--no-exceptions", "--no-exceptions"),
        ("-noeh", "-noeh"),
    ],
)
def test_harmless_words_reach_nvcc(line: str, passed: str) -> None:
    assert nvcc_args(line) == (passed,)


@pytest.mark.parametrize(
    "word",
    [
        "-fplugin=x.so",
        "-fplugin-arg-x-y=z",
        "-B/tmp",
        "-specs=x",
        "-wrapper",
        "@x",
        "-fmodule-mapper=|x",
        "-fmodules-ts",
        "-fprofile-use=x",
        "-fauto-profile=x",
        "-fdump-tree-all",
        "-fopt-info=x",
        "-fdiagnostics-format=json-file",
        "-fsanitize-blacklist=x",
        "-fsanitize=x/y",
        "-fstack-usage",
        "-fcallgraph-info",
        "-ffile-prefix-map=a=b",
        "-fmacro-prefix-map=a=b",
        "-save-temps",
        "--sysroot=x",
        "-march=$(x)",
        "-O3;x",
        "-fuse-ld=/x",
        "-o",
        "-MFx",
        "-gsplit-dwarf",
    ],
)
def test_what_runs_loads_reads_or_writes_is_on_no_list_of_what_is_passed(word: str) -> None:
    assert PASSED_ALIKE.fullmatch(word) is None
    assert PASSED.fullmatch(word) is None
    assert nvcc_args(f"-Xcompiler {word}") == ()


@pytest.mark.parametrize(
    "word", ["-fmacro-prefix-map=a=b", "-fnew-thing", "-m32", "-Owhat", "-nostdinc", "-undef"]
)
def test_a_word_of_which_nothing_is_known_is_kept_in_mind(word: str) -> None:
    found = read_flags(["-Xcompiler", word], "/b")
    assert (found.unsaid, found.unknown, found.options.nvcc_args) == ((word,), (), ())
    assert DROPPED.fullmatch(word) is None


@pytest.mark.parametrize("word", ["-O3", "-pthread", "-fPIC", "-Wall", "-g", "-march=haswell"])
def test_common_words_leave_a_file_to_nvrtc_that_asks_for_nothing(
    word: str, tmp_path: Path
) -> None:
    (tmp_path / "k.cu").write_text(PLAIN)
    options = CompileOptions(nvcc_args=(f"-Xcompiler={word}",))
    assert closure(str(tmp_path / "k.cu"), options).asked is None


@pytest.mark.parametrize(
    "words",
    [
        ("-Xcompiler=-fno-exceptions",),
        ("-Xcompiler", "-O2,-funsigned-char"),
        ("--compiler-options=-ffreestanding",),
        ("--no-exceptions",),
        ("-noeh",),
        ("-Xcompiler=-fnew-thing",),
    ],
)
def test_nvcc_decides_where_a_word_changes_what_nvrtc_has_too(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "k.cu").write_text(PLAIN)
    assert closure(str(tmp_path / "k.cu"), CompileOptions(nvcc_args=words)).asked is not None


def database(tmp_path: Path, text: str, *commands: str) -> BuildDatabase:
    (tmp_path / "k.cu").write_text(text)
    path = tmp_path / "compile_commands.json"
    entries = [{"directory": str(tmp_path), "command": c, "file": "k.cu"} for c in commands]
    path.write_text(json.dumps(entries))
    return read_database(str(path))


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("clang++ -x cuda", "__clang__"),
        ("clang++ -x cuda", "__CUDA__"),
        ("clang++ -x cuda", "__CUDACC_VER_MAJOR__"),
        ("nvc++ -cuda", "__NVCOMPILER"),
        ("nvcc -ccbin clang++", "__clang__"),
        ("nvcc -ccbin no-such-g++", "__GNUC__"),
        ("nvcc -Xcompiler -fnew-thing", "__cpp_new_thing"),
        ("nvcc -Xcompiler -fnew-thing", "__EXCEPTIONS"),
        ("nvcc --sysroot=x", "__GLIBC__"),
        ("nvcc --odd", "_ODD"),
    ],
)
def test_what_another_compiler_decides_is_not_known(
    command: str, name: str, tmp_path: Path
) -> None:
    asked = database(tmp_path, asking(name), f"{command} -c k.cu").unclear
    assert [source for source, _ in asked] == [str(tmp_path / "k.cu")]
    assert name in asked[0][1]
    # The text may say itself what the name means.
    own = f"#define {name}\n{asking(name)}"
    assert database(tmp_path, own, f"{command} -c k.cu").unclear == ()
    assert database(tmp_path, PLAIN, f"{command} -c k.cu").unclear == ()


def test_a_header_that_may_be_there_depends_on_the_compiler(tmp_path: Path) -> None:
    text = "#if __has_include(<a.h>)\n#endif\n__global__ void k() {}\n"
    assert database(tmp_path, text, "nvcc --sysroot=x -c k.cu").unclear
    assert not database(tmp_path, text, "nvcc -c k.cu").unclear


@pytest.mark.parametrize("name", ["__clang__", "_MSC_VER", "__CUDACC_VER_MAJOR__", "__NVCC__"])
def test_gcc_under_nvcc_defines_no_other_compilers_names(name: str, tmp_path: Path) -> None:
    text = asking(name)
    assert database(tmp_path, text, "nvcc -Xcompiler -fnew-thing -c k.cu").unclear == ()
    assert database(tmp_path, text, "nvcc -ccbin no-such-g++ -c k.cu").unclear == ()


@pytest.mark.parametrize(
    ("text", "count"),
    [(PLAIN, 1), (asking("__OPTIMIZE__"), 2), ("#define CAT(a, b) a##b\n#if CAT(x, y)\n#endif", 2)],
)
def test_entries_that_differ_for_the_host_alone_are_one_unless_the_text_asks(
    text: str, count: int, tmp_path: Path
) -> None:
    found = database(tmp_path, text, "nvcc -c k.cu", "nvcc -O3 -c k.cu", "nvcc -O3 -g -c k.cu")
    assert len(found.entries) == count


def test_an_entry_of_another_language_for_gpus_is_not_forgotten(tmp_path: Path) -> None:
    found = database(tmp_path, PLAIN, "nvcc -c k.cu", "hipcc -x hip -DBIG -c k.cu")
    ((source, why),) = found.unclear
    assert source == str(tmp_path / "k.cu")
    assert "hip" in why
    assert database(tmp_path, PLAIN, "nvcc -c k.cu", "g++ -x c++ -c k.cu").unclear == ()


def test_a_command_of_two_sources_is_an_entry_of_one(tmp_path: Path) -> None:
    (tmp_path / "two.cu").write_text(PLAIN)
    ((source, _),) = database(tmp_path, PLAIN, "nvcc -DBIG -c k.cu two.cu absent.cu").unclear
    assert source == str(tmp_path / "two.cu")


@pytest.mark.parametrize("key", ["directory", "command", "file", "arguments"])
def test_an_entry_with_a_key_twice_says_nothing_for_sure(key: str, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(PLAIN)
    path = tmp_path / "compile_commands.json"
    values = {"directory": str(tmp_path), "command": "nvcc -c k.cu", "file": "k.cu"}
    values |= {"arguments": ["nvcc", "-c", "k.cu"]} if key == "arguments" else {}
    pairs = [*values.items(), (key, "main.cpp" if key == "file" else values[key])]
    written = ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in pairs)
    path.write_text(f"[{{{written}}}]")
    found = read_database(str(path))
    assert found.entries == ()
    assert [source for source, _ in found.unclear] == [str(tmp_path / "k.cu")]
    assert str(tmp_path / "k.cu") in sources(str(path))


def test_each_file_of_an_entry_with_two_is_meant(tmp_path: Path) -> None:
    entry = f'"directory": "{tmp_path}", "file": "a.cu", "file": "b.cu", "command": "nvcc -c a.cu"'
    path = tmp_path / "compile_commands.json"
    path.write_text(f"[{{{entry}}}]")
    found = [source for source, _ in read_database(str(path)).unclear]
    assert sorted(found) == [str(tmp_path / "a.cu"), str(tmp_path / "b.cu")]


LISTED = r"-D__CUDA_ARCH_LIST__=800\,900"


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("-gencode arch=compute_90,code=sm_90 -gencode arch=compute_80,code=sm_80", (LISTED,)),
        ("-gencode arch=compute_80,code=[sm_80,sm_86]", ()),
        ("-gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90,code=compute_90", ()),
        ("-arch=sm_90", ()),
    ],
)
def test_nvcc_gets_the_architectures_that_a_build_lists(line: str, passed: tuple[str, ...]) -> None:
    assert nvcc_args(line) == passed


@pytest.mark.parametrize(
    ("build", "asked", "passed", "is_one"),
    [
        ((), (), (), False),
        (("sm_80",), (), (), False),
        (("sm_80",), ("sm_90",), (), False),
        (("all-major",), (), (), True),
        (("all-major",), ("sm_90",), (), False),
        ((), ("sm_80", "sm_90"), (LISTED,), False),
        (("sm_80",), ("sm_90", "sm_80"), (LISTED,), False),
    ],
)
def test_units_have_the_list_of_what_was_asked_for(
    build: tuple[str, ...],
    asked: tuple[str, ...],
    passed: tuple[str, ...],
    is_one: bool,
    tmp_path: Path,
) -> None:
    (tmp_path / "k.cu").write_text(PLAIN)
    found = Found("k.cu", str(tmp_path / "k.cu"), CompileOptions(), build)
    units, _ = make_units([found], asked or ("sm_90",), Settings(archs=asked))
    assert {(unit.options.nvcc_args, unit.one_of_archs) for unit in units} == {(passed, is_one)}


@pytest.mark.parametrize(
    ("name", "asked"),
    [("__CUDA_ARCH_LIST__", True), ("CAT(__CUDA_ARCH_, LIST__)", True), ("MY_LIST", False)],
)
def test_nvcc_decides_where_a_text_names_a_list_of_several(
    name: str, asked: bool, tmp_path: Path
) -> None:
    (tmp_path / "k.cu").write_text(f"__constant__ int archs[] = {{{name}}};\n")
    path = str(tmp_path / "k.cu")
    assert (closure(path, CompileOptions(nvcc_args=(LISTED,))).asked is not None) == asked
    assert closure(path, CompileOptions()).asked is None
