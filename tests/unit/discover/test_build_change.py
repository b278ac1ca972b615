"""What the files of a build say now and did not: which words of a command are new."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.discover.build_change import BuildChange, build_change
from lmemscope.discover.revision import read_revision
from tests.support.repositories import git

CMAKE = """project(p LANGUAGES CUDA)
add_library(p
  a.cu   # the first
)
target_compile_options(p PRIVATE
  -O3
  $<$<CONFIG:Debug>:-lineinfo>)
set(CMAKE_CUDA_ARCHITECTURES 80 90)
"""
NVCC = ("-O3", "-std=c++17", "-DNDEBUG", "-I/home/u/p/include", "-gencode=arch=compute_90")


def change(
    directory: Path, before: str, now: str, name: str = "CMakeLists.txt"
) -> BuildChange | None:
    git(directory, "init", "-q", "-b", "main")
    (directory / name).write_text(before)
    git(directory, "add", ".")
    git(directory, "commit", "-q", "-m", "before")
    (directory / name).write_text(now)
    return build_change(read_revision("HEAD", [str(directory)]))


@pytest.mark.parametrize(
    ("before", "now", "word"),
    [
        ("$<$<CONFIG:Debug>:-lineinfo>)", "$<$<CONFIG:Debug>:-lineinfo>\n  -G)", "-G"),
        ("  -O3\n", "  -O3\n  -maxrregcount=40\n", "-maxrregcount=40"),
        ("-O3", "-O3 -Xptxas=-O0", "-Xptxas=-O0"),
        ("80 90)", "80 90 100)", "--generate-code=arch=compute_100,code=[compute_100,sm_100]"),
        ("80 90)", "80 90a)", "-arch=sm_90a"),
        ("80 90)\n", "80 90)\nadd_compile_definitions(BIG)\n", "-DBIG"),
        ("80 90)\n", "80 90)\nadd_definitions(-DBIG=2)\n", "-DBIG=2"),
        ("80 90)\n", "80 90)\nset(CMAKE_CUDA_STANDARD 20)\n", "-std=c++20"),
        ("80 90)\n", "80 90)\ninclude_directories(fast)\n", "-I/home/u/p/fast"),
        (
            "80 90)\n",
            "80 90)\ntarget_include_directories(p PRIVATE ${zlib_SOURCE_DIR}/c)\n",
            "-I/home/u/p/build/_deps/zlib-src/c",
        ),
    ],
)
def test_words_that_a_changed_file_explains(
    tmp_path: Path, before: str, now: str, word: str
) -> None:
    found = change(tmp_path, CMAKE, CMAKE.replace(before, now))
    assert found is not None
    assert found.is_new(word)
    assert not any(map(found.is_new, NVCC))
    assert found.unexplained([word]) == ()
    assert found.unexplained([]) != ()


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("# the first", "# the second: -G"),
        ("a.cu ", "a.cu b.cu "),
        ("80 90)\n", "80 90)\nadd_executable(tool tool.cu)\n"),
        ("80 90)\n", "80 90)\ntarget_link_libraries(p PUBLIC CUDA::cudart)\n"),
        ("  -O3\n", "-O3\n"),
        ("project(p LANGUAGES CUDA)", "project(p LANGUAGES CUDA VERSION 1.2)"),
        ("80 90)\n", "80 90)\nset(TESTS ON)\nif(TESTS)\n  add_subdirectory(tests)\nendif()\n"),
        ("80 90)\n", "80 90)\nset(RELEASE 3)\nmessage(STATUS ${RELEASE})\n"),
        ("80 90)\n", "80 90)\noption(DOCS \"\" ON)\nif(DOCS)\n  add_subdirectory(docs)\nendif()\n"),
        ("80 90)\n", "80 90)\ninclude(FetchContent)\nadd_test(NAME t COMMAND t -G --fast)\n"),
        ("80 90)\n", "80 90)\nadd_executable(t t.cu)\ntarget_compile_options(t PRIVATE -O3 -G)\n"
         "set_target_properties(t PROPERTIES CUDA_ARCHITECTURES 90)\n"),
    ],
)  # fmt: skip
def test_changes_that_set_no_option(tmp_path: Path, before: str, now: str) -> None:
    found = change(tmp_path, CMAKE, CMAKE.replace(before, now))
    assert found is not None
    assert found.unexplained([]) == ()
    assert not any(map(found.is_new, NVCC))


@pytest.mark.parametrize(
    "statements",
    [
        "add_executable(t a.cu)\ntarget_compile_options(t PRIVATE -G)\n",
        "add_executable(t ${S})\ntarget_compile_options(t PRIVATE -G)\n",
        "add_executable(t t.cu)\ntarget_compile_options(t PUBLIC -G)\n",
        "add_library(t t.cu)\nset_target_properties(t PROPERTIES INTERFACE_COMPILE_OPTIONS -G)\n",
        "add_library(t t.cu)\nset_target_properties(t p PROPERTIES COMPILE_OPTIONS -G)\n",
        "add_library(t t.cu)\ntarget_sources(t PRIVATE a.cu)\ntarget_compile_options(t PRIVATE -G)",
    ],
)
def test_options_of_a_new_target_may_be_those_of_old_sources(
    tmp_path: Path, statements: str
) -> None:
    (tmp_path / "a.cu").write_text("")
    found = change(tmp_path, CMAKE, CMAKE + statements)
    assert found is not None
    assert found.is_new("-G")
    assert found.unexplained([]) != ()


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_new_target_may_be_made_of_a_source_that_was_moved(tmp_path: Path, is_gone: bool) -> None:
    (tmp_path / "a.cu").write_text("")
    change(tmp_path, CMAKE, CMAKE + "add_library(t t.cu)\ntarget_compile_options(t PRIVATE -G)\n")
    if is_gone:
        (tmp_path / "a.cu").rename(tmp_path / "t.cu")
    found = build_change(read_revision("HEAD", [str(tmp_path)]))
    assert found is not None
    assert found.is_new("-G") == is_gone


@pytest.mark.parametrize(
    ("before", "now", "head"),
    [
        ("  -O3\n", "", "target_compile_options p"),
        ("80 90)\n", "80 90)\nset(CMAKE_BUILD_TYPE Debug)\n", "set CMAKE_BUILD_TYPE"),
        ("80 90)\n", "80 90)\ninclude(cmake/flags.cmake)\n", "include cmake/flags.cmake"),
        ("80 90)", "90)", "set CMAKE_CUDA_ARCHITECTURES"),
        ("  -O3\n  $<$<CONFIG:Debug>:-lineinfo>)", "  $<$<CONFIG:Debug>:-lineinfo>\n  -O3)",
         "target_compile_options p"),
    ],
)  # fmt: skip
def test_changes_whose_effect_is_not_known(
    tmp_path: Path, before: str, now: str, head: str
) -> None:
    found = change(tmp_path, CMAKE, CMAKE.replace(before, now))
    assert found is not None
    assert [" ".join(one.head) for one in found.unexplained([])] == [head]


@pytest.mark.parametrize(
    ("name", "rest", "before", "now"),
    [
        ("CMakeLists.txt", "if(FAST)\n  add_compile_definitions(BIG)\nendif()\n",
         "set(FAST OFF)", "set(FAST ON)"),
        ("CMakeLists.txt", "if(A)\nelseif(FAST)\n  if(B)\n    add_compile_definitions(BIG)\n"
         "  endif()\nendif()\n", "set(FAST OFF)", "set(FAST ON)"),
        ("CMakeLists.txt", "set(ALL ${FAST} c)\nadd_compile_definitions(${ALL})\n",
         "set(FAST a)", "set(FAST b)"),
        ("Makefile", "ifeq ($(FAST),1)\nNVCCFLAGS += -DBIG\nendif\n", "FAST = 0", "FAST = 1"),
    ],
)  # fmt: skip
def test_variables_that_options_depend_on(
    tmp_path: Path, name: str, rest: str, before: str, now: str
) -> None:
    found = change(tmp_path, f"{before}\n{rest}", f"{now}\n{rest}", name)
    assert found is not None
    assert {one.head[-1] for one in found.unexplained([])} == {"FAST"}


def test_sources_that_no_build_file_named(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "CMakeLists.txt").write_text("add_library(q b.cu)\n")
    found = change(tmp_path, CMAKE, CMAKE.replace("a.cu", "src/a.cu b.cu c.cu"))
    assert found is not None
    assert found.sources == {"c.cu"}


@pytest.mark.parametrize(
    ("statement", "name", "is_input"),
    [
        ("file(STRINGS names.lst NAMES)", "names.lst", True),
        ("execute_process(COMMAND python3 ${CMAKE_SOURCE_DIR}/make.py)", "make.py", True),
        ("configure_file(config.h.in config.h)", "config.h.in", True),
        ("configure_file(${CMAKE_SOURCE_DIR}/./config.h.in config.h)", "config.h.in", True),
        ("configure_file(../project/config.h.in config.h)", "config.h.in", False),
        ("configure_file(other/config.h.in config.h)", "config.h.in", False),
        ("configure_file(config.h build.h)", "config.h", True),
        ("target_sources(p PRIVATE config.h)", "config.h", False),
        ("install(FILES names.lst DESTINATION share)", "names.lst", False),
        ("file(COPY README.md DESTINATION share)", "README.md", False),
    ],
)
def test_files_that_a_build_makes_others_of(
    tmp_path: Path, statement: str, name: str, is_input: bool
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(f"{CMAKE}{statement}\n")
    found = change(tmp_path, "20\n", "40\n", name)
    assert (found is not None) == is_input
    assert found is None or found.inputs == (name,)
    assert found is None or "40" in found.words


def test_options_of_a_target_that_is_gone_are_nobodys(tmp_path: Path) -> None:
    old = "add_library(old old.cu)\ntarget_compile_options(old PRIVATE -G)\n"
    found = change(tmp_path, CMAKE + old, CMAKE)
    assert found is not None
    assert found.removed == ()


@pytest.mark.parametrize(
    ("name", "before", "now", "word"),
    [
        ("Makefile", "NVCCFLAGS = -O3\n", "NVCCFLAGS = -O3 \\\n  -maxrregcount=32\n",
         "-maxrregcount=32"),
        ("setup.py", "CUDAExtension('p', ['p.cu'], extra_compile_args={'nvcc': ['-O3']})\n",
         "CUDAExtension('p', ['p.cu'], extra_compile_args={'nvcc': ['-O3', '-DBIG']})\n", "-DBIG"),
        ("BUILD.bazel", 'cuda_library(name = "p", copts = ["-O3"])\n',
         'cuda_library(name = "p", copts = ["-O3", "--use_fast_math"])\n', "--use_fast_math"),
        ("CMakePresets.json", '{"cacheVariables": {"CMAKE_CUDA_FLAGS": "-O3"}}\n',
         '{"cacheVariables": {"CMAKE_CUDA_FLAGS": "-O3 -G"}}\n', "-G"),
        ("meson.build", "executable('p', 'p.cu')\n",
         "executable('p', 'p.cu', cuda_args: ['-G'])\n", "-G"),
    ],
)  # fmt: skip
def test_files_of_other_builds(tmp_path: Path, name: str, before: str, now: str, word: str) -> None:
    found = change(tmp_path, before, now, name)
    assert found is not None
    assert found.is_new(word)
    assert not found.is_new("-O3")
    assert found.unexplained([word]) == ()


def test_response_files_are_each_revisions_own(tmp_path: Path) -> None:
    assert change(tmp_path, "-O3\n", "-O3 -G\n", "flags.rsp") is None
