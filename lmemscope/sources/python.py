"""Python files: which kernels one holds, and each as a unit of its own.

The file is parsed, never imported (but see ``--run-python`` in `numba_source`).
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
"""Bytes of a Python file that is read; its syntax tree takes a hundred times as many."""

_FOLLOWED = 3
"""Modules behind each other through which names are followed."""


def _bytes(path: str) -> bytes:
    data = read_input(path)
    if len(data) > LARGEST:
        reason = f"it is larger than {LARGEST >> 20} MiB"
        raise UnreadableFileError(errno.EFBIG, reason, path)
    return data


@dataclass(frozen=True, slots=True)
class PythonFile:
    """What was read of a Python file.

    Attributes:
        programs: in the order of their lines.
        unread: what else may make kernels.
        reaches: whether it, or a module that it imports, names what makes kernels.
        files: absolute paths under which files with kernels' texts were looked for.
        modules: absolute paths of the user's own modules that it imports, and that they do.
    """

    programs: tuple[Program, ...]
    unread: tuple[UnreadKernel, ...]
    reaches: bool
    files: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    def others(self) -> tuple[str, ...]:
        """Paths of other files that decide about its kernels."""
        return (*self.files, *self.modules)

    @property
    def is_all_read(self) -> bool:
        """Whether nothing but its own text and ``files`` decides about its kernels."""
        problems = (one.problem for one in self.programs if isinstance(one, CupyProgram))
        return not self.unread and not any(problems)


def read_file(path: str, name: str) -> PythonFile:
    """Look for kernels in a Python file, once until it or a file that it uses changes.

    Args:
        path: of the file, absolute.
        name: for messages.

    Raises:
        InputError: it cannot be read, or is no Python.
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
        # It names nothing that makes kernels; only what it does not name may.
        return PythonFile((), find_unnamed(tree, origins), reaches, modules=modules)
    of_cupy = cupy.read_programs(tree, source, path, origins)
    programs: list[Program] = [*of_cupy.programs, *find_kernels(tree)]
    recognised = (*of_cupy.recognised, *decorators(tree))
    unread = find_unread(tree, recognised, of_cupy.texts, origins)
    in_order = tuple(sorted(programs, key=lambda program: program.line))
    return PythonFile(in_order, unread, reaches, of_cupy.files, modules)


def read_programs(path: str, name: str) -> list[Program]:
    """The programs of a Python file, in the order of their lines.

    Raises:
        InputError: as `read_file`.
    """
    return list(read_file(path, name).programs)


@dataclass(frozen=True, slots=True)
class Survey:
    """What a Python file holds, as far as planning needs to know.

    Attributes:
        programs: name of each, and whether only running the file would compile it; None where
            the file cannot be read as Python.
        unread: what else may make kernels, in forms that nothing here reads.
        reaches: whether it, or a module that it imports, names what makes kernels.
        is_open: whether running the file may tell of CuPy's kernels what its text does not.
    """

    programs: tuple[tuple[str, bool], ...] | None
    unread: tuple[UnreadKernel, ...] = ()
    reaches: bool = True
    is_open: bool = False


def survey(path: str, name: str) -> Survey:
    """Look for the programs of a file; for a worker, since nobody knows how long it will take."""
    try:
        file = read_file(path, name)
    except InputError:
        # The worker that is given the file meets the same error, and reports it as the unit's.
        return Survey(None)
    programs = tuple((program.name, _needs_running(program)) for program in file.programs)
    problems = (one.problem for one in file.programs if isinstance(one, CupyProgram))
    is_open = file.reaches and (not programs or any(problems))
    return Survey(programs, file.unread, file.reaches, is_open)


def program_of(unit: Unit, programs: Sequence[Program]) -> Program:
    """The one of a file's programs that a unit is about.

    Raises:
        InputError: the file holds no such program.
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
    """Whether a kernel can only be compiled by running its file."""
    if isinstance(program, NumbaKernel):
        return not any(array.refusal for array in program.arrays)
    return program.kind == "jit.rawkernel"
