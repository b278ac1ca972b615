"""Where build databases are looked for, whose entries they give, and what the output says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmemscope.config.settings import Settings
from lmemscope.discover import plan
from lmemscope.discover.build_command import taken_apart
from lmemscope.discover.build_database import read_database
from lmemscope.discover.plan import make_units
from lmemscope.discover.walk import Builds, Discovery, Globs, discover

USED = Builds()


def database(directory: Path, *entries: tuple[Path, str], **more: Any) -> Path:
    """A database as Bear writes it: ``arguments``, no shell."""
    directory.mkdir(parents=True, exist_ok=True)
    records = [
        {
            "directory": str(directory),
            "file": str(file),
            "arguments": ["nvcc", *flags.split()],
            **more,
        }
        for file, flags in entries
    ]
    path = directory / "compile_commands.json"
    path.write_text(json.dumps(records, ensure_ascii=False))
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "src" / "deep" / "k.cu"
    path.parent.mkdir(parents=True)
    path.write_text("__global__ void k(int *p) { *p = N; }\n")
    return path


def found(*paths: Path, builds: Builds = USED) -> Discovery:
    return discover([str(path) for path in paths], Globs("/"), builds)


def defines(result: Discovery) -> list[tuple[str, ...] | None]:
    return [None if item.options is None else item.options.defines for item in result.inputs]


@pytest.mark.parametrize(
    "place",
    [
        ".",
        "src",
        "build",
        "build/release",
        "build-debug",
        "build_cuda",
        "builddir",
        "_build",
        "cmake-build-release",
        "out/build",
        "out/build/x64-linux",
    ],
)
def test_a_named_file_is_compiled_as_its_project_says(source: Path, place: str) -> None:
    root = source.parents[2]
    database(root / place, (source, "-DN=3"))
    result = found(source)
    assert defines(result) == [("N=3",)]
    (note,) = result.notes
    assert "compile_commands.json says" in note
    assert "--no-build-database" in note
    off = found(source, builds=Builds(use=False))
    assert defines(off) == [None]
    assert off.notes == []


def test_a_database_that_does_not_name_the_file_is_not_its(source: Path) -> None:
    root = source.parents[2]
    database(root / "build", (root / "other.cu", "-DN=1"))
    database(root / "build-cuda", (source, "-DN=2"))
    assert defines(found(source)) == [("N=2",)]


def test_a_broken_database_that_nobody_named_is_a_note(source: Path) -> None:
    root = source.parents[2]
    (root / "build").mkdir()
    (root / "build" / "compile_commands.json").write_text('[{"file": "k.cu"')
    for place in (source, root / "src", root):
        result = found(place)
        assert defines(result) == [None]
        assert result.errors == []
        (note,) = result.notes
        assert "build/compile_commands.json cannot be read" in note
    database(root, (source, "-DN=2"))
    (root / "compile_commands.json").write_text("{}")
    (error,) = found(root).errors
    assert "no list of commands" in error[1].message


def test_a_database_without_cuda_beside_sources(source: Path) -> None:
    root = source.parents[2]
    host = {"directory": str(root), "file": "main.cpp", "command": "g++ -c main.cpp"}
    (root / "compile_commands.json").write_text(json.dumps([host]))
    result = found(root)
    assert defines(result) == [None]
    assert (result.errors, result.notes) == ([], [])
    database(root / "build-cuda", (source, "-DN=2"))
    assert defines(found(root)) == [("N=2",)]
    (error,) = found(root / "compile_commands.json").errors
    assert "compiles no CUDA file" in error[1].message


class TestANamedHeader:
    """It has no entry of its own: a source that includes it says how it is compiled."""

    def test_takes_the_options_of_a_source_that_includes_it(self, source: Path) -> None:
        header = source.with_name("k.cuh")
        header.write_text("")
        source.write_text('#include "k.cuh"\n')
        plain = source.with_name("plain.cu")
        plain.write_text("")
        build = source.parents[2] / "build"
        database(build, (plain, "-DN=1"), (source, "-DN=2 -arch=sm_80"))
        result = found(header)
        assert defines(result) == [("N=2",)]
        assert result.inputs[0].archs == ("sm_80",)
        (note,) = result.notes
        assert "k.cuh is compiled with the options of " in note
        assert "deep/k.cu, which includes it, as " in note
        assert "--no-build-database" in note
        assert defines(found(header, builds=Builds(use=False))) == [None]

    def test_of_two_with_one_name_the_right_one(self, source: Path) -> None:
        root = source.parents[2]
        for name in ("one", "two"):
            (root / name).mkdir()
            (root / name / "k.cuh").write_text("")
            (root / f"{name}.cu").write_text("#include <k.cuh>\n")
        database(
            root / "build",
            (root / "one.cu", f"-I{root}/one -DN=1"),
            (root / "two.cu", f"-I{root}/two -DN=2"),
        )
        assert defines(found(root / "two" / "k.cuh")) == [("N=2",)]

    def test_one_that_includes_it_itself_comes_first(self, source: Path) -> None:
        header, outer = source.with_name("k.cuh"), source.with_name("outer.cuh")
        header.write_text("")
        outer.write_text('#include "k.cuh"\n')
        far = source.with_name("far.cu")
        far.write_text('#include "outer.cuh"\n')
        source.write_text('#include "k.cuh"\n')
        root = source.parents[2]
        database(root / "build", (far, "-DN=1"), (source, "-DN=2"))
        assert defines(found(header)) == [("N=2",)]
        source.write_text("")
        assert defines(found(header)) == [("N=1",)]

    def test_has_none_where_nobody_includes_it(self, source: Path) -> None:
        header = source.with_name("k.cuh")
        header.write_text("")
        database(source.parents[2] / "build", (source, "-DN=2"))
        assert defines(found(header)) == [None]
        assert found(header).notes == []


def test_a_source_of_another_ending_that_the_project_compiles_as_cuda(source: Path) -> None:
    other = source.with_name("kernel.cpp")
    other.write_text("")
    database(source.parents[2] / "build", (other, "-x cu -DN=2"))
    assert defines(found(other)) == [("N=2",)]
    alone = found(other, builds=Builds(use=False))
    assert (alone.inputs, alone.without_kernels) == ([], [str(other)])


def test_a_file_behind_a_symbolic_link(source: Path, tmp_path: Path) -> None:
    database(source.parents[2] / "build", (source, "-DN=2"))
    link = tmp_path / "link"
    link.symlink_to(source.parents[2])
    assert defines(found(link / "src" / "deep" / "k.cu")) == [("N=2",)]


def test_a_subdirectory_is_compiled_as_its_project_says(source: Path) -> None:
    root = source.parents[2]
    (root / "src" / "loose.cu").write_text("")
    database(root / "build", (source, "-DN=2"), (root / "top.cu", "-DN=9"))
    result = found(root / "src")
    assert defines(result) == [("N=2",), None]
    assert "compile_commands.json says" in result.notes[0]


def test_an_out_of_tree_build_is_as_good_as_its_database(source: Path, tmp_path: Path) -> None:
    build = tmp_path / "elsewhere" / "build"
    database(build, (source, "-DN=2"))
    (build / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={source.parents[2]}\n")
    (build / "copy.cu").write_text("#error a copy\n")
    result = found(build)
    assert [Path(item.path) for item in result.inputs] == [source]
    assert defines(result) == [("N=2",)]
    assert result.errors == []


def test_a_source_directory_with_an_out_of_tree_database(source: Path, tmp_path: Path) -> None:
    sources = tmp_path / "only"
    sources.mkdir()
    (sources / "own.cu").write_text("")
    database(sources, (source, "-DN=2"), (sources / "own.cu", "-DN=1"))
    (sources / "loose.cu").write_text("")
    assert defines(found(sources)) == [("N=2",), ("N=1",), None]


def test_a_stale_entry_says_what_to_do(source: Path) -> None:
    root = source.parents[2]
    path = database(
        root / "build", (source, ""), (root / "gone.cu", ""), (root / "build/gen.cu", "")
    )
    result = found(path)
    (_, gone), (_, generated) = result.errors
    assert "configure again" in str(gone.hint)
    assert "build the project once" in str(generated.hint)
    assert "configure again" in str(generated.hint)


def test_one_source_in_several_targets(source: Path) -> None:
    root = source.parents[2]
    database(
        root / "build",
        (source, "-DN=1 -o CMakeFiles/slow.dir/src/deep/k.cu.o"),
        (source, "-DN=2 -o CMakeFiles/fast.dir/src/deep/k.cu.o"),
        (source, "-DN=3 -o CMakeFiles/fast.dir/src/deep/k.cu.o"),
        (source, "-DN=2 -o CMakeFiles/again.dir/src/deep/k.cu.o"),
    )
    result = found(source)
    assert [item.variant for item in result.inputs] == ["", "fast", "fast 3"]


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("nvcc -DA", ["-DA"]),
        ("ccache nvcc -DA", ["-DA"]),
        ("/usr/bin/sccache /opt/nvcc -DA", ["-DA"]),
        ("distcc ccache nvcc -DA", ["-DA"]),
        ("ccache compiler_check=content nvcc -DA", ["-DA"]),
        ("env X=1 Y=2 nvcc -DA", ["-DA"]),
        ("env -u X Y=2 ccache nvcc -DA", ["-DA"]),
        ("/usr/bin/cmake -E env X=1 -- nvcc -DA", ["-DA"]),
        ("nice -n 5 nvcc -DA", ["-DA"]),
        ("env NVCC_PREPEND_FLAGS=-DB NVCC_APPEND_FLAGS=-DC nvcc -DA", ["-DB", "-DA", "-DC"]),
        ("/odd/wrapper -DA", ["-DA"]),
        ("ccache", []),
    ],
)
def test_what_precedes_a_compiler(command: str, arguments: list[str]) -> None:
    assert taken_apart(command.split()).arguments == arguments


def test_what_bear_records_of_nvccs_own_calls_is_no_compilation(source: Path) -> None:
    host = "-D__CUDA_ARCH__=750 -E -x c++ k.cu -o /tmp/k.ii"
    path = database(source.parent, (source, host), (source, "-x cu -c k.cu"))
    (entry,) = read_database(str(path)).entries
    assert entry.flags.options.defines == ()


@pytest.mark.parametrize(
    "record",
    [
        1,
        "x",
        None,
        [],
        {},
        {"directory": "/", "file": "k.cu"},
        {"directory": "/", "file": "k.cu", "command": 1},
        {"directory": "/", "file": "k.cu", "command": None},
        {"directory": "/", "file": "k.cu", "command": "nvcc 'open"},
        {"directory": "/", "file": "k.cu", "arguments": "nvcc"},
        {"directory": "/", "file": "k.cu", "arguments": [1]},
        {"directory": 1, "file": "k.cu", "command": "nvcc"},
        {"directory": "/", "file": ["k.cu"], "command": "nvcc"},
    ],
)
def test_an_entry_of_another_shape_is_named_and_passed_over(tmp_path: Path, record: object) -> None:
    path = tmp_path / "compile_commands.json"
    good = {"directory": "/", "file": "good.cu", "command": "nvcc -c good.cu"}
    path.write_text(json.dumps([record, good]))
    read = read_database(str(path))
    assert [entry.path for entry in read.entries] == ["/good.cu"]
    assert read.notes[0].startswith("entry 1: ")


def test_deep_nesting_is_an_error_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_text("[" * 100_000)
    assert len(found(path).errors) == 1


def test_refused_options_are_named_once(source: Path) -> None:
    flags = "-ccbin=/opt/g++ -Xcompiler -fplugin=p.so"
    path = database(source.parent, (source, flags), (source.with_name("l.cu"), flags))
    (note,) = read_database(str(path)).notes
    assert note.count("-ccbin=/opt/g++") == 1
    assert "-fplugin=p.so" in note
    assert note.endswith("the host compiler on PATH is used; --trust-build takes them")
    assert read_database(str(path), trust=True).notes == ()


def test_only_the_commands_asked_for_are_taken_apart(source: Path) -> None:
    path = database(source.parent, (source, "-DA"), (source.with_name("l.cu"), "@missing.rsp"))
    read = read_database(str(path), lambda name: name == str(source))
    assert len(read.entries) == 1
    assert read.notes == ()


class TestArchitectures:
    def units(self, source: Path, flags: str) -> tuple[list[str], tuple[str, ...]]:
        database(source.parent, (source, flags))
        units, notes = make_units(found(source).inputs, ("sm_80",), Settings(), ("sm_80", "sm_90"))
        return [unit.arch for unit in units], notes

    def test_only_ones_that_the_toolkit_dropped(self, source: Path) -> None:
        archs, (note,) = self.units(source, "-gencode arch=compute_35,code=sm_35")
        assert archs == ["sm_80"]
        assert "sm_35, which the build asks for, is not supported by this toolkit" in note
        assert note.endswith("sm_80 takes its place")

    def test_native_without_a_gpu(self, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(plan, "detect_gpu", lambda: None)
        archs, (note,) = self.units(source, "-arch=native")
        assert archs == ["sm_80"]
        assert note.endswith("without a GPU and left out; sm_80 takes its place")

    def test_native_with_a_gpu(self, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(plan, "detect_gpu", lambda: "sm_90")
        assert self.units(source, "-arch=native") == (["sm_90"], ())
