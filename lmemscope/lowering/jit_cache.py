"""Find the PTX and metadata that a just-in-time compiler stores beside a cubin.

Layouts, as measured:

- Triton 3.9, and PyTorch Inductor, whose cache holds one of Triton's: a directory for each
  compilation with ``NAME.cubin``, ``NAME.ptx``, ``NAME.json`` and intermediate forms.
- Warp 1.19: ``wp_MODULE_HASH.sm90.cubin`` or ``.ptx`` for all kernels of a module, beside
  ``wp_MODULE_HASH.cu``, from which it was compiled, and ``wp_MODULE_HASH.meta``.
- DeepGEMM: ``kernel.NAME.DIGEST/kernel.cubin`` beside the ``kernel.cu`` that it is of.
- Others: ``NAME.ptx`` beside ``NAME.cubin``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from dataclasses import dataclass

from lmemscope.files import read_beside, read_input
from lmemscope.model import LanguageName
from lmemscope.model.inputs import CUBIN, PTX, digest_in

_PTX, _CUBIN = PTX.endings[0], CUBIN.endings[0]

_SHOWN = ("num_warps", "num_stages", "num_ctas", "maxnreg", "triton_version")
_ENTRY = re.compile(rb"^[ \t]*(?:\.(?:visible|weak)[ \t]+)?\.entry[ \t]+([\w$]+)", re.MULTILINE)
_METADATA = ".meta"
"""Ending of the metadata file that Warp writes beside each module."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The files beside a cubin that were made with it.

    Attributes:
        options: from the metadata, as ``name=value``.
        ptx: the PTX that was assembled; None if it is not there.
        language: the source language, if the metadata states it.
    """

    options: tuple[str, ...] = ()
    ptx: bytes | None = None
    language: LanguageName | None = None


def beside(cubin: str) -> Neighbours:
    """The files beside a cubin that were made with it."""
    stem = os.path.splitext(cubin)[0]
    try:
        ptx = read_input(f"{stem}{_PTX}").rstrip(b"\0")
    except OSError:
        ptx = None
    try:
        metadata = json.loads(read_beside(f"{stem}.json"))
    except (OSError, ValueError, RecursionError):
        metadata = None
    if not isinstance(metadata, dict) or "num_warps" not in metadata:
        return Neighbours(ptx=ptx)
    options = tuple(f"{name}={metadata[name]}" for name in _SHOWN if metadata.get(name) is not None)
    return Neighbours(options, ptx, "triton")


def entries(ptx: bytes) -> list[bytes]:
    """Mangled names of the kernels in a PTX text, in order."""
    return _ENTRY.findall(ptx)


def is_read_with_cubin(ptx: str, names: Collection[str]) -> bool:
    """Whether a PTX file belongs to a cubin beside it, which is read instead.

    That is so in Triton's cache, and if the cubin has the file's name and all of its kernels.

    Args:
        ptx: its path.
        names: of all files in its directory, in lower case.
    """
    stem = os.path.splitext(ptx)[0]
    name = os.path.basename(stem).lower()
    if f"{name}{_CUBIN}" not in names or f"{name}.json" in names:
        return f"{name}{_CUBIN}" in names
    try:
        text, code = read_input(ptx), read_input(f"{stem}{_CUBIN}")
    except OSError:
        return False
    kernels = entries(text)
    return bool(kernels) and all(b"\0.text." + name + b"\0" in code for name in kernels)


def is_generated(source: str, names: Collection[str]) -> bool:
    """Whether a CUDA source is the one from which the cached code beside it was compiled.

    Args:
        source: its path.
        names: of all files in its directory, in lower case.
    """
    stem = os.path.splitext(os.path.basename(source).lower())[0]
    if digest_in(source) and f"{stem}{_CUBIN}" in names:
        return True
    return f"{stem}{_METADATA}" in names and any(name.startswith(f"{stem}.sm") for name in names)
