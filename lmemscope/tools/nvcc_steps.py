"""The steps of nvcc's own driver, as ``-v`` and ``--dryrun`` print them.

Each line begins with ``#$``: first variables, then the commands that nvcc gives to a shell
(measured with CUDA 13.0 and 13.5).
"""

from __future__ import annotations

import functools
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

_MARK = "#$ "
_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)")
_CICC = '"$CICC_PATH/cicc" '
_DEBUG_MACRO = "__CUDACC_DEBUG__"
_LINE_MARKER = re.compile(rb'^# \d+ "([^"\n]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Steps:
    """What nvcc runs for one architecture's PTX.

    Attributes:
        preprocessing: the host compiler's command, as a shell would read it.
        compiling: that of cicc.
        variables: that these commands and programs use.
    """

    preprocessing: str
    compiling: str
    variables: Mapping[str, str]


def without_steps(output: str) -> str:
    """What nvcc and its compilers said besides."""
    lines = output.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(_MARK))


def read_steps(output: str) -> Steps | None:
    """The steps, or None where there is not one of each kind."""
    variables: dict[str, str] = {}
    preprocessing, compiling = [], []
    for line in output.splitlines():
        if not line.startswith(_MARK):
            continue
        said = line.removeprefix(_MARK)
        variable = _VARIABLE.fullmatch(said)
        if variable is not None:
            variables[variable.group(1)] = variable.group(2).strip()
        elif said.startswith(_CICC):
            compiling.append(said)
        elif " -E " in said:
            preprocessing.append(said)
    if len(preprocessing) != 1 or len(compiling) != 1:
        return None
    return Steps(preprocessing[0], compiling[0], variables)


def cicc_command(steps: Steps) -> list[str] | None:
    """cicc's command without a shell, or None where it holds what only a shell understands."""
    directory = steps.variables.get("CICC_PATH")
    rest = steps.compiling.removeprefix(_CICC)
    if directory is None or re.search(r"[$`\\]", rest):
        return None
    return [os.path.join(directory, "cicc"), *shlex.split(rest)]


def same_text(plain: Steps, debug: Steps, preprocessed: str) -> bool:
    """Whether a debug compilation would preprocess to the very text that a plain one has.

    The command lines differ in one macro, and no file that was read names it.

    Args:
        plain: steps of the compilation that made the text.
        debug: those of the debug compilation.
        preprocessed: file that holds the text.
    """
    words, others = shlex.split(plain.preprocessing), shlex.split(debug.preprocessing)
    without = [word for word in others if word != f"-D{_DEBUG_MACRO}"]
    if without != words or any(_DEBUG_MACRO in word for word in words):
        return False
    try:
        with open(preprocessed, "rb") as stream:
            read = set(_LINE_MARKER.findall(stream.read()))
        return not any(_names_it(os.fsdecode(path)) for path in read if path[:1] != b"<")
    except OSError:
        return False


def _names_it(path: str) -> bool:
    if path.endswith("//"):
        # GCC's marker of the directory that it ran in.
        return False
    stat = os.stat(path)
    return _holds(path, stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=16384)
def _holds(path: str, _size: int, _mtime_ns: int) -> bool:
    """Whether a file names the macro; headers that many sources include are read once."""
    with open(path, "rb") as stream:
        return _DEBUG_MACRO.encode() in stream.read()
