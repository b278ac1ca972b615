"""What a unit has of its headers: the comments that they hold, and instances of their templates."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from lmemscope.analysis.layers import Layers
from lmemscope.formats.demangle import demangle
from lmemscope.formats.kernel_names import is_instance
from lmemscope.model import (
    HeaderSource,
    HeaderTemplates,
    KernelDirective,
    SourceLocation,
    base_name,
)


def directives(layers: Layers) -> tuple[KernelDirective, ...]:
    """The ``// lmemscope:`` comments of a unit's own file and of its headers."""
    source = layers.artifacts.source
    if source is None:
        return ()
    # Of two headers that stand for each other, the compiler sees one.
    defined = Counter(
        name
        for file in (source, *(header.source for header in source.headers))
        for name in {base_name(kernel.name) for kernel in file.kernels if not kernel.is_declaration}
    )
    own = ((directive, None) for directive in source.kernel_directives)
    others = (
        (directive, _shown(layers, header))
        for header in source.headers
        for directive in header.source.kernel_directives
    )
    return tuple(
        replace(
            directive,
            file=file,
            ambiguous=directive.ambiguous or defined[directive.kernel] > 1,
        )
        for directive, file in (*own, *others)
    )


def templates(layers: Layers) -> tuple[HeaderTemplates, ...]:
    """Of each header that defines template kernels, which ones were compiled here."""
    source = layers.artifacts.source
    if source is None or not source.headers:
        return ()
    compiled = [demangle(function.name) for function in layers.cubin.functions]
    found = []
    for header in source.headers:
        names = dict.fromkeys(
            kernel.name for kernel in header.source.template_kernels if not kernel.is_declaration
        )
        has = {name for name in names if any(is_instance(one, name) for one in compiled)}
        if names:
            instantiated = tuple(name for name in names if name in has)
            others = tuple(name for name in names if name not in has)
            file = _shown(layers, header)
            found.append(HeaderTemplates(file, header.path, instantiated, others))
    return tuple(found)


def _shown(layers: Layers, header: HeaderSource) -> str:
    return layers.paths.shown(SourceLocation(header.path, 0)).file
