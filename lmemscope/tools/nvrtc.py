"""Compile CUDA C++ with NVRTC to PTX, cubin and ptxas report, without a GPU.

This uses CuPy's low-level binding. `cupy.cuda.compiler` is too high-level: it queries the CUDA
runtime for a device and gives NVRTC a random program name, which spoils line information. One call
yields everything, because ``--ptxas-options=-v`` writes the ptxas report to the program log
(measured: PTX, cubin and report equal those of separate runs).

Each program is compiled in its own process (`lmemscope.tools.child`): NVRTC generates different
code for a program that follows one with certain options, such as ``-G``. Compilations for facts
start from the same memory addresses (`lmemscope.tools.reproducible`).
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from lmemscope.errors import CompileError, ToolMissingError
from lmemscope.formats.elf import extent
from lmemscope.model import CompileOptions, Tool
from lmemscope.sources.encoding import is_encodable
from lmemscope.tools import child, cupy_binding
from lmemscope.tools.process import Meanwhile
from lmemscope.tools.reproducible import ReproducibleCalls
from lmemscope.tools.toolchain import (
    INSTALLED,
    Toolchain,
    how_to_install,
    missing_header_hint,
    unresolved_hint,
)

_NAME_EXPRESSION = "__nv_name_map"
_UNROLLING = "_CCCL_META_UNROLL_LIMIT"
_SET = re.compile(rf"^[ \t]*#[ \t]*(?:define|undef)[ \t]+{_UNROLLING}\b", re.MULTILINE)
_PLACED = re.compile(r"(.*?)\((\d+)\): (.*)", re.DOTALL)
_AS_FOR_NVCC = f"-D{_UNROLLING}=10"
"""The value that CCCL's ``type_list.h`` sets for nvcc; for NVRTC it is 16.

It controls how far lists of types are unrolled, not the result. Each step doubles the front end's
time for one alias. With 16, that takes two thirds of the time of a small file that includes
``cooperative_groups.h`` or ``curand_kernel.h``.
"""


@dataclass(frozen=True, slots=True)
class NvrtcResult:
    """The output of one NVRTC call; ``log`` has its warnings and the ptxas report."""

    ptx: bytes
    cubin: bytes
    log: str


class NameExpressionError(CompileError):
    """A name expression does not name anything that can be instantiated."""


def version(toolchain: Toolchain = INSTALLED) -> tuple[int, int]:
    """NVRTC's (major, minor) version.

    Raises:
        ToolMissingError: NVRTC or CuPy is not installed.
    """
    major, minor = _call(_binding(toolchain).getVersion)
    return int(major), int(minor)


def library(toolchain: Toolchain = INSTALLED) -> Tool:
    """NVRTC with its version and the path it was loaded from."""
    major, minor = version(toolchain)
    path = toolchain.nvrtc() or _loaded_path()
    return Tool("nvrtc", f"{major}.{minor}", path)


def supported_archs(toolchain: Toolchain = INSTALLED) -> tuple[str, ...]:
    """Real architectures supported by this NVRTC, ascending (``sm_75``, …)."""
    return tuple(f"sm_{number}" for number in _call(_binding(toolchain).getSupportedArchs))


def options_for(
    arch: str,
    options: CompileOptions,
    toolchain: Toolchain = INSTALLED,
    *,
    first: Sequence[str] = (),
) -> tuple[str, ...]:
    """NVRTC's options for a compilation; ``first`` go before the toolkit's header directories.

    The source file's own directory is not given with ``-I``, because ``#include <…>`` would then
    search it. For ``#include "…"`` NVRTC searches it first, like nvcc, because the program's name
    is the file's absolute path.
    """
    flags = [f"--gpu-architecture={arch}", "-lineinfo", "--ptxas-options=-v"]
    if options.maxrregcount is not None:
        flags.append(f"--maxrregcount={options.maxrregcount}")
    flags += (*options.words(), *first, *(f"-I{path}" for path in toolchain.header_dirs()))
    flags += [f"--ptxas-options={argument}" for argument in options.ptxas_args]
    return (*flags, *options.nvrtc_args)


def compile_program(
    source: str,
    name: str,
    options: Sequence[str],
    name_expressions: Sequence[str],
    toolchain: Toolchain = INSTALLED,
    meanwhile: Meanwhile | None = None,
) -> NvrtcResult:
    """Compile one translation unit in a separate process.

    Args:
        source: the text.
        name: the file name for diagnostics and line tables; quoted headers are looked up beside it
            first, so it is absolute.
        options: from `options_for`.
        name_expressions: template instantiations to force.
        toolchain: provides NVRTC.
        meanwhile: called in this process while NVRTC compiles.

    Raises:
        NameExpressionError: a name expression was rejected.
        CompileError: the program was rejected; ``log`` is NVRTC's message.
        ToolMissingError: NVRTC cannot be loaded.
        WorkerCrashError: NVRTC crashed.
    """
    program = _Program(source, name, tuple(options), tuple(name_expressions), toolchain)
    calls = _calls(toolchain)
    calls.start()
    version(toolchain)
    return calls.call(_program, program, meanwhile=meanwhile)


@functools.cache
def _calls(toolchain: Toolchain) -> ReproducibleCalls:
    return ReproducibleCalls(version, toolchain)


class _Program(NamedTuple):
    """The arguments of `compile_program`."""

    source: str
    name: str
    options: tuple[str, ...]
    name_expressions: tuple[str, ...]
    toolchain: Toolchain


def _program(asked: _Program) -> NvrtcResult:
    with _compiled(asked) as (nvrtc, program):
        return NvrtcResult(
            ptx=bytes(nvrtc.getPTX(program)).rstrip(b"\0"),
            cubin=_whole(bytes(nvrtc.getCUBIN(program))),
            log=_log(nvrtc, program),
        )


def defined(
    names: Sequence[str], options: Sequence[str], toolchain: Toolchain = INSTALLED
) -> frozenset[str]:
    """The names that NVRTC predefines as macros.

    Raises:
        CompileError, ToolMissingError: as `compile_program`.
    """
    asking = "".join(f'#ifdef {name}\n#pragma message "HAS {name}"\n#endif\n' for name in names)
    said = compile_program(asking, "asking.cu", options, (), toolchain).log
    return frozenset(re.findall(r"HAS (\w+)", said))


def debug_options(options: Sequence[str]) -> tuple[str, ...]:
    """Convert the options of a compilation to those of its debug compilation, to PTX only."""
    kept = [
        option.replace("--gpu-architecture=sm_", "--gpu-architecture=compute_")
        for option in options
        if option != "-lineinfo" and not option.startswith(("--ptxas-options", "--maxrregcount"))
    ]
    return (*kept, "-G")


def compile_to_ptx(
    source: str,
    name: str,
    options: Sequence[str],
    name_expressions: Sequence[str],
    toolchain: Toolchain = INSTALLED,
) -> bytes:
    """Compile for a virtual architecture to PTX only, in a separate process.

    Raises:
        CompileError, ToolMissingError, WorkerCrashError: as `compile_program`.
    """
    version(toolchain)
    program = _Program(source, name, tuple(options), tuple(name_expressions), toolchain)
    return child.call(_ptx, program)


def _ptx(asked: _Program) -> bytes:
    with _compiled(asked) as (nvrtc, program):
        return bytes(nvrtc.getPTX(program)).rstrip(b"\0")


@contextmanager
def _compiled(asked: _Program) -> Iterator[tuple[Any, Any]]:
    source, name, options, name_expressions, toolchain = asked
    nvrtc = _binding(toolchain)
    if not all(is_encodable(text) for text in (source, name, *options, *name_expressions)):
        nvrtc = _for_bytes(nvrtc)
    program = _call(nvrtc.createProgram, source, name, [], [])
    try:
        for expression in name_expressions:
            nvrtc.addNameExpression(program, expression)
        try:
            nvrtc.compileProgram(program, _hastened(source, options))
        except nvrtc.NVRTCError as error:
            raise _refusal(name, _log(nvrtc, program), options, error, toolchain) from error
        yield nvrtc, program
    finally:
        nvrtc.destroyProgram(program)


def _hastened(source: str, options: Sequence[str]) -> list[str]:
    """Options that make NVRTC faster with the same result, unless the user sets that macro."""
    is_set = any(_UNROLLING in option for option in options) or (
        _UNROLLING in source and _SET.search(source) is not None
    )
    return list(options) if is_set else [_AS_FOR_NVCC, *options]


def _log(nvrtc: Any, program: Any) -> str:
    """The program's log; NVRTC can write bytes into it that are not text.

    Observed with CUDA 13.5: the location in "A pointer to local memory was stored into the
    parameter buffer obtained at …", and a zero before each ptxas error. CuPy decodes strictly, and
    its exception holds the bytes.
    """
    try:
        found = str(nvrtc.getProgramLog(program))
    except UnicodeDecodeError as error:
        found = bytes(error.object).decode("utf-8", "replace")
    return found.replace("\0", "")


def _whole(cubin: bytes) -> bytes:
    """The cubin with its last byte, which CuPy 14's ``getCUBIN`` drops as if it were a terminator.

    The file's headers state its size, so the result of a CuPy that returns everything is unchanged.
    """
    return cubin + b"\0" if extent(cubin) == len(cubin) + 1 else cubin


def _refusal(
    name: str, log: str, options: Sequence[str], error: Exception, toolchain: Toolchain
) -> CompileError:
    log = log.strip().rstrip("\0")
    kind = NameExpressionError if _NAME_EXPRESSION in log else CompileError
    said = ("error", "ptxas fatal")
    first = next((line for line in log.splitlines() if any(s in line for s in said)), str(error))
    hint = missing_header_hint(log, toolchain) or unresolved_hint(log)
    if "gpu-architecture" in first:
        hint = f"this NVRTC compiles for {', '.join(supported_archs(toolchain))}"
    elif "CCCL_DISABLE_CTK_COMPATIBILITY_CHECK" in log:
        hint = "the CUDA wheels have different versions; `lmemscope doctor` shows them"
    return kind(
        "compile",
        f"NVRTC refused {os.path.basename(name)}: {_shorten(first, name)}",
        hint=hint,
        command=" ".join(["nvrtc", *options]),
        log=log,
    )


def _shorten(line: str, name: str) -> str:
    """An NVRTC message with its location: a line of the source, or a header and its line."""
    placed = _PLACED.match(line.strip())
    if placed is None:
        return line.strip()
    file, number, said = placed.groups()
    if os.path.normpath(file) == os.path.normpath(name):
        return f"line {number}: {said}"
    return f"{os.path.relpath(file) if os.path.isabs(file) else file}, line {number}: {said}"


def _binding(toolchain: Toolchain) -> Any:
    named = toolchain.nvrtc()
    if named is not None:
        from lmemscope.tools import nvrtc_library

        return nvrtc_library.load(named)
    try:
        return cupy_binding.binding()
    except ImportError as error:
        raise ToolMissingError(
            "toolchain",
            f"CuPy's NVRTC binding cannot be imported: {error}",
            hint="install it with: pip install cupy-cuda13x nvidia-cuda-nvrtc",
        ) from error


def _for_bytes(binding: Any) -> Any:
    """A binding that passes bytes that are not UTF-8; CuPy's encodes strictly."""
    from lmemscope.tools import nvrtc_library

    if isinstance(binding, nvrtc_library.NvrtcLibrary):
        return binding
    _call(binding.getVersion)
    path = _loaded_path()
    return binding if path is None else nvrtc_library.load(path)


def _call(function: Any, *arguments: Any) -> Any:
    """Call the binding; the first call loads the library, and fails if it is missing."""
    try:
        return function(*arguments)
    except (ImportError, OSError, RuntimeError) as error:
        if type(error).__name__ == "NVRTCError":
            raise
        raise ToolMissingError(
            "toolchain",
            f"NVRTC cannot be loaded: {error}",
            hint=how_to_install("nvrtc"),
        ) from error


def _loaded_path() -> str | None:
    """Path of the loaded libnvrtc, from the process's memory map (Linux)."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")
                if "/libnvrtc.so" in line:
                    return "/" + path[2]
    except OSError:
        return None
    return None
