"""Read the names of kernel parameters from files that a compiler wrote beside the PTX or cubin.

PTX names parameters by position. Layouts, as measured:

- Triton 3.9: ``NAME.ttir``, whose ``tt.func public @NAME(%x: !tt.ptr<f32> loc("x"(#loc)), …)`` has
  the remaining parameters: constants and those that the kernel is specialised for are removed. PTX
  appends its own parameters.
- Warp 1.19: ``wp_MODULE_HASH.cu``, whose kernels have one parameter per line, named ``var_x`` for
  Python's ``x``.
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
    """The parameters of a file's kernels; empty if no file beside it names them.

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
    """Kernels in Triton's intermediate form, with the Python names of their parameters."""
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
    """Kernels of a Warp module, with the Python names of their parameters."""
    for function, declared in _KERNEL.findall(text):
        yield function, [name.removeprefix("var_") for name in _DECLARED.findall(declared)]
