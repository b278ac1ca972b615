"""What is said once of a build: how to configure it, and that it is of another CUDA."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmemscope.discover.build_database import Compiler
from lmemscope.discover.build_notes import (
    asked_of_toolkits,
    configure_command,
    other_toolkits,
    unconfigured,
    with_own_toolkit,
)
from lmemscope.discover.walk import Globs, discover
from lmemscope.model import Failure, Tool, UnitReport
from lmemscope.tools.toolchain import missing_header
from tests.support.program import run_program

OURS = Tool("nvrtc", "13.5", None)
CONFIGURE = "write a build database with: cmake -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "clone" / "src").mkdir(parents=True)
    root = tmp_path / "clone"
    (root / "CMakeLists.txt").write_text("")
    (root / "src" / "CMakeLists.txt").write_text("")
    for name in ("a", "b"):
        (root / "src" / f"{name}.cu").write_text("#include <far.h>\n__global__ void k() {}\n")
    monkeypatch.chdir(root)
    return root


class TestNotConfigured:
    def test_all_of_a_projects_headers_are_one_note(self, clone: Path) -> None:
        sources = [(str(clone / "src" / name), f"{name}.h") for name in "abcd"]
        (note,) = unconfigured([*sources, *sources])
        assert "(a.h, b.h, c.h and 1 more)" in note
        assert note.endswith(CONFIGURE)

    def test_a_build_that_does_not_compile_the_file_is_said_to(self, clone: Path) -> None:
        (clone / "build").mkdir()
        entry = {"directory": str(clone), "file": "src/b.cu", "command": "nvcc -c src/b.cu"}
        (clone / "build" / "compile_commands.json").write_text(json.dumps([entry]))
        (note,) = unconfigured([(str(clone / "src" / "a.cu"), "a.h")])
        assert "build/compile_commands.json does not compile src/a.cu" in note
        assert CONFIGURE not in note
        # Its own options were not wanted.
        (note,) = unconfigured([(str(clone / "src" / "b.cu"), "b.h")])
        assert "is left aside" in note

    def test_from_elsewhere_the_root_is_named(self, clone: Path) -> None:
        (note,) = unconfigured([(str(clone.parent / "clone" / "src" / "a.cu"), "a.h")])
        assert "(in " not in note
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(clone.parent)
            (note,) = unconfigured([(str(clone / "src" / "a.cu"), "a.h")])
        assert note.endswith(f"{CONFIGURE} (in clone)")

    @pytest.mark.parametrize(
        ("name", "command"), [("meson.build", "meson setup build"), ("Makefile", "bear -- make")]
    )
    def test_other_build_systems(self, tmp_path: Path, name: str, command: str) -> None:
        (tmp_path / ".git").mkdir()
        (tmp_path / name).write_text("")
        assert configure_command(str(tmp_path)) == (str(tmp_path), command)

    def test_a_project_around_the_repository_is_not_asked(self, clone: Path) -> None:
        (clone / "src" / ".git").mkdir()
        assert configure_command(str(clone / "src")) == (
            str(clone / "src"),
            "cmake -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        )

    def test_nothing_is_said_without_a_build_system(self, tmp_path: Path) -> None:
        (tmp_path / ".git").mkdir()
        assert unconfigured([(str(tmp_path / "a.cu"), "a.h")]) == ()

    @pytest.mark.parametrize("path", ["build", "build/compile_commands.json"])
    def test_a_build_directory_that_is_not_there(self, clone: Path, path: str) -> None:
        ((_, error),) = discover([path], Globs(str(clone))).errors
        assert (error.message, error.hint) == (f"{path} does not exist", CONFIGURE)

    def test_another_path_that_is_not_there(self, clone: Path) -> None:
        ((_, error),) = discover(["sources"], Globs(str(clone))).errors
        assert error.hint == "check the path"

    def test_a_build_directory_without_a_database(self, clone: Path) -> None:
        (clone / "build").mkdir()
        ((_, error),) = discover(["build"], Globs(str(clone))).errors
        assert error.hint == CONFIGURE

    def test_headers_of_wheels_are_no_matter_of_the_build(self) -> None:
        refusal = 'catastrophic error: cannot open source file "{}"\n'
        assert missing_header(refusal.format("deep/far.hpp")) == "deep/far.hpp"
        assert missing_header(refusal.format("cublas_v2.h")) is None
        assert missing_header("error: far.h is odd") is None

    @pytest.mark.toolchain
    def test_it_is_said_once_for_all_files(self, clone: Path) -> None:
        done = run_program("check", ".", cwd=clone)
        assert done.code == 3
        assert (done.out + done.err).replace("\n", " ").count("cmake -B build") == 1
        found = run_program("scan", ".", "-I", "src", "--format", "json", cwd=clone)
        assert sum(CONFIGURE in note for note in found.document["notes"]) == 1


class TestAnotherCuda:
    def toolkit(self, root: Path, number: int) -> Path:
        """A toolkit as installed, whose nvcc must never be run."""
        for name in ("bin", "include"):
            (root / name).mkdir(parents=True)
        nvcc = root / "bin" / "nvcc"
        nvcc.write_text(f"#!/bin/sh\ntouch {root}/ran\n")
        nvcc.chmod(0o755)
        (root / "include" / "cuda.h").write_text(f"#define CUDA_VERSION {number}\n")
        return nvcc

    def test_is_said_with_the_way_to_use_it(self, tmp_path: Path) -> None:
        nvcc = self.toolkit(tmp_path / "cuda-12.4", 12040)
        compilers = [Compiler(str(nvcc), f"/{name}/compile_commands.json") for name in "ab"]
        (note,) = other_toolkits(compilers, [OURS, Tool("ptxas", "13.5.37", None)])
        assert note == (
            "the build's nvcc is of CUDA 12.4, and what analyses it is of CUDA 13.5; "
            f"--toolkit {tmp_path}/cuda-12.4 takes the build's"
        )
        assert not (tmp_path / "cuda-12.4" / "ran").exists()

    def test_the_same_is_not_worth_a_word(self, tmp_path: Path) -> None:
        nvcc = self.toolkit(tmp_path / "cuda", 13050)
        assert other_toolkits([Compiler(str(nvcc), "/db")], [OURS]) == ()

    def test_one_on_the_search_path_and_behind_a_link(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nvcc = self.toolkit(tmp_path / "cuda-12.8", 12080)
        (tmp_path / "links").mkdir()
        (tmp_path / "links" / "nvcc").symlink_to(nvcc)
        monkeypatch.setenv("PATH", str(tmp_path / "links"))
        (note,) = other_toolkits([Compiler("nvcc", "/db")], [OURS])
        assert "CUDA 12.8" in note
        assert f"--toolkit {tmp_path}/cuda-12.8" in note

    def test_one_that_is_not_here_is_known_from_cmake(self, tmp_path: Path) -> None:
        (tmp_path / "CMakeFiles" / "3.25.1").mkdir(parents=True)
        said = tmp_path / "CMakeFiles" / "3.25.1" / "CMakeCUDACompiler.cmake"
        said.write_text('set(A "b")\nset(CMAKE_CUDA_COMPILER_VERSION "11.8.89")\n')
        database = str(tmp_path / "compile_commands.json")
        (note,) = other_toolkits([Compiler("/no/bin/nvcc", database)], [OURS])
        assert "CUDA 11.8" in note
        assert "--toolkit DIR" in note
        said.write_text(f'{said.read_text()}set(CMAKE_CUDA_COMPILER_TOOLKIT_ROOT "{tmp_path}")\n')
        (note,) = other_toolkits([Compiler("/no/bin/nvcc", database)], [OURS])
        assert f"--toolkit {tmp_path} takes" in note

    def test_nothing_is_guessed(self, tmp_path: Path) -> None:
        unknown = [Compiler("/no/bin/nvcc", str(tmp_path / "db")), Compiler("/no/clang++", "/db")]
        assert other_toolkits(unknown, [OURS]) == ()
        nvcc = self.toolkit(tmp_path / "cuda", 12040)
        assert other_toolkits([Compiler(str(nvcc), "/db")], []) == ()

    @pytest.mark.parametrize(("number", "is_asked"), [(13000, True), (13050, False), (None, True)])
    def test_what_asks_for_it_is_not_known(
        self, tmp_path: Path, number: int | None, is_asked: bool
    ) -> None:
        nvcc = tmp_path / "none" / "nvcc"
        if number is not None:
            nvcc = self.toolkit(tmp_path / "cuda", number)
        (tmp_path / "k.cu").write_text('#include "k.cuh"\n__global__ void k() {}\n')
        (tmp_path / "k.cuh").write_text("#if CUDART_VERSION > 13020\n#endif\n")
        (tmp_path / "compile_commands.json").write_text(
            json.dumps([{"directory": ".", "file": "k.cu", "command": f"{nvcc} -c k.cu"}])
        )
        found = discover([str(tmp_path)], Globs(str(tmp_path)))
        gaps = list(asked_of_toolkits(found.inputs, [OURS]))
        assert [gap.kind for gap in gaps] == ["evidence"] * is_asked
        if gaps:
            assert "CUDART_VERSION (line 1 of k.cuh)" in gaps[0].reason
            assert f"--toolkit {tmp_path}/cuda " in gaps[0].reason or number is None

    def test_without_a_build_the_environment_says_the_toolkit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "k.cu").write_text("#if CUDART_VERSION > 13020\n#endif\n")
        found = discover([str(tmp_path / "k.cu")], Globs(str(tmp_path)))
        monkeypatch.delenv("CUDA_HOME", raising=False)
        monkeypatch.delenv("CUDA_PATH", raising=False)
        assert not [*asked_of_toolkits(found.inputs, [OURS])]
        self.toolkit(tmp_path / "cuda", 13000)
        monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
        (gap,) = asked_of_toolkits(found.inputs, [OURS])
        assert gap.input is not None
        assert gap.input.endswith("k.cu")

    @pytest.mark.toolchain
    def test_in_a_scan(self, tmp_path: Path) -> None:
        nvcc = self.toolkit(tmp_path / "cuda-12.4", 12040)
        (tmp_path / "k.cu").write_text("__global__ void k(int *p) { *p = 1; }\n")
        (tmp_path / "compile_commands.json").write_text(
            json.dumps([{"directory": ".", "file": "k.cu", "command": f"ccache {nvcc} -c k.cu"}])
        )
        done = run_program("scan", ".", "--format", "json", cwd=tmp_path)
        assert sum("of CUDA 12.4" in note for note in done.document["notes"]) == 1
        assert not (tmp_path / "cuda-12.4" / "ran").exists()


class TestHeadersOfTheBuildsToolkit:
    @pytest.mark.parametrize("below", ["include", "targets/x86_64-linux/include"])
    def test_a_header_that_it_has_is_had_from_it(self, tmp_path: Path, below: str) -> None:
        compiler = toolkit(tmp_path, below, "cufft.h")
        hint = with_own_toolkit(failed("cufft.h"), [compiler]).failure.hint
        assert hint == f"the build's toolkit has cufft.h: --toolkit {tmp_path / 'cuda'}"

    def test_another_header_comes_from_where_it_did(self, tmp_path: Path) -> None:
        compiler = toolkit(tmp_path, "include", "cufft.h")
        for given in (failed("curand.h"), failed("cufft.h", 'error: expected a ";"')):
            assert with_own_toolkit(given, [compiler]) is given

    @pytest.mark.toolchain
    def test_the_program_says_so(self, tmp_path: Path) -> None:
        compiler = toolkit(tmp_path, "include", "npp.h")
        (tmp_path / "a.cu").write_text("#include <npp.h>\n__global__ void k() {}\n")
        entry = {
            "directory": str(tmp_path),
            "file": "a.cu",
            "command": f"{compiler.path} -c a.cu",
        }
        (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
        done = run_program("scan", "a.cu", "--no-cache", cwd=tmp_path)
        said = f"{done.out}{done.err}"
        assert f"--toolkit {tmp_path / 'cuda'}" in said
        assert "pip install" not in said


def toolkit(tmp_path: Path, below: str, header: str) -> Compiler:
    root = tmp_path.resolve() / "cuda"
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "nvcc").touch(mode=0o755)
    (root / below).mkdir(parents=True)
    (root / below / "cuda.h").write_text("#define CUDA_VERSION 12040\n")
    (root / below / header).touch()
    return Compiler(str(root / "bin" / "nvcc"), str(tmp_path / "compile_commands.json"))


def failed(header: str, log: str = "") -> UnitReport:
    log = log or f'a.cu(1): catastrophic error: cannot open source file "{header}"'
    return UnitReport(
        input="a.cu",
        frontend="nvrtc",
        arch="sm_90",
        options=(),
        failure=Failure("compile", "refused", "wheel", None, log),
        gaps=(),
        kernels=(),
    )
