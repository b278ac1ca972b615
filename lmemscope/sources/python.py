"""Python files: which kernels one holds, and each as a unit of its own.

The file is parsed, never imported (but see ``--run-python`` in `numba_source`).
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from lmemscope.errors import InputError
from lmemscope.files import decoded_utf8, read_input
from lmemscope.model import Unit
from lmemscope.sources.cupy import CupyProgram, find_programs
from lmemscope.sources.numba import NumbaKernel, find_kernels

Program = CupyProgram | NumbaKernel

_SIGNS = re.compile(
    rb"\b(?:RawKernel|RawModule|ElementwiseKernel|ReductionKernel|rawkernel|cuda\.jit"
    rb"|local\.array)\b|\bfrom\s+numba\s+import\s+cuda\b"
)


def may_hold_kernels(data: bytes) -> bool:
    """Whether a file is worth parsing, by the words in it."""
    return _SIGNS.search(data) is not None


def read_programs(path: str, name: str) -> list[Program]:
    """The programs of a Python file, in the order of their lines.

    Args:
        path: of the file, absolute.
        name: for messages.

    Raises:
        InputError: it cannot be read, or is no Python.
    """
    try:
        source = decoded_utf8(read_input(path))
        tree = ast.parse(source, path)
    except OSError as error:
        raise InputError("read", f"{name} cannot be read: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        line = f" line {error.lineno}:" if isinstance(error, SyntaxError) else ""
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise InputError("read", f"{name} is no Python:{line} {said}") from error
    programs: list[Program] = [
        *find_programs(tree, source, path),
        *find_kernels(tree),
    ]
    return sorted(programs, key=lambda program: program.line)


def programs_in(unit: Unit) -> tuple[Unit, ...]:
    """A unit for each program; the unit as it is where there is none, or none can be told."""
    try:
        programs = read_programs(unit.path, unit.input)
    except InputError:
        # The worker meets the same error, and reports it as the unit's.
        return (unit,)
    if not programs:
        return (unit,)
    # The name is there even where it is alone: a baseline must not change when another joins it.
    return tuple(replace(unit, program=p.name, variant=p.name) for p in programs)


def program_of(unit: Unit) -> Program:
    """The program that a unit is about.

    Raises:
        InputError: the file cannot be read, or holds no such program.
    """
    for program in read_programs(unit.path, unit.input):
        if program.name == unit.program:
            return program
    raise InputError(
        "read",
        f"{unit.input} holds no CuPy or Numba kernel",
        hint="kernels are found by cupy.RawKernel, RawModule, ElementwiseKernel, ReductionKernel, "
        "cupyx.jit.rawkernel and numba.cuda.jit",
    )


def is_broken(unit: Unit) -> bool:
    """Whether a unit's file cannot be read as Python."""
    try:
        read_programs(unit.path, unit.input)
    except InputError:
        return True
    return False


def needs_running(unit: Unit) -> bool:
    """Whether a unit's kernel can only be compiled by running its file."""
    try:
        program = program_of(unit)
    except InputError:
        return False
    if isinstance(program, NumbaKernel):
        return not any(array.refusal for array in program.arrays)
    return program.kind == "jit.rawkernel"
