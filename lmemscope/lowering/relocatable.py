"""Options that make relocatable device code: what can be linked with other objects."""

from __future__ import annotations

from dataclasses import replace

from lmemscope.model import CompileOptions

_NVRTC, _NVCC, _PTXAS = "--relocatable-device-code=true", "-rdc=true", "-c"


def relocatable_options(options: CompileOptions) -> CompileOptions:
    """The options with what each tool calls separate compilation; once, where a build has it."""
    return replace(
        options,
        nvrtc_args=_with(options.nvrtc_args, _NVRTC),
        nvcc_args=_with(options.nvcc_args, _NVCC),
        ptxas_args=_with(options.ptxas_args, _PTXAS),
    )


def _with(words: tuple[str, ...], word: str) -> tuple[str, ...]:
    return words if word in words else (*words, word)
