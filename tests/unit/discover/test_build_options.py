"""Options of a build: what could run a program, load a library or write a file is not passed on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lmemscope.discover.build_flags import BuildFlags, read_flags
from lmemscope.discover.plan import combined
from lmemscope.errors import InputError
from lmemscope.model import CompileOptions

BASE = "/project/build"


def passed_on(found: BuildFlags) -> tuple[str, ...]:
    options = found.options
    return (
        *options.include_dirs,
        *options.defines,
        *options.nvrtc_args,
        *options.nvcc_args,
        *options.ptxas_args,
    )


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("-ccbin=/tmp/evil", "-ccbin=/tmp/evil"),
        ("-ccbin tools/g++", "-ccbin=tools/g++"),
        ("--compiler-bindir=g++-12", "-compiler-bindir=g++-12"),
        ("-Xcompiler -fplugin=evil.so", "-Xcompiler -fplugin=evil.so"),
        ("-Xcompiler=-wrapper,evil", "-Xcompiler -wrapper evil"),
        ("-Xcompiler -wrapper -Xcompiler evil", "-Xcompiler -wrapper evil"),
        ("-Xcompiler=-Bdir", "-Xcompiler -Bdir"),
        ("-Xcompiler -specs=evil.specs", "-Xcompiler -specs=evil.specs"),
        ("-Xcompiler @evil.rsp", "-Xcompiler @evil.rsp"),
        ("-Xcompiler -fmodule-mapper=|evil", "-Xcompiler -fmodule-mapper=|evil"),
        ("-fplugin=evil.so", "-Xcompiler -fplugin=evil.so"),
        ("-Xclang -load -Xclang evil.so", "-Xcompiler -Xclang -load"),
        ("-mllvm -load=evil.so", "-Xcompiler -mllvm -load=evil.so"),
        ("-Xptxas -o,evil", "-Xptxas -o evil"),
        ("-Xptxas --output-file=evil", "-Xptxas --output-file=evil"),
        ("-Xptxas -optf,evil", "-Xptxas -optf evil"),
        ("-Xptxas @evil", "-Xptxas @evil"),
        ("-ldir /tmp", "-ldir=/tmp"),
        ("-Xcicc -load=evil.so", "-Xcicc=-load=evil.so"),
        ("-run", "-run"),
        ("--ftz=$(evil)", "-ftz=$(evil)"),
        ("-DX=$(evil)", "-D=X=$(evil)"),
        ("-DX=`evil`", "-D=X=`evil`"),
        ('-DX=a\\\\";evil;"', '-D=X=a\\\\";evil;"'),
        ("-I/tmp/$(evil)", "-I=/tmp/$(evil)"),
        ('-I/tmp/";evil;"', '-I=/tmp/";evil;"'),
        ("-include=`evil`.h", "-include=`evil`.h"),
        ("-Xcompiler=-DX=$(evil)", "-D=X=$(evil)"),
    ],
)
def test_refused_and_named(line: str, named: str) -> None:
    found = read_flags(line.split(" "), BASE)
    assert named in found.refused
    assert not any("evil" in word for word in passed_on(found)), passed_on(found)
    assert passed_on(found) == ()


@pytest.mark.parametrize(
    "line",
    [
        "-o out.o --output-file=out.o -odir out -MD -MF d -MT t",
        "--keep --keep-dir out -save-temps -dryrun -time out.csv --fdevice-time-trace=out",
        "-Xnvlink -o,out -Xlinker -rpath -Xarchive x -Xfatbin -compress-all -lfoo -L/x",
        "-Xcompiler -o,out -Xcompiler -MF,out -Xcompiler -save-temps -Xcompiler=-Wl,-rpath,/x",
        "-Xcompiler -fdump-tree-all,-fprofile-use=x,-g -Xcompiler=-flto -Wall -fno-common",
        "-Xptxas -v,-warn-spills,--suppress-stack-size-warning,-arch,sm_90",
    ],
)
def test_what_only_writes_or_warns_is_dropped_silently(line: str) -> None:
    found = read_flags(line.split(), BASE)
    assert (found.refused, found.unknown, passed_on(found)) == ((), (), ())


def test_what_is_in_no_list_is_named_and_never_passed() -> None:
    line = "--made-up --new=1 -zap -Xcompiler --odd -Xptxas --fresh,-zip=2"
    found = read_flags(line.split(), BASE)
    assert found.unknown == (
        "--made-up",
        "--new=1",
        "-zap",
        "--odd",
        "-Xptxas --fresh",
        "-Xptxas -zip=2",
    )
    assert passed_on(found) == ()


@pytest.mark.parametrize("digits", [5, 5000])
def test_a_number_that_no_architecture_has_is_none(digits: int) -> None:
    code = f"arch=compute_90,code=[sm_90,sm_{'1' * digits}]"
    assert read_flags(["-gencode", code], "/").archs == ("sm_90",)


def test_optimising_while_linking_is_told_apart() -> None:
    assert read_flags(["-dlto"], BASE).linked == ("-dlto",)


def test_trust_takes_what_is_refused_otherwise() -> None:
    line = "-ccbin ../tools/g++ -Xcompiler -fplugin=x.so,-B/opt/bin -ccbin=g++-12"
    found = read_flags(line.split(), BASE, trust=True)
    assert found.refused == ()
    assert found.options.nvcc_args == (
        "-ccbin=/project/tools/g++",
        "-ccbin=g++-12",
        "-Xcompiler=-fplugin=x.so",
        "-Xcompiler=-B/opt/bin",
    )
    assert read_flags(["-ccbin=$(evil)"], BASE, trust=True).refused == ("-ccbin=$(evil)",)


def test_headers_of_the_builds_own_toolkit_come_last(tmp_path: Path) -> None:
    (tmp_path / "cuda" / "cccl").mkdir(parents=True)
    (tmp_path / "cuda" / "cuda_runtime.h").touch()
    (tmp_path / "late").mkdir()
    line = "-isystem=cuda -isystem late -I cuda/cccl -I own"
    found = read_flags(line.split(), str(tmp_path)).options
    assert found.include_dirs == (f"{tmp_path}/own", f"{tmp_path}/late")
    assert found.nvcc_args == (f"-isystem={tmp_path}/cuda/cccl", f"-isystem={tmp_path}/cuda")
    assert found.nvrtc_args == (f"-I{tmp_path}/cuda/cccl", f"-I{tmp_path}/cuda")


def test_directories_with_blanks_commas_and_letters_of_any_script(tmp_path: Path) -> None:
    for name in ("a b", "c,d", "größe", "e'f"):
        (tmp_path / name).mkdir()
    words = ["-Ia b", "-I", "c,d", "-isystem=größe", "-Ie'f", "-Ix,y"]
    found = read_flags(words, str(tmp_path)).options
    names = [os.path.relpath(path, tmp_path) for path in found.include_dirs]
    assert names == ["a b", "c,d", "e'f", "x", "y", "größe"]


def test_a_forced_header_is_looked_for_where_the_compiler_does(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "config.h").touch()
    found = read_flags(["-include", "config.h", "-Iinc"], str(tmp_path)).options
    assert found.nvcc_args == (f"-include={tmp_path}/inc/config.h",)


class TestResponseFiles:
    def test_each_word_goes_through_the_same_list(self, tmp_path: Path) -> None:
        (tmp_path / "a.rsp").write_text('-I"with space" --options-file b.rsp -ccbin=evil\n-DA')
        (tmp_path / "b.rsp").write_text("-Xcompiler -fplugin=evil.so -DB")
        found = read_flags(["--options-file", "a.rsp", "-DC"], str(tmp_path))
        assert found.options.defines == ("B", "A", "C")
        assert found.options.include_dirs == (f"{tmp_path}/with space",)
        assert found.refused == ("-ccbin=evil", "-Xcompiler -fplugin=evil.so")

    def test_several_files_keep_their_order(self, tmp_path: Path) -> None:
        for name in "ab":
            (tmp_path / f"{name}.rsp").write_text(f"-D{name}")
        assert read_flags(["-optf=a.rsp,b.rsp"], str(tmp_path)).options.defines == ("a", "b")

    def test_one_that_names_itself_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "a.rsp").write_text("@b.rsp")
        (tmp_path / "b.rsp").write_text("@a.rsp")
        with pytest.raises(InputError, match="names itself"):
            read_flags(["@a.rsp"], str(tmp_path))

    def test_a_chain_of_many_is_an_error(self, tmp_path: Path) -> None:
        for number in range(12):
            (tmp_path / f"{number}.rsp").write_text(f"@{number + 1}.rsp")
        with pytest.raises(InputError, match="deep"):
            read_flags(["@0.rsp"], str(tmp_path))

    def test_only_regular_files_of_some_size_are_read(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with (tmp_path / "huge").open("wb") as stream:
            stream.truncate(5 << 20)
        for name, why in (("pipe", "no regular file"), ("huge", "larger"), (".", "no regular")):
            with pytest.raises(InputError, match=why):
                read_flags([f"@{name}"], str(tmp_path))
        with pytest.raises(InputError, match="no regular file"):
            read_flags(["@/dev/zero"], str(tmp_path))


RELOCATABLE = (None, ("--relocatable-device-code=true",), ("-c",))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("-rdc=true", RELOCATABLE),
        ("-rdc true", RELOCATABLE),
        ("--relocatable-device-code=true", RELOCATABLE),
        ("-dc", RELOCATABLE),
        ("-rdc=false", (None, (), ())),
        ("-maxrregcount=24", (24, (), ())),
        ("--maxrregcount 24", (24, (), ())),
        ("-Xptxas -O1,-dlcm=cg", (None, (), ("-O1", "-dlcm=cg"))),
        ("-Xptxas=-O1", (None, (), ("-O1",))),
        ("--ptxas-options=-maxrregcount=24", (None, (), ("-maxrregcount=24",))),
        ("-Xptxas --not-yet-known", (None, (), ("--not-yet-known",))),
        ("-fmad=false -DX=1 -I/i", (None, ("-DX=1", "-I/i", "--fmad=false"), ())),
        ("-std=c++20 -use_fast_math", (None, ("--std=c++20", "--use_fast_math"), ())),
        ("--expt-relaxed-constexpr", (None, (), ())),
    ],
)
def test_what_the_user_tells_nvcc_reaches_ptxas_and_nvrtc(
    line: str, told: tuple[int | None, tuple[str, ...], tuple[str, ...]]
) -> None:
    words = tuple(line.split())
    build = CompileOptions(nvrtc_args=("--b",), nvcc_args=("-b",), ptxas_args=("-b",))
    own = CompileOptions(nvcc_args=words, nvrtc_args=("--own",), ptxas_args=("-own",))
    registers, nvrtc, ptxas = told
    assert combined(build, own) == CompileOptions(
        maxrregcount=registers,
        nvrtc_args=("--b", *nvrtc, "--own"),
        nvcc_args=("-b", *words),
        ptxas_args=("-b", *ptxas, "-own"),
    )
    assert combined(None, own).ptxas_args == (*ptxas, "-own")


def test_the_cap_of_an_option_of_ours_holds_over_one_among_nvccs_arguments() -> None:
    own = CompileOptions(maxrregcount=64, nvcc_args=("-maxrregcount=24",))
    assert combined(CompileOptions(maxrregcount=32), own).maxrregcount == 64
    own = CompileOptions(nvcc_args=("-maxrregcount=24",))
    assert combined(CompileOptions(maxrregcount=32), own).maxrregcount == 24
