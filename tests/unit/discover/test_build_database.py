"""Build databases: flags of nvcc and clang in their spellings, and what becomes of entries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmemscope.config.settings import Settings
from lmemscope.discover.build_database import read_database
from lmemscope.discover.build_doubts import may_define
from lmemscope.discover.build_flags import read_flags
from lmemscope.discover.plan import make_units
from lmemscope.discover.walk import Globs, discover
from lmemscope.errors import InputError
from lmemscope.model import CompileOptions
from tests.support.program import run_program

BASE = "/project/build"


def options(*words: str) -> Any:
    found = read_flags(words, BASE)
    assert found.unknown == ()
    assert found.refused == ()
    return found.options


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["-Iinclude"], "include_dirs", (f"{BASE}/include",)),
        (["-I", "../include"], "include_dirs", ("/project/include",)),
        (["--include-path=/opt/x"], "include_dirs", ("/opt/x",)),
        (["-isystem", "/opt/x"], "include_dirs", ("/opt/x",)),
        (["-isystem=/opt/x"], "include_dirs", ("/opt/x",)),
        (["-isystem/opt/x"], "include_dirs", ("/opt/x",)),
        (["-DN=4", "-D", "M", "--define-macro=K=1"], "defines", ("N=4", "M", "K=1")),
        (["-std=c++17"], "std", "c++17"),
        (["--std", "gnu++20"], "std", "c++20"),
        (["--maxrregcount=32"], "maxrregcount", 32),
        (["-maxrregcount", "40"], "maxrregcount", 40),
        (["--use_fast_math"], "use_fast_math", True),
        (["-ffast-math"], "use_fast_math", True),
        (["-Xptxas", "-v,-O2"], "ptxas_args", ("-O2",)),
        (["--ptxas-options=-dlcm=ca"], "ptxas_args", ("-dlcm=ca",)),
        (["-Xcuda-ptxas", "--opt-level=1"], "ptxas_args", ("--opt-level=1",)),
        (["-include", "pre.h"], "nvrtc_args", (f"--pre-include={BASE}/pre.h",)),
        (["-include", "pre.h"], "nvcc_args", (f"-include={BASE}/pre.h",)),
        (["-UDEBUG"], "nvrtc_args", ("-UDEBUG",)),
        (["-U", "DEBUG"], "nvcc_args", ("-UDEBUG",)),
        # As nvcc: in order, its host compiler's words first.
        (["-UN", "-DN=1"], "defines", ("N=1",)),
        (["-UN", "-DN=1"], "nvcc_args", ()),
        (["-DN=1", "-UN", "-DN=2"], "defines", ("N=2",)),
        (["-DN=1", "-DN=2", "-DN=1"], "defines", ("N=1",)),
        (["-DN(x)=1", "-UN"], "defines", ()),
        (["-DN", "-UN"], "nvrtc_args", ("-UN",)),
        (["-DN=1", "-Xcompiler=-DN=2"], "defines", ("N=1",)),
        (["-UN", "-Xcompiler=-DN"], "nvcc_args", ("-UN",)),
        (["--expt-relaxed-constexpr"], "nvcc_args", ("--expt-relaxed-constexpr",)),
        (["-expt-extended-lambda"], "nvcc_args", ("-expt-extended-lambda",)),
        (["-ftz=true"], "nvrtc_args", ("--ftz=true",)),
        (["-Xcompiler=-fopenmp"], "nvcc_args", ("-Xcompiler=-fopenmp",)),
        (["--compiler-options", "-O2,-DHOST=1"], "defines", ("HOST=1",)),
        (["-Xcompiler", "-Wall -I../inc -fno-rtti"], "include_dirs", ("/project/inc",)),
        (["-Xcompiler", "-isystem,/opt/y"], "include_dirs", ("/opt/y",)),
        (["-Xcompiler=-std=gnu++20"], "std", None),
        (["-Xcompiler=-std=gnu++20"], "nvcc_args", ("-Xcompiler=-std=gnu++20",)),
        (["-std=c++17", "-Xcompiler=-std=c++17"], "nvcc_args", ()),
        (["-std=c++17", "-Xcompiler=-std=gnu++20"], "std", "c++17"),
        (["-march=native"], "nvcc_args", ("-Xcompiler=-march=native",)),
        (["-Wp,-DWP=2,-MD,deps.d"], "defines", ("WP=2",)),
        (["--Ofast-compile=min"], "nvrtc_args", ("--Ofast-compile=min",)),
        (["-ewp"], "nvrtc_args", ("--extensible-whole-program",)),
        (["-Xptxas", "-dlcm", "-Xptxas", "ca"], "ptxas_args", ("-dlcm=ca",)),
        (
            ["-Xptxas=-O1,--register-usage-level=5"],
            "ptxas_args",
            ("-O1", "--register-usage-level=5"),
        ),
        (["-rdc=true"], "ptxas_args", ("-c",)),
        (["-dc"], "nvcc_args", ("-rdc=true",)),
        (["-fgpu-rdc"], "nvrtc_args", ("--relocatable-device-code=true",)),
    ],
)
def test_translated(words: list[str], field: str, value: object) -> None:
    assert getattr(options(*words), field) == value


@pytest.mark.parametrize(
    ("words", "archs"),
    [
        (["-gencode", "arch=compute_80,code=sm_80"], ("sm_80",)),
        (["-gencode=arch=compute_80,code=[sm_80,compute_80]"], ("sm_80",)),
        (["--generate-code=arch=compute_90a,code=[compute_90a,sm_90a]"], ("sm_90a",)),
        (["-gencode", "arch=compute_75,code=compute_75"], ("sm_75",)),
        (
            [
                *("-gencode", "arch=compute_80,code=sm_80"),
                *("-gencode", "arch=compute_90,code=sm_90", "-gencode"),
                "arch=compute_90,code=compute_90",
            ],
            ("sm_80", "sm_90"),
        ),
        (["-arch=sm_89"], ("sm_89",)),
        (["--gpu-architecture", "compute_86", "--gpu-code=sm_86,sm_89"], ("sm_86", "sm_89")),
        (["--cuda-gpu-arch=sm_80", "--cuda-gpu-arch=sm_90"], ("sm_80", "sm_90")),
        (["--offload-arch=sm_90"], ("sm_90",)),
        (["-arch=all-major"], ("all-major",)),
        ([], ()),
    ],
)
def test_architectures(words: list[str], archs: tuple[str, ...]) -> None:
    assert read_flags(words, BASE).archs == archs


@pytest.mark.parametrize(
    ("line", "virtual", "unknown"),
    [
        ("-gencode arch=compute_80,code=sm_90", "-arch=compute_80", ()),
        ("-arch=compute_80 -code=sm_86,sm_80", "-arch=compute_80", ()),
        ("-gencode arch=compute_80,code=[sm_90,compute_80]", "-arch=compute_80", ()),
        ("-gencode arch=compute_80,code=[sm_80,compute_80]", None, ()),
        ("-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90", None, ()),
        (
            "-gencode arch=compute_80,code=sm_86 -gencode arch=compute_90,code=sm_90",
            None,
            ("compute_80 for sm_86",),
        ),
    ],
)
def test_code_that_is_made_from_an_earlier_virtual_architecture(
    line: str, virtual: str | None, unknown: tuple[str, ...]
) -> None:
    flags = read_flags(line.split(), BASE)
    named = [word for word in flags.options.nvcc_args if word.startswith("-arch")]
    assert (named, flags.unknown) == ([virtual] if virtual else [], unknown)
    assert may_define(flags.unknown, ()) == unknown


def test_what_does_not_matter_is_dropped_with_its_values() -> None:
    line = (
        "-forward-unknown-to-host-compiler -O3 -g -lineinfo -MD -MT k.o -MF k.o.d -x cu -c k.cu "
        "-o k.o -Wall -Wno-deprecated-gpu-targets -Xcudafe --diag_suppress=20012 -t 4 --threads=2 "
        "-fPIC -pthread -m64 -Xlinker -rpath -L/x -lfoo -cudart static -Werror all-warnings -w"
    )
    found = read_flags(line.split(), BASE)
    assert found.unknown == ()
    host = ("-Xcompiler=-O3", "-Xcompiler=-fPIC", "-Xcompiler=-pthread")
    assert found.options == CompileOptions(nvcc_args=host)
    assert found.inputs == (f"{BASE}/k.cu",)
    assert found.language == "cu"


def test_what_is_not_known_is_reported() -> None:
    assert read_flags(["--made-up", "-DN", "-zap=3"], BASE).unknown == ("--made-up", "-zap=3")


def test_response_files(tmp_path: Path) -> None:
    (tmp_path / "a.rsp").write_text('-DA="x y"\n-I sub\n')
    (tmp_path / "b.rsp").write_text("-DB @c.rsp")
    (tmp_path / "c.rsp").write_text("-DC")
    words = ["--options-file", "a.rsp", "@b.rsp", "-DD"]
    found = read_flags(words, str(tmp_path)).options
    assert found.defines == ("A=x y", "B", "C", "D")
    assert found.include_dirs == (str(tmp_path / "sub"),)
    with pytest.raises(InputError, match=r"no\.rsp cannot be read"):
        read_flags(["@no.rsp"], str(tmp_path))


KERNEL = """#include "size.h"
__global__ void count(const int *at, float *out) {
  float bins[SIZE] = {};
  for (int i = 0; i < 999; ++i) bins[at[i]] += 1;
  for (int i = 0; i < SIZE; ++i) out[i] = bins[i];
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project as CMake leaves it: sources, headers, and a database in build/."""
    for name in ("src", "include", "build/CMakeFiles/3.30/CompilerIdCUDA", "third_party"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "src" / "count.cu").write_text(KERNEL)
    (tmp_path / "src" / "loose.cu").write_text("__global__ void loose(int *p) { *p = 1; }\n")
    (tmp_path / "third_party" / "other.cu").write_text("__global__ void other() {}\n")
    (tmp_path / "build/CMakeFiles/3.30/CompilerIdCUDA/id.cu").write_text("#error id\n")
    (tmp_path / "include" / "size.h").write_text("#ifndef SIZE\n#define SIZE 32\n#endif\n")
    (tmp_path / "build" / "flags.rsp").write_text(f"-I{tmp_path}/include")
    return tmp_path


def write(project: Path, *entries: dict[str, Any]) -> None:
    (project / "build" / "compile_commands.json").write_text(json.dumps(entries))


def entry(project: Path, flags: str = "", **more: Any) -> dict[str, Any]:
    command = (
        f"/usr/bin/ccache /opt/no-cuda/bin/nvcc --options-file flags.rsp {flags} "
        "-x cu -c ../src/count.cu -o count.o"
    )
    return {
        "directory": str(project / "build"),
        "command": command,
        "file": "../src/count.cu",
        "output": "count.o",
        **more,
    }


def test_relative_directories_and_launchers(project: Path) -> None:
    write(project, entry(project, "-DSIZE=40 -arch=sm_80"))
    (found,) = read_database(str(project / "build" / "compile_commands.json")).entries
    assert found.path == str(project / "src" / "count.cu")
    assert found.flags.options.include_dirs == (str(project / "include"),)
    assert found.flags.options.defines == ("SIZE=40",)
    assert found.flags.inputs == (found.path,)


def test_equal_entries_are_one_and_others_stay(project: Path) -> None:
    write(
        project,
        entry(project, "-O3"),
        entry(project, "-O0 -g"),
        entry(project, "-DSIZE=64", output="big.o"),
        {"directory": str(project), "command": "g++ -c main.cpp", "file": "main.cpp"},
        {"directory": str(project), "arguments": ["clang++", "-x", "cuda", "k.cc"], "file": "k.cc"},
    )
    found = read_database(str(project / "build" / "compile_commands.json")).entries
    assert [Path(e.path).name for e in found] == ["count.cu", "count.cu", "k.cc"]
    assert [e.output for e in found] == ["count.o", "big.o", ""]


def test_broken_entries_lose_nothing_else(project: Path) -> None:
    write(project, {"file": "x.cu"}, entry(project, "@missing.rsp"), entry(project))
    database = read_database(str(project / "build" / "compile_commands.json"))
    assert len(database.entries) == 1
    assert [text.partition(":")[0] for text in database.notes] == ["entry 1", "entry 2"]
    assert "missing.rsp" in database.notes[1]


@pytest.mark.parametrize("text", ["", "{}", "[1"])
def test_what_is_no_database(tmp_path: Path, text: str) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"compile_commands\.json"):
        read_database(str(path))


def test_a_file_named_twice_is_one_input(project: Path) -> None:
    named = str(project / "src" / "loose.cu")
    found = discover([str(project), named], Globs(str(project)))
    (loose,) = (f for f in found.inputs if f.path == named)
    assert not loose.walked
    first = discover([named, str(project)], Globs(str(project))).inputs
    assert [f.path for f in first].count(named) == 1


def test_globs(project: Path) -> None:
    everything = discover([str(project)], Globs(str(project)))
    assert [Path(f.file).name for f in everything.inputs] == ["count.cu", "loose.cu", "other.cu"]
    without = discover([str(project)], Globs(str(project), exclude=("third_party/*",)))
    assert [Path(f.file).name for f in without.inputs] == ["count.cu", "loose.cu"]
    only = discover([str(project)], Globs(str(project), include=("src/c*",)))
    assert [Path(f.file).name for f in only.inputs] == ["count.cu"]


def test_architectures_the_toolkit_has_not_are_noted(project: Path) -> None:
    flags = "-gencode arch=compute_52,code=sm_52 -gencode arch=compute_90,code=sm_90"
    write(project, entry(project, flags))
    found = discover([str(project / "third_party")], Globs("/"))
    assert found.inputs[0].archs == (), "the database names nothing in there"
    found = discover([str(project)], Globs("/", include=("*count.cu",)))
    units, notes = make_units(found.inputs, ("sm_80",), Settings(), ("sm_80", "sm_90"))
    assert [unit.arch for unit in units] == ["sm_90"]
    assert notes == (
        "sm_52, which the build asks for, is not supported by this toolkit and left out",
    )
    asked, _ = make_units(found.inputs, ("sm_80",), Settings(archs=("sm_80",)), None)
    assert [unit.arch for unit in asked] == ["sm_80"], "flags win"


@pytest.mark.toolchain
class TestCommand:
    def test_a_directory_is_compiled_as_its_build_says(self, project: Path) -> None:
        flags = "-DSIZE=40 -gencode arch=compute_80,code=sm_80 --made-up"
        write(project, entry(project, flags))
        done = run_program("scan", ".", "--format", "json", cwd=project)
        assert done.code == 0, done.err
        units = {unit["input"]: unit for unit in done.document["units"]}
        assert sorted(units) == ["src/count.cu", "src/loose.cu", "third_party/other.cu"]
        assert units["src/count.cu"]["arch"] == "sm_80"
        assert units["src/count.cu"]["kernels"][0]["stack_frame"] == 160
        (note,) = [one for one in done.document["notes"] if "options" in one]
        assert note.endswith("options not understood and left out: --made-up")

    def test_a_database_is_an_input(self, project: Path) -> None:
        write(
            project,
            entry(project),
            entry(project, "-DSIZE=64", output="big.o"),
            entry(project, file="../src/gone.cu"),
        )
        done = run_program("scan", "build/compile_commands.json", "--format", "json", cwd=project)
        assert done.code == 3
        units = {unit["input"]: unit for unit in done.document["units"]}
        assert "does not exist" in units["src/gone.cu"]["failure"]["message"]
        assert units["src/count.cu"]["kernels"][0]["stack_frame"] == 128
        assert units["src/count.cu[big.o]"]["kernels"][0]["stack_frame"] == 256

    def test_globs_of_the_configuration(self, project: Path) -> None:
        (project / "lmemscope.toml").write_text('exclude = ["third_party/*"]\n')
        write(project, entry(project))
        done = run_program("scan", ".", "--format", "json", cwd=project)
        assert [u["input"] for u in done.document["units"]] == ["src/count.cu", "src/loose.cu"]


@pytest.mark.toolchain
class TestHeaders:
    def test_a_headers_templates_are_those_that_other_files_launch(self, tmp_path: Path) -> None:
        (tmp_path / "keep.cuh").write_text(
            "namespace k {\ntemplate <int N, typename T>\n"
            "__global__ void keep(const int *at, T *out) {\n"
            "  T a[N] = {};\n  for (int i = 0; i < 999; ++i) a[at[i]] += 1;\n"
            "  for (int i = 0; i < N; ++i) out[i] = a[i];\n}\n}\n"
        )
        (tmp_path / "use.cu").write_text(
            '#include "keep.cuh"\nint main() { k::keep<48, float><<<1, 1>>>(nullptr, nullptr); }\n'
        )
        done = run_program("scan", "keep.cuh", "use.cu", "--format", "json", cwd=tmp_path)
        frames = {
            unit["input"]: [kernel["stack_frame"] for kernel in unit["kernels"]]
            for unit in done.document["units"]
        }
        assert frames == {"keep.cuh": [192], "use.cu": [192]}
        alone = run_program("scan", "keep.cuh", cwd=tmp_path)
        assert alone.code == 3
        assert "nothing instantiates" in alone.out + alone.err

    def test_instances_from_the_configuration(self, tmp_path: Path) -> None:
        (tmp_path / "lmemscope.toml").write_text('instantiate = ["twice<int>"]\n')
        (tmp_path / "t.cuh").write_text(
            "template <typename T> __global__ void twice(T *p) { *p *= 2; }\n"
        )
        done = run_program("scan", "t.cuh", "--format", "json", cwd=tmp_path)
        assert done.kernel("twice<int>")["stack_frame"] == 0


UNCLEAR = (
    ("sh -c 'nvcc -DBIG -c k.cu'", "sh"),
    ("env X=1 sh -c 'nvcc -DBIG -c k.cu'", "sh"),
    ("bash build.sh k.cu", "bash"),
    ("make k.o CFLAGS=-DBIG", "make"),
    ("python3 wrap.py nvcc -DBIG -c k.cu", "python3"),
    ("cmake -P build.cmake -DBIG k.cu", "build.cmake"),
    ("ccache", "an empty command"),
    ("g++ -DBIG -c k.cu", "g++"),
    ("nvcc -D$(echo BIG) -c k.cu", "$(echo"),
    ("nvcc -D`echo BIG` -c k.cu", "`echo"),
    ("nvcc $F -c k.cu", "$F"),
    ("nvcc -DA=\\\\x -c k.cu", "A="),
    ("nvcc -c k.cu -DA='open", "quotation"),
    ("nvcc @gone.rsp -c k.cu", "gone.rsp"),
    ("env -S 'nvcc -DBIG' nvcc -c k.cu", "-S"),
    ("env CPATH=other nvcc -c k.cu", "CPATH=other"),
)


def alone(directory: Path, **said: Any) -> str:
    path = directory / "compile_commands.json"
    path.write_text(json.dumps([{"directory": str(directory), "file": "k.cu", **said}]))
    return str(path)


@pytest.mark.parametrize(("command", "named"), UNCLEAR)
def test_a_command_that_is_not_understood_is_missing_evidence(
    tmp_path: Path, command: str, named: str
) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    read = read_database(alone(tmp_path, command=command))
    assert {source for source, _ in read.unclear} == {str(tmp_path / "k.cu")}
    assert any(named in why for _, why in read.unclear)
    found = discover([str(tmp_path)], Globs(str(tmp_path)))
    assert [one.path for one in found.inputs] == [str(tmp_path / "k.cu")]
    gaps = [gap for gap in found.gaps if gap.stage == "plan"]
    assert {gap.kind for gap in gaps} == {"evidence"}
    assert all(gap.input is not None and gap.input.endswith("k.cu") for gap in gaps)


@pytest.mark.parametrize(
    "command",
    [
        "nvcc -DBIG -c k.cu",
        "/opt/cuda/bin/nvcc -DBIG -c k.cu",
        "env TERM=dumb nvcc.exe -DBIG -c k.cu",
        "clang++-18 -x cuda -DBIG -c k.cu",
        "x86_64-linux-gnu-clang++ -DBIG -c k.cu",
        "c++ -x cuda -DBIG -c k.cu",
        "nvc++ -DBIG -c k.cu",
        "cmake -E env nvcc -DBIG -c k.cu",
        "cmake -E __run_co_compile --launcher=ccache --source=k.cu -- nvcc -DBIG -c k.cu",
    ],
)
def test_a_compiler_of_cuda_is_understood(tmp_path: Path, command: str) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    read = read_database(alone(tmp_path, command=command))
    assert read.unclear == ()
    assert [entry.flags.options.defines for entry in read.entries] == [("BIG",)]


_FILES = {
    "plain.rsp": "-x cu",
    "quoted.rsp": "-x 'cu' -O2",
    "outer.rsp": "-O2 @plain.rsp",
    "nvc.rsp": "-cuda",
    "host.rsp": "-O2 -Wall",
}


@pytest.mark.parametrize(
    ("said", "is_cuda"),
    [
        ({"command": "nvcc @plain.rsp -c k.cpp"}, True),
        ({"command": "nvcc @quoted.rsp -c k.cpp"}, True),
        ({"command": "nvcc '@outer.rsp' -c k.cpp"}, True),
        ({"command": "nvcc --options-file host.rsp,plain.rsp -c k.cpp"}, True),
        ({"command": "nvcc -optf=plain.rsp -c k.cpp"}, True),
        ({"arguments": ["nvcc", "@plain.rsp", "-c", "k.cpp"]}, True),
        ({"arguments": ["nvcc", "--language=cu", "-c", "k.cpp"]}, True),
        ({"command": 'nvcc -x c"u" -c k.cpp'}, True),
        ({"command": "NVCC_APPEND_FLAGS='-x cu' nvcc -c k.cpp"}, True),
        ({"command": "nvcc -x cu -c k.cpp -x c++ other.cpp"}, True),
        ({"command": "clang++ -x cuda -c k.cpp -x none"}, True),
        ({"command": "clang++ --language cuda -c k.cpp"}, True),
        ({"command": "nvc++ -cuda -gpu=cc90 -c k.cpp"}, True),
        ({"command": "nvc++ -cuda=ptxinfo -c k.cpp"}, True),
        ({"command": "/opt/nvidia/bin/nvc++ @nvc.rsp -c k.cpp"}, True),
        ({"command": "nvc++ -c k.cpp"}, False),
        ({"command": "nvcc -cuda -c k.cpp"}, False),
        ({"command": "nvcc -c k.cpp"}, False),
        ({"command": "g++ @host.rsp -c k.cpp"}, False),
        ({"command": "g++ -x c++ @host.rsp -c k.cpp"}, False),
    ],
)
def test_options_make_a_cpp_file_cuda(tmp_path: Path, said: dict[str, Any], is_cuda: bool) -> None:
    for name, text in _FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "k.cpp").write_text(KERNEL)
    read = read_database(alone(tmp_path, file="k.cpp", **said))
    assert len(read.entries) == is_cuda


@pytest.mark.parametrize(("text", "unclear"), [(KERNEL, 1), ("int main() {}\n", 0)])
def test_a_cpp_file_whose_options_are_gone(tmp_path: Path, text: str, unclear: int) -> None:
    """Whether it is CUDA is not known; that matters only if it defines a kernel."""
    (tmp_path / "k.cpp").write_text(text)
    read = read_database(alone(tmp_path, file="k.cpp", command="nvcc @gone.rsp -c k.cpp"))
    assert (len(read.entries), len(read.unclear)) == (0, unclear)


def test_arguments_and_command_that_differ_are_missing_evidence(tmp_path: Path) -> None:
    words = ["nvcc", "-c", "k.cu"]
    same = read_database(alone(tmp_path, arguments=words, command="nvcc  -c 'k.cu'"))
    assert (len(same.entries), same.unclear) == (1, ())
    differ = read_database(alone(tmp_path, arguments=words, command="nvcc -DBIG -c k.cu"))
    assert [source for source, _ in differ.unclear] == [str(tmp_path / "k.cu")]
    assert not differ.entries


def test_an_entry_of_another_shape_that_names_cuda_is_missing_evidence(tmp_path: Path) -> None:
    read = read_database(alone(tmp_path, command=1))
    assert [source for source, _ in read.unclear] == [str(tmp_path / "k.cu")]
