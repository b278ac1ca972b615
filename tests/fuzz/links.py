"""What formats of linking go through: images, nvlink's words, what builds say of their links."""

from __future__ import annotations

import json
import os
from pathlib import Path

from lmemscope.analysis.linked import ObjectFunctions, describe, with_link_time_figures
from lmemscope.discover.link_steps import link_steps
from lmemscope.exporters.link_text import link_texts
from lmemscope.formats.linked_image import read_image
from lmemscope.formats.nvlink_log import parse_nvlink_log
from lmemscope.linking import refusal
from lmemscope.lowering.link import LinkedArtifacts
from lmemscope.model import Link, Report
from tests.support.linked_images import UNKNOWN, Function, image

_REPLY = Path(".cmake/api/v1/reply")


def images() -> tuple[bytes, ...]:
    """A chain of calls, a recursion, and calls through pointers."""
    kernel = Function(16, entry=True, stack=UNKNOWN)
    functions = {"k": kernel, "_Z1fv": Function(72), "g": Function(56), "h$1": Function(8)}
    round_ = [("k", "_Z1fv"), ("_Z1fv", "g"), ("g", "_Z1fv"), ("g", "h$1")]
    through = [("k", "#ii"), ("g", "#ii")]
    taken = [("h$1", "#ii"), ("g", "#ii")]
    tables = {"table": ["h$1"], "_ZTV1D": ["g"]}
    return (
        image(functions, round_),
        image(functions, [("k", "g")], through, taken, [("k", "h$1")], tables),
        image(functions, round_, through, taken, tables=tables),
    )


def read_linked(data: bytes) -> None:
    """From an image to what reports say."""
    read = read_image(data)
    registers = {one.name: one.registers for one in read.functions.values()}
    found = describe(read, {}, [ObjectFunctions("a.cu", registers)], {"f": 12, "g": 3})
    kernels = with_link_time_figures(found.kernels, read)
    link = Link("app", "sm_90", "--link", (), kernels, found.functions, found.indirect)
    link_texts(Report(version="0", toolchain={}, units=(), links=(link,)))


LOG = b"""nvlink warning : Stack size for entry function 'k' cannot be statically determined
nvlink info    : Function properties for 'k':
nvlink info    : used 44 registers, used 0 barriers, 8 stack, 12 bytes smem, 0 bytes lmem
nvlink error   : Undefined reference to '_Z7nowheref' in 'm1.cubin'
nvlink error   : Multiple definition of 'gv' in 'd2.cubin', first defined in 'd1.cubin'
nvlink warning : SM Arch ('sm_80') not found in 'a.o'
nvlink fatal   : Input file 'a.cubin' arch does not match target 'sm_80'
"""


def read_log(data: bytes) -> None:
    """nvlink's words, and the failure that is made of them."""
    text = data.decode("utf-8", "replace")
    refusal(LinkedArtifacts((), (), None, text, "nvlink", (), "sm_90"), parse_nvlink_log(text))


NINJA = b"""build CMakeFiles/h.dir/b.cu.o: CUDA_COMPILER__h_ /src/b.cu || order
build libh.a: CUDA_STATIC_LIBRARY_LINKER__h_ CMakeFiles/h.dir/b.cu.o
build CMakeFiles/app.dir/a.cu.o: CUDA_COMPILER__app_ $
    /src/with$ space/a.cu || order
build CMakeFiles/app.dir/cmake_device_link.o: CUDA_EXECUTABLE_DEVICE_LINKER__app_ $
    CMakeFiles/app.dir/a.cu.o | libh.a || libh.a
  LINK_LIBRARIES = libh.a other.o -lcudadevrt
"""


def read_ninja(data: bytes) -> None:
    """A build's own file."""
    Path("build.ninja").write_bytes(data)
    link_steps(os.getcwd())
    os.unlink("build.ninja")


REPLY = json.dumps(
    {
        "objects": [{"kind": "codemodel", "jsonFile": "index-1.json"}],
        "paths": {"source": "/src", "build": "."},
        "configurations": [{"targets": [{"jsonFile": "index-1.json"}]}],
        "id": "app",
        "name": "app",
        "type": "EXECUTABLE",
        "sources": [{"path": "a.cu"}, {"path": "b.cpp"}],
        "compileGroups": [{"language": "CUDA", "sourceIndexes": [0]}],
        "dependencies": [{"id": "app"}],
    }
).encode()


def read_reply(data: bytes) -> None:
    """A reply of CMake's that is index, model and target in one."""
    _REPLY.mkdir(parents=True, exist_ok=True)
    (_REPLY / "index-1.json").write_bytes(data)
    link_steps(os.getcwd())
