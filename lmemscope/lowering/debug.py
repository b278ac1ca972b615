"""Read variable names and types from a second compilation of the program with ``-G``.

Optimised code has no variable names. The debug compilation, to PTX only, has every variable with
its type and size. The result is stored beside the compilers' outputs, because reading the debug
information again would take a third of a cached run.
"""

from __future__ import annotations

import contextlib

from msgspec.structs import replace

from lmemscope.errors import CompileError, LmemscopeError
from lmemscope.formats.dwarf import read_variables
from lmemscope.lowering import store
from lmemscope.lowering.analysed import own_code
from lmemscope.lowering.compile_cuda import granting_flags
from lmemscope.lowering.debugging import Debugging
from lmemscope.lowering.numba_variables import placed
from lmemscope.lowering.reading import read_text
from lmemscope.lowering.written_parameters import parameters_beside
from lmemscope.model import Artifacts, Gap, Unit, Variable
from lmemscope.tools import nvcc, nvrtc
from lmemscope.tools.toolchain import Toolchain

_STAGE = "variables"
_NEWER = "sm_100"
_SEPARATE = ("-rdc", "--relocatable-device-code", "-dc", "--device-c")


def debug_variables(
    artifacts: Artifacts, cache_directory: str | None, debugging: Debugging
) -> tuple[tuple[Variable, ...] | None, tuple[Gap, ...]]:
    """The variables (or parameters alone, or None), and gaps that say why others are missing."""
    if artifacts.variables is not None:
        known = artifacts.variables
        return placed(known, artifacts.unit.path, artifacts.ptx or b""), ()
    if artifacts.source is None:
        unnamed = Gap("names", "without the source, variables have no names")
        return parameters_beside(artifacts.unit.path) or None, (unnamed,)
    try:
        slot = store.slot_at(cache_directory, artifacts.key)
        return _variables(artifacts, slot, debugging), ()
    except LmemscopeError as error:
        return None, (Gap("names", f"the debug compilation failed: {_reason(error)}"),)


def _reason(error: LmemscopeError) -> str:
    """The tool's own message if there is one: an exit status explains nothing."""
    lines = (line.strip() for line in (error.log or "").splitlines())
    said = next((line for line in lines if "error" in line.lower()), None)
    return error.message if said is None or said in error.message else f"{error.message}: {said}"


def _variables(
    artifacts: Artifacts, slot: store.Slot | None, debugging: Debugging
) -> tuple[Variable, ...]:
    if slot is None:
        return debugging.variables(artifacts, variables_of)
    # Another version of this code may read the debug information differently.
    stage = f"{_STAGE}-{own_code()[:24]}"
    known = slot.load(stage, tuple[Variable, ...])
    if known is not None:
        return known[0]
    variables = debugging.variables(artifacts, variables_of)
    slot.store(stage, variables, [], artifacts.tools)
    return variables


def variables_of(artifacts: Artifacts) -> tuple[Variable, ...]:
    """The variables of a program, by running the debug compilation now.

    Raises:
        LmemscopeError: a compiler is missing or rejects the program.
    """
    return read_variables(_debug_text(artifacts).decode("utf-8", "replace"))


def _debug_text(artifacts: Artifacts) -> bytes:
    """PTX of the debug compilation, for a newer architecture if necessary.

    With ``-G``, code generators before sm_100 reject some code that newer ones accept (such as
    ``__dp4a``); the variables are the same.
    """
    try:
        return _debug_ptx(artifacts, artifacts.unit)
    except CompileError:
        if not _is_older(artifacts.unit.arch):
            raise
        with contextlib.suppress(CompileError):
            return _debug_ptx(artifacts, replace(artifacts.unit, arch=_NEWER))
        raise


def _is_older(arch: str) -> bool:
    number = arch.removeprefix("sm_").rstrip("af")
    return number.isdigit() and int(number) < 100


def _debug_ptx(artifacts: Artifacts, unit: Unit) -> bytes:
    """PTX of a debug compilation of the same program by the same front end."""
    names, arch = artifacts.instantiated, artifacts.unit.arch
    toolchain = Toolchain(unit.toolkit)
    if artifacts.frontend in ("nvrtc", "cupy"):
        text = artifacts.program or read_text(unit, "CUDA C++ source")
        kept = tuple(
            option.replace(arch, unit.arch) if option.startswith("--gpu-arch") else option
            for option in artifacts.options[: len(artifacts.options) - len(names)]
        )
        return nvrtc.compile_to_ptx(text, unit.path, nvrtc.debug_options(kept), names, toolchain)

    toolchain = toolchain.of_nvcc()
    # Device-side launches required relocatable code, whatever the unit's options.
    own = unit.options.nvcc_args
    more = tuple(o for o in artifacts.options if o.startswith(_SEPARATE) and o not in own)
    unit = replace(unit, options=replace(unit.options, nvcc_args=(*own, *more)))

    def compile_(granted: Unit) -> bytes:
        flags = nvcc.options_for(granted.arch, granted.options, toolchain)
        return nvcc.compile_to_ptx(unit.path, nvcc.debug_options(flags), names, toolchain).ptx

    return granting_flags(unit, compile_)[0]
