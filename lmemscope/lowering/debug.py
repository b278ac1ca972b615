"""Variables of a program, out of a debug compilation of it.

Optimised code has no variable names. A second compilation with ``-G``, to PTX only, has every
variable with its type and size; what it says is kept in the store beside the outputs, for looking
at all of its debug information again would take a third of a cached run.
"""

from __future__ import annotations

from lmemscope.errors import LmemscopeError
from lmemscope.formats.dwarf import read_variables
from lmemscope.lowering import store
from lmemscope.lowering.compile_cuda import granting_flags
from lmemscope.lowering.reading import read_text
from lmemscope.model import Artifacts, Gap, Unit, Variable
from lmemscope.tools import nvcc, nvrtc
from lmemscope.tools.toolchain import Toolchain

_STAGE = "variables"


def debug_variables(
    artifacts: Artifacts, cache_directory: str | None
) -> tuple[tuple[Variable, ...] | None, tuple[Gap, ...]]:
    """The variables, or None and the gap that says why there are none.

    Args:
        artifacts: of the program.
        cache_directory: where earlier answers are kept, or None.
    """
    if artifacts.variables is not None:
        return artifacts.variables, ()
    if artifacts.source is None:
        return None, (Gap("names", "without the source, variables have no names"),)
    try:
        return _variables(artifacts, store.slot_at(cache_directory, artifacts.key)), ()
    except LmemscopeError as error:
        return None, (Gap("names", f"the debug compilation failed: {error.message}"),)


def _variables(artifacts: Artifacts, slot: store.Slot | None) -> tuple[Variable, ...]:
    known = slot.load(_STAGE, tuple[Variable, ...]) if slot is not None else None
    if known is not None:
        return known[0]
    variables = read_variables(_debug_ptx(artifacts).decode("utf-8", "replace"))
    if slot is not None:
        slot.store(_STAGE, variables, [], artifacts.tools)
    return variables


def _debug_ptx(artifacts: Artifacts) -> bytes:
    """PTX of a debug compilation of the same program, by the same route."""
    unit, names = artifacts.unit, artifacts.instantiated
    toolchain = Toolchain(unit.toolkit)
    if artifacts.frontend in ("nvrtc", "cupy"):
        text = artifacts.program or read_text(unit, "CUDA C++ source")
        kept = artifacts.options[: len(artifacts.options) - len(names)]
        return nvrtc.compile_to_ptx(text, unit.path, nvrtc.debug_options(kept), names, toolchain)

    toolchain = toolchain.of_nvcc()

    def compile_(granted: Unit) -> bytes:
        flags = nvcc.options_for(unit.arch, granted.options, toolchain)
        return nvcc.compile_to_ptx(unit.path, nvcc.debug_options(flags), names, toolchain).ptx

    return granting_flags(unit, compile_)[0]
