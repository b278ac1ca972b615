"""What build systems note of objects: ninja's logs and commands, CMake's recipes, depfiles."""

from __future__ import annotations

import struct

from lmemscope.formats.cmake_makefiles import commands
from lmemscope.formats.depfile import parse_depfile, without_depfile
from lmemscope.formats.ninja_commands import NinjaFile
from lmemscope.formats.ninja_log import parse_ninja_deps, parse_ninja_log
from lmemscope.formats.shell_words import shell_words

_OUTPUT = "CMakeFiles/k.dir/a.cu.o"
_NAME = _OUTPUT.encode() + b"\0"
_DEPS = (
    b"# ninjadeps\n"
    + struct.pack("<iI", 4, len(_NAME) + 4)
    + _NAME
    + struct.pack("<i", -1)
    + struct.pack("<Iiqi", 16 | 1 << 31, 0, 1795940766649674272, 0)
)
SEEDS = (
    f"# ninja log v7\n1\t24\t1795940766649674272\t{_OUTPUT}\t7d3ff8f0a51a41a3\n".encode(),
    _DEPS,
    f"""include rules.ninja
flags = -O3
rule CUDA
  command = nvcc $flags $DEFINES -MD -MF $out.d -c $in -o ${{out}}
  rspfile_content = $more
  more = $$ $more
build {_OUTPUT}: CUDA a$ b.cu | c.h
  DEFINES = -DN="$flags" $
    -DM
""".encode(),
    b"a.o: a.cu \\\n two\\ words.h $$.h \\\r\n\tcd /b && nvcc $(FLAGS) -o a.o\nFLAGS = -O3\n",
)


def read_records(data: bytes) -> None:
    """Each kind of record, whichever the bytes are."""
    text = data.decode("utf-8", "surrogateescape")
    made_by = list(commands(text, text))
    file = NinjaFile({"rules.ninja": "root = /r"}.__getitem__)
    try:
        file.add(text)
        made_by += (file.command(output) or "" for output in file.edges)
    except (KeyError, ValueError):
        made_by.append("")
    log = parse_ninja_log(data)
    for command in made_by[:50]:
        log.shows(_OUTPUT, command)
        try:
            without_depfile(shell_words(command))
        except ValueError:
            continue
    parse_ninja_deps(data)
    parse_depfile(text)
