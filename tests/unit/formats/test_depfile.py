"""Depfiles as GCC and nvcc write them, and the options that ask for one."""

from __future__ import annotations

import pytest

from lmemscope.formats.cmake_makefiles import commands
from lmemscope.formats.depfile import parse_depfile, without_depfile


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (
            "a.o : a.cu \\\n    size.h \\\n    /usr/include/math.h\n",
            "a.cu size.h /usr/include/math.h",
        ),
        ("a.o: a.cu \\\r\n  size.h\r\n", "a.cu size.h"),
        ("a.o: a.cu\n\nsize.h:\n", "a.cu"),
        ("a.o b.o: a.cu", "a.cu"),
        ("# made by nvcc\na.o: a.cu\n", "a.cu"),
        ("a.o:", ""),
        ("", ""),
        ("no rule", ""),
    ],
)
def test_files(text: str, files: str) -> None:
    assert parse_depfile(text) == tuple(files.split())


def test_escaped_names() -> None:
    text = "out\\ dir/a.o: two\\ words.cu price$$.h c\\#.h back\\\\slash.h\n"
    assert parse_depfile(text) == ("two words.cu", "price$.h", "c#.h", "back\\slash.h")


def test_a_command_without_its_depfile() -> None:
    words = "nvcc -O3 -MD -MT a.o -MF a.o.d -c a.cu -o a.o".split()
    assert without_depfile(words) == (tuple("nvcc -O3 -c a.cu -o a.o".split()), "a.o.d")
    assert without_depfile(["nvcc", "-MMD"]) == (("nvcc",), None)


def test_commands_of_makefiles() -> None:
    build = (
        "CMakeFiles/k.dir/a.cu.o: CMakeFiles/k.dir/flags.make\n"
        '\t@$(CMAKE_COMMAND) -E cmake_echo_color "Building"\n'
        '\tcd "/b/two words" && nvcc $(CUDA_DEFINES) $(CUDA_FLAGS) -c a.cu -o a$$.o $(GONE)\n'
        "\tnvcc $(CUDA_FLAGS) -c b.cu -o b.o\n"
    )
    flags = '# CUDA\nCUDA_DEFINES = -DN="\\"x\\""\n\nCUDA_FLAGS = -O3 -std=c++17\n'
    assert commands(build, flags) == (
        'nvcc -DN="\\"x\\"" -O3 -std=c++17 -c a.cu -o a$.o $(GONE)',
        "nvcc -O3 -std=c++17 -c b.cu -o b.o",
    )
