"""What the text of a unit and of its headers says: comments, definitions, templates' instances."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.analysis.instances import has_instance
from lmemscope.formats.kernel_names import is_instance
from lmemscope.model import (
    CudaSource,
    HeaderSource,
    HeaderTemplates,
    KernelDirective,
    SourceLocation,
)

if TYPE_CHECKING:
    # The gate's own process asks for comments alone, and needs none of the analysis.
    from lmemscope.analysis.layers import Layers


def directives(layers: Layers) -> tuple[KernelDirective, ...]:
    """The comments of a unit's own file and of its headers: ``// lmemscope:``, ``# lmemscope:``."""
    source, own = layers.artifacts.source, layers.artifacts.directives
    return own if source is None else (*own, *directives_of(source, partial(_shown, layers)))


def directives_of(
    source: CudaSource, shown: Callable[[HeaderSource], str]
) -> tuple[KernelDirective, ...]:
    """The ``// lmemscope:`` comments of a source and of its headers.

    Args:
        source: with its headers.
        shown: what a header is called for the user.
    """
    others = (
        replace(directive, file=shown(header))
        for header in source.headers
        for directive in header.source.kernel_directives
    )
    return (*source.kernel_directives, *others)


def written_at(layers: Layers, name: str, demangled: str) -> SourceLocation | None:
    """Where the text of a unit, or what lies beside it, defines a kernel; None where many do."""
    stated = layers.artifacts.defined.get(name)
    if stated is not None:
        return layers.paths.shown(stated)
    source, path = layers.artifacts.source, layers.artifacts.unit.path
    if source is None:
        return None
    every = ((path, source), *((header.path, header.source) for header in source.headers))
    places = {
        SourceLocation(file, kernel.name_line or kernel.line)
        for file, text in every
        for kernel in text.kernels
        if not kernel.is_declaration and is_instance(demangled, kernel.name)
    }
    return layers.paths.shown(places.pop()) if len(places) == 1 else None


def templates(layers: Layers) -> tuple[HeaderTemplates, ...]:
    """Of each header that defines template kernels, which ones were compiled here."""
    source = layers.artifacts.source
    if source is None or not source.headers:
        return ()
    found = []
    for header in source.headers:
        names: dict[str, bool] = {}
        for kernel in header.source.template_kernels:
            if not kernel.is_declaration:
                is_made = has_instance(kernel, layers.artifacts, layers.cubin)
                names[kernel.name] = names.get(kernel.name, False) or is_made
        if names:
            instantiated = tuple(name for name, is_made in names.items() if is_made)
            others = tuple(name for name, is_made in names.items() if not is_made)
            file = _shown(layers, header)
            found.append(HeaderTemplates(file, header.path, instantiated, others))
    return tuple(found)


def _shown(layers: Layers, header: HeaderSource) -> str:
    return layers.paths.shown(SourceLocation(header.path, 0)).file
