"""``build.ninja`` in place of a build database, as builds of PyTorch's extensions leave it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.discover.build_database import read_database
from lmemscope.discover.walk import Globs, discover
from lmemscope.errors import InputError

EXTENSION = """ninja_required_version = 1.3
nvcc = /usr/local/cuda/bin/nvcc
cuda_cflags = -I{here}/include -DNDEBUG
cuda_post_cflags = -DHALF='1' --compiler-options ''-fPIC'' -gencode=arch=compute_80,code=sm_80

rule cuda_compile
  command = $nvcc --generate-dependencies-with-compile --dependency-output $out.d $cuda_cflags $
      -c $in -o $out $cuda_post_cflags
rule compile
  command = c++ -c $in -o $out
rule link
  command = c++ @$out.rsp -o $out
  rspfile = $out.rsp
  rspfile_content = $in

build {here}/build/a.o: cuda_compile {here}/a.cu
build {here}/build/b.o: cuda_compile {here}/b.cu
  cuda_post_cflags = -DONLY_B
build {here}/build/c.o: compile {here}/c.cpp
build {here}/all.so: link {here}/build/a.o {here}/build/b.o
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    build = tmp_path / "build"
    build.mkdir()
    for name in ("a.cu", "b.cu", "c.cpp"):
        (tmp_path / name).write_text("")
    (build / "build.ninja").write_text(EXTENSION.format(here=tmp_path))
    return tmp_path


def test_each_source_has_the_options_of_its_own_command(project: Path) -> None:
    found = read_database(str(project / "build" / "build.ninja"), lambda _: True)
    first, second = found.entries
    assert [first.path, second.path] == [str(project / "a.cu"), str(project / "b.cu")]
    assert first.flags.archs == ("sm_80",)
    assert first.flags.options.defines == ("NDEBUG", "HALF=1")
    assert first.flags.options.include_dirs == (str(project / "include"),)
    assert second.flags.options.defines == ("NDEBUG", "ONLY_B")
    assert first.command.object == str(project / "build" / "a.o")


def test_its_directory_stands_for_it_and_another_database_is_preferred(project: Path) -> None:
    build = project / "build"
    found = discover([str(build)], Globs("/"))
    assert {one.path for one in found.inputs} == {str(project / "a.cu"), str(project / "b.cu")}
    (build / "compile_commands.json").write_text("[]")
    assert discover([str(build)], Globs("/")).inputs == []


def test_what_a_file_includes_has_its_variables_and_rules(project: Path) -> None:
    build = project / "build"
    whole = (build / "build.ninja").read_text()
    rules, _, edges = whole.partition("build ")
    (build / "rules.ninja").write_text(rules)
    (build / "build.ninja").write_text(f"include rules.ninja\n\nbuild {edges}")
    first, _ = read_database(str(build / "build.ninja"), lambda _: True).entries
    assert first.flags.archs == ("sm_80",)


def test_a_file_that_includes_what_is_not_there_is_an_error_that_names_it(project: Path) -> None:
    path = project / "build" / "build.ninja"
    path.write_text("include gone.ninja\n" + path.read_text())
    with pytest.raises(InputError, match=r"gone\.ninja"):
        read_database(str(path), lambda _: True)


def test_a_file_of_no_cuda_says_so(tmp_path: Path) -> None:
    path = tmp_path / "build.ninja"
    path.write_text("rule cc\n  command = cc -c $in\nbuild a.o: cc a.c\n")
    ((name, error),) = discover([str(path)], Globs("/")).errors
    assert name == str(path)
    assert "compiles no CUDA file" in error.message
