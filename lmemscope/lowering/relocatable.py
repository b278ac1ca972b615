"""Options that make relocatable device code: what can be linked with other objects."""

from __future__ import annotations

from dataclasses import replace

from lmemscope.lowering.kinds import kind_of_unit
from lmemscope.model import CompileOptions, Gap, Unit

_NVRTC, _NVCC, _PTXAS = "--relocatable-device-code=true", "-rdc=true", "-c"


def relocatable_options(options: CompileOptions) -> CompileOptions:
    """The options with what each tool calls separate compilation; once, where a build has it."""
    return replace(
        options,
        nvrtc_args=_with(options.nvrtc_args, _NVRTC),
        nvcc_args=_with(options.nvcc_args, _NVCC),
        ptxas_args=_with(options.ptxas_args, _PTXAS),
    )


def launching_gap(how: str) -> Gap:
    """What a report says of a unit that had to become relocatable code, because it launches.

    Args:
        how: what was done, ``assembled as relocatable code (ptxas -c)``.
    """
    because = "because it launches from the device"
    return Gap("link", f"{how}, {because}; what the linker adds to its stack is not known")


def is_linkable(unit: Unit) -> bool:
    """Whether a unit can be a part of a linked program: CUDA C++, PTX, or a cubin."""
    return unit.excerpt is None and kind_of_unit(unit).part is not None


def linked_unit(unit: Unit) -> Unit:
    """A unit as it is compiled for a link; of what is compiled already, the unit itself."""
    if kind_of_unit(unit).part not in ("source", "ptx"):
        return unit
    return replace(unit, options=relocatable_options(unit.options))


def _with(words: tuple[str, ...], word: str) -> tuple[str, ...]:
    return words if word in words else (*words, word)
