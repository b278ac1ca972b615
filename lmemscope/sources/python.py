"""Find the kernels in a Python file, each as a unit of its own.

The file is parsed, never imported (except with ``--run-python``, see `numba_source`).
"""

from __future__ import annotations

import ast
import errno
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.errors import InputError
from lmemscope.files import UnreadableFileError, cached_while_unchanged, read_input
from lmemscope.model import Unit
from lmemscope.sources import cupy
from lmemscope.sources.cupy import CupyProgram
from lmemscope.sources.encoding import decoded_python
from lmemscope.sources.numba import NumbaKernel, decorators, find_kernels
from lmemscope.sources.python_modules import local_modules
from lmemscope.sources.python_origins import Origins
from lmemscope.sources.python_words import reaches_makers
from lmemscope.sources.unread_kernels import UnreadKernel, find_unnamed, find_unread

Program = CupyProgram | NumbaKernel

LARGEST = 16 << 20
"""Maximum size of a Python file in bytes; its syntax tree takes a hundred times as many."""

_FOLLOWED = 3
"""Maximum length of an import chain along which names are followed."""


def _bytes(path: str) -> bytes:
    data = read_input(path)
    if len(data) > LARGEST:
        reason = f"it is larger than {LARGEST >> 20} MiB"
        raise UnreadableFileError(errno.EFBIG, reason, path)
    return data


@dataclass(frozen=True, slots=True)
class PythonFile:
    """What was read from a Python file.

    Attributes:
        programs: by line.
        unread: other code that may make kernels.
        reaches: whether it, or a module it imports, mentions what makes kernels.
        files: absolute paths where files with kernel sources were looked for.
        modules: absolute paths of the user's modules that it imports, directly and indirectly.
    """

    programs: tuple[Program, ...]
    unread: tuple[UnreadKernel, ...]
    reaches: bool
    files: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    def others(self) -> tuple[str, ...]:
        """Paths of other files that affect its kernels."""
        return (*self.files, *self.modules)

    @property
    def is_all_read(self) -> bool:
        """Whether its kernels depend only on its own text and ``files``."""
        problems = (one.problem for one in self.programs if isinstance(one, CupyProgram))
        return not self.unread and not any(problems)


def read_file(path: str, name: str) -> PythonFile:
    """Find the kernels in a Python file; cached until it or a file that it uses changes.

    Args:
        path: its absolute path.
        name: for messages.

    Raises:
        InputError: it cannot be read, or is not Python.
    """
    try:
        return _read(path)
    except OSError as error:
        raise InputError("read", f"{name} cannot be read: {error.strerror}") from error
    except (RecursionError, MemoryError) as error:
        raise InputError("read", f"{name} is nested too deeply to be read") from error
    except (SyntaxError, ValueError) as error:
        line = f" line {error.lineno}:" if isinstance(error, SyntaxError) else ""
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        own = ".".join(map(str, sys.version_info[:2]))
        raise InputError(
            "read",
            f"{name} is no Python {own}:{line} {said}",
            hint="a file in the syntax of a newer Python is read by lmemscope in that Python",
        ) from error


@cached_while_unchanged(64, reads=PythonFile.others)
def _read(path: str) -> PythonFile:
    data = _bytes(path)
    source = decoded_python(data)
    tree = ast.parse(source, path)
    modules = local_modules(path)
    reaches = reaches_makers(path, data)
    origins = Origins(tree, path, _FOLLOWED if reaches else 0)
    if not reaches:
        # It mentions nothing that makes kernels; only unnamed things may.
        return PythonFile((), find_unnamed(tree, origins), reaches, modules=modules)
    of_cupy = cupy.read_programs(tree, source, path, origins)
    programs: list[Program] = [*of_cupy.programs, *find_kernels(tree)]
    recognised = (*of_cupy.recognised, *decorators(tree))
    unread = find_unread(tree, recognised, of_cupy.texts, origins)
    in_order = tuple(sorted(programs, key=lambda program: program.line))
    return PythonFile(in_order, unread, reaches, of_cupy.files, modules)


def read_programs(path: str, name: str) -> list[Program]:
    """The programs in a Python file, by line.

    Raises:
        InputError: as `read_file`.
    """
    return list(read_file(path, name).programs)


@dataclass(frozen=True, slots=True)
class Survey:
    """The content of a Python file, as far as planning needs it.

    Attributes:
        programs: name of each, and whether it can be compiled only by running the file; None if the
            file cannot be parsed.
        unread: other code that may make kernels, in forms that are not supported.
        reaches: whether it, or a module it imports, mentions what makes kernels.
        is_open: whether running the file may reveal CuPy kernels that its text does not.
    """

    programs: tuple[tuple[str, bool], ...] | None
    unread: tuple[UnreadKernel, ...] = ()
    reaches: bool = True
    is_open: bool = False


def survey(path: str, name: str) -> Survey:
    """Find the programs in a file; runs in a worker, because the time it takes is unknown."""
    try:
        file = read_file(path, name)
    except InputError:
        # The worker that gets the file meets the same error, and reports it for the unit.
        return Survey(None)
    programs = tuple((program.name, _needs_running(program)) for program in file.programs)
    problems = (one.problem for one in file.programs if isinstance(one, CupyProgram))
    is_open = file.reaches and (not programs or any(problems))
    return Survey(programs, file.unread, file.reaches, is_open)


def program_of(unit: Unit, programs: Sequence[Program]) -> Program:
    """The program in a file that a unit refers to.

    Raises:
        InputError: the file has no such program.
    """
    for program in programs:
        if program.name == unit.program:
            return program
    raise InputError(
        "read",
        f"{unit.input} holds no CuPy or Numba kernel",
        hint="kernels are found by cupy.RawKernel, RawModule, ElementwiseKernel, ReductionKernel, "
        "cupyx.jit.rawkernel, and numba.cuda.jit as a decorator, by the name that the file imports "
        "it or numba.cuda from Numba under",
    )


def _needs_running(program: Program) -> bool:
    """Whether a kernel can be compiled only by running its file."""
    if isinstance(program, NumbaKernel):
        return not any(array.refusal for array in program.arrays)
    return program.kind == "jit.rawkernel"
