"""Names of a kernel's parameters, as what its compiler wrote beside the PTX or cubin has them.

PTX calls parameters by their positions. Layouts, as measured:

- Triton 3.9: ``NAME.ttir``, whose ``tt.func public @NAME(%x: !tt.ptr<f32> loc("x"(#loc)), …)`` has
  the parameters that are left: constants and those of a value that the kernel is compiled for are
  gone. PTX adds its own behind them.
- Warp 1.19: ``wp_MODULE_HASH.cu``, whose kernels have one parameter a line, Python's as ``var_x``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from lmemscope.files import text_beside
from lmemscope.model import Variable

_FUNCTION = re.compile(r"^[ \t]*tt\.func public @([\w$.]+)\(([^\n]*)", re.MULTILINE)
_LOCATED = re.compile(r'loc\((?:"(\w+)"|(#loc\w*))')
_ALIAS = re.compile(r'^(#loc\w*) = loc\("(\w+)"', re.MULTILINE)
_KERNEL = re.compile(
    r'^extern "C" __global__ void (\w+)\(\n((?:    [^\n]*,\n)*    [^\n]*\))', re.MULTILINE
)
_DECLARED = re.compile(r"(?<!\w)(\w+)[,)]$", re.MULTILINE)
_ARCH = re.compile(r"\.sm\d+[af]?$")


def parameters_beside(path: str) -> tuple[Variable, ...]:
    """The parameters of a file's kernels; empty where nothing beside it names them.

    Args:
        path: of PTX or a cubin.
    """
    stem = os.path.splitext(path)[0]
    intermediate, generated = f"{stem}.ttir", f"{_ARCH.sub('', stem)}.cu"
    named = [
        *((intermediate, *one) for one in _triton(_text(intermediate))),
        *((generated, *one) for one in _warp(_text(generated))),
    ]
    return tuple(
        Variable(
            function=function,
            name=name,
            type="",
            size=0,
            file=source,
            line=0,
            is_parameter=True,
            members=(),
            order=order,
        )
        for source, function, names in named
        for order, name in enumerate(names)
    )


def _text(path: str) -> str:
    return (text_beside(path) or b"").decode("utf-8", "replace")


def _triton(text: str) -> Iterator[tuple[str, list[str]]]:
    """Kernels of Triton's intermediate form, and what their parameters are called in Python."""
    aliases = dict(_ALIAS.findall(text))
    for function, rest in _FUNCTION.findall(text):
        names = []
        for parameter in rest.split("%")[1:]:
            spelled, _, kind = parameter.partition(":")
            located = _LOCATED.search(kind)
            own = (located[1] or aliases.get(located[2])) if located is not None else None
            names.append(own or spelled)
        yield function, names


def _warp(text: str) -> Iterator[tuple[str, list[str]]]:
    """Kernels of a module that Warp made, and what their parameters are called in Python."""
    for function, declared in _KERNEL.findall(text):
        yield function, [name.removeprefix("var_") for name in _DECLARED.findall(declared)]
