"""Ways to accept findings that fail the gate: a comment above the kernel, or a config entry.

Each comment is tested first: it is inserted above every definition of the kernel, in memory, and is
offered only if it then applies to the kernel. Otherwise the finding can be accepted only in the
configuration.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from lmemscope.analysis.headers import directives_of
from lmemscope.app.next_command import writing_baseline
from lmemscope.config.file import OWN
from lmemscope.config.options import DEFAULT_BASELINE
from lmemscope.discover.locate import is_saved, shown_path
from lmemscope.errors import LmemscopeError
from lmemscope.gate.accounting import UNCHANGED
from lmemscope.gate.comments import holds_for
from lmemscope.lowering.compile_cuda import read_source
from lmemscope.model import (
    Acceptance,
    CudaSource,
    Directive,
    GateFailure,
    GateResult,
    KernelDirective,
    Unit,
    base_name,
    is_foreign,
    is_library,
)
from lmemscope.sources.comment_targets import with_doubts
from lmemscope.sources.includes import closure

if TYPE_CHECKING:
    from lmemscope.app.baseline_file import BaselineFile
    from lmemscope.app.execute import Analysed
    from lmemscope.config.settings import Configuration, Settings


_MOST_TEXT = 1 << 20
"""Up to this many bytes of a compilation's files are searched for whatever would make a comment
unreliable (about half a second). Above it, a configuration entry is offered, which works
regardless."""


def acceptance_of(
    paths: Sequence[str],
    settings: Settings,
    configuration: Configuration,
    file: BaselineFile | None,
    result: GateResult,
    typed: Mapping[str, Any],
) -> Acceptance:
    """Where each failing finding can be accepted.

    Args:
        paths: as the user typed them.
        settings: how they were compiled.
        configuration: of the project.
        file: the baseline, or None.
        result: the gate's answer.
        typed: the options on its command line, by name.
    """
    named = shown_path(configuration.file) if configuration.file is not None else OWN
    # A baseline written for some of its inputs would lose the findings of the others.
    is_part = any(
        one.subject == "baseline" and one.state == "left-out" and one.reason != UNCHANGED
        for one in result.accounts
    )
    if "-" in paths or is_part or any(map(is_saved, paths)):
        return Acceptance(None, named)
    is_asked = "arch" in typed or not configuration.settings.archs
    target = file.path if file is not None and file.path != DEFAULT_BASELINE else None
    if configuration.baseline is not None and "baseline" not in typed:
        target = None  # `baseline` reads the configuration too.
    archs = settings.archs if is_asked else ()
    return Acceptance(writing_baseline(paths, archs, target, typed), named)


def with_comments(result: GateResult, analysed: Analysed) -> GateResult:
    """The gate's answer, with the usable comments recorded for each failing finding.

    Args:
        result: the answer without them.
        analysed: the units that it is based on; findings of other units are left as they are.
    """
    failing: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in filter(_may_take, result.failures):
        failing[one.input, one.arch].add(one.symbol)
    taken: dict[tuple[str, str], frozenset[str]] = {}
    tried: dict[object, tuple[KernelDirective, ...]] = {}
    for unit, made in analysed:
        symbols = frozenset(failing.get((made.input, made.arch), ()))
        if symbols:
            key = unit.path, unit.options, symbols
            if key not in tried:
                tried[key] = _comments(unit, symbols)
            taken[made.input, made.arch] = frozenset(
                kernel.facts.name
                for kernel in made.kernels
                if kernel.facts.name in symbols
                and any(holds_for(comment, made, kernel) for comment in tried[key])
            )
    failures = (
        replace(one, takes_comment=one.symbol in taken[one.input, one.arch])
        if _may_take(one) and (one.input, one.arch) in taken
        else one
        for one in result.failures
    )
    return replace(result, failures=tuple(failures))


def _may_take(failure: GateFailure) -> bool:
    return failure.kind in ("new", "worse") and failure.route in ("nvrtc", "nvcc")


def _comments(unit: Unit, symbols: Collection[str]) -> tuple[KernelDirective, ...]:
    """The comments that apply when inserted above the given kernels, in files the user may edit."""
    try:
        _, source = read_source(unit)
        read = closure(unit.path, unit.options)
        if sum(os.path.getsize(file) for file in read.files) > _MOST_TEXT:
            return ()
    except (LmemscopeError, OSError):
        return ()
    headers = tuple(
        replace(one, source=_commented(one.source, one.path, symbols)) for one in source.headers
    )
    tried = replace(_commented(source, unit.path, symbols), headers=headers)
    doubted = with_doubts(tried, unit.path, read.files, unit.options, read.computed)
    return directives_of(doubted, lambda header: header.path)


def _commented(source: CudaSource, path: str, symbols: Collection[str]) -> CudaSource:
    """A source with a comment above each of the given kernels, and without its other comments."""
    if is_library(path) or is_foreign(os.path.relpath(path)):
        return replace(source, directives=())
    definitions = (
        one
        for one in (*source.kernels, *source.functions)
        if not one.is_declaration and any(base_name(one.name) in symbol for symbol in symbols)
    )
    above = (Directive("allow", "", one.line, position=one.tokens[0]) for one in definitions)
    return replace(source, directives=tuple(above))
