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
from lmemscope.sources.unlike import asked_of_nvcc

PLAIN = "#ifdef __CUDA_ARCH__\n__global__ void k(float *o) { o[0] = 1; }\n#endif\n"


def _asked(path: str, options: CompileOptions) -> str | None:
    return asked_of_nvcc(closure(path, options), options)


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
    assert _asked(str(tmp_path / "k.cu"), options) is None


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
    assert _asked(str(tmp_path / "k.cu"), CompileOptions(nvcc_args=words)) is not None


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
        ("nvcc -Xcompiler -mnew-thing", "__NEW_THING__"),
        ("nvcc -Xcompiler -mnew-thing", "__EXCEPTIONS"),
        ("clang++ -x cuda -std=gnu++17", "linux"),
        ("nvcc --sysroot=x", "__GLIBC__"),
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


@pytest.mark.parametrize(
    "command",
    [
        "nvcc -Xcompiler -fnew-thing",
        "nvcc -forward-unknown-to-host-compiler -iprefix x",
        "nvcc -Xcompiler --include-directory-after=x",
        "nvcc -Xcompiler -specs=x",
        "nvcc -Xcompiler -fplugin=x.so",
        "nvcc -Xcompiler -finput-charset=x",
        "nvcc -Xcompiler -remap",
        "nvcc -Xcompiler /DBIG",
        "nvcc --odd",
        "clang++ -x cuda --config=x",
        "clang++ -x cuda -ivfsoverlay x",
        "clang++ -x cuda -Xarch_device -DBIG",
        "X=1 nvcc",
        "PATH=/x nvcc",
        "env INCLUDES=-Ix nvcc",
        "env -C elsewhere nvcc",
        "ccache compiler=clang++ nvcc",
        "CCACHE_COMPILER=clang++ ccache nvcc",
    ],
)
def test_what_is_in_no_list_may_do_anything(command: str, tmp_path: Path) -> None:
    found = database(tmp_path, PLAIN, f"{command} -c k.cu").unclear
    assert [source for source, _ in found] == [str(tmp_path / "k.cu")]


@pytest.mark.parametrize(
    "command",
    [
        "nvcc -O3 -DNDEBUG -std=c++17 -Xcompiler=-fPIC -Xcompiler -Wall,-Wextra,-Wno-unused",
        "nvcc -forward-unknown-to-host-compiler -g -O2 -fvisibility=hidden -march=native -x cu",
        "nvcc -Xcompiler -fno-strict-aliasing,-ffunction-sections,-fdiagnostics-color=always",
        "nvcc -Xcompiler=-std=c++17 -Xcompiler -flto=auto,-fno-plt,-mssse3,-fstack-protector",
        "nvcc --generate-code=arch=compute_80,code=[compute_80,sm_80] -Xcudafe --display_error",
        "nvcc -Xptxas -v --expt-relaxed-constexpr -lineinfo -diag-suppress=20012 --threads 0",
        "nvcc -isystem /opt/x/include -Xcompiler -iquote,. -Werror all-warnings -MD -MT x -MF y",
        "env CCACHE_DIR=/c TERM=dumb ccache nvcc -Xcompiler -fno-math-errno,-fopenmp -pthread",
        "clang++ --cuda-gpu-arch=sm_80 --cuda-path=/usr/local/cuda -xcuda -fcolor-diagnostics",
    ],
)
def test_what_everybody_uses_is_no_doubt(command: str, tmp_path: Path) -> None:
    assert database(tmp_path, PLAIN, f"{command} -c k.cu").unclear == ()


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("NVCC_CCBIN=clang++ nvcc", True),
        ("env NVCC_CCBIN=/opt/llvm/bin/clang++ nvcc", True),
        ("NVCC_CCBIN=g++ nvcc", False),
        ("NVCC_PREPEND_FLAGS='-ccbin clang++' nvcc", True),
    ],
)
def test_variables_of_nvcc_count_as_its_options(command: str, asked: bool, tmp_path: Path) -> None:
    found = database(tmp_path, asking("__clang__"), f"{command} -c k.cu").unclear
    assert bool(found) == asked
    assert database(tmp_path, PLAIN, f"{command} -c k.cu").unclear == ()


@pytest.mark.parametrize(
    ("line", "order"),
    [
        ("-Xcompiler -Ia -I b", "a b"),
        ("-I b -Xcompiler -isystem,a -isystem c", "b a c"),
        ("-isystem b -I a -isystem a", "b a"),
        ("-I a -I b -Xcompiler -isystem,a", "b a"),
        ("-I /usr/include -I a", "a /usr/include"),
        ("-Xcompiler -idirafter,a -I b -isystem c", "b c a"),
        ("-I b -Xcompiler -iquote,a", "a b"),
    ],
)
def test_directories_are_searched_in_gccs_order(line: str, order: str) -> None:
    found = read_flags(line.split(), "/b").options.include_dirs
    assert [path.removeprefix("/b/") for path in found] == order.split()


def test_a_link_to_a_directory_of_isystem_is_one(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "l").symlink_to("a")
    found = read_flags("-I l -I b -isystem a".split(), str(tmp_path)).options.include_dirs
    assert [Path(path).name for path in found] == ["b", "a"]


@pytest.mark.parametrize(
    ("option", "include", "is_unclear"),
    [
        ("-iquote,a", "<c.h>", True),
        ("-iquote,a", '"c.h"', False),
        ("-iquote,a", "<stdio.h>", False),
        ("-iquote,b", "<c.h>", False),
        ("-idirafter,a", "<c.h>", False),
        ("-idirafter,a", "<only_a.h>", True),
    ],
)
def test_directories_for_some_headers_alone_are_a_doubt_where_it_matters(
    option: str, include: str, is_unclear: bool, tmp_path: Path
) -> None:
    for name in ("a/c.h", "b/c.h", "a/only_a.h"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    text = f"#include {include}\n{PLAIN}"
    command = f"nvcc -Xcompiler {option} -I b -c k.cu"
    assert bool(database(tmp_path, text, command).unclear) == is_unclear


@pytest.mark.parametrize(
    ("line", "std", "passed"),
    [
        ("-Xcompiler -std=gnu++17", None, True),
        ("-std=c++17 -Xcompiler -std=gnu++17", "c++17", True),
        ("-std=c++17 -Xcompiler -std=c++17", "c++17", False),
        ("-std=gnu++17", "c++17", True),
    ],
)
def test_the_hosts_dialect_is_the_hosts(line: str, std: str | None, passed: bool) -> None:
    found = read_flags(line.split(), "/b").options
    assert (found.std, bool(found.nvcc_args)) == (std, passed)


@pytest.mark.parametrize(
    ("std", "host", "text", "is_asked"),
    [
        (None, "c++17", PLAIN, False),
        (None, "gnu++1z", PLAIN, False),
        ("c++17", "gnu++17", asking("linux"), True),
        ("c++17", "gnu++17", asking("__STRICT_ANSI__"), True),
        ("c++17", "gnu++20", PLAIN, True),
        (None, "c++14", PLAIN, True),
        ("c++20", "gnu++2a", PLAIN, False),
    ],
)
def test_nvcc_decides_what_another_dialect_of_the_host_changes(
    std: str | None, host: str, text: str, is_asked: bool, tmp_path: Path
) -> None:
    (tmp_path / "k.cu").write_text(text)
    options = CompileOptions(std=std, nvcc_args=(f"-Xcompiler=-std={host}",))
    assert (_asked(str(tmp_path / "k.cu"), options) is not None) == is_asked


def test_a_header_that_may_be_there_depends_on_the_compiler(tmp_path: Path) -> None:
    text = "#if __has_include(<a.h>)\n#endif\n__global__ void k() {}\n"
    assert database(tmp_path, text, "nvcc --sysroot=x -c k.cu").unclear
    assert not database(tmp_path, text, "nvcc -c k.cu").unclear


@pytest.mark.parametrize("name", ["__clang__", "_MSC_VER", "__CUDACC_VER_MAJOR__", "__NVCC__"])
def test_gcc_under_nvcc_defines_no_other_compilers_names(name: str, tmp_path: Path) -> None:
    text = asking(name)
    assert database(tmp_path, text, "nvcc -Xcompiler -mnew-thing -c k.cu").unclear == ()
    assert database(tmp_path, text, "nvcc -ccbin /no/such/g++ -c k.cu").unclear == ()


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
        ("-gencode arch=compute_80,code=[sm_80,sm_86]", ("-arch=compute_80",)),
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
    assert (_asked(path, CompileOptions(nvcc_args=(LISTED,))) is not None) == asked
    assert _asked(path, CompileOptions()) is None
