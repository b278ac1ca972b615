"""CUDA C++ files as inputs; compiling them is `lmemscope.lowering.compile_cuda`.

A module of its own, because every command plans and only workers compile: the compilers' bindings
are imported there.
"""

from __future__ import annotations

from lmemscope.lowering import jit_cache
from lmemscope.model import Artifacts, Unit, kind_of
from lmemscope.routes import Along, Asked, Expansion, per_arch

_OF_CUPY = ".cubin.cu"
"""Ending of a source in CuPy's kernel cache."""


def is_walked(path: str, beside: frozenset[str]) -> bool:
    """Every source, but no header: it is compiled with what includes it.

    Nor what Warp generated, whose modules lie beside it.
    """
    kind = kind_of(path)
    return (kind is None or not kind.is_header) and not jit_cache.is_generated(path, beside)


def expand(unit: Unit, asked: Asked) -> Expansion:
    """A unit for each architecture and route."""
    if unit.path.lower().endswith(_OF_CUPY):
        from lmemscope.lowering import cupy_cache

        return cupy_cache.expand(unit, asked)
    return per_arch(unit, asked)


def lower(unit: Unit, cache_directory: str | None, along: Along | None = None) -> Artifacts:
    """Compile the file.

    Raises:
        LmemscopeError: it cannot be read, or a compiler is missing or refuses it.
    """
    if unit.path.lower().endswith(_OF_CUPY):
        from lmemscope.lowering import cupy_cache

        return cupy_cache.lower(unit, cache_directory)
    from lmemscope.lowering.compile_cuda import compile_file

    return compile_file(unit, cache_directory, along)
